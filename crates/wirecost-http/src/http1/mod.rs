//! HTTP/1.1 (RFC 9112): client and server.
//!
//! - [`client`]: one connection at a time, one request at a time on it
//! - [`server`]: any number of connections, shared [`Resources`](crate::resource::Resources)
//! - [`head`]: heads, their boundaries and their content
//! - [`body`]: content with a length, in chunks, or until the connection closes
//!
//! Every byte is [`Phase::Message`](wirecost_proto::Phase::Message): HTTP/1.1 has no bytes for opening or closing a
//! connection. Content is payload, all other bytes are application.

pub mod body;
pub mod client;
mod emit;
pub mod fields;
pub mod head;
pub mod server;

pub use client::{Client, ClientConfig};
pub use server::{Server, ServerConfig};
