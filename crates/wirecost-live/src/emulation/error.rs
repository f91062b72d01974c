//! Errors of building, checking or reading back an emulated link.

use std::io;

use crate::EnvironmentError;

/// Why there is no emulated link.
#[derive(Debug, thiserror::Error)]
pub enum EmulationError {
    /// The machine refused something.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// A system call of a loop failed.
    #[error("{what}: {source}")]
    Io {
        /// The action.
        what: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// A thread panicked: a defect of wirecost.
    #[error("the {0} thread panicked; please report this")]
    Panicked(&'static str),
}

impl EmulationError {
    /// Makes the error of a system call; `what` names the action.
    pub fn doing(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
