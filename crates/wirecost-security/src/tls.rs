//! TLS 1.2 and 1.3 around any stream endpoint, on rustls.
//!
//! - [`ClientConfig`], [`ServerConfig`]: offered and accepted parameters, built once per run
//! - [`Client`], [`Server`]: the layers
//! - [`record`]: the boundaries of records
//! - [`Negotiated`]: the negotiated parameters
//! - `engine`: the common part of client and server
//! - `flow`, `connection`: one flow, and the library's connection in it
//! - `sessions`: a client's tickets and sessions for resumption
//! - [`QuicClient`], [`QuicServer`]: the same configurations for QUIC
//! - `raw_keys`: public keys in place of certificates (RFC 7250)
//! - `trust`, `fault`: verification of peers, and error messages
//!
//! Every message of the inner endpoint is one record, or several if it exceeds the limit of a record. Handshake and
//! tickets are [`Layer::Security`](wirecost_proto::Layer::Security) in the connect phase, alerts in the close phase.
//! A record's header and tag take phase and cause of the first plaintext byte.
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
mod raw_keys;
pub mod record;
mod server;
mod sessions;
mod trust;

pub use client::Client;
pub use config::{
    ClientConfig, ClientOptions, ConfigError, HANDSHAKE_TIMEOUT, MAX_EARLY_DATA_BYTES, SESSIONS,
    ServerConfig, ServerOptions, Suites, Trust, Versions,
};
pub(crate) use config::{client_verifier, parse_server_name};
pub use fault::certificate::Flaw;
pub use negotiated::{Negotiated, group_name, suite_name};
pub use quic::{QuicClient, QuicServer, quic_fault};
pub use raw_keys::server_has_raw_keys;
pub use server::Server;

#[cfg(test)]
mod tests;
