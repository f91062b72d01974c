//! Many devices against one target, live or in virtual time.
//!
//! ```text
//! LoadOptions -> parts, each a range of devices: loops in this process, or worker processes with loops
//!     loop: devices' endpoints + director (schedule, outcomes)  -> Interval of each second
//!     coordinator: adds the intervals up, starts the phases, watches target and generator -> LoadSummary
//! ```
//!
//! Its rooms, each of which uses those before it alone:
//!
//! - [`schedule`]: when loads and messages are intended, and on which clock
//! - [`devices`]: the devices of one part, their messages, and the loop that drives them
//! - [`parts`]: the parts of a load in threads, processes and on agents, and their result
//! - [`targets`]: the server, started or found
//! - [`verdict`]: whether the figures are valid, and the figures in the results' format
//!
//! Beside them, a load as a whole:
//!
//! - [`run`](mod@run): a load from its options to its figures; [`simulated`]: the same in virtual time
//! - `generator`: the loops of this machine, or of agents; [`coordinator`]: a load from its first phase to its last
//! - [`link`]: the emulated link between devices and target
//! - [`context`]: the environment of a load; [`watch`]: progress notifications; [`error`]: why a load has no figures

pub mod context;
pub mod coordinator;
pub mod devices;
pub mod error;
mod generator;
pub mod link;
pub mod parts;
pub mod run;
pub mod schedule;
pub mod simulated;
pub mod targets;
pub mod verdict;
pub mod watch;

use wirecost_proto::time::nanos;

/// The earlier of two optional times.
fn earlier(
    one: Option<wirecost_proto::Instant>,
    other: Option<wirecost_proto::Instant>,
) -> Option<wirecost_proto::Instant> {
    one.into_iter().chain(other).min()
}

/// CPU time of this thread so far, in nanoseconds.
fn cpu_ns() -> u64 {
    nanos(wirecost_live::clock::thread_cpu_time())
}

#[cfg(test)]
mod tests;
