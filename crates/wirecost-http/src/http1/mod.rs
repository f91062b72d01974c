//! HTTP/1.1 (RFC 9112): client and server.
//!
//! - [`client`]: one connection at a time, one request at a time on it
//! - [`server`]: any number of connections, the shared [`Resources`](crate::resource::Resources)
//! - [`head`]: where a head ends, and what is in it
//! - [`body`]: content by its length, in chunks or until the connection closes
//!
//! Every byte is [`Phase::Message`](wirecost_proto::Phase::Message): HTTP/1.1 has no bytes of its own for opening or
//! closing a connection. Content is payload, all else the application's.

pub mod body;
pub mod client;
mod emit;
pub mod fields;
pub mod head;
pub mod server;

pub use client::{Client, ClientConfig};
pub use server::{Server, ServerConfig};
