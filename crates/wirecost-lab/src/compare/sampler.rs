//! What one device does: connect, settle, warm up, settle, measure, settle, close (a sample).
//!
//! ```text
//! Waiting -> Connecting -> Settling -> Sending (warm-up) -> Settling -> Sending (measured) -> Settling
//!         -> Closing -> Settling -> done
//! ```
//!
//! A device that starts resumed or with 0-RTT has a connection before that, for its ticket: it connects, settles and
//! closes, and nothing of it is measured. Where the message leaves with the first flight it is sent as soon as the
//! client may send. A message that leaves behind the request of a pipelined connect ends no connect: the answer to that request does,
//! and the device does not close before it.
//!
//! A step has settled when the device's link has been quiet for the settle time, because an acknowledgement that
//! waits 40 ms belongs to its message. With an interval, the measured messages leave at their intended times
//! whether or not the earlier ones are answered. Such a sample is a device's life, in which nothing settles between the
//! connect and the close: a device that may send does so, and one that has its last answer closes.
//!
//! A measured connection that ends before the last message (the server closes it, or it is reset) is made again when the
//! next message is due, and that message leaves as soon as the client may send. Messages that were open end as unknown:
//! nothing is sent again that the protocol does not repeat. Clients of HTTP do send a request again that met the server's close
//! (RFC 9110 section 9.2.2, RFC 9112 section 9.3.1), at once on a new connection; so does the device.
//!
//! A device whose server knows it by its UDP port alone makes its session anew before it sends, where the link has been silent
//! for so long that the address translator has forgotten the port.
//!
//! ```text
//! the connection ends -> Down (or Settling without an interval) -> Connecting -> Ready -> Sending
//! ```

mod notes;
mod timing;

use std::collections::VecDeque;

use wirecost_proto::script::{Context, Script, Step};
use wirecost_proto::{Endpoint, Instant, ResetReason};
use wirecost_security::Start;
use wirecost_stack::{Command, Event};

pub use notes::{CutShort, End, Mark, Notes, Reconnect};
pub use timing::Timing;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// The connection that gets the ticket, or the measured one.
    Connecting {
        until: Instant,
    },
    /// The device may send at once.
    Ready {
        at: Instant,
    },
    Settling {
        since: Instant,
        then: Next,
    },
    AwaitAnswer {
        until: Instant,
    },
    Streaming {
        first: Instant,
    },
    Draining {
        until: Instant,
    },
    /// The connection has ended. The next message is due at an interval after `first`.
    Down {
        first: Instant,
    },
    /// The device makes a connection at once, for a message that is due since `intended`: it has left a session that its server
    /// cannot continue, or it sends a message again.
    Again {
        intended: Instant,
    },
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Close the connection that got the ticket.
    CloseFirst,
    /// Open the measured connection, for the first time or again.
    Connect,
    Send,
    Close,
    Finish,
}

/// The script of one sample.
#[derive(Clone, Debug)]
pub struct Sampler {
    timing: Timing,
    state: State,
    notes: Notes,
    broken: bool,
    closing: bool,
    /// Whether the connection that gets the ticket is still to be made, or open.
    before_ticket: bool,
    /// Whether a message may leave, or has left, before the connect is over.
    is_ahead: bool,
    /// Messages that met the end of their connection, to be sent again on the next one.
    unanswered: VecDeque<u64>,
}

impl Sampler {
    /// A device that has not started.
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            state: State::Waiting,
            notes: Notes::default(),
            broken: false,
            closing: false,
            before_ticket: timing.start.needs_earlier(),
            is_ahead: false,
            unanswered: VecDeque::new(),
        }
    }

    /// The timing of the sample.
    pub const fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Whether `at` is before the measured connect, in the connection that got the ticket.
    pub fn is_before_connect(&self, at: Instant) -> bool {
        let started = self.notes.connect_started.map(|(_, started)| started);
        self.timing.start.needs_earlier() && started.is_none_or(|started| at < started)
    }

    /// Whether the measured connection did not start as configured, which may become known while its first message is
    /// in transit. Its costs do not count for the configured start.
    pub fn has_started_otherwise(&self) -> bool {
        self.notes
            .start
            .is_some_and(|granted| granted != self.timing.start)
    }

    /// The device's notes.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    fn all_sent(&self) -> bool {
        self.notes.messages.len() as u64 >= self.timing.messages + u64::from(self.timing.warm_up)
    }

    fn settle(&mut self, since: Instant, then: Next) {
        self.state = State::Settling { since, then };
    }

    /// Skips the rest of the sample: the flow is lost, or never existed.
    fn break_off(&mut self, why: CutShort, now: Instant) {
        if self.closing || self.broken {
            return;
        }
        self.broken = true;
        self.notes.failure.get_or_insert(why);
        self.unanswered.clear();
        self.end_open_messages(now);
        self.settle(now, Next::Finish);
    }

    /// The end of messages without an answer is unknown once their connection is gone, unless they are sent again.
    fn end_open_messages(&mut self, now: Instant) {
        for (message, mark) in (0..).zip(&mut self.notes.messages) {
            if mark.end.is_none() && !self.unanswered.contains(&message) {
                mark.end = self.timing.answered.then_some((now, End::Unknown));
            }
        }
    }

    /// A message has met the end of its connection, which is reported next.
    fn not_answered(&mut self, message: u64, now: Instant) {
        if self.timing.reconnects && self.is_open(message) {
            self.unanswered.push_back(message);
        } else {
            self.end_message(message, now, End::Unknown);
        }
    }

    /// The connection has ended. If the device may reconnect, it waits until the next message is due. A connect that
    /// fails ends the sample.
    fn lost(&mut self, why: String, now: Instant) {
        let was_open = self.notes.ready.is_some() && !matches!(self.state, State::Connecting { .. });
        // A server that refuses the first connect would be tried for ever, and the sample would have no figures anyway.
        if !self.timing.reconnects || !was_open {
            return self.break_off(CutShort::Said(why), now);
        }
        // The loss of a connection that ends anyway is its close.
        if self.closing || self.broken || self.is_down() {
            return;
        }
        self.end_open_messages(now);
        if !self.unanswered.is_empty() {
            self.state = State::Again { intended: now };
            return;
        }
        let first = self.notes.messages.get(self.timing.first_measured());
        match (self.all_sent(), self.timing.interval, first) {
            // There is nothing left for which to reconnect.
            (true, ..) => {
                self.closing = true;
                self.settle(now, Next::Finish);
            }
            (false, Some(_), Some(first)) => {
                self.state = State::Down {
                    first: first.intended,
                }
            }
            (false, ..) => self.settle(now, Next::Connect),
        }
    }

    /// Whether the device has no connection and waits to make the next one.
    const fn is_down(&self) -> bool {
        matches!(
            self.state,
            State::Down { .. }
                | State::Again { .. }
                | State::Settling {
                    then: Next::Connect,
                    ..
                }
        )
    }

    /// Leaves the connection, because the server does not know the device any more. The next one is made for the message that is
    /// due since `intended`.
    fn leave(&mut self, intended: Instant, now: Instant) -> Step<Command> {
        self.end_open_messages(now);
        self.state = State::Again { intended };
        Step::Abort { reset: false }
    }

    /// Whether the server knows the device no more, and the device makes its session anew.
    fn is_forgotten(&self, context: Context) -> bool {
        self.timing.reconnects && self.timing.is_forgotten(context.link_busy_until, context.now)
    }

    /// When the next message is due, with an interval.
    fn due(&self, first: Instant) -> Instant {
        let sent = (self.notes.messages.len() - self.timing.first_measured()) as u32;
        first + self.timing.interval.unwrap_or_default() * sent
    }

    fn end_message(&mut self, message: u64, now: Instant, end: End) {
        let index = usize::try_from(message).unwrap_or(usize::MAX);
        if let Some(mark) = self.notes.messages.get_mut(index) {
            mark.end.get_or_insert((now, end));
        }
        if self.is_answered() && matches!(self.state, State::AwaitAnswer { .. } | State::Draining { .. }) {
            self.settle(now, self.next_step());
        }
    }

    fn is_open(&self, message: u64) -> bool {
        let mark = usize::try_from(message)
            .ok()
            .and_then(|index| self.notes.messages.get(index));
        mark.is_some_and(|mark| mark.end.is_none())
    }

    fn is_answered(&self) -> bool {
        !self.timing.answered || self.notes.messages.iter().all(|mark| mark.end.is_some())
    }

    fn next_step(&self) -> Next {
        if self.all_sent() { Next::Close } else { Next::Send }
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

    fn send(&mut self, intended: Instant, context: Context) -> Step<Command> {
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

    /// When the next step may begin: in a life at once, otherwise when the device's link will have been quiet for the settle time.
    fn settled_at(&self, since: Instant, then: Next, context: Context) -> Instant {
        match then {
            Next::Send | Next::Close if self.timing.is_life() => since,
            Next::CloseFirst | Next::Connect | Next::Send | Next::Close | Next::Finish => {
                since.max(context.link_busy_until) + self.timing.settle
            }
        }
    }

    fn after_settling(&mut self, then: Next, at: Instant, context: Context) -> Step<Command> {
        match then {
            Next::CloseFirst => {
                self.settle(context.now, Next::Connect);
                Step::Command(Command::Close)
            }
            Next::Connect => {
                // The first connection, if any, has only fetched the ticket; this is the one that is measured.
                self.before_ticket = false;
                self.connect(at, context)
            }
            Next::Send if self.is_forgotten(context) => self.leave(at, context.now),
            Next::Send => self.send(at, context),
            Next::Close => {
                self.closing = true;
                // Read before the close, whose CPU time belongs to no message.
                self.notes.cpu_after_messages = context.cpu;
                self.notes.closed = Some(context.now);
                self.settle(context.now, Next::Finish);
                Step::Command(Command::Close)
            }
            Next::Finish => {
                // The server closed first, so that the reading before a close of our own is missing.
                if self.notes.closed.is_none() && !self.broken {
                    self.notes.cpu_after_messages = context.cpu;
                }
                self.notes.done = Some(context.now);
                self.state = State::Done;
                Step::Finished
            }
        }
    }

    fn connect(&mut self, intended: Instant, context: Context) -> Step<Command> {
        let started = context.now;
        self.is_ahead = false;
        // Figures of the connect are those of the first one; later ones are the price of connections that do not last.
        if self.notes.connect_started.is_some() {
            self.notes.reconnects.push(Reconnect {
                intended,
                started,
                ready: None,
            });
        // The connection that only fetches a ticket is none that is measured.
        } else if !self.before_ticket {
            self.notes.connect_started = Some((intended, started));
            self.notes.cpu_before_connect = context.cpu;
        }
        self.state = State::Connecting {
            until: context.now + self.timing.connect_timeout,
        };
        Step::Connect
    }

    /// The client may send one message before the connect is over.
    fn may_send(&mut self, now: Instant) {
        let is_connecting = matches!(self.state, State::Connecting { .. });
        if !is_connecting || self.before_ticket || !self.timing.sends_at_once() {
            return;
        }
        self.is_ahead = true;
        let again = self.notes.reconnects.last();
        self.state = State::Ready {
            at: again.map_or(now, |again| again.intended),
        };
    }

    /// The connect is over, behind which a message has left.
    fn ready_behind(&mut self, now: Instant) {
        match self.notes.reconnects.last_mut() {
            Some(again) => again.ready = Some(now),
            None => self.notes.ready = Some(now),
        }
        let has_left = self.notes.messages.last().is_some_and(|mark| mark.sent.is_some());
        if !self.timing.answered && has_left && matches!(self.state, State::AwaitAnswer { .. }) {
            self.settle(now, self.next_step());
        }
    }

    /// The client may send. The next step depends on the purpose of the connection.
    fn ready(&mut self, now: Instant) {
        if std::mem::take(&mut self.is_ahead) {
            return self.ready_behind(now);
        }
        if !matches!(self.state, State::Connecting { .. }) {
            return;
        }
        if self.before_ticket {
            // A ticket may follow the handshake (RFC 8446, section 4.6.1): the settle gives it time to arrive.
            return self.settle(now, Next::CloseFirst);
        }
        if let Some(again) = self.notes.reconnects.last_mut() {
            again.ready = Some(now);
            self.state = State::Ready { at: again.intended };
            return;
        }
        self.notes.ready = Some(now);
        if self.timing.sends_at_once() {
            self.state = State::Ready { at: now };
        } else {
            self.settle(now, Next::Send);
        }
    }

    /// A connection that does not start as configured measures something else.
    fn established(&mut self, start: Start, now: Instant) {
        if self.before_ticket {
            return;
        }
        let asked = self.timing.start;
        let again = !self.notes.reconnects.is_empty();
        if !again {
            self.notes.start = Some(start);
        }
        if start != asked {
            let why = CutShort::OtherStart {
                asked,
                again,
                granted: start,
            };
            // A full handshake in the place of a resumed one would be counted as the cost of resumption.
            self.break_off(why, now);
        }
    }

    /// The server has closed. This is expected if it does so after its answer, and for the connection that got the
    /// ticket.
    fn closed(&mut self, now: Instant) {
        let answered = self.timing.server_closes && self.all_sent() && self.is_answered();
        if !self.is_down() && !answered {
            self.lost("the server closed the connection".into(), now);
        }
    }

    /// Whether the next or the awaited step needs a connection that accepts bytes.
    const fn needs_room(&self) -> bool {
        !matches!(
            self.state,
            State::Waiting
                | State::Connecting { .. }
                | State::Down { .. }
                | State::Again { .. }
                | State::Done
                | State::Settling {
                    then: Next::Finish | Next::Connect,
                    ..
                }
        )
    }

    /// Waits for a connection that accepts no more bytes. Leaves one over which nothing has moved for the time-out.
    fn wait_for_room(&mut self, context: Context) -> Step<Command> {
        let until = context.link_busy_until + self.timing.timeout;
        if context.now < until {
            return Step::Wait(Some(until));
        }
        self.break_off(CutShort::NoRoom(self.timing.timeout), context.now);
        Step::Wait(Some(context.now))
    }

    /// Gives up messages without an answer within twice the time-out.
    fn give_up(&mut self, now: Instant) {
        for mark in self.notes.messages.iter_mut().filter(|mark| mark.end.is_none()) {
            mark.end = Some((now, End::Unknown));
        }
        self.settle(now, self.next_step());
    }
}

impl<E: Endpoint<Command = Command, Event = Event>> Script<E> for Sampler {
    fn event(&mut self, event: Event, now: Instant) {
        match event {
            Event::Established { start } => self.established(start, now),
            Event::MaySend => self.may_send(now),
            Event::Ready { .. } => self.ready(now),
            Event::Acknowledged { message } => self.end_message(message, now, End::Acknowledged),
            Event::Refused { message, reason } => {
                // A message that was given up has ended already. The end of its flow changes nothing.
                if self.is_open(message) {
                    self.notes.failure.get_or_insert(CutShort::Said(reason));
                }
                self.end_message(message, now, End::Refused);
            }
            Event::TimedOut { message } => self.end_message(message, now, End::Unknown),
            Event::Unanswered { message } => self.not_answered(message, now),
            Event::Rejected { reason } => self.break_off(CutShort::Said(reason), now),
            Event::Closed => self.closed(now),
            Event::Lost { reason } => self.lost(reason, now),
            Event::Sent { .. }
            | Event::Subscribed
            | Event::SubscriptionRefused { .. }
            | Event::Received(_)
            | Event::Polled(_)
            | Event::Other => {}
        }
    }

    fn failed(&mut self, reason: ResetReason, now: Instant) {
        self.break_off(CutShort::Said(reason.to_string()), now);
    }

    fn flushed(&mut self, now: Instant) {
        if let Some(mark) = self.notes.messages.last_mut() {
            mark.sent.get_or_insert(now);
        }
        if let State::AwaitAnswer { .. } = self.state
            && !self.timing.answered
            && !self.is_ahead
        {
            self.settle(now, self.next_step());
        }
    }

    fn next(&mut self, context: Context) -> Step<Command> {
        let now = context.now;
        // The socket's buffer is full: a message given now would wait in this program instead of in the network.
        if context.congested && self.needs_room() {
            return self.wait_for_room(context);
        }
        match self.state {
            State::Waiting if now < self.timing.at => Step::Wait(Some(self.timing.at)),
            State::Waiting => self.connect(self.timing.at, context),
            State::Ready { at } => self.send(at, context),
            State::Connecting { until } if now < until => Step::Wait(Some(until)),
            State::Connecting { .. } => {
                self.break_off(CutShort::NotConnected(self.timing.connect_timeout), now);
                Step::Wait(Some(now))
            }
            State::Settling { since, then } => match self.settled_at(since, then, context) {
                at if now < at => Step::Wait(Some(at)),
                at => self.after_settling(then, at, context),
            },
            State::Streaming { first } => match self.due(first) {
                at if now < at => Step::Wait(Some(at)),
                at if self.is_forgotten(context) => self.leave(at, now),
                at => self.send(at, context),
            },
            State::Again { intended } => self.connect(intended, context),
            State::Down { first } => match self.due(first) {
                at if now < at => Step::Wait(Some(at)),
                at => self.connect(at, context),
            },
            State::AwaitAnswer { until } | State::Draining { until } => {
                // A message that went ahead of its connection is over only when the connection is up too, or its connect would have no end.
                let is_over = self.is_answered() && !self.is_ahead;
                if is_over && matches!(self.state, State::Draining { .. }) {
                    self.settle(now, self.next_step());
                } else if now >= until {
                    self.give_up(now);
                } else {
                    return Step::Wait(Some(until));
                }
                Step::Wait(Some(now))
            }
            State::Done => Step::Finished,
        }
    }
}

#[cfg(test)]
mod tests;
