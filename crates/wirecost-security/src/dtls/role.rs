//! The differences between clients and servers.

use wirecost_proto::{Instant, Peer};

use super::config::{ClientConfig, ServerConfig};
use super::connection::Connection;
use super::cookie::{Asked, Meeting};
use super::psk::Session;
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

    /// The connection that a client opens with the flow. A server waits for a ClientHello. `is_first` if the client had
    /// none before, and `session` is what the last one left.
    pub(super) fn first_connection(
        &self,
        index: u64,
        is_first: bool,
        session: Option<Session>,
        now: Instant,
    ) -> Option<Result<Connection, Fault>> {
        let Self::Client(config) = self else {
            return None;
        };
        let is_possible = config.version().cannot_start(config.start()).is_none();
        let asked = if is_first && is_possible {
            Start::Cold
        } else {
            config.start()
        };
        let session = session.filter(|_| asked != Start::Cold);
        let has_what_it_needs = asked == Start::Cold || session.is_some();
        Some(if is_possible && has_what_it_needs {
            Ok(config.connect(index, session, now))
        } else {
            Err(Fault::Start {
                asked,
                granted: Start::Cold,
            })
        })
    }

    /// What a server does about the ClientHello of `peer` in `datagram`.
    pub(super) fn meet(&self, datagram: &[u8], peer: Peer, now: Instant) -> Meeting {
        match self {
            Self::Client(_) => Meeting::Accept,
            Self::Server(config) => config.meet(datagram, peer, now),
        }
    }

    /// The connection that a server opens for the ClientHello in `datagram`. `asked` is the cookie that it asks for.
    pub(super) fn accept(
        &self,
        index: u64,
        datagram: &[u8],
        asked: Option<Asked>,
        now: Instant,
    ) -> Option<Connection> {
        match self {
            Self::Client(_) => None,
            Self::Server(config) => config.accept(index, datagram, asked, now),
        }
    }

    /// Verifies the peer's certificate.
    pub(super) fn verify(&self, certificate: &[u8], now: Instant) -> Result<(), Fault> {
        let (verifier, epoch) = match self {
            Self::Client(config) => (config.verifier(), config.common.epoch),
            Self::Server(config) => (config.verifier(), config.common.epoch),
        };
        match verifier {
            Some(verifier) => verifier.verify(certificate, epoch.unix_at(now)),
            None => Ok(()),
        }
    }
}
