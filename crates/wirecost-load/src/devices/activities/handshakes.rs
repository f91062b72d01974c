//! Connects, closes and connects again: handshakes per second, and the time of each.
//!
//! ```text
//! open loop:   the schedule names a device -> it connects if it is down, or else the handshake waits for it
//! closed loop: a device is down -> it connects
//! either way:  connect -> the client may send: the handshake is complete -> close -> down
//! ```
//!
//! A resumed handshake needs the ticket of an earlier connection, which an earlier phase makes.

use std::collections::VecDeque;

use std::ops::Range;
use std::time::Duration;

use wirecost_proto::bare::Transport;

use wirecost_proto::{Instant, Rng};
use wirecost_scenario::options::load::Offer;
use wirecost_stack::Event;

use crate::devices::activity::{Activity, Ended, Part};
use crate::devices::connections::{NextStep, State};
use crate::devices::roles::attempts::{Attempts, Failure};
use crate::earlier;
use crate::schedule::arrivals::{ARRIVALS_PER_TURN, Flow, NEVER};

/// How long a connection stays open after the handshake when a ticket may follow it (RFC 8446, section 4.6.1).
pub const TICKET_WAIT: Duration = Duration::from_millis(50);
/// How long a device of a closed loop waits after a failure, so that it does not connect in a tight loop to a server
/// that is down.
const REST: Duration = Duration::from_millis(100);
/// The reason of handshakes that are incomplete at the end of the phase.
const OUT_OF_TIME: &str = "no connection before the phase was over";

/// The settings of a part's handshakes.
#[derive(Clone, Debug)]
pub struct Handshaking {
    /// When handshakes are due.
    pub offer: Offer,
    /// The part's senders among all senders.
    pub devices: Range<u32>,
    /// The number of all senders.
    pub of: u32,
    /// The transport of the connections.
    pub transport: Transport,
    /// How long a connection stays open after its handshake.
    pub linger: Duration,
    /// The random numbers of the schedule.
    pub rng: Rng,
}

/// Makes handshakes.
#[derive(Debug)]
pub struct Handshakes {
    asked: Handshaking,
    flow: Flow,
    attempts: Attempts,
    /// Devices that a closed loop has not started yet.
    fresh: usize,
    /// Connections to close, the earliest first.
    lingering: VecDeque<(Instant, usize)>,
    /// Devices that wait after a failure, the earliest first.
    resting: VecDeque<(Instant, usize)>,
    /// The device that the server has just refused.
    refused: Option<usize>,
    begins: Instant,
    ends: Instant,
    /// When the phase stops waiting, once nothing more is offered.
    drained: Option<Instant>,
}

impl Handshakes {
    /// The part's share of the handshakes.
    pub fn new(asked: Handshaking) -> Self {
        Self {
            attempts: Attempts::new(asked.devices.len()),
            fresh: asked.devices.len(),
            flow: Flow::new(&asked.offer, &asked.devices, asked.of, asked.rng, None),
            asked,
            lingering: VecDeque::new(),
            resting: VecDeque::new(),
            refused: None,
            begins: Instant::START,
            ends: Instant::START,
            drained: None,
        }
    }

    /// Offers the handshakes that are due. Returns the time of the next one.
    fn offer(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        // Bounded: a generator that is behind would offer for ever, and no answer would be read.
        for _ in 0..ARRIVALS_PER_TURN {
            let (device, intended) = self.flow.next_arrival(self.begins)?;
            // Before it is due: it says how far the schedule is known, also if nothing more is offered.
            part.tracker.intend(intended);
            if now < intended {
                return Some(intended);
            }
            self.flow.advance();
            // Otherwise the handshake before is what it waits for, and not the generator.
            let free = part.connections.state(device) == State::Down && self.attempts.is_free(device);
            self.attempts
                .offer(device, intended, now, free, &mut part.tracker);
            self.begin_next(part, device, now);
        }
        Some(now)
    }

    /// Starts the next handshake of a device that is down.
    fn begin_next(&mut self, part: &mut Part, device: usize, now: Instant) {
        if part.connections.state(device) != State::Down {
            return;
        }
        if let Flow::Closed { left } = &mut self.flow
            && *left > 0
            && now < self.ends
            && self.attempts.is_free(device)
        {
            *left -= 1;
            self.attempts.offer(device, now, now, true, &mut part.tracker);
        }
        if self.attempts.begin(device, now, &mut part.tracker) {
            part.connections.request(device, NextStep::Connect);
        }
    }

    fn has_ended(&mut self, now: Instant) -> bool {
        match &mut self.flow {
            Flow::Open(schedule) => schedule.peek().is_none(),
            Flow::Closed { left } => *left == 0 || now >= self.ends,
        }
    }

    /// Closes the connections that have been open for long enough. Returns when the next one is due.
    fn close_lingering(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        while let Some((until, device)) = self.lingering.front().copied() {
            if now < until {
                return Some(until);
            }
            self.lingering.pop_front();
            if part.connections.is_up(device) {
                part.connections.request(device, NextStep::Close);
            }
        }
        None
    }

    /// Resumes the devices that have waited long enough. Returns when the next one is due.
    fn wake_resting(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        while let Some((until, device)) = self.resting.front().copied() {
            if now < until {
                return Some(until);
            }
            self.resting.pop_front();
            self.begin_next(part, device, now);
        }
        None
    }
}

/// Nothing answers the close of a datagram channel: it is complete when it is sent.
pub(super) fn complete_close(part: &mut Part, device: usize, transport: Transport, event: &Event) {
    let is_sent = matches!(event, Event::Other) && part.connections.state(device) == State::Closing;
    if is_sent && transport == Transport::Datagram {
        part.connections.abort(device, false);
    }
}

impl Activity for Handshakes {
    fn begin(&mut self, part: &mut Part, at: Instant) {
        self.begins = at;
        self.ends = self.asked.offer.duration.map_or(NEVER, |duration| at + duration);
        for device in 0..part.senders {
            if part.connections.is_up(device) {
                part.connections.request(device, NextStep::Close);
            }
        }
    }

    fn due(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        if now < self.begins {
            return Some(self.begins);
        }
        let mut next = self.offer(part, now);
        if let Flow::Closed { .. } = self.flow {
            // Only devices that are down now: the others start when they come down.
            for device in 0..std::mem::take(&mut self.fresh) {
                self.begin_next(part, device, now);
            }
        }
        next = earlier(next, self.close_lingering(part, now));
        next = earlier(next, self.wake_resting(part, now));
        if !self.has_ended(now) {
            return earlier(next, Some(self.ends));
        }
        let timeout = part.tracker.rules().timeout;
        let drained = *self.drained.get_or_insert(now + timeout);
        if now >= drained {
            self.attempts.abandon_all(OUT_OF_TIME, &mut part.tracker);
        }
        earlier(next, Some(drained))
    }

    fn came_up(&mut self, part: &mut Part, device: usize, now: Instant) {
        if device >= part.senders {
            return;
        }
        self.attempts.succeed(device, now, &mut part.tracker);
        if self.asked.linger.is_zero() {
            return part.connections.request(device, NextStep::Close);
        }
        self.lingering.push_back((now + self.asked.linger, device));
    }

    fn event(&mut self, part: &mut Part, device: usize, event: &Event, _: Instant) {
        match event {
            Event::Rejected { .. } => self.refused = Some(device),
            _ => complete_close(part, device, self.asked.transport, event),
        }
    }

    fn went_down(&mut self, part: &mut Part, device: usize, ended: Ended<'_>, now: Instant) {
        if device >= part.senders {
            return;
        }
        let failure = match self.refused.take() {
            Some(refused) if refused == device => Failure::Refused,
            _ => Failure::Failed,
        };
        let has_failed = self.attempts.fail(device, failure, &mut part.tracker);
        if has_failed && ended.reason.is_none() {
            // The connection, which was closed here, has counted no reason.
            part.tracker.now(now).reason(OUT_OF_TIME);
        }
        if has_failed && matches!(self.flow, Flow::Closed { .. }) {
            return self.resting.push_back((now + REST, device));
        }
        self.begin_next(part, device, now);
    }

    fn is_done(&self, _: &Part, now: Instant) -> bool {
        self.drained
            .is_some_and(|drained| self.attempts.outstanding() == 0 || now >= drained)
    }

    fn stop(&mut self, _: &mut Part, now: Instant, until: Instant) {
        self.flow = Flow::Closed { left: 0 };
        self.ends = self.ends.min(now);
        self.drained = Some(self.drained.map_or(until, |drained| drained.min(until)));
    }
}
