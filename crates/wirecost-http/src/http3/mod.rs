//! HTTP/3 (RFC 9114) over QUIC version 1 (RFC 9000, 9001, 9002): client and server on datagram flows.
//!
//! QUIC comes from quinn-proto. Frames, field compression and the attribution of every byte are our own, see
//! `quic::attribution`. Both ends attribute a datagram's bytes alike, except for facts that only one end knows: that
//! data was sent before and lost, and the content of a packet that the receiver has no keys for.
//!
//! - [`Client`], [`Server`]: the endpoints
//! - [`open`]: decrypts the packets of others' connections with their key log
//! - [`quic`]: packets and frames of QUIC
//! - [`frame`], [`reader`], [`unidirectional`]: frames of HTTP/3, request streams, control streams
//! - [`qpack`]: field compression with the static table
//! - [`varint`]: variable-length integers
//! - [`error`]: error codes

mod client;
mod config;
mod connection;
pub use crate::fault as error;
pub mod frame;
mod head;
mod loss;
pub mod open;
pub mod qpack;
pub mod quic;
pub mod reader;
mod server;
#[cfg(test)]
mod tests;
pub mod unidirectional;
pub mod varint;

pub use client::{Client, ClientConfig};
pub use config::Transport;
/// The role of an endpoint.
pub use quinn_proto::Side;
pub use server::{Server, ServerConfig};

use wirecost_proto::Buffer;

/// Appends the spans of a QUIC datagram that no endpoint described. All bytes belong to the transport layer, in the
/// connect phase if a long header shows a handshake, otherwise in the message phase.
pub fn describe(datagram: &[u8], out: &mut Buffer) {
    let id_bytes = quic::packet::CONNECTION_ID_BYTES;
    quic::attribution::cover_datagram(datagram, id_bytes, &[], out, |_, _| {});
}
