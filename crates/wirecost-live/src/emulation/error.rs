//! Why an emulated link cannot be built, checked or read back.

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
        /// What was being done.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A thread panicked: a defect of wirecost.
    #[error("the {0} thread panicked; please report this")]
    Panicked(&'static str),
}

impl EmulationError {
    /// The error of a system call that was made to do `what`.
    pub fn doing(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
