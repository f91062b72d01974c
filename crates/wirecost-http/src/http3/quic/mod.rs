//! The parts of QUIC version 1 that are not quinn-proto's: the attribution of every byte of a datagram.
//!
//! - [`packet`]: the boundaries of packets in a datagram
//! - [`frame`]: the frames of a decrypted packet
//! - `ranges`: the parts of a stream that have been seen
//! - `stream_layers`: the layers of a request stream's bytes
//! - `retry`: verifies Retry packets
//! - `tap`: keys that note the packets that they encrypt and decrypt
//! - `session`: TLS 1.3 for quinn-proto, with such keys
//! - `attribution`: layer, phase and cause of the bytes of a connection's packets

pub(crate) mod attribution;
pub mod frame;
pub mod packet;
pub(crate) mod ranges;
mod retry;
pub(crate) mod session;
mod stream_layers;
pub(crate) mod tap;
