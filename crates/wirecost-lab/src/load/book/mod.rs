//! The messages of a part: which device sends them, how they end, and in which second that counts.
//!
//! ```text
//! offer -> waits for its device -> give: in flight -> sent -> acknowledged | refused | late | unknown
//!          `-- the drain ends first: failed            `-- where nothing answers that is the end: nobody knows more
//! ```
//!
//! Every message that was offered ends in exactly one outcome, whatever the target does; a message counts in the second
//! in which it was intended.

mod intervals;
mod records;

use std::time::Duration;

use wirecost_proto::Instant;

use super::figures::{Connects, Interval};
use crate::results::summary::Outcomes;
use intervals::{Intervals, record};
use records::{List, NONE, Record, Records};

/// Why a message has no answer, where nobody said it.
const NO_ANSWER: &str = "no answer";
/// Why a message was not sent, where no connection said it.
const NOT_SENT: &str = "not sent: its device could not send in time";

/// What holds for all messages of a load.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether anything answers a message.
    pub answered: bool,
    /// After this an answer is late; after twice this it is not waited for.
    pub timeout: Duration,
    /// Whether what is in flight survives the connection, because the session does.
    pub session: bool,
}

/// A message that is to be given to the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// What the protocol calls it.
    pub message: u64,
    /// Its number among the device's messages, from 0, around the end of 32 bits.
    pub number: u32,
    /// When it was intended.
    pub intended: Instant,
}

/// The messages of a part.
#[derive(Debug)]
pub struct Book {
    rules: Rules,
    records: Records,
    devices: Vec<Queue>,
    intervals: Intervals,
}

/// The messages of one device.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Intended, and not given to the protocol.
    waiting: List,
    /// Given to the protocol, and not over.
    flying: List,
    /// The first of them whose last byte has not left.
    unsent: u32,
    in_flight: u32,
    number: u32,
}

impl Book {
    /// The empty book of so many devices.
    pub fn new(rules: Rules, devices: usize) -> Self {
        let queue = Queue {
            waiting: List::EMPTY,
            flying: List::EMPTY,
            unsent: NONE,
            in_flight: 0,
            number: 0,
        };
        Self {
            rules,
            records: Records::new(),
            devices: vec![queue; devices],
            intervals: Intervals::new(),
        }
    }

    /// What holds for all messages.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A phase begins, with some time at its beginning that is in no figure.
    pub fn begin(&mut self, phase: u32, at: Instant, warm_up: Duration) {
        self.intervals.begin(phase, at, warm_up);
    }

    /// Notes a message that is intended for a device, noticed `now`. `free` says that the device takes it at once; where
    /// it does not, what the message waits from now on is not the generator's lag.
    pub fn offer(&mut self, device: usize, intended: Instant, now: Instant, free: bool) {
        let key = self.intervals.key_of(intended);
        let queue = &mut self.devices[device];
        let number = queue.number;
        queue.number = number.wrapping_add(1);
        let mut message = Record::new(device as u32, number, intended, key);
        message.held_back = !free;
        self.records.insert(message, &mut queue.waiting);
        let interval = self.intervals.of(key);
        interval.outcomes.offered += 1;
        if !free {
            record(&mut interval.schedule_lag, now.saturating_since(intended));
        }
    }

    /// The device's next message, which is the protocol's from now on.
    pub fn give(&mut self, device: usize, now: Instant) -> Option<Given> {
        let queue = &mut self.devices[device];
        let slot = queue.waiting.first()?;
        self.records
            .move_between(slot, &mut queue.waiting, &mut queue.flying);
        queue.in_flight += 1;
        if queue.unsent == NONE {
            queue.unsent = slot;
        }
        let message = self.records.at_mut(slot);
        message.given = Some(now);
        let given = Given {
            number: message.number,
            intended: message.intended,
            message: 0,
        };
        if !message.held_back {
            let interval = self.intervals.of(message.interval);
            record(&mut interval.schedule_lag, now.saturating_since(message.intended));
        }
        Some(Given {
            message: self.records.handle(slot),
            ..given
        })
    }

    /// Everything that a device was given so far has left.
    pub fn sent(&mut self, device: usize, now: Instant) {
        let mut next = std::mem::replace(&mut self.devices[device].unsent, NONE);
        while next != NONE {
            let slot = next;
            next = self.records.behind(slot).unwrap_or(NONE);
            let message = self.records.at_mut(slot);
            message.sent = Some(now);
            let key = message.interval;
            self.intervals.of(key).sent += 1;
            if !self.rules.answered {
                self.end(slot, |outcomes| &mut outcomes.unknown);
            }
        }
    }

    /// The server has a message; returns its device.
    pub fn acknowledged(&mut self, message: u64, now: Instant) -> Option<usize> {
        let slot = self.records.slot_of(message)?;
        let message = *self.records.at(slot);
        let response = now.saturating_since(message.intended);
        let interval = self.intervals.of(message.interval);
        record(&mut interval.response_time, response);
        // Whoever was answered was sent, also where the loop has not been told yet.
        let sent = message.sent.or(message.given).unwrap_or(message.intended);
        record(&mut interval.service_time, now.saturating_since(sent));
        let late = response > self.rules.timeout;
        self.sent_if_not(slot, now);
        Some(self.end(slot, move |outcomes| match late {
            false => &mut outcomes.acknowledged,
            true => &mut outcomes.late,
        }))
    }

    /// The server does not take a message; returns its device.
    pub fn refused(&mut self, message: u64, reason: &str, now: Instant) -> Option<usize> {
        let slot = self.records.slot_of(message)?;
        self.sent_if_not(slot, now);
        self.explain(slot, reason);
        Some(self.end(slot, |outcomes| &mut outcomes.refused))
    }

    /// The protocol has given a message up; returns its device.
    pub fn given_up(&mut self, message: u64) -> Option<usize> {
        let slot = self.records.slot_of(message)?;
        self.explain(slot, NO_ANSWER);
        Some(self.end(slot, |outcomes| &mut outcomes.unknown))
    }

    /// A message that was given could not be made.
    pub fn failed(&mut self, message: u64, reason: &str) {
        if let Some(slot) = self.records.slot_of(message) {
            self.explain(slot, reason);
            self.end(slot, |outcomes| &mut outcomes.failed);
        }
    }

    /// A device's connection is lost: nobody knows what became of what was in flight, unless the session lives on. What
    /// waits goes on waiting.
    pub fn lost(&mut self, device: usize, reason: &str) {
        if self.rules.session {
            return;
        }
        while let Some(slot) = self.devices[device].flying.first() {
            self.explain(slot, reason);
            self.end(slot, |outcomes| &mut outcomes.unknown);
        }
    }

    /// Gives up what was intended twice the time-out ago, and names its devices: they have room. Returns when to look
    /// again.
    pub fn expire(&mut self, now: Instant, mut has_room: impl FnMut(usize)) -> Option<Instant> {
        let patience = self.rules.timeout * 2;
        while let Some(slot) = self.records.oldest() {
            let until = self.records.at(slot).intended + patience;
            if now < until {
                return Some(until);
            }
            has_room(self.records.at(slot).device as usize);
            self.abandon(slot);
        }
        None
    }

    /// Gives up everything: the drain is over.
    pub fn abandon_all(&mut self) {
        while let Some(slot) = self.records.oldest() {
            self.abandon(slot);
        }
    }

    fn abandon(&mut self, slot: u32) {
        if self.records.at(slot).given.is_some() {
            self.explain(slot, NO_ANSWER);
            self.end(slot, |outcomes| &mut outcomes.unknown);
        } else {
            self.explain(slot, NOT_SENT);
            self.end(slot, |outcomes| &mut outcomes.failed);
        }
    }

    fn explain(&mut self, slot: u32, reason: &str) {
        let key = self.records.at(slot).interval;
        self.intervals.of(key).reason(reason);
    }

    fn sent_if_not(&mut self, slot: u32, now: Instant) {
        let message = self.records.at_mut(slot);
        if message.sent.is_none() {
            message.sent = Some(now);
            let key = message.interval;
            self.intervals.of(key).sent += 1;
        }
    }

    /// Ends a message in one outcome; returns its device.
    fn end(&mut self, slot: u32, outcome: impl FnOnce(&mut Outcomes) -> &mut u64) -> usize {
        let message = *self.records.at(slot);
        let queue = &mut self.devices[message.device as usize];
        if queue.unsent == slot {
            queue.unsent = self.records.behind(slot).unwrap_or(NONE);
        }
        if message.given.is_some() {
            queue.in_flight -= 1;
            self.records.remove(slot, &mut queue.flying);
        } else {
            self.records.remove(slot, &mut queue.waiting);
        }
        *outcome(&mut self.intervals.of(message.interval).outcomes) += 1;
        message.device as usize
    }

    /// How many of a device's messages the protocol has.
    pub fn in_flight(&self, device: usize) -> u32 {
        self.devices[device].in_flight
    }

    /// Whether a device has messages that wait for it.
    pub fn is_waiting(&self, device: usize) -> bool {
        self.devices[device].waiting.first().is_some()
    }

    /// How many messages are not over.
    pub fn outstanding(&self) -> usize {
        self.records.len()
    }

    /// What is counted of connections at a time.
    pub fn connects(&mut self, now: Instant) -> &mut Connects {
        &mut self.now(now).connects
    }

    /// The interval of a time: for what counts in the second in which it happens.
    pub fn now(&mut self, now: Instant) -> &mut Interval {
        let key = self.intervals.key_of(now);
        self.intervals.of(key)
    }

    /// The interval of what happens `now` to a message that was intended earlier, maybe in another phase.
    pub fn of_message(&mut self, intended: Instant, now: Instant) -> &mut Interval {
        let key = self.intervals.key_of_message(intended, now);
        self.intervals.of(key)
    }

    /// Counts the time of a connect that has come about.
    pub fn connected(&mut self, began: Instant, now: Instant) {
        let interval = self.now(now);
        interval.connects.established += 1;
        record(&mut interval.connect_time, now.saturating_since(began));
    }

    /// Everything counted since it was last asked.
    pub fn take(&mut self) -> impl Iterator<Item = Box<Interval>> + use<> {
        self.intervals.take()
    }
}
