//! QUIC version 1 as far as it is not quinn-proto's: what every byte of a datagram is.
//!
//! - [`packet`]: where the packets of a datagram begin and end
//! - [`frame`]: the frames of an opened packet
//! - `ranges`: which bytes of a stream have been seen
//! - `reading`: the layers of a request stream's bytes
//! - `retry`: whether a Retry packet is genuine
//! - `tap`: keys that note what they seal and open
//! - `session`: TLS 1.3 for quinn-proto, with such keys
//! - `attribution`: layer, phase and cause of the bytes of a connection's packets

pub(crate) mod attribution;
pub mod frame;
pub mod packet;
pub(crate) mod ranges;
mod reading;
mod retry;
pub(crate) mod session;
pub(crate) mod tap;
