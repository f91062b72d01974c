//! TLS 1.2 and 1.3 around any stream endpoint, on rustls.
//!
//! - [`ClientConfig`], [`ServerConfig`]: what is offered and accepted, built once per run
//! - [`Client`], [`Server`]: the layers
//! - [`record`]: where records begin and end
//! - [`Negotiated`]: what the two ends agreed on
//! - `engine`: what client and server have in common
//! - `flow`, `connection`: one flow, and the library's part of it
//! - `sessions`: what a client keeps for its next connection
//! - [`QuicClient`], [`QuicServer`]: the same configurations for QUIC
//! - `trust`, `fault`: who is accepted, and in which words others are refused
//!
//! Every message of the inner endpoint is a record of its own, or several where it is longer than a record may be.
//! Handshake and tickets are [`Layer::Security`](wirecost_proto::Layer::Security) of the connect phase, alerts and
//! close_notify of the close phase; a record's header and tag have the phase and cause of the first plaintext in it.
//!
//! ```
//! use wirecost_security::certificate::{Authority, Identity};
//! use wirecost_security::tls::{ClientConfig, ClientOptions, ServerConfig, ServerOptions, Trust};
//! use wirecost_security::Epoch;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let epoch = Epoch { monotonic: std::time::Instant::now(), unix: wirecost_security::certificate::VALID_FROM };
//! let authority = Authority::generate()?;
//! let server = ServerConfig::new(ServerOptions::new(epoch, Identity::generate(&authority)?))?;
//! let trust = Trust::Authorities(vec![authority.certificate().to_vec()]);
//! let client = ClientConfig::new(ClientOptions::new(epoch, trust, "server"))?;
//! # let _ = (server, client);
//! # Ok(())
//! # }
//! ```

mod client;
mod config;
mod connection;
mod engine;
pub(crate) mod fault;
mod flow;
mod negotiated;
mod quic;
pub mod record;
mod server;
mod sessions;
mod trust;

pub use client::Client;
pub use config::{
    ClientConfig, ClientOptions, ConfigError, HANDSHAKE_TIMEOUT, MAX_EARLY_DATA_BYTES, SESSIONS,
    ServerConfig, ServerOptions, Suites, Trust, Versions,
};
pub use fault::certificate::Flaw;
pub use negotiated::Negotiated;
pub use quic::{QuicClient, QuicServer, quic_fault};
pub use server::Server;

#[cfg(test)]
mod tests;
