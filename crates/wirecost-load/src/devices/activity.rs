//! The interface between the phases of a load and the code that all phases share.
//!
//! [`Devices`](crate::devices::population::Devices) holds the connections ([`Connections`]) and the messages ([`MessageTracker`])
//! of a part, which live through all phases. An activity lives for one phase and decides which devices to wake, what a
//! device that may send does next, and when the phase is over.

use std::ops::Range;

use wirecost_proto::Instant;
use wirecost_proto::script::Context;
use wirecost_scenario::options::load::{Backoff, Who};
use wirecost_stack::{Command, Event, MessagePool, Stamp};

use crate::devices::connections::{Connections, State};
use crate::devices::roles::subscriber::Subscribers;
use crate::devices::tracker::{Given, MessageTracker};

/// The state that an activity works on.
#[derive(Debug)]
pub struct Part {
    /// Connections.
    pub connections: Connections,
    /// Messages and counts.
    pub tracker: MessageTracker,
    /// The payloads to send.
    pub pool: MessagePool,
    /// The devices that receive.
    pub subscribers: Subscribers,
    /// The number of the part's first device among all devices.
    pub first: u32,
    /// The number of devices that send. Devices with a higher index are subscribers.
    pub senders: usize,
    /// Whether connections close without a notice from the peer: datagrams that no server answers.
    pub closes_silently: bool,
    /// Whether an answer is one datagram and senders expect nothing else.
    pub answers_in_one_datagram: bool,
    /// The start of the run's clock on CLOCK_MONOTONIC, in nanoseconds.
    pub clock_start_ns: u64,
}

impl Part {
    /// The stamp of a message: its device, its number and its intended time.
    pub fn stamp(&self, device: usize, given: &Given) -> Stamp {
        Stamp {
            device: self.first + device as u32,
            message: given.number,
            intended_ns: self.clock_start_ns.saturating_add(given.intended.as_nanos()),
        }
    }

    /// Some of the devices, by their index.
    pub fn devices(&self, who: Who) -> Range<usize> {
        match who {
            Who::All => 0..self.connections.len(),
            Who::Senders => 0..self.senders,
            Who::Subscribers => self.senders..self.connections.len(),
        }
    }

    /// Reconnects devices that lost their connections in a phase that did not reconnect them.
    pub fn bring_back(&mut self, backoff: &Backoff, now: Instant) {
        for device in 0..self.connections.len() {
            if self.connections.take_missing(device) {
                self.connections.connect_again(device, backoff, now);
            }
        }
    }

    /// The next waiting message of a device as a command; `None` if no message waits, or if the protocol holds the one
    /// before. A message that cannot be made has failed.
    pub fn send(&mut self, device: usize, kind: Kind, now: Instant) -> Option<Command> {
        // On until one can be made: a device with a message that fails would otherwise wait for an event that never comes.
        while !self.tracker.is_holding(device) {
            let given = self.tracker.give(device, now)?;
            let message = given.message;
            let stamp = self.stamp(device, &given);
            let outgoing = match kind {
                Kind::Message => self.pool.message(stamp),
                Kind::Request => self.pool.request(stamp),
            };
            match outgoing {
                Ok(outgoing) => return Some(Command::Transmit { message, outgoing }),
                Err(error) => self.tracker.failed(device, message, &error.reason.to_string()),
            }
        }
        None
    }
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The message carries a payload.
    Message,
    /// The message requests a payload (CoAP, HTTP).
    Request,
}

/// How a connection ended, or a connect failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended<'a> {
    /// The state before.
    pub state: State,
    /// The reason; `None` if the client closed it.
    pub reason: Option<&'a str>,
}

/// The behaviour of devices in one phase.
pub trait Activity: Send {
    /// The phase begins at `at`, which may be in the future.
    fn begin(&mut self, part: &mut Part, at: Instant);

    /// Does the work that is due and wakes its devices. Returns when to call again.
    fn due(&mut self, part: &mut Part, now: Instant) -> Option<Instant>;

    /// A device's connection is up. [`Activity::event`] receives the event before this call.
    fn came_up(&mut self, _part: &mut Part, _device: usize, _now: Instant) {}

    /// A device's connection has ended, or a connect has failed.
    fn went_down(&mut self, _part: &mut Part, _device: usize, _ended: Ended<'_>, _now: Instant) {}

    /// A device's endpoint has reported an event. [`Devices`](crate::devices::population::Devices) has already handled connections
    /// and answers.
    fn event(&mut self, _part: &mut Part, _device: usize, _event: &Event, _now: Instant) {}

    /// The next command of a connected device; `None` waits for an event. The loop calls again after each command.
    fn next(&mut self, _part: &mut Part, _device: usize, _context: Context) -> Option<Command> {
        None
    }

    /// Whether the phase is over. Called after [`Activity::due`].
    fn is_done(&self, part: &Part, now: Instant) -> bool;

    /// The run is ending: begins nothing new, and ends the phase at `until` at the latest.
    fn stop(&mut self, part: &mut Part, now: Instant, until: Instant);

    /// How devices reconnect after they lose their connections; `None` leaves them unconnected.
    fn keeps_up(&self) -> Option<Backoff> {
        None
    }
}
