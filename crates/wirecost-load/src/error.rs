//! Why a load has no figures.

use std::io;
use std::net::IpAddr;

use wirecost_live::emulation::EmulationError;
use wirecost_live::limits::LimitError;

use crate::outcome::NoConnection;
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
        /// Where to.
        target: String,
        /// Why.
        why: NoConnection,
    },
    /// A part could not begin, or ended early.
    #[error("{0}")]
    Generator(String),
    /// The machine does not give what the devices need.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Devices cannot send from there.
    #[error("cannot send from source address {address}: {source}")]
    Source {
        /// The address asked for.
        address: IpAddr,
        /// Why not.
        source: io::Error,
    },
    /// The generator could not be started.
    #[error(transparent)]
    Workers(#[from] WorkersError),
    /// The machine refused.
    #[error("cannot {action}: {source}")]
    Machine {
        /// What was to be done.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
}
