//! HTTP/1.1 and HTTP/3 without IO: client and server, with common messages and resources.
//!
//! - [`message`]: methods, statuses, request templates, responses
//! - [`client`]: commands and events of a client of either version
//! - [`server`]: commands and events of a server of either version
//! - [`resource`]: the reference server's resources: a store, long polls, pages of messages
//! - [`http1`]: client and server of HTTP/1.1
//! - [`http3`]: client and server of HTTP/3
//!
//! ```
//! use wirecost_http::message::{Method, RequestTemplate};
//!
//! let octets = Some("application/octet-stream");
//! let request = RequestTemplate::new(Method::Post, "wirecost", "/test", octets, [7; 128])?;
//! assert_eq!(request.content_length(), Some(128));
//! # Ok::<(), wirecost_http::message::TemplateError>(())
//! ```

pub mod client;
pub mod fault;
pub mod http1;
pub mod http3;
pub mod message;
mod query;
pub mod resource;
pub mod server;
