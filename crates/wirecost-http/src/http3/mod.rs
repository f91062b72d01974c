//! HTTP/3 (RFC 9114) over QUIC version 1 (RFC 9000, 9001, 9002): client and server on datagram flows.
//!
//! QUIC is quinn-proto's; frames, field compression and the account of every byte are ours. A datagram's bytes are
//! attributed as `quic::attribution` says; both ends agree on them, but for what only one of them can know: that data was sent
//! before and lost, and what a packet holds whose keys the receiver does not have.
//!
//! - [`Client`], [`Server`]: the endpoints
//! - [`open`]: the packets of a connection that others had, by its key log
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
/// Who reads what the other one has sent.
pub use quinn_proto::Side;
pub use server::{Server, ServerConfig};

use wirecost_proto::Buffer;

/// Appends the spans of a QUIC datagram without a description: the transport layer's from end to end,
/// connect where a packet's long header says that it belongs to a handshake, else message.
pub fn describe(datagram: &[u8], out: &mut Buffer) {
    let id_bytes = quic::packet::CONNECTION_ID_BYTES;
    quic::attribution::cover_datagram(datagram, id_bytes, &[], out, |_, _| {});
}
