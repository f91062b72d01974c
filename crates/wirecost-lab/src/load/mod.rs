//! Many devices against one target, live: an open loop, honest numbers.
//!
//! ```text
//! LoadOptions -> parts, each a range of devices: loops in this process, or worker processes with loops
//!     loop: devices' endpoints + director (schedule, outcomes)  -> Interval of each second
//!     coordinator: adds the intervals up, starts the phases, watches target and generator -> LoadSummary
//! ```
//!
//! - [`options`]: what is asked for; [`valid`]: what cannot be; [`consent`]: what may harm others; [`phase`]: what follows from
//!   a phase of it
//! - [`run`](mod@run): a load from what is asked for to its figures; [`entry`]: those, as results have them; [`verdict`]:
//!   whether they may be used
//! - [`coordinator`]: a load from its first phase to its last, over [`parts`]
//! - [`share`]: what a part is given, and its loop built from that; [`part`]: what it hears and says
//! - [`server`]: the target, started or found; [`destination`]: where it is, and why that is trusted; [`target`]: what is
//!   known of it meanwhile
//! - [`devices`]: what the devices of a loop do next: [`fleet`] their connections, [`book`] their messages
//! - [`activity`]: what they do in one phase; [`activities`]: connect, publish, hold, close
//! - [`arrivals`]: when messages are intended
//! - [`figures`]: what is counted, second by second, in a form that adds up; `backlog`: what of it comes too late to have been
//!   carried
//! - [`link`]: the emulated link between devices and a target that was started; [`keys`]: what opens its packets
//! - [`metrics`]: what was counted, for Prometheus
//! - [`profile`]: CPU profiles as folded stacks
//! - [`roles`]: what devices are and do beside sending messages
//! - [`shared`]: sockets that devices share
//! - [`sink`]: the counting target
//! - [`store`]: loads in their results folder; [`sweep`]: one after the other; [`identity`]: what tells them apart
//! - [`watch`]: what whoever watches is told while it runs
//! - [`workers`]: parts in processes of their own

pub mod activities;
pub mod activity;
pub mod arrivals;
mod backlog;
pub mod book;
mod certificate;
pub mod consent;
pub mod coordinator;
pub mod destination;
pub mod devices;
pub mod entry;
pub mod figures;
pub mod fleet;
pub mod identity;
pub mod keys;
pub mod link;
pub mod metrics;
pub mod options;
pub mod part;
pub mod parts;
pub mod phase;
pub mod profile;
pub mod roles;
pub mod run;
mod scheme;
pub mod server;
pub mod share;
pub mod shared;
pub mod sink;
pub mod store;
pub mod sweep;
pub mod target;
pub mod valid;
pub mod verdict;
pub mod watch;
pub mod workers;

/// A time in nanoseconds.
fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
