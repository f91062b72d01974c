//! The differences between clients and servers.

use wirecost_proto::Instant;

use super::config::{ClientConfig, ServerConfig};
use super::connection::Connection;
use crate::layer::Fault;
use crate::start::Start;

/// The role of a layer.
pub(super) enum Role {
    Client(ClientConfig),
    Server(ServerConfig),
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
    pub(super) fn judge(&self, certificate: &[u8], now: Instant) -> Result<(), Fault> {
        let (judge, epoch) = match self {
            Self::Client(config) => (&config.judge, config.epoch()),
            Self::Server(config) => (&config.judge, config.epoch()),
        };
        match judge {
            Some(judge) => judge.judge(certificate, epoch.unix_at(now)),
            None => Ok(()),
        }
    }
}
