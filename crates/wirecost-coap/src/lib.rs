#![doc = include_str!("../README.md")]
//!
//! # What is in it
//!
//! A flow is a UDP peer, or a channel that carries datagrams as DTLS does; or a byte stream (RFC 8323), which has its own framing and
//! signaling messages, and the same requests and responses.
//!
//! - [`message`]: a view over any datagram, and its decoded meaning
//! - [`code`], [`token`], [`option`], [`block`]: the parts of a message
//! - [`parameters`]: transmission parameters and times derived from them
//! - [`client`]: requests, block-wise transfers, observations and pings to one server
//! - [`shared`]: one endpoint, and so one socket, for many clients
//! - [`server`]: the plugtest resources for any number of clients
//! - [`stream`]: messages on a byte stream, such as TCP (RFC 8323)
//! - [`oscore`]: contexts that protect messages end to end
//! - [`edhoc`]: the handshake by which both ends agree on such a context
//! - [`describe()`]: the layer, phase and cause of the bytes of a datagram
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod block;
pub mod client;
pub mod code;
mod describe;
mod duplicates;
pub mod edhoc;
mod layout;
pub mod message;
mod message_ids;
pub mod option;
pub mod oscore;
mod outbox;
pub mod parameters;
pub mod server;
pub mod shared;
mod short;
pub mod stream;
#[cfg(test)]
mod testing;
pub mod token;

pub use describe::{describe, describe_stream};
