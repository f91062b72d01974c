//! A device that sends one message after the other.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use wirecost_proto::driver::ServiceObserver;
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Endpoint, Instant, ResetReason, Script};

/// Sends so many messages: each at its time, but not before the one before is answered.
pub(crate) struct Exchanges<E: Endpoint, F> {
    messages: u64,
    interval: Duration,
    command: F,
    opens: fn(&E::Event) -> bool,
    answers: Option<fn(&E::Event) -> bool>,
    gives_up: fn(&E::Event) -> bool,
    given_up: u64,
    is_connecting: bool,
    has_failed: bool,
    opened: Option<Instant>,
    sent: u64,
    last: Instant,
    answered: u64,
    /// When it connects.
    connects: Instant,
    /// When the first message is due.
    starts: Instant,
    histogram: Rc<Histogram>,
}

#[allow(dead_code, reason = "not every user needs all of it")]
impl<E: Endpoint, F: Fn(u64) -> E::Command> Exchanges<E, F> {
    pub(crate) fn new(messages: u32, interval: Duration, command: F) -> Self {
        Self {
            messages: messages.into(),
            interval,
            command,
            opens: |_| false,
            answers: Some(|_| false),
            gives_up: |_| false,
            given_up: 0,
            is_connecting: false,
            has_failed: false,
            opened: None,
            sent: 0,
            last: Instant::START,
            answered: 0,
            connects: Instant::START,
            starts: Instant::START,
            histogram: Rc::default(),
        }
    }

    pub(crate) fn opened_by(self, opens: fn(&E::Event) -> bool) -> Self {
        Self { opens, ..self }
    }

    pub(crate) fn answered_by(self, answers: fn(&E::Event) -> bool) -> Self {
        Self {
            answers: Some(answers),
            ..self
        }
    }

    pub(crate) fn given_up_by(self, gives_up: fn(&E::Event) -> bool) -> Self {
        Self { gives_up, ..self }
    }

    /// Nothing answers.
    pub(crate) fn unanswered(self) -> Self {
        Self {
            answers: None,
            ..self
        }
    }

    /// Connects and begins at these times, and notes times in a histogram that others use too.
    pub(crate) fn among_others(self, connects: Instant, starts: Instant, histogram: Rc<Histogram>) -> Self {
        Self {
            connects,
            starts,
            histogram,
            ..self
        }
    }

    pub(crate) fn answered(&self) -> u64 {
        self.answered
    }

    /// Whether every message was sent and answered or given up.
    #[allow(dead_code, reason = "not every user needs it")]
    pub(crate) fn is_complete(&self) -> bool {
        self.answered + self.given_up == self.messages
    }

    /// When the next message is due; `None` before something happens.
    fn due(&self) -> Option<Instant> {
        let opened = self.opened?;
        if self.answers.is_some() && self.answered + self.given_up < self.sent {
            return None;
        }
        let messages = u32::try_from(self.sent).unwrap_or(u32::MAX);
        Some(opened.max(self.starts) + self.interval * messages)
    }
}

impl<E: Endpoint, F: Fn(u64) -> E::Command> Script<E> for Exchanges<E, F> {
    fn event(&mut self, event: E::Event, now: Instant) {
        if (self.opens)(&event) {
            self.opened = Some(now);
        }
        self.given_up += u64::from((self.gives_up)(&event));
        if self.answers.is_some_and(|answers| answers(&event)) {
            self.answered += 1;
            let nanos = now.saturating_since(self.last).as_nanos() as u64;
            self.histogram.note(nanos);
        }
    }

    fn failed(&mut self, _: ResetReason, _: Instant) {
        self.has_failed = true;
    }

    fn flushed(&mut self, _: Instant) {}

    fn next(&mut self, context: Context) -> Step<E::Command> {
        if context.now < self.connects {
            return Step::Wait(Some(self.connects));
        }
        if !self.is_connecting {
            self.is_connecting = true;
            return Step::Connect;
        }
        if self.has_failed {
            return Step::Finished;
        }
        match self.due() {
            _ if context.congested => Step::Wait(None),
            None => Step::Wait(None),
            Some(due) if due > context.now => Step::Wait(Some(due)),
            Some(_) if self.sent == self.messages => Step::Finished,
            Some(_) => {
                self.sent += 1;
                self.last = context.now;
                Step::Command((self.command)(self.sent - 1))
            }
        }
    }
}

/// Answers by the number of leading zero bits of their time in nanoseconds.
#[derive(Debug)]
pub(crate) struct Histogram([Cell<u64>; 65]);

impl Default for Histogram {
    fn default() -> Self {
        Self([const { Cell::new(0) }; 65])
    }
}

impl Histogram {
    fn note(&self, nanos: u64) {
        let bucket = &self.0[nanos.leading_zeros() as usize];
        bucket.set(bucket.get() + 1);
    }

    /// The time in milliseconds below which this share of the answers came, to a power of two.
    #[allow(dead_code, reason = "not every user needs it")]
    pub(crate) fn quantile_millis(&self, share: f64) -> f64 {
        let all: u64 = self.0.iter().map(Cell::get).sum();
        let mut below = 0;
        for (bucket, count) in self.0.iter().enumerate().rev() {
            below += count.get();
            if below as f64 >= share * all as f64 {
                return 2f64.powi(64 - bucket as i32) / 1e6;
            }
        }
        f64::NAN
    }
}

/// Counts what services report.
#[derive(Debug, Default)]
pub(crate) struct Counting(pub(crate) u64);

impl<E: Endpoint> ServiceObserver<E> for Counting {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, _: E::Event, _: Instant) {
        self.0 += 1;
    }
}
