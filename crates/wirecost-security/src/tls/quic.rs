//! The configurations for QUIC (RFC 9001), which has packets instead of records.

use std::sync::Arc;
use std::time::Duration;

use super::config::{ClientConfig, ConfigError, ServerConfig, Versions};
use super::fault;
use super::sessions::Sessions;
use crate::layer::Fault;
use crate::provider::Clock;
use crate::{Epoch, Start};

/// TLS for one QUIC client: the library's configuration with the client's tickets and clock.
pub struct QuicClient {
    /// The library's configuration.
    pub library: Arc<rustls::ClientConfig>,
    /// The client's time.
    pub clock: Clock,
    /// The start of the run on other clocks.
    pub epoch: Epoch,
    /// The name that the server's certificate must contain.
    pub server_name: String,
    /// The requested start of connections.
    pub start: Start,
    /// Time-out of a handshake.
    pub handshake_timeout: Duration,
    sessions: Sessions,
}

impl QuicClient {
    /// TLS for a client that speaks `alpn` (RFC 9001 section 8.1).
    ///
    /// # Errors
    /// [`ConfigError`] if the versions exclude TLS 1.3 (RFC 9001 section 4.2).
    pub fn new(config: &ClientConfig, alpn: &[u8]) -> Result<Self, ConfigError> {
        demand_tls13(config.options.versions)?;
        let (sessions, clock) = (Sessions::default(), Clock::new(config.options.epoch));
        let mut library = config.for_client(&sessions, &clock);
        library.alpn_protocols = vec![alpn.to_vec()];
        Ok(Self {
            library: Arc::new(library),
            clock,
            epoch: config.options.epoch,
            server_name: config.options.server_name.clone(),
            start: config.start,
            handshake_timeout: config.options.handshake_timeout,
            sessions,
        })
    }

    /// Sets whether the next connection may use a ticket.
    pub fn begin(&self, offer: bool) {
        self.sessions.begin(offer);
    }

    /// Whether the last connection found a ticket.
    pub fn has_offered(&self) -> bool {
        self.sessions.offered()
    }
}

/// TLS for one QUIC server: the library's configuration with the server's sessions and clock.
pub struct QuicServer {
    /// The library's configuration.
    pub library: Arc<rustls::ServerConfig>,
    /// The server's time.
    pub clock: Clock,
    /// The start of the run on other clocks.
    pub epoch: Epoch,
    /// Time-out of a handshake.
    pub handshake_timeout: Duration,
}

impl QuicServer {
    /// TLS for a server that speaks `alpn`.
    ///
    /// # Errors
    /// [`ConfigError`] if the versions exclude TLS 1.3.
    pub fn new(config: &ServerConfig, alpn: &[u8]) -> Result<Self, ConfigError> {
        demand_tls13(config.options.versions)?;
        let clock = Clock::new(config.options.epoch);
        let mut library = config.for_server(&clock);
        library.alpn_protocols = vec![alpn.to_vec()];
        // RFC 9001 section 4.6.1: any other number is an error, because QUIC has flow control of its own.
        library.max_early_data_size = if config.options.accept_early_data {
            u32::MAX
        } else {
            0
        };
        Ok(Self {
            library: Arc::new(library),
            clock,
            epoch: config.options.epoch,
            handshake_timeout: config.options.handshake_timeout,
        })
    }
}

fn demand_tls13(versions: Versions) -> Result<(), ConfigError> {
    if versions == Versions::Tls12 {
        return Err(ConfigError::Unusable {
            what: "versions",
            reason: "QUIC demands TLS 1.3".to_owned(),
        });
    }
    Ok(())
}

/// The fault for an error of the library in a QUIC handshake.
pub fn quic_fault(error: &rustls::Error) -> Fault {
    match fault::fault(error) {
        Fault::Protocol { reason, .. } => Fault::Protocol {
            protocol: "QUIC",
            reason,
        },
        other => other,
    }
}
