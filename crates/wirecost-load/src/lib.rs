//! Many devices against one target, live or in virtual time.
//!
//! ```text
//! LoadOptions -> parts, each a range of devices: loops in this process, or worker processes with loops
//!     loop: devices' endpoints + director (schedule, outcomes)  -> Interval of each second
//!     coordinator: adds the intervals up, starts the phases, watches target and generator -> LoadSummary
//! ```
//!
//! - [`run`](mod@run): a load from its options to its figures; [`entry`]: the figures in the results' format;
//!   [`verdict`]: whether they are valid
//! - [`clock`]: the machine's clock, or virtual time
//! - `checked`: fails a load without connections
//! - [`context`]: the environment of a load; [`outcome`]: its raw result; [`error`]: its errors
//! - [`coordinator`]: a load from its first phase to its last, over [`parts`]
//! - [`share`]: the devices of one part, and its loop; [`part`]: the messages of a part
//! - [`server`]: the target, started or found; [`destination`]: its address and credentials; [`target`]: its usage and
//!   its arrivals
//! - [`devices`]: the devices of a loop: [`connections`] their connections, [`tracker`] their messages
//! - [`activity`]: the interface of one phase; [`activities`]: connect, publish, hold, close
//! - [`agents`]: parts on other machines
//! - [`arrivals`]: when messages are intended
//! - `backlog`: messages that complete after the offer has ended; `capture_label`: the phases of captured packets
//! - [`footprint`]: the memory that a device takes
//! - [`identities`]: the certificates of devices
//! - [`link`]: the emulated link between devices and a started target; [`keys`]: the secrets of its connections
//! - [`profile`]: takes CPU profiles with `perf`
//! - [`roles`]: subscribers, attempts and phases
//! - [`shared`]: sockets that devices share
//! - [`simulated`]: a load in virtual time
//! - [`sink`]: the counting target
//! - [`sweep`]: one load after the other; [`search`]: the rates of a search for the highest one
//! - [`traffic`]: what the first devices do, packet by packet
//! - [`watch`]: progress notifications
//! - [`workers`]: parts in worker processes

pub mod activities;
pub mod activity;
pub mod agents;
pub mod arrivals;
mod backlog;
mod capture_label;
mod certificate;
mod checked;
pub mod clock;
pub mod connections;
pub mod context;
pub mod coordinator;
pub mod destination;
pub mod devices;
pub mod entry;
pub mod error;
pub mod footprint;
mod generator;
pub mod identities;
pub mod keys;
pub mod link;
pub mod outcome;
mod outside;
pub mod part;
pub mod parts;
pub mod profile;
pub mod roles;
pub mod run;
mod scheme;
pub mod search;
pub mod server;
pub mod share;
pub mod shared;
pub mod simulated;
pub mod sink;
pub mod sweep;
pub mod target;
pub mod tracker;
pub mod traffic;
pub mod verdict;
pub mod watch;
mod wire;
pub mod workers;

/// A time in nanoseconds.
fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

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
