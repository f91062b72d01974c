//! DTLS 1.3 (RFC 9147) and DTLS 1.2 (RFC 6347) around any datagram endpoint: with certificates on dimpl 0.9, with a
//! pre-shared key on an engine of our own.
//!
//! - [`Client`], [`Server`]: the layer around an endpoint
//! - [`ClientConfig`], [`ServerConfig`]: configurations, shared by any number of endpoints
//! - `cookie`: what a server asks of a client before it keeps anything
//! - [`record`]: the records of a datagram, by their headers
//! - [`describe()`], [`describe_psk()`]: describe a datagram that no endpoint described
//!
//! dimpl supports full handshakes with ECDSA certificates on X25519, cookies, fragmentation and retransmission of
//! flights, and close_notify. It does not support resumption ([`NO_RESUMPTION`]), early data, connection IDs, RSA and
//! certificate chains. It pads the ClientHello of DTLS 1.3 up to the MTU (RFC 7685). The padding has the cause
//! [`probe`](wirecost_proto::Cause::Probe). It sends use_srtp in every ClientHello, which WebRTC needs and our
//! endpoints do not.
//!
//! With a pre-shared key there are sessions and connection IDs (RFC 9146). Both ends stay silent if the keys differ
//! (RFC 6347 section 4.1.2.7), so that the client times out.
//!
//! One datagram of the inner endpoint is one record and one datagram on the wire.

mod config;
mod connection;
mod cookie;
mod cover;
mod dimpl;
mod error;
mod event;
mod fields;
mod flows;
mod inner;
mod peer;
mod proof;
mod provider;
mod psk;
pub mod record;
mod role;
#[cfg(test)]
mod tests;
mod version;

pub use config::{
    Accept, Certificates, ClientConfig, Common, DEFAULT_FLIGHT_TIMEOUT, DEFAULT_HANDSHAKE_TIMEOUT,
    DEFAULT_MTU, Offer, ServerConfig,
};
pub use cover::{describe, describe_psk};
pub use error::ConfigError;
pub use flows::{Client, Flows, Server, Stats};
pub use peer::Trust;
pub use record::{CONNECTION_ID_BYTES, MAX_PLAINTEXT_BYTES};
pub use version::{NO_EARLY_DATA, NO_RESUMPTION, Psk, Version};
