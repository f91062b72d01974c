//! What devices do in one phase: the seam between the phases of a load and what is the same in all of them.
//!
//! [`Devices`](super::devices::Devices) knows the connections ([`Connections`]) and the messages ([`MessageTracker`]) of a part; they live
//! through all phases. An activity lives for one phase and decides: whom to wake, what a device that may send does next,
//! and when the phase is over.

use std::ops::Range;

use wirecost_proto::Instant;
use wirecost_proto::script::Context;
use wirecost_scenario::options::load::{Backoff, Who};
use wirecost_stack::{Command, Event, MessagePool, Stamp};

use super::connections::{Connections, State};
use super::roles::subscriber::Subscribers;
use super::tracker::{Given, MessageTracker};

/// What an activity acts on.
#[derive(Debug)]
pub struct Part {
    /// Connections.
    pub connections: Connections,
    /// Messages and what is counted.
    pub tracker: MessageTracker,
    /// What is sent.
    pub pool: MessagePool,
    /// The devices that receive.
    pub subscribers: Subscribers,
    /// The number of the first device among all.
    pub first: u32,
    /// Devices that send: those with an index below this. Those behind are subscribers.
    pub senders: usize,
    /// Whether nothing tells that a connection is closed: datagrams that no server answers.
    pub closes_silently: bool,
    /// Whether an answer is one datagram, and senders have nothing else to expect.
    pub answers_in_one_datagram: bool,
    /// Where the run's clock began on CLOCK_MONOTONIC, in nanoseconds.
    pub clock_start_ns: u64,
}

impl Part {
    /// What says of itself which message of a device it is, and for when it was intended.
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

    /// Devices that have lost their connections in a phase that did not make them again do so now.
    pub fn bring_back(&mut self, backoff: &Backoff, now: Instant) {
        for device in 0..self.connections.len() {
            if self.connections.take_missing(device) {
                self.connections.connect_again(device, backoff, now);
            }
        }
    }

    /// The next message that waits for a device, as a command; `None` where none does, or where the protocol holds the one
    /// before. What cannot be made has failed.
    pub fn send(&mut self, device: usize, kind: Kind, now: Instant) -> Option<Command> {
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
                Err(error) => self.tracker.failed(device, message, &error.reason),
            }
        }
        None
    }
}

/// What a message is to its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It carries a payload.
    Message,
    /// It asks for one (CoAP, HTTP).
    Request,
}

/// How a connection ended, or a connect failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended<'a> {
    /// What it was before.
    pub state: State,
    /// Why; `None` where the client had asked for it.
    pub reason: Option<&'a str>,
}

/// What devices do in one phase.
pub trait Activity: Send {
    /// The phase begins at `at`, which lies ahead.
    fn begin(&mut self, part: &mut Part, at: Instant);

    /// Does what is due and wakes whom it concerns; returns when to ask again.
    fn due(&mut self, part: &mut Part, now: Instant) -> Option<Instant>;

    /// A device's connection has come up. Before that, its endpoint's event is seen by [`Activity::event`].
    fn came_up(&mut self, _part: &mut Part, _device: usize, _now: Instant) {}

    /// A device's connection has ended, or did not come about.
    fn went_down(&mut self, _part: &mut Part, _device: usize, _ended: Ended<'_>, _now: Instant) {}

    /// A device's endpoint has reported something. Connections and answers are already taken care of.
    fn event(&mut self, _part: &mut Part, _device: usize, _event: &Event, _now: Instant) {}

    /// The next command of a connected device; `None` waits for an event. The loop asks again after each command.
    fn next(&mut self, _part: &mut Part, _device: usize, _context: Context) -> Option<Command> {
        None
    }

    /// Whether the phase is over. Asked after [`Activity::due`].
    fn is_done(&self, part: &Part, now: Instant) -> bool;

    /// The run is to end: nothing new begins from now on, and the phase is over at `until` at the latest.
    fn stop(&mut self, part: &mut Part, now: Instant, until: Instant);

    /// How devices reconnect after they lose their connections; `None` leaves them unconnected.
    fn keeps_up(&self) -> Option<Backoff> {
        None
    }
}
