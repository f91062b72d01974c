//! Errors of a load, of its parts, and of its generator.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use wirecost_live::emulation::EmulationError;
use wirecost_live::limits::LimitError;
use wirecost_proto::ByteSize;
use wirecost_security::certificate;
use wirecost_stack::error::ClientError;
use wirecost_stack::pattern::PatternError;

use crate::outcome::NoConnection;
use crate::parts::Gone;
use crate::workers::WorkersError;

/// Why a load has no figures.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The target could not be started.
    #[error(transparent)]
    Target(#[from] crate::server::ServerError),
    /// The emulated link cannot be built, or does not work.
    #[error(transparent)]
    Link(#[from] EmulationError),
    /// No device could connect.
    #[error("no device could connect to {target}: {}", .why.reason)]
    NoConnection {
        /// The target.
        target: String,
        /// Why.
        why: NoConnection,
    },
    /// A part cannot run.
    #[error(transparent)]
    Part(#[from] PartError),
    /// The load ended before it had figures.
    #[error(transparent)]
    Generator(#[from] GeneratorError),
    /// The machine does not give what the devices need.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Devices cannot send from an address.
    #[error("cannot send from source address {address}: {source}")]
    Source {
        /// The address.
        address: IpAddr,
        /// The cause.
        source: io::Error,
    },
    /// The generator could not be started.
    #[error(transparent)]
    Workers(#[from] WorkersError),
    /// The machine refused.
    #[error("cannot {action}: {source}")]
    Machine {
        /// The refused action.
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
}

/// Why a part of a load cannot run.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// Certificates or keys are unusable.
    #[error(transparent)]
    Credentials(#[from] certificate::Error),
    /// A name or payload has an unknown placeholder.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A client, a message or a subscription cannot be built.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The simulated server cannot be built.
    #[error("{0}")]
    Server(String),
    /// A payload does not fit into memory.
    #[error("{0} is too large")]
    PayloadSize(ByteSize),
    /// The machine has no poll instance, timer or event left.
    #[error("cannot set up a loop: {0}")]
    Setup(#[source] io::Error),
    /// Polling failed.
    #[error("the loop failed: {0}")]
    Loop(#[source] io::Error),
    /// The simulation lost its world: a defect of wirecost.
    #[error("the simulation has left no world; please report this")]
    NoWorld,
}

/// Why a load ended early, other than by the user or a threshold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeneratorError {
    /// A part did not become ready in time.
    #[error("a part of the generator was not there within {} s", .0.as_secs())]
    NotReady(Duration),
    /// A part went on after the end of its phase.
    #[error("a part of the generator did not end its phase")]
    PhaseNotEnded,
    /// No part is left.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// A part failed, perhaps in another process: its own sentence.
    #[error("{0}")]
    Part(String),
    /// The simulated server failed.
    #[error("the server has ended: {0}")]
    Server(String),
}
