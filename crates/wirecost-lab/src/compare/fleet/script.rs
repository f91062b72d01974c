//! What a device of a fleet does: connect, send at its times whether or not earlier messages are answered, close.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use wirecost_proto::hosts::HostIndex;
use wirecost_proto::script::{Context, Script, Step};
use wirecost_proto::{Endpoint, Instant, ResetReason};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::PlannedCell;
use wirecost_stack::{Command, Event};

use super::book::{MessageTracker, nanos};
use super::{Pace, connect_timeout};

/// What all devices of a fleet are told.
#[derive(Debug)]
pub(super) struct FleetConfig {
    /// How many devices there are.
    pub(super) devices: u32,
    /// Messages of a device.
    pub(super) messages: u64,
    interval: Duration,
    /// Over which the devices' messages are spread within an interval.
    spread: Duration,
    timeout: Duration,
    connect_timeout: Duration,
    /// Quiet time before the close.
    settle: Duration,
}

impl FleetConfig {
    pub(super) fn new(options: &Options, cell: &PlannedCell) -> Self {
        // A comparison of fleets without an interval is refused.
        let interval = cell.schedule.interval.unwrap_or(options.settle);
        Self {
            devices: options.samples,
            messages: cell.schedule.messages,
            interval,
            spread: options.fleet.and_then(|fleet| fleet.spread).unwrap_or(interval),
            timeout: options.timeout,
            connect_timeout: connect_timeout(options, cell),
            settle: options.settle,
        }
    }

    /// The share of `time` that lies before a device.
    fn share(&self, time: Duration, device: HostIndex) -> Duration {
        let nanos = time.as_nanos() * u128::from(device) / u128::from(self.devices.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn connect_at(&self, device: HostIndex) -> Duration {
        self.share(self.interval, device)
    }

    /// When a device is to send a message, both counted from 0.
    pub(super) fn message_at(&self, device: HostIndex, message: u64) -> Duration {
        let intervals = u32::try_from(message + 1).unwrap_or(u32::MAX);
        self.interval.saturating_mul(intervals) + self.share(self.spread, device)
    }
}

/// A message that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    message: u64,
    intended: Instant,
    actual: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Connecting { until: Instant },
    Reporting,
    Settling { until: Instant },
    Closing { until: Instant },
    Done,
}

/// The script of a device of a fleet.
#[derive(Debug)]
pub(super) struct FleetScript<'a> {
    device: HostIndex,
    orders: Rc<FleetConfig>,
    book: Rc<RefCell<MessageTracker>>,
    pace: &'a Pace,
    state: State,
    next: u64,
    open: Vec<Open>,
}

impl<'a> FleetScript<'a> {
    pub(super) const fn new(
        device: HostIndex,
        orders: Rc<FleetConfig>,
        book: Rc<RefCell<MessageTracker>>,
        pace: &'a Pace,
    ) -> Self {
        Self {
            device,
            orders,
            book,
            pace,
            state: State::Waiting,
            next: 0,
            open: Vec::new(),
        }
    }

    fn close_message(&mut self, message: u64) -> Option<Open> {
        let place = self.open.iter().position(|open| open.message == message)?;
        Some(self.open.swap_remove(place))
    }

    fn acknowledged(&mut self, message: u64, now: Instant) {
        if let Some(open) = self.close_message(message) {
            let (response, service) = (
                now.saturating_since(open.intended),
                now.saturating_since(open.actual),
            );
            let timeout = self.orders.timeout;
            self.book.borrow_mut().acknowledged(response, service, timeout);
        }
    }

    fn refused(&mut self, message: u64) {
        if self.close_message(message).is_some() {
            self.book.borrow_mut().outcomes.refused += 1;
        }
    }

    fn unknown(&mut self, message: u64) {
        if self.close_message(message).is_some() {
            self.book.borrow_mut().outcomes.unknown += 1;
        }
    }

    /// Gives up what was not answered within twice the time-out; returns when the next one is due.
    fn give_up(&mut self, now: Instant) -> Option<Instant> {
        let patience = self.orders.timeout * 2;
        let before = self.open.len();
        self.open.retain(|open| now < open.actual + patience);
        self.book.borrow_mut().outcomes.unknown += (before - self.open.len()) as u64;
        self.open.iter().map(|open| open.actual + patience).min()
    }

    /// Leaves out what is left: the connection is gone or never was.
    fn break_off(&mut self, why: String) {
        if matches!(self.state, State::Closing { .. } | State::Done) {
            return;
        }
        let mut book = self.book.borrow_mut();
        book.failed(why);
        book.outcomes.unknown += self.open.len() as u64;
        book.outcomes.failed += self.orders.messages - self.next;
        book.outcomes.offered += self.orders.messages - self.next;
        self.open.clear();
        self.state = State::Done;
    }

    fn ready(&mut self, now: Instant) {
        if !matches!(self.state, State::Connecting { .. }) {
            return;
        }
        let connect = now.saturating_since(Instant::START + self.orders.connect_at(self.device));
        self.book.borrow_mut().connects.record(nanos(connect));
        self.state = State::Reporting;
    }

    fn report(&mut self, now: Instant) -> Step<Command> {
        let due = Instant::START + self.orders.message_at(self.device, self.next);
        let given_up_at = self.give_up(now);
        if now < due {
            return Step::Wait(Some(given_up_at.map_or(due, |at| at.min(due))));
        }
        let message = self.next;
        self.next += 1;
        self.open.push(Open {
            message,
            intended: due,
            actual: now,
        });
        let mut book = self.book.borrow_mut();
        book.sent += 1;
        book.outcomes.offered += 1;
        Step::Command(Command::Send { message })
    }

    /// Waits for the answers that are missing, then for quiet, so that acknowledgements belong to their messages.
    fn drain(&mut self, now: Instant) -> Step<Command> {
        if let Some(given_up_at) = self.give_up(now) {
            return Step::Wait(Some(given_up_at));
        }
        let until = now + self.orders.settle;
        self.state = State::Settling { until };
        Step::Wait(Some(until))
    }
}

impl<E: Endpoint<Command = Command, Event = Event>> Script<E> for FleetScript<'_> {
    fn event(&mut self, event: Event, now: Instant) {
        match event {
            Event::Ready { .. } => self.ready(now),
            Event::Acknowledged { message } => self.acknowledged(message, now),
            Event::Refused { message, .. } => self.refused(message),
            Event::TimedOut { message } => self.unknown(message),
            Event::Rejected { reason } | Event::Lost { reason } => self.break_off(reason),
            Event::Closed => self.break_off("the server closed the connection".into()),
            Event::Established { .. }
            | Event::Subscribed
            | Event::SubscriptionRefused { .. }
            | Event::Received(_)
            | Event::Sent { .. }
            | Event::Other => {}
        }
    }

    fn failed(&mut self, reason: ResetReason, _: Instant) {
        self.break_off(reason.to_string());
    }

    fn sent(&mut self, _: Instant) {}

    fn next(&mut self, context: Context) -> Step<Command> {
        let now = context.now;
        if self.pace.is_stopped() {
            return Step::Finished;
        }
        match self.state {
            State::Waiting => {
                let at = Instant::START + self.orders.connect_at(self.device);
                if now < at {
                    return Step::Wait(Some(at));
                }
                let until = now + self.orders.connect_timeout;
                self.state = State::Connecting { until };
                Step::Connect
            }
            State::Connecting { until } if now < until => Step::Wait(Some(until)),
            State::Connecting { .. } => {
                self.break_off("no connection in time".into());
                Step::Finished
            }
            // Whoever's buffer is full is asked again when it is not.
            State::Reporting if context.congested => Step::Wait(None),
            State::Reporting if self.next < self.orders.messages => self.report(now),
            State::Reporting => self.drain(now),
            State::Settling { until } if now < until => Step::Wait(Some(until)),
            State::Settling { .. } => {
                let until = now + self.orders.settle;
                self.state = State::Closing { until };
                self.book.borrow_mut().closed += 1;
                Step::Command(Command::Close)
            }
            State::Closing { until } if now < until => Step::Wait(Some(until)),
            State::Closing { .. } | State::Done => Step::Finished,
        }
    }
}
