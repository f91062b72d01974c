//! Many devices against one target, live or in virtual time: an open loop, honest numbers.
//!
//! ```text
//! LoadOptions -> parts, each a range of devices: loops in this process, or worker processes with loops
//!     loop: devices' endpoints + director (schedule, outcomes)  -> Interval of each second
//!     coordinator: adds the intervals up, starts the phases, watches target and generator -> LoadSummary
//! ```
//!
//! - [`run`](mod@run): a load from what is asked for to its figures; [`entry`]: those, as results have them; [`verdict`]:
//!   whether they may be used
//! - [`clock`]: the machine's time, or virtual time
//! - `checked`: whether it has left anything to tell
//! - [`context`]: what belongs to a load beside what is asked for; [`outcome`]: what it has come to; [`error`]: why it has come
//!   to nothing
//! - [`coordinator`]: a load from its first phase to its last, over [`parts`]
//! - [`share`]: what a part is given, and its loop built from that; [`part`]: what it hears and says
//! - [`server`]: the target, started or found; [`destination`]: where it is, and why that is trusted; [`target`]: what is
//!   known of it meanwhile
//! - [`devices`]: what the devices of a loop do next: [`connections`] their connections, [`tracker`] their messages
//! - [`activity`]: what they do in one phase; [`activities`]: connect, publish, hold, close
//! - [`arrivals`]: when messages are intended
//! - `backlog`: what comes too late to have been carried
//! - [`link`]: the emulated link between devices and a target that was started; [`keys`]: what opens its packets
//! - [`profile`]: takes CPU profiles with `perf`
//! - [`roles`]: what devices are and do beside sending messages
//! - [`shared`]: sockets that devices share
//! - [`simulated`]: a load in virtual time
//! - [`sink`]: the counting target
//! - [`sweep`]: one load after the other
//! - [`watch`]: progress notifications
//! - [`workers`]: parts in processes of their own

pub mod activities;
pub mod activity;
pub mod arrivals;
mod backlog;
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
pub mod keys;
pub mod link;
pub mod outcome;
pub mod part;
pub mod parts;
pub mod profile;
pub mod roles;
pub mod run;
mod scheme;
pub mod server;
pub mod share;
pub mod shared;
pub mod simulated;
pub mod sink;
pub mod sweep;
pub mod target;
pub mod tracker;
pub mod verdict;
pub mod watch;
pub mod workers;

/// A time in nanoseconds.
fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The earlier of two times, if there is one.
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
