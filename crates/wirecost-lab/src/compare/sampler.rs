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

mod connection;
mod messages;
mod notes;
mod timing;

use std::collections::VecDeque;

use wirecost_proto::script::{Context, Script, Step};
use wirecost_proto::{Endpoint, Instant, ResetReason};
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

    fn next_step(&self) -> Next {
        if self.all_sent() { Next::Close } else { Next::Send }
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
