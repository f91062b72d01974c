//! The counts of a load for each second. Counts of threads, worker processes and machines add up.
//!
//! A loop counts in the [`Interval`] of the current second and passes the interval on when the second is over. The sum
//! of all intervals of a phase holds everything that is known of the phase. An interval belongs to the second in which
//! its messages were *intended*, so that a stall appears where it happened. A later outcome is counted in a later copy
//! of the same interval, which is added like any other.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wirecost_stats::Histogram;

use crate::summary::Outcomes;
use wirecost_proto::time::nanos;

/// The counts of one part of a run for the messages that were intended in one second of a phase.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Index of the phase in the scenario, from 0.
    pub phase: u32,
    /// Second of the phase in which it begins, from 0.
    pub second: u32,
    /// Its length in seconds, where it is more than one: those of a long phase are wider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    /// Whether the interval is warm-up: part of the time line, but not of any figure.
    pub warm_up: bool,
    /// How messages ended. A message that has not ended yet is counted in `offered` only.
    pub outcomes: Outcomes,
    /// Messages whose last byte the kernel has taken.
    pub sent: u64,
    /// Of those, messages that subscribers should receive.
    #[serde(default)]
    pub awaited: u64,
    /// Of the acknowledged messages, or of the delivered ones where nothing answers, those that ended after the phase
    /// had offered its last message: the backlog.
    #[serde(default)]
    pub worked_off: u64,
    /// Messages that were acknowledged in time, in the second in which the acknowledgement arrived, whichever second they
    /// were intended in. `None` if nothing was acknowledged in this second, or in results of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_then: Option<u64>,
    /// Connects, in the second in which they happened.
    pub connects: Connects,
    /// Expected and received deliveries, in the second of the send or of the arrival. A message with a stamp counts in
    /// the phase in which it was intended, even if it arrives after the end of that phase. A stored message, or one
    /// without a stamp, counts in the phase in which it arrives.
    pub deliveries: Deliveries,
    /// Of the deliveries of unanswered messages, those that arrived after the phase had offered its last message. A
    /// message counts once for each subscriber.
    #[serde(default)]
    pub deliveries_behind: u64,
    /// Bytes written to sockets and read from them, in that second. Bytes between two phases belong to the earlier one.
    pub socket_bytes: [u64; 2],
    /// Datagrams that the generator's kernel dropped for lack of buffers, in the second in which the kernel reported
    /// it. They count as sent but never left the machine.
    #[serde(default)]
    pub dropped_datagrams: u64,
    /// The number of occurrences of each reason: from the server (`refused`), from the connection (`failed`,
    /// `unknown`), and from the machine for a shared socket, once per error of a system call. Such an error does not
    /// identify the datagram, so no message and no connect counts by it.
    pub reasons: BTreeMap<String, u64>,
    /// From the intended send to the answer, in nanoseconds.
    pub response_time: Option<Histogram>,
    /// From the actual send to the answer, in nanoseconds.
    pub service_time: Option<Histogram>,
    /// From the intended send to the moment at which the generator gave the message to its protocol, in nanoseconds:
    /// how late the generator was itself.
    pub schedule_lag: Option<Histogram>,
    /// From the start of a connect until the client may send, in nanoseconds.
    pub connect_time: Option<Histogram>,
    /// From the intended send to the arrival at a subscriber or sink on the same clock, in nanoseconds.
    pub one_way_delay: Option<Histogram>,
}

/// Names an interval: a second of a phase, and whether it is warm-up. Keys are in the order of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct IntervalKey {
    phase: u32,
    /// The second, and in the lowest bit whether it is warm-up: every message of a load keeps a key.
    second: u32,
}

impl IntervalKey {
    /// The key of a second of a phase. Seconds above 2^31 share the last one.
    pub const fn new(phase: u32, second: u32, warm_up: bool) -> Self {
        const LAST: u32 = u32::MAX >> 1;
        let second = if second < LAST { second } else { LAST };
        Self {
            phase,
            second: second << 1 | warm_up as u32,
        }
    }

    /// Index of the phase in the scenario, from 0.
    pub const fn phase(self) -> u32 {
        self.phase
    }

    /// Second of the phase, from 0.
    pub const fn second(self) -> u32 {
        self.second >> 1
    }

    /// Whether the interval is warm-up.
    pub const fn is_warm_up(self) -> bool {
        self.second & 1 == 1
    }
}

/// Connects and lost connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Connects {
    /// Connects that began.
    pub attempted: u64,
    /// Connects after which the client may send.
    pub established: u64,
    /// Of those, resumed.
    pub resumed: u64,
    /// Of those, with early data that the server took.
    pub early: u64,
    /// Connects that the server refused.
    pub refused: u64,
    /// Connects in which the transport or a layer failed.
    pub failed: u64,
    /// Connects that did not end within the connect time-out.
    pub timed_out: u64,
    /// Connects that were abandoned because the phase or the load ended. Neither side has failed.
    #[serde(default)]
    pub given_up: u64,
    /// Established connections that were lost.
    pub lost: u64,
}

/// What arrived at subscribers and sinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deliveries {
    /// Messages that subscribers should receive: each sent message counts once per matching subscription, and once per
    /// group with a shared subscription.
    #[serde(default)]
    pub expected: u64,
    /// Messages that arrived.
    pub arrived: u64,
    /// Of those, with the duplicate mark or a number that had arrived before.
    pub duplicates: u64,
    /// Of those, messages that arrived after one with a higher number of the same sender.
    pub out_of_order: u64,
    /// Of those, from the server's store: retained, or queued for a session.
    pub replayed: u64,
    /// Subscriptions that the server refused: nothing arrives there.
    #[serde(default)]
    pub subscriptions_refused: u64,
    /// Requests for messages by subscribers that poll.
    #[serde(default)]
    pub polls: u64,
    /// Of those, answered without a message.
    #[serde(default)]
    pub empty_polls: u64,
    /// Messages that another program sent to the same server; they are in no other count.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub of_others: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Interval {
    /// An interval in which nothing has happened yet.
    pub fn new(phase: u32, second: u32, warm_up: bool) -> Self {
        Self {
            phase,
            second,
            warm_up,
            ..Self::default()
        }
    }

    /// An interval with this key in which nothing has happened yet.
    pub fn at(key: IntervalKey) -> Self {
        Self::new(key.phase(), key.second(), key.is_warm_up())
    }

    /// Its length in seconds.
    pub fn seconds(&self) -> u32 {
        self.seconds.unwrap_or(1)
    }

    /// What orders the intervals of a load: the phase, the second, and whether it is warm-up.
    pub const fn key(&self) -> IntervalKey {
        IntervalKey::new(self.phase, self.second, self.warm_up)
    }

    /// Adds the counts of another part of the run, or later counts of the same part. Every field is named, so that a new one does
    /// not compile before it is added here.
    pub fn add(&mut self, other: &Self) {
        let Self {
            phase: _,
            second: _,
            seconds: _,
            warm_up: _,
            outcomes,
            sent,
            awaited,
            worked_off,
            acknowledged_then,
            connects,
            deliveries,
            deliveries_behind,
            socket_bytes,
            dropped_datagrams,
            reasons,
            response_time,
            service_time,
            schedule_lag,
            connect_time,
            one_way_delay,
        } = other;
        self.outcomes += *outcomes;
        self.sent += sent;
        self.awaited += awaited;
        self.worked_off += worked_off;
        if let Some(more) = acknowledged_then {
            *self.acknowledged_then.get_or_insert_default() += more;
        }
        self.connects += *connects;
        self.deliveries += *deliveries;
        self.deliveries_behind += deliveries_behind;
        for (sum, more) in self.socket_bytes.iter_mut().zip(socket_bytes) {
            *sum += more;
        }
        self.dropped_datagrams += dropped_datagrams;
        for (reason, times) in reasons {
            *self.reasons.entry(reason.clone()).or_default() += times;
        }
        merge(&mut self.response_time, response_time.as_ref());
        merge(&mut self.service_time, service_time.as_ref());
        merge(&mut self.schedule_lag, schedule_lag.as_ref());
        merge(&mut self.connect_time, connect_time.as_ref());
        merge(&mut self.one_way_delay, one_way_delay.as_ref());
    }

    /// Counts up to `messages` of the delivered messages as backlog. Returns the number that is left.
    pub fn work_off(&mut self, messages: u64) -> u64 {
        let own = self
            .outcomes
            .delivered
            .saturating_sub(self.worked_off)
            .min(messages);
        self.worked_off += own;
        messages - own
    }

    /// Stores the histograms compactly. Few intervals change after their second.
    pub fn pack(&mut self) {
        let times = [
            &mut self.response_time,
            &mut self.service_time,
            &mut self.schedule_lag,
            &mut self.connect_time,
            &mut self.one_way_delay,
        ];
        times.into_iter().flatten().for_each(Histogram::pack);
    }

    /// Counts a reason.
    pub fn reason(&mut self, reason: &str) {
        match self.reasons.get_mut(reason) {
            Some(times) => *times += 1,
            None => drop(self.reasons.insert(reason.to_owned(), 1)),
        }
    }
}

/// Counts a time.
pub fn record(histogram: &mut Option<Histogram>, time: Duration) {
    histogram.get_or_insert_default().record(nanos(time));
}

fn merge(into: &mut Option<Histogram>, from: Option<&Histogram>) {
    match (into, from) {
        (Some(into), Some(from)) => into.merge(from),
        (into @ None, Some(from)) => *into = Some(from.clone()),
        (_, None) => {}
    }
}

impl std::ops::AddAssign for Connects {
    fn add_assign(&mut self, other: Self) {
        let Self {
            attempted,
            established,
            resumed,
            early,
            refused,
            failed,
            timed_out,
            given_up,
            lost,
        } = other;
        self.attempted += attempted;
        self.established += established;
        self.resumed += resumed;
        self.early += early;
        self.refused += refused;
        self.failed += failed;
        self.timed_out += timed_out;
        self.given_up += given_up;
        self.lost += lost;
    }
}

impl std::ops::AddAssign for Deliveries {
    fn add_assign(&mut self, other: Self) {
        let Self {
            expected,
            arrived,
            duplicates,
            out_of_order,
            replayed,
            subscriptions_refused,
            polls,
            empty_polls,
            of_others,
        } = other;
        self.expected += expected;
        self.arrived += arrived;
        self.duplicates += duplicates;
        self.out_of_order += out_of_order;
        self.replayed += replayed;
        self.subscriptions_refused += subscriptions_refused;
        self.polls += polls;
        self.empty_polls += empty_polls;
        self.of_others += of_others;
    }
}

impl Deliveries {
    /// The deliveries since `earlier`.
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            expected: self.expected.saturating_sub(earlier.expected),
            arrived: self.arrived.saturating_sub(earlier.arrived),
            duplicates: self.duplicates.saturating_sub(earlier.duplicates),
            out_of_order: self.out_of_order.saturating_sub(earlier.out_of_order),
            replayed: self.replayed.saturating_sub(earlier.replayed),
            subscriptions_refused: self
                .subscriptions_refused
                .saturating_sub(earlier.subscriptions_refused),
            polls: self.polls.saturating_sub(earlier.polls),
            empty_polls: self.empty_polls.saturating_sub(earlier.empty_polls),
            of_others: self.of_others.saturating_sub(earlier.of_others),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_interval(response: u64, reason: &str) -> Interval {
        let mut interval = Interval::new(1, 2, false);
        interval.outcomes.offered = 1;
        interval.outcomes.acknowledged = 1;
        interval.reason(reason);
        let mut times = Histogram::new();
        times.record(response);
        interval.response_time = Some(times);
        interval
    }

    #[test]
    fn intervals_add_up_after_serialization() {
        let mut sum = make_interval(1_000, "a");
        let text = serde_json::to_string(&make_interval(3_000, "b")).expect("a text");
        sum.add(&serde_json::from_str(&text).expect("an interval"));
        assert_eq!(sum.outcomes.offered, 2);
        assert_eq!(sum.reasons.len(), 2);
        let times = sum.response_time.expect("times");
        assert_eq!((times.len(), times.min(), times.max()), (2, 1_000, 3_001));
    }

    #[test]
    fn the_backlog_is_at_most_what_was_delivered() {
        let mut interval = Interval::new(1, 2, false);
        interval.outcomes.delivered = 10;
        interval.deliveries_behind = 2;
        assert_eq!((interval.work_off(4), interval.worked_off), (0, 4));
        assert_eq!((interval.work_off(8), interval.worked_off), (2, 10));
        let mut sum = interval.clone();
        sum.add(&interval);
        assert_eq!((sum.worked_off, sum.deliveries_behind), (20, 4));
    }
}
