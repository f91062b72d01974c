//! The messages of a sample: sent, answered, given up.

use wirecost_proto::Instant;
use wirecost_proto::script::{Context, Step};
use wirecost_stack::Command;

use super::notes::{End, Mark};
use super::{Sampler, State};

impl Sampler {
    pub(super) fn send(&mut self, intended: Instant, context: Context) -> Step<Command> {
        if let Some(message) = self.unanswered.pop_front() {
            return self.send_again(message, context);
        }
        let message = self.notes.messages.len() as u64;
        self.notes.messages.push(Mark {
            intended,
            actual: context.now,
            sent: None,
            end: None,
            cpu: context.cpu,
            transmitted_before: context.transmitted,
            connection: self.notes.reconnects.len(),
        });
        self.await_end(message, intended, context.now);
        Step::Command(Command::Send { message })
    }

    /// Sends the first message again that met the end of its connection. Its times count from the first time.
    fn send_again(&mut self, message: u64, context: Context) -> Step<Command> {
        let (connection, index) = (self.notes.reconnects.len(), message as usize);
        if let Some(mark) = self.notes.messages.get_mut(index) {
            mark.transmitted_before = context.transmitted;
            mark.connection = connection;
        }
        if self.unanswered.is_empty() {
            self.await_end(message, Instant::START, context.now);
        }
        Step::Command(Command::Send { message })
    }

    /// What the device does after it has sent a message, at `now`.
    fn await_end(&mut self, message: u64, intended: Instant, now: Instant) {
        let streaming = self.timing.interval.is_some() && message >= self.timing.first_measured() as u64;
        self.state = match (streaming, self.all_sent()) {
            (true, false) => State::Streaming {
                first: self.first_measured(intended),
            },
            // Twice the time-out: an answer that comes after the time-out makes its message late and not lost, so it must have time to come.
            (true, true) => State::Draining {
                until: now + self.timing.timeout * 2,
            },
            (false, _) => State::AwaitAnswer {
                until: now + self.timing.timeout * 2,
            },
        };
    }

    fn first_measured(&self, intended: Instant) -> Instant {
        let first = self.notes.messages.get(self.timing.first_measured());
        first.map_or(intended, |mark| mark.intended)
    }

    /// When the next message is due, with an interval.
    pub(super) fn due(&self, first: Instant) -> Instant {
        let sent = (self.notes.messages.len() - self.timing.first_measured()) as u32;
        first + self.timing.interval.unwrap_or_default() * sent
    }

    pub(super) fn all_sent(&self) -> bool {
        self.notes.messages.len() as u64 >= self.timing.messages + u64::from(self.timing.warm_up)
    }

    pub(super) fn is_open(&self, message: u64) -> bool {
        let mark = usize::try_from(message)
            .ok()
            .and_then(|index| self.notes.messages.get(index));
        mark.is_some_and(|mark| mark.end.is_none())
    }

    pub(super) fn is_answered(&self) -> bool {
        !self.timing.answered || self.notes.messages.iter().all(|mark| mark.end.is_some())
    }

    pub(super) fn end_message(&mut self, message: u64, now: Instant, end: End) {
        let index = usize::try_from(message).unwrap_or(usize::MAX);
        if let Some(mark) = self.notes.messages.get_mut(index) {
            mark.end.get_or_insert((now, end));
        }
        if self.is_answered() && matches!(self.state, State::AwaitAnswer { .. } | State::Draining { .. }) {
            self.settle(now, self.next_step());
        }
    }

    /// A message has met the end of its connection, which is reported next.
    pub(super) fn not_answered(&mut self, message: u64, now: Instant) {
        if self.timing.reconnects && self.is_open(message) {
            self.unanswered.push_back(message);
        } else {
            self.end_message(message, now, End::Unknown);
        }
    }

    /// The end of messages without an answer is unknown once their connection is gone, unless they are sent again.
    pub(super) fn end_open_messages(&mut self, now: Instant) {
        for (message, mark) in (0..).zip(&mut self.notes.messages) {
            if mark.end.is_none() && !self.unanswered.contains(&message) {
                mark.end = self.timing.answered.then_some((now, End::Unknown));
            }
        }
    }

    /// Gives up messages without an answer within twice the time-out.
    pub(super) fn give_up(&mut self, now: Instant) {
        for mark in self.notes.messages.iter_mut().filter(|mark| mark.end.is_none()) {
            mark.end = Some((now, End::Unknown));
        }
        self.settle(now, self.next_step());
    }
}
