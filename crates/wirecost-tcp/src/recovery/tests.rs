//! One sender against a receiver that answers every segment, over a path that loses what it is told to.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use wirecost_wire::tcp::{SackBlock, SackBlocks};

use super::*;

mod live;
mod loss;
mod properties;
mod spurious;

/// Bytes of a full segment.
pub(super) const MSS: u32 = 1_448;
/// The first sequence number: the stream wraps early.
pub(super) const START: u32 = u32::MAX - 5_000;

pub(super) fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}

pub(super) const fn ms(millis: u64) -> u64 {
    millis * 1_000
}

/// A sender after a handshake of `rtt`, which ends at time 0.
pub(super) fn opened(config: &Config, rtt: Duration) -> Recovery {
    let mut recovery = Recovery::new(&config.clone().into(), START, Instant::START);
    let opening = HandshakeResult {
        rtt: Some(rtt),
        has_sack: config.selective_acknowledgments,
        segment_bytes: MSS,
        ..HandshakeResult::default()
    };
    recovery.opened(&opening, Instant::START);
    recovery
}

/// A segment that was sent: when, in microseconds, which number of its stream, counted from 0, and how many segments long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sending {
    pub(super) at: u64,
    pub(super) segment: u32,
    pub(super) is_retransmission: bool,
}

/// A sender, a path and a receiver in virtual time.
pub(super) struct Simulation {
    pub(super) recovery: Recovery,
    rtt: u64,
    has_timestamps: bool,
    next: u32,
    end: u32,
    received: Vec<bool>,
    /// What is to happen, by time and order of events.
    events: BTreeMap<(u64, u64), Event>,
    order: u64,
    pub(super) sendings: Vec<Sending>,
    is_lost: fn(&Sending, usize) -> bool,
    is_ack_lost: fn(u64) -> bool,
    extra_delay: fn(&Sending) -> u64,
    acks: u64,
    pub(super) gave_up: bool,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival { segment: u32, sent_ms: u32 },
    Ack(Ack),
}

impl Simulation {
    /// `segments` full segments to be sent at time 0 over a path of `rtt`, which loses what `is_lost` says of a sending and
    /// its number.
    pub(super) fn new(
        config: &Config,
        rtt: Duration,
        segments: u32,
        is_lost: fn(&Sending, usize) -> bool,
    ) -> Self {
        Self {
            recovery: opened(config, rtt),
            rtt: rtt.as_micros() as u64,
            has_timestamps: config.timestamps,
            next: 0,
            end: segments,
            received: vec![false; segments as usize],
            events: BTreeMap::new(),
            order: 0,
            sendings: Vec::new(),
            is_lost,
            is_ack_lost: |_| false,
            extra_delay: |_| 0,
            acks: 0,
            gave_up: false,
        }
    }

    /// With acknowledgments lost, by their number.
    pub(super) fn losing_acks(mut self, is_ack_lost: fn(u64) -> bool) -> Self {
        self.is_ack_lost = is_ack_lost;
        self
    }

    /// With segments that take longer, by so many microseconds.
    pub(super) fn delaying(mut self, extra_delay: fn(&Sending) -> u64) -> Self {
        self.extra_delay = extra_delay;
        self
    }

    /// Until everything is acknowledged or the sender gives up; returns when, in microseconds.
    pub(super) fn run(&mut self) -> u64 {
        self.transmit(0);
        let mut now = 0;
        while !self.is_done() {
            let timeout = self.recovery.next_timeout().map(micros);
            let event = self.events.first_key_value().map(|((due, _), _)| *due);
            match (event, timeout) {
                (Some(due), timeout) if timeout.is_none_or(|timeout| due <= timeout) => {
                    now = due;
                    self.handle_event();
                }
                (_, Some(timeout)) => {
                    now = timeout;
                    let outcome = self.recovery.handle_timeout(self.next < self.end, at(now));
                    self.gave_up = outcome == Timeout::GiveUp;
                }
                (Some(_), None) | (None, None) => panic!("nothing left to wait for at {now} us"),
            }
            self.check();
            self.transmit(now);
        }
        now
    }

    fn is_done(&self) -> bool {
        self.gave_up || self.recovery.scoreboard.una() == sequence_of(self.end)
    }

    /// What holds at any time.
    pub(super) fn check(&self) {
        let recovery = &self.recovery;
        assert!(recovery.congestion_window() >= 1);
        assert!(recovery.in_flight() <= 2 * recovery.scoreboard.outstanding());
        recovery.scoreboard.check();
        let is_armed = recovery.next_timeout().is_some();
        assert_eq!(is_armed, recovery.scoreboard.outstanding() > 0 && !self.gave_up);
    }

    fn transmit(&mut self, now: u64) {
        while let Some(range) = self.recovery.next_retransmission() {
            assert_eq!(range.len, MSS);
            self.send(segment_of(range.sequence), true, now);
        }
        while self.next < self.end && self.recovery.may_send_new() {
            self.next += 1;
            self.send(self.next - 1, false, now);
        }
    }

    fn send(&mut self, segment: u32, is_retransmission: bool, now: u64) {
        self.recovery.sent(sequence_of(segment), MSS, at(now));
        self.check();
        let sending = Sending {
            at: now,
            segment,
            is_retransmission,
        };
        if !(self.is_lost)(&sending, self.sendings.len()) {
            let sent_ms = (now / 1_000) as u32;
            let due = now + self.rtt / 2 + (self.extra_delay)(&sending);
            self.schedule(due, Event::Arrival { segment, sent_ms });
        }
        self.sendings.push(sending);
        assert!(self.sendings.len() < 100_000, "no progress");
    }

    fn schedule(&mut self, due: u64, event: Event) {
        self.order += 1;
        self.events.insert((due, self.order), event);
    }

    fn handle_event(&mut self) {
        let Some(((now, _), event)) = self.events.pop_first() else {
            return;
        };
        match event {
            Event::Arrival { segment, sent_ms } => self.receive(segment, sent_ms, now),
            Event::Ack(ack) => {
                self.recovery.handle_ack(
                    &Ack {
                        has_new_data: self.next < self.end,
                        ..ack
                    },
                    at(now),
                );
            }
        }
    }

    /// The receiver acknowledges every segment at once, and reports what arrived twice.
    fn receive(&mut self, segment: u32, sent_ms: u32, now: u64) {
        let is_duplicate = self.received[segment as usize];
        self.received[segment as usize] = true;
        let una = self
            .received
            .iter()
            .position(|received| !received)
            .unwrap_or(self.received.len()) as u32;
        let mut blocks = Vec::new();
        if is_duplicate {
            blocks.push(block(segment, segment + 1));
        }
        blocks.extend(self.blocks(una, segment));
        let sack = if self.recovery.has_sack {
            SackBlocks::new(&blocks)
        } else {
            SackBlocks::default()
        };
        self.acks += 1;
        if (self.is_ack_lost)(self.acks - 1) {
            return;
        }
        let ack = Ack {
            acknowledgment: sequence_of(una),
            sack,
            echo: self.has_timestamps.then_some(sent_ms),
            window_bytes: 1 << 30,
            ..Ack::default()
        };
        self.schedule(now + self.rtt / 2, Event::Ack(ack));
    }

    /// Runs beyond `una`, that of the latest `segment` first.
    fn blocks(&self, una: u32, segment: u32) -> Vec<SackBlock> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for at in una..self.end {
            match runs.last_mut() {
                _ if !self.received[at as usize] => {}
                Some((_, end)) if *end == at => *end += 1,
                _ => runs.push((at, at + 1)),
            }
        }
        runs.sort_by_key(|(start, end)| !(*start..*end).contains(&segment));
        runs.iter().map(|(start, end)| block(*start, *end)).collect()
    }

    /// Which segments were retransmitted, and when.
    pub(super) fn retransmissions(&self) -> Vec<(u64, u32)> {
        let again = self.sendings.iter().filter(|sending| sending.is_retransmission);
        again.map(|sending| (sending.at, sending.segment)).collect()
    }
}

pub(super) fn block(start: u32, end: u32) -> SackBlock {
    SackBlock {
        left: sequence_of(start),
        right: sequence_of(end),
    }
}

pub(super) const fn sequence_of(segment: u32) -> u32 {
    START.wrapping_add(segment * MSS)
}

fn segment_of(sequence: u32) -> u32 {
    sequence.wrapping_sub(START) / MSS
}

#[test]
fn an_idle_sender_is_small() {
    let bytes = core::mem::size_of::<Recovery>();
    assert!(bytes <= 900, "{bytes}");
}
