//! Why a load has no figures.

use std::io;
use std::net::IpAddr;

use wirecost_live::emulation::EmulationError;
use wirecost_live::limits::LimitError;

use crate::devices::part::PartError;
use crate::parts::agents::AgentsError;
use crate::parts::outcome::{GeneratorError, NoConnection, Obstacle};
use crate::parts::workers::WorkersError;
use crate::targets::server::ServerError;

/// Why a load has no figures.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The target could not be started.
    #[error(transparent)]
    Target(ServerError),
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
    /// The agents cannot run the load.
    #[error(transparent)]
    Agents(#[from] AgentsError),
    /// The machine refused.
    #[error("cannot {action}: {source}")]
    Machine {
        /// The refused action.
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
}

impl From<ServerError> for LoadError {
    fn from(error: ServerError) -> Self {
        match error {
            ServerError::Unaccepted { target, unaccepted } => Self::NoConnection {
                target,
                why: NoConnection {
                    obstacle: Obstacle::NoAnswer,
                    reason: unaccepted.to_string(),
                    hint: None,
                },
            },
            error => Self::Target(error),
        }
    }
}
