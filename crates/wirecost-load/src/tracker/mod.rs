//! The messages of a part: which device sends them, how they end, and in which second that counts.
//!
//! ```text
//! offer -> waits for its device -> give: held by the protocol -> handed out -> sent -> acknowledged | refused | late | unknown
//!          `-- the drain ends first: failed ----'                               `-- where nothing answers that is the end
//! ```
//!
//! A protocol holds a message that has to wait for credit, for the server's receive maximum, for its turn under NSTART or
//! for a stream. Every message that was offered ends in exactly one outcome, whatever the target does; a message counts in the second
//! in which it was intended.

mod counts;
mod intervals;
mod records;

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_results::figures::record;
use wirecost_results::summary::Outcomes;
use wirecost_scenario::expected::Matching;

use intervals::Intervals;
use records::{List, Record, Records, Stage};

/// No message.
const NOTHING: u64 = u64::MAX;
/// Why a message has no answer, where no reason was given.
const NO_ANSWER: &str = "no answer";
/// Why a message was not sent, where no connection said it.
const NOT_SENT: &str = "not sent: its device could not send in time";

/// Why a message was not taken on.
const TOO_MANY: &str = "not sent: 4,194,304 messages of its loop waited already";
/// The most messages of a loop that are not over: 300 MB of records, and at 50,000 messages/s more than a minute's.
const MOST_OUTSTANDING: usize = 4_194_304;

/// What holds for all messages of a load.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether anything answers a message.
    pub answered: bool,
    /// An answer after this time is late; after twice this time the device stops waiting.
    pub timeout: Duration,
    /// Whether what is in flight survives the connection, because the session does.
    pub session: bool,
    /// Whether anything is exchanged before the client may send: where nothing is, a connect takes no time that could be measured.
    pub connects: bool,
}

/// How long a phase is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Time at its beginning that is in no figure.
    pub warm_up: Duration,
    /// How long to offer messages, the warm-up among it; `None` where a count of a closed loop ends that.
    pub offered: Option<Duration>,
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
pub struct MessageTracker {
    rules: Rules,
    records: Records,
    devices: Vec<Queue>,
    intervals: Intervals,
    /// How often a message of each sender that is sent now is to arrive at subscribers.
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
    /// What the protocol was given last and has neither handed out nor given up; it may be over here.
    holding: u64,
    /// How many the protocol has, held, leaving or sent.
    in_flight: u32,
    number: u32,
}

impl Queue {
    /// The messages at a stage, without those that are held.
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

    /// What holds for all messages.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A phase begins.
    pub fn begin(&mut self, phase: u32, at: Instant, span: Span) {
        self.intervals.begin(phase, at, span);
    }

    /// The schedule of the phase names a message for a time, which may lie ahead.
    pub fn intend(&mut self, at: Instant) {
        self.intervals.intend(at);
    }

    /// When the last message of the phase is intended that its schedule has named so far.
    pub const fn intended_until(&self) -> Instant {
        self.intervals.intended_until()
    }

    /// From now on, each message that is sent is to arrive so often at subscribers.
    pub fn expect_deliveries(&mut self, matching: Matching) {
        self.matching = matching;
    }

    /// Notes a message that is intended for a device, noticed `now`. `free` says that the device takes it at once; where
    /// it does not, what the message waits from now on is not the generator's lag. Where too many are not over, it fails.
    pub fn offer(&mut self, device: usize, intended: Instant, now: Instant, free: bool) {
        let key = self.intervals.key_of(intended);
        if self.records.len() >= self.most_outstanding {
            let interval = self.intervals.of(key);
            interval.outcomes.offered += 1;
            interval.outcomes.failed += 1;
            return interval.reason(TOO_MANY);
        }
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
        let slot = self.devices[device].waiting.first()?;
        self.go(slot, Stage::Held);
        self.devices[device].in_flight += 1;
        let message = self.records.at(slot);
        let given = Given {
            number: message.number,
            intended: message.intended,
            message: 0,
        };
        if !message.held_back {
            let interval = self.intervals.of(message.interval);
            record(&mut interval.schedule_lag, now.saturating_since(message.intended));
        }
        let message = self.records.handle(slot);
        self.devices[device].holding = message;
        Some(Given { message, ..given })
    }

    /// The protocol has handed the last byte of a message out.
    pub fn handed_out(&mut self, device: usize, message: u64, now: Instant) {
        self.let_go(device, message);
        match self.records.slot_of(message) {
            Some(slot) => self.go(slot, Stage::Leaving(now)),
            // It was given up while the protocol held it, and has left all the same.
            None => {
                let key = self.intervals.key_of(now);
                self.count_left(device, key, now, now);
            }
        }
    }

    /// Everything that a device has handed out so far has left; whether that has ended any of it.
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

    /// The protocol has nothing to do with a message any more that it may have held.
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
        // A message that was answered was sent, also where the loop has not said so yet.
        let sent = match self.records.at(slot).stage {
            Stage::Sent(at) => at,
            Stage::Leaving(at) => self.count_sent(slot, at),
            Stage::Waiting | Stage::Held => self.count_sent(slot, now),
        };
        let message = *self.records.at(slot);
        let response = now.saturating_since(message.intended);
        let interval = self.intervals.of(message.interval);
        record(&mut interval.response_time, response);
        record(&mut interval.service_time, now.saturating_since(sent));
        let late = response > self.rules.timeout;
        let behind = self.intervals.is_behind(message.intended, now);
        self.intervals.of(message.interval).worked_off += u64::from(behind && !late);
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

    /// A device's connection is lost: it is not known what became of what was sent, unless the session goes on. What waits
    /// goes on waiting, and what the protocol holds is sent on the next connection, or the protocol gives it up.
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

    /// No answer to a message is waited for any more.
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
        self.intervals.of(key).reason(reason);
    }

    /// Counts a message that was sent at a time; returns that.
    fn count_sent(&mut self, slot: u32, at: Instant) -> Instant {
        self.go(slot, Stage::Sent(at));
        let message = *self.records.at(slot);
        self.count_left(message.device as usize, message.interval, message.intended, at);
        at
    }

    /// Counts a message of the interval `key` that was sent at a time, and what subscribers are to receive of it.
    fn count_left(&mut self, device: usize, key: u64, intended: Instant, at: Instant) {
        let times = self.matching.of_device(device);
        let interval = self.intervals.of(key);
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
        *outcome(&mut self.intervals.of(message.interval).outcomes) += 1;
    }

    /// How many of a device's messages the protocol has.
    pub fn in_flight(&self, device: usize) -> u32 {
        self.devices[device].in_flight
    }

    /// Whether the protocol holds a message of a device back: it takes another when that one is handed out.
    pub fn is_holding(&self, device: usize) -> bool {
        self.devices[device].holding != NOTHING
    }

    /// Whether a device has messages that wait for it.
    pub fn is_waiting(&self, device: usize) -> bool {
        self.devices[device].waiting.first().is_some()
    }

    /// How many messages are not over.
    pub fn outstanding(&self) -> usize {
        self.records.len()
    }
}

#[cfg(test)]
mod tests;
