//! The differences between clients and servers.

use wirecost_proto::Instant;

use super::config::{ClientConfig, ServerConfig};
use super::connection::Connection;
use crate::layer::Fault;
use crate::start::Start;

/// The role of a layer.
pub enum Role {
    /// Connects to servers.
    Client(ClientConfig),
    /// Accepts clients.
    Server(ServerConfig),
}

impl From<ClientConfig> for Role {
    fn from(config: ClientConfig) -> Self {
        Self::Client(config)
    }
}

impl From<ServerConfig> for Role {
    fn from(config: ServerConfig) -> Self {
        Self::Server(config)
    }
}

impl Role {
    pub(super) fn is_server(&self) -> bool {
        matches!(self, Self::Server(_))
    }

    /// The connection that a client opens with the flow. A server waits for a ClientHello.
    pub(super) fn first_connection(&self, index: u64, now: Instant) -> Option<Result<Connection, Fault>> {
        match self {
            Self::Client(config) if config.start != Start::Cold => Some(Err(Fault::Start {
                asked: config.start,
                granted: Start::Cold,
            })),
            Self::Client(config) => Some(Ok(config.connect(index, now))),
            Self::Server(_) => None,
        }
    }

    /// The connection that a server opens for a ClientHello.
    pub(super) fn accept(&self, index: u64, now: Instant) -> Option<Connection> {
        match self {
            Self::Client(_) => None,
            Self::Server(config) => Some(config.accept(index, now)),
        }
    }

    /// Verifies the peer's certificate.
    pub(super) fn verify(&self, certificate: &[u8], now: Instant) -> Result<(), Fault> {
        let (verifier, epoch) = match self {
            Self::Client(config) => (&config.verifier, config.engine.common.epoch),
            Self::Server(config) => (&config.verifier, config.engine.common.epoch),
        };
        match verifier {
            Some(verifier) => verifier.verify(certificate, epoch.unix_at(now)),
            None => Ok(()),
        }
    }
}
