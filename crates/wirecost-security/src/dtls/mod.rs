//! DTLS 1.3 (RFC 9147) and DTLS 1.2 (RFC 6347) around any endpoint that speaks datagrams, on dimpl 0.9.
//!
//! - [`Client`], [`Server`]: the layer around an endpoint
//! - [`ClientConfig`], [`ServerConfig`]: how they are set up; shared by any number of them
//! - [`record`]: the records of a datagram, as far as their headers tell
//! - [`describe()`], [`describe_psk()`]: what the bytes of a datagram are that no endpoint described
//!
//! What dimpl does, and so this layer: full handshakes with ECDSA certificates on X25519, or with a pre-shared key in
//! DTLS 1.2; cookies; fragmentation and repetition of flights; close_notify. What it does not: resumption, early data,
//! connection IDs ([`NO_RESUMPTION`]), pre-shared keys in DTLS 1.3, RSA, chains of certificates. It fills the
//! ClientHello of DTLS 1.3 up to the MTU (RFC 7685); these bytes have the cause [`probe`](wirecost_proto::Cause::Probe),
//! as any padding. It sends use_srtp in every ClientHello, which WebRTC needs and our endpoints do not. It stays silent where a
//! pre-shared key is wrong, so that the client runs into its time-out.
//!
//! One datagram of the endpoint within is one record, and one datagram on the wire.

mod alert;
mod client;
mod config;
mod connection;
mod cover;
mod flows;
mod inner;
mod peer;
mod provider;
pub mod record;
mod role;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use config::{
    Accept, Certificates, ClientConfig, Common, ConfigError, DEFAULT_FLIGHT_TIMEOUT,
    DEFAULT_HANDSHAKE_TIMEOUT, DEFAULT_MTU, NO_RESUMPTION, Offer, Psk, ServerConfig, Trust, Version,
};
pub use cover::{describe, describe_psk};
pub use flows::{MAX_PLAINTEXT_BYTES, Stats};
pub use server::Server;
