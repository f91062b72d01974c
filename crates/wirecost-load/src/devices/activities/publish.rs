//! Sends messages: an open loop sends at intended times whatever happens to earlier messages, a closed loop sends the
//! next one when an earlier one is over.
//!
//! ```text
//! open loop:   the schedule names a device -> the message waits until the device can take it -> given, sent, over
//! closed loop: a device has room -> the message is intended now -> given, sent, over -> the device has room
//! per message: a device that is down has a message -> connect -> given, sent, over -> close -> down
//! forgotten:   a device whose server knows it by its port has a message after a silence -> new session -> given, sent, over
//! drain:       nothing more is offered; over when no message is outstanding, or after the time-out
//! ```

use std::ops::Range;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::script::Context;
use wirecost_proto::{Instant, Rng};
use wirecost_scenario::expected::Matching;
use wirecost_scenario::options::load::trace::Trace;
use wirecost_scenario::options::load::{Backoff, Offer};
use wirecost_stack::{Command, Event};

use super::handshakes::complete_close;
use crate::devices::activity::{Activity, Ended, Kind, Part};
use crate::devices::connections::{NextStep, State};
use crate::schedule::arrivals::{ARRIVALS_PER_TURN, Flow, NEVER};

/// The settings of a publishing phase.
#[derive(Clone, Debug)]
pub struct Publishing {
    /// When messages are intended.
    pub offer: Offer,
    /// The part's senders among all senders.
    pub devices: Range<u32>,
    /// The number of all senders.
    pub of: u32,
    /// The most messages of a device that the protocol has at a time.
    pub inflight: u32,
    /// How devices reconnect.
    pub backoff: Backoff,
    /// Whether each message has a connection of its own.
    pub per_message: bool,
    /// After which silence the server does not know a device any more, by what the device knows of its address translator; `None`:
    /// never.
    pub forgotten_after: Option<Duration>,
    /// The transport of the connections.
    pub transport: Transport,
    /// What a message is: a payload or a request for one.
    pub kind: Kind,
    /// The trace of the first of all devices, if it has one.
    pub trace: Option<Trace>,
    /// How many subscriptions the messages of each sender match.
    pub matching: Matching,
    /// The random numbers of the schedule.
    pub rng: Rng,
}

/// Sends messages.
#[derive(Debug)]
pub struct Publish {
    asked: Publishing,
    flow: Flow,
    begins: Instant,
    has_begun: bool,
    /// The end of the offer. [`NEVER`] until it is known, if a count ends it.
    ends: Instant,
    /// When the phase stops waiting for answers.
    drained: Instant,
    /// Devices whose connection has carried its only message.
    spent: Vec<bool>,
    /// Devices that make a new session for their next message; none where no server forgets a device.
    renewing: Vec<bool>,
}

impl Publish {
    /// The part's share of a publishing phase.
    pub fn new(asked: Publishing) -> Self {
        Self {
            flow: Flow::new(
                &asked.offer,
                &asked.devices,
                asked.of,
                asked.rng,
                asked.trace.as_ref(),
            ),
            spent: vec![false; if asked.per_message { asked.devices.len() } else { 0 }],
            renewing: vec![false; asked.forgotten_after.map_or(0, |_| asked.devices.len())],
            asked,
            begins: Instant::START,
            has_begun: false,
            ends: Instant::START,
            drained: Instant::START,
        }
    }

    /// Whether a device takes a message at once. One that connects for it does not: the connect is no lag of the generator.
    fn is_free(&self, part: &Part, device: usize) -> bool {
        let is_there = !self.asked.per_message && part.connections.is_up(device);
        is_there && self.takes_more(part, device) && !part.tracker.is_waiting(device)
    }

    /// Whether a device's protocol takes another message.
    fn takes_more(&self, part: &Part, device: usize) -> bool {
        part.tracker.in_flight(device) < self.asked.inflight && !part.tracker.is_holding(device)
    }

    /// Wakes a device that has a message. If each message has a connection, a device that is down connects for it.
    fn wake(&mut self, part: &mut Part, device: usize, now: Instant) {
        if !self.asked.per_message {
            if part.connections.is_up(device) {
                part.connections.wake(device);
            }
        } else if part.connections.state(device) == State::Down {
            self.offer_if_closed(part, device, now);
            if part.tracker.is_waiting(device) {
                part.connections.request(device, NextStep::Connect);
            }
        }
    }

    /// In a closed loop, intends the next message of a device that has room, unless one waits for it already.
    fn offer_if_closed(&mut self, part: &mut Part, device: usize, now: Instant) {
        if let Flow::Closed { left } = &mut self.flow
            && *left > 0
            && (self.begins..self.ends).contains(&now)
            && !part.tracker.is_waiting(device)
        {
            *left -= 1;
            part.tracker.offer(device, now, now, !self.asked.per_message);
        }
    }

    /// Whether the server does not know a device any more.
    fn is_forgotten(&self, context: Context) -> bool {
        let silence = context.now.saturating_since(context.link_busy_until);
        self.asked.forgotten_after.is_some_and(|after| silence >= after)
    }

    /// Has a device make a new session before it sends, if its server does not know it any more. What a device sends otherwise goes
    /// nowhere, as often as its protocol repeats it. A message that a new session was made for leaves on it.
    fn renews(&mut self, part: &mut Part, device: usize, context: Context) -> bool {
        if self.asked.forgotten_after.is_none() {
            return false;
        }
        let is_forgotten = self.is_forgotten(context);
        if is_forgotten && self.takes_more(part, device) {
            self.offer_if_closed(part, device, context.now);
        }
        // The message that a new session was made for may have been given up meanwhile.
        self.renewing[device] &= part.tracker.is_waiting(device);
        if !is_forgotten || self.renewing[device] || !part.tracker.is_waiting(device) {
            return false;
        }
        self.renewing[device] = true;
        part.tracker.hold_back(device, context.now);
        part.connections.request(device, NextStep::Renew);
        true
    }

    /// Whether the offer is over.
    fn has_ended(&mut self, now: Instant) -> bool {
        match &mut self.flow {
            // A phase with a count does not wait for the rest of its duration.
            Flow::Open(schedule) => {
                schedule.peek().is_none() && (self.asked.offer.count.is_some() || now >= self.ends)
            }
            Flow::Closed { left } => *left == 0 || now >= self.ends,
        }
    }

    /// Ends the offer. Outstanding messages have the time-out from now on.
    fn end(&mut self, part: &Part, now: Instant) {
        if self.drained == NEVER {
            self.ends = self.ends.min(now);
            self.drained = now + part.tracker.rules().timeout;
        }
    }
}

impl Activity for Publish {
    fn begin(&mut self, part: &mut Part, at: Instant) {
        self.begins = at;
        part.tracker.expect_deliveries(self.asked.matching.clone());
        self.ends = self.asked.offer.duration.map_or(NEVER, |duration| at + duration);
        self.drained = NEVER;
        if self.asked.per_message {
            for device in 0..part.senders {
                if part.connections.is_up(device) {
                    part.connections.request(device, NextStep::Close);
                }
            }
        }
    }

    fn due(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        if now < self.begins {
            return Some(self.begins);
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            if !self.asked.per_message {
                part.bring_back(&self.asked.backoff, now);
            }
            // Messages left over from an earlier phase wait for their device, and in a closed loop every device has
            // room.
            (0..part.senders).for_each(|device| self.wake(part, device, now));
        }
        for _ in 0..ARRIVALS_PER_TURN {
            let Some((device, intended)) = self.flow.next_arrival(self.begins) else {
                break;
            };
            part.tracker.intend(intended);
            if now < intended {
                return Some(intended);
            }
            self.flow.advance();
            let free = self.is_free(part, device);
            part.tracker.offer(device, intended, now, free);
            self.wake(part, device, now);
        }
        if !self.has_ended(now) {
            let next = self.flow.next_arrival(self.begins);
            return Some(next.map_or(self.ends, |(_, at)| at));
        }
        self.end(part, now);
        if now >= self.drained {
            part.tracker.abandon_all();
        }
        Some(self.drained)
    }

    fn next(&mut self, part: &mut Part, device: usize, context: Context) -> Option<Command> {
        if device >= part.senders || self.renews(part, device, context) || !self.takes_more(part, device) {
            return None;
        }
        if !self.asked.per_message {
            self.offer_if_closed(part, device, context.now);
            let command = part.send(device, self.asked.kind, context.now);
            if let (Some(_), Some(renewing)) = (&command, self.renewing.get_mut(device)) {
                // Only once it sends: until then it may be asked again, and would renew twice.
                *renewing = false;
            }
            return command;
        }
        if self.spent[device] {
            if part.tracker.in_flight(device) == 0 {
                part.connections.request(device, NextStep::Close);
            }
            return None;
        }
        let command = part.send(device, self.asked.kind, context.now);
        self.spent[device] = command.is_some();
        command
    }

    fn event(&mut self, part: &mut Part, device: usize, event: &Event, _: Instant) {
        if self.asked.per_message && device < part.senders {
            complete_close(part, device, self.asked.transport, event);
        }
    }

    fn went_down(&mut self, part: &mut Part, device: usize, ended: Ended<'_>, now: Instant) {
        if !self.asked.per_message || device >= part.senders {
            return;
        }
        self.spent[device] = false;
        if ended.state == State::Closing || ended.reason.is_none() {
            return self.wake(part, device, now);
        }
        self.offer_if_closed(part, device, now);
        if part.tracker.is_waiting(device) {
            part.connections.connect_again(device, &self.asked.backoff, now);
        }
    }

    fn is_done(&self, part: &Part, now: Instant) -> bool {
        self.drained != NEVER && (part.tracker.outstanding() == 0 || now >= self.drained)
    }

    fn stop(&mut self, part: &mut Part, now: Instant, until: Instant) {
        self.flow = Flow::Closed { left: 0 };
        self.end(part, now);
        self.drained = self.drained.min(until);
    }

    fn keeps_up(&self) -> Option<Backoff> {
        (!self.asked.per_message).then_some(self.asked.backoff)
    }
}
