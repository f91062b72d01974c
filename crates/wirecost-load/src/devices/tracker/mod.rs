//! The messages of a part: which device sends them, how they end, and in which second they count.
//!
//! ```text
//! offer -> waits for its device -> give: held by the protocol -> handed out -> sent -> acknowledged | refused | late | unknown
//!          `-- the drain ends first: failed ----'                               `-- without answers, this is the end
//! ```
//!
//! A protocol holds a message that has to wait for credit, for the server's receive maximum, for its turn under NSTART
//! or for a stream. Every offered message ends in exactly one outcome, whatever the target does. It counts in the
//! second in which it was intended.

mod counts;
mod intervals;
mod records;

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_results::figures::{IntervalKey, record};
use wirecost_results::summary::Outcomes;
use wirecost_scenario::expected::Matching;

use intervals::Intervals;
use records::{List, Record, Records, Stage};

/// No message.
const NOTHING: u64 = u64::MAX;
/// The reason of a message without an answer, if no other reason is known.
const NO_ANSWER: &str = "no answer";
/// The reason of an unsent message, if the connection gave none.
const NOT_SENT: &str = "not sent: its device could not send in time";

/// The reason of a message that was not accepted.
const TOO_MANY: &str = "not sent: 4,194,304 messages of its loop waited already";
/// The most messages of a loop that are not over: 300 MB of records, and more than a minute's messages at 50,000/s.
const MOST_OUTSTANDING: usize = 4_194_304;

/// The rules for all messages of a load.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether anything answers a message.
    pub answered: bool,
    /// An answer after this time is late. After twice this time the device stops waiting.
    pub timeout: Duration,
    /// Whether outstanding messages survive the connection, because the session does.
    pub session: bool,
    /// Whether the client and the server exchange packets before the client may send. If not, a connect takes no
    /// measurable time.
    pub connects: bool,
}

/// The length of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The time at its beginning that counts in no figure.
    pub warm_up: Duration,
    /// How long messages are offered, including the warm-up; `None` if the count of a closed loop ends the offer.
    pub offered: Option<Duration>,
}

/// A message to give to the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The protocol's handle of it.
    pub message: u64,
    /// Its number among the device's messages, from 0, wrapping at 32 bits.
    pub number: u32,
    /// Its intended time.
    pub intended: Instant,
}

/// The messages of a part.
#[derive(Debug)]
pub struct MessageTracker {
    rules: Rules,
    records: Records,
    devices: Vec<Queue>,
    intervals: Intervals,
    /// How many subscriptions a message of each sender matches from now on.
    matching: Matching,
    most_outstanding: usize,
}

/// The messages of one device.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Intended, and not given to the protocol.
    waiting: List,
    /// Handed out by the protocol, and not sent.
    leaving: List,
    /// Sent, and not over.
    sent: List,
    /// The last message given to the protocol, until it hands it out or gives it up. It may be over here.
    holding: u64,
    /// How many messages the protocol has: held, leaving or sent.
    in_flight: u32,
    number: u32,
}

impl Queue {
    /// The list of messages at a stage. Held messages have no list.
    const fn list(&mut self, stage: Stage) -> Option<&mut List> {
        match stage {
            Stage::Waiting => Some(&mut self.waiting),
            Stage::Held => None,
            Stage::Leaving(_) => Some(&mut self.leaving),
            Stage::Sent(_) => Some(&mut self.sent),
        }
    }
}

impl MessageTracker {
    /// A tracker of `devices` without messages.
    pub fn new(rules: Rules, devices: usize) -> Self {
        let queue = Queue {
            waiting: List::EMPTY,
            leaving: List::EMPTY,
            sent: List::EMPTY,
            holding: NOTHING,
            in_flight: 0,
            number: 0,
        };
        Self {
            rules,
            records: Records::new(),
            devices: vec![queue; devices],
            intervals: Intervals::new(),
            matching: Matching::Same(0),
            most_outstanding: MOST_OUTSTANDING,
        }
    }

    /// The rules for all messages.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Begins a phase.
    pub fn begin(&mut self, phase: u32, at: Instant, span: Span) {
        self.intervals.begin(phase, at, span);
    }

    /// Notes that the schedule of the phase names a message for a time, which may lie ahead.
    pub fn intend(&mut self, at: Instant) {
        self.intervals.intend(at);
    }

    /// The intended time of the last message that the schedule of the phase has named so far.
    pub const fn intended_until(&self) -> Instant {
        self.intervals.intended_until()
    }

    /// Sets how many subscriptions each message matches from now on.
    pub fn expect_deliveries(&mut self, matching: Matching) {
        self.matching = matching;
    }

    /// Adds a message that is intended for a device and noticed `now`. `free` means that the device takes it at once;
    /// if not, its wait from now on is not the generator's lag. If too many messages are outstanding, it fails.
    pub fn offer(&mut self, device: usize, intended: Instant, now: Instant, free: bool) {
        let key = self.intervals.key_of(intended);
        // A server that answers nothing would otherwise fill the memory, and the kernel would end the run without figures.
        if self.records.len() >= self.most_outstanding {
            let interval = self.intervals.interval(key);
            interval.outcomes.offered += 1;
            interval.outcomes.failed += 1;
            return interval.reason(TOO_MANY);
        }
        let queue = &mut self.devices[device];
        let number = queue.number;
        // Numbers of a device may wrap in a long load; the receiver compares them by serial number arithmetic.
        queue.number = number.wrapping_add(1);
        let mut message = Record::new(device as u32, number, intended, key);
        // The wait for a device that is busy is the server's or the connection's doing, not the generator's.
        message.held_back = !free;
        self.records.insert(message, &mut queue.waiting);
        let interval = self.intervals.interval(key);
        interval.outcomes.offered += 1;
        if !free {
            record(&mut interval.schedule_lag, now.saturating_since(intended));
        }
    }

    /// The device's next message waits for a new session: its wait from now on is not the generator's lag.
    pub fn hold_back(&mut self, device: usize, now: Instant) {
        let Some(slot) = self.devices[device].waiting.first() else {
            return;
        };
        let message = self.records.at_mut(slot);
        if !std::mem::replace(&mut message.held_back, true) {
            let (key, lag) = (message.interval, now.saturating_since(message.intended));
            record(&mut self.intervals.interval(key).schedule_lag, lag);
        }
    }

    /// Takes the device's next message for the protocol.
    pub fn give(&mut self, device: usize, now: Instant) -> Option<Given> {
        let slot = self.devices[device].waiting.first()?;
        self.go(slot, Stage::Held);
        self.devices[device].in_flight += 1;
        let message = self.records.at(slot);
        let given = Given {
            number: message.number,
            intended: message.intended,
            message: 0,
        };
        // Its wait was that for a busy device, which is no lateness of the generator.
        if !message.held_back {
            let interval = self.intervals.interval(message.interval);
            record(&mut interval.schedule_lag, now.saturating_since(message.intended));
        }
        let message = self.records.handle(slot);
        self.devices[device].holding = message;
        Some(Given { message, ..given })
    }

    /// The protocol has handed out the last byte of a message.
    pub fn handed_out(&mut self, device: usize, message: u64, now: Instant) {
        self.let_go(device, message);
        match self.records.slot_of(message) {
            Some(slot) => self.go(slot, Stage::Leaving(now)),
            // The message was given up while the protocol held it, and has left all the same.
            None => {
                let key = self.intervals.key_of(now);
                self.count_left(device, key, now, now);
            }
        }
    }

    /// Everything that a device has handed out so far has left. Returns whether this ended a message.
    pub fn sent(&mut self, device: usize, now: Instant) -> bool {
        let mut has_ended = false;
        while let Some(slot) = self.devices[device].leaving.first() {
            self.count_sent(slot, now);
            if !self.rules.answered {
                self.end(slot, |outcomes| &mut outcomes.unknown);
                has_ended = true;
            }
        }
        has_ended
    }

    /// Notes that the protocol no longer holds a message.
    fn let_go(&mut self, device: usize, message: u64) {
        let holding = &mut self.devices[device].holding;
        if *holding == message {
            *holding = NOTHING;
        }
    }

    /// The server has acknowledged or answered a message of a device.
    pub fn acknowledged(&mut self, device: usize, message: u64, now: Instant) {
        self.let_go(device, message);
        let Some(slot) = self.records.slot_of(message) else {
            return;
        };
        // An answered message was sent, even if the loop has not reported that yet.
        let sent = match self.records.at(slot).stage {
            Stage::Sent(at) => at,
            Stage::Leaving(at) => self.count_sent(slot, at),
            Stage::Waiting | Stage::Held => self.count_sent(slot, now),
        };
        let message = *self.records.at(slot);
        let response = now.saturating_since(message.intended);
        let interval = self.intervals.interval(message.interval);
        record(&mut interval.response_time, response);
        record(&mut interval.service_time, now.saturating_since(sent));
        // Response time runs from the intended send, so that a late generator or a full queue cannot make a message look timely.
        let late = response > self.rules.timeout;
        let behind = self.intervals.is_behind(message.intended, now);
        self.intervals.interval(message.interval).worked_off += u64::from(behind && !late);
        if !late {
            let key = self.intervals.key_of_acknowledgement(message.intended, now);
            *self
                .intervals
                .interval(key)
                .acknowledged_then
                .get_or_insert_default() += 1;
        }
        self.end(slot, move |outcomes| match late {
            false => &mut outcomes.acknowledged,
            true => &mut outcomes.late,
        });
    }

    /// The server has refused a message of a device, or the protocol has refused to send it.
    pub fn refused(&mut self, device: usize, message: u64, reason: &str) {
        self.let_go(device, message);
        let Some(slot) = self.records.slot_of(message) else {
            return;
        };
        if let Stage::Leaving(at) = self.records.at(slot).stage {
            self.count_sent(slot, at);
        }
        self.explain(slot, reason);
        self.end(slot, |outcomes| &mut outcomes.refused);
    }

    /// The protocol has given up a message of a device.
    pub fn given_up(&mut self, device: usize, message: u64) {
        self.let_go(device, message);
        if let Some(slot) = self.records.slot_of(message) {
            self.abandon(slot);
        }
    }

    /// A message of a device could not be encoded.
    pub fn failed(&mut self, device: usize, message: u64, reason: &str) {
        self.let_go(device, message);
        if let Some(slot) = self.records.slot_of(message) {
            self.explain(slot, reason);
            self.end(slot, |outcomes| &mut outcomes.failed);
        }
    }

    /// A device has lost its connection: the outcome of its sent messages is unknown, unless the session goes on.
    /// Waiting messages keep waiting. The protocol sends the messages that it holds on the next connection, or gives
    /// them up.
    pub fn lost(&mut self, device: usize, reason: &str) {
        if self.rules.session {
            return;
        }
        let of = |queue: &Queue| queue.sent.first().or(queue.leaving.first());
        while let Some(slot) = of(&self.devices[device]) {
            self.explain(slot, reason);
            self.end(slot, |outcomes| &mut outcomes.unknown);
        }
    }

    /// Gives up messages that were intended twice the time-out ago, and reports their devices, which have room. Returns
    /// when to call again.
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

    /// Gives up all messages at the end of the drain.
    pub fn abandon_all(&mut self) {
        while let Some(slot) = self.records.oldest() {
            self.abandon(slot);
        }
    }

    /// Stops waiting for an answer to a message.
    fn abandon(&mut self, slot: u32) {
        match self.records.at(slot).stage {
            Stage::Waiting | Stage::Held => {
                self.explain(slot, NOT_SENT);
                self.end(slot, |outcomes| &mut outcomes.failed)
            }
            Stage::Leaving(_) | Stage::Sent(_) => {
                self.explain(slot, NO_ANSWER);
                self.end(slot, |outcomes| &mut outcomes.unknown)
            }
        }
    }

    fn explain(&mut self, slot: u32, reason: &str) {
        let key = self.records.at(slot).interval;
        self.intervals.interval(key).reason(reason);
    }

    /// Counts a message as sent at `at`, which it returns.
    fn count_sent(&mut self, slot: u32, at: Instant) -> Instant {
        self.go(slot, Stage::Sent(at));
        let message = *self.records.at(slot);
        self.count_left(message.device as usize, message.interval, message.intended, at);
        at
    }

    /// Counts a message of the interval `key` as sent at a time, with its expected deliveries.
    fn count_left(&mut self, device: usize, key: IntervalKey, intended: Instant, at: Instant) {
        let times = self.matching.of_device(device);
        let interval = self.intervals.interval(key);
        interval.sent += 1;
        if times > 0 {
            interval.awaited += 1;
            self.of_message(intended, at).deliveries.expected += u64::from(times);
        }
    }

    fn go(&mut self, slot: u32, stage: Stage) {
        let message = self.records.at_mut(slot);
        let before = std::mem::replace(&mut message.stage, stage);
        let queue = &mut self.devices[message.device as usize];
        if let Some(list) = queue.list(before) {
            self.records.leave(slot, list);
        }
        if let Some(list) = queue.list(stage) {
            self.records.join(slot, list);
        }
    }

    /// Ends a message in one outcome.
    fn end(&mut self, slot: u32, outcome: impl FnOnce(&mut Outcomes) -> &mut u64) {
        let message = *self.records.at(slot);
        let queue = &mut self.devices[message.device as usize];
        queue.in_flight -= u32::from(message.stage != Stage::Waiting);
        if let Some(list) = queue.list(message.stage) {
            self.records.leave(slot, list);
        }
        self.records.remove(slot);
        *outcome(&mut self.intervals.interval(message.interval).outcomes) += 1;
    }

    /// How many of a device's messages the protocol has.
    pub fn in_flight(&self, device: usize) -> u32 {
        self.devices[device].in_flight
    }

    /// Whether the protocol holds a message of a device. It takes another one when that one is handed out.
    pub fn is_holding(&self, device: usize) -> bool {
        self.devices[device].holding != NOTHING
    }

    /// Whether a device has waiting messages.
    pub fn is_waiting(&self, device: usize) -> bool {
        self.devices[device].waiting.first().is_some()
    }

    /// The number of messages that are not over.
    pub fn outstanding(&self) -> usize {
        self.records.len()
    }
}

#[cfg(test)]
mod tests;
