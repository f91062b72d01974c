//! When things happen: which load runs after which, when each message is intended, and on which clock.
//!
//! - [`sweep`]: one load after the other; [`search`]: the rates of a search for the highest one
//! - [`arrivals`]: when messages are intended; `backlog`: messages that complete after the offer has ended
//! - [`clock`]: the machine's clock, or virtual time

pub mod arrivals;
pub(crate) mod backlog;
pub mod clock;
pub mod search;
pub mod sweep;
