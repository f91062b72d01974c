//! The connections of a sample: made, ready, lost, made again.

use wirecost_proto::Instant;
use wirecost_proto::script::{Context, Step};
use wirecost_security::Start;
use wirecost_stack::Command;

use super::notes::{CutShort, Reconnect};
use super::{Next, Sampler, State};

impl Sampler {
    pub(super) fn connect(&mut self, intended: Instant, context: Context) -> Step<Command> {
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
    pub(super) fn may_send(&mut self, now: Instant) {
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

    /// The client may send. The next step depends on the purpose of the connection.
    pub(super) fn ready(&mut self, now: Instant) {
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

    /// A connection that does not start as configured measures something else.
    pub(super) fn established(&mut self, start: Start, now: Instant) {
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
    pub(super) fn closed(&mut self, now: Instant) {
        let answered = self.timing.server_closes && self.all_sent() && self.is_answered();
        if !self.is_down() && !answered {
            self.lost("the server closed the connection".into(), now);
        }
    }

    /// The connection has ended. If the device may reconnect, it waits until the next message is due. A connect that
    /// fails ends the sample.
    pub(super) fn lost(&mut self, why: String, now: Instant) {
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
    pub(super) fn leave(&mut self, intended: Instant, now: Instant) -> Step<Command> {
        self.end_open_messages(now);
        self.state = State::Again { intended };
        Step::Abort { reset: false }
    }

    /// Whether the server knows the device no more, and the device makes its session anew.
    pub(super) fn is_forgotten(&self, context: Context) -> bool {
        self.timing.reconnects && self.timing.is_forgotten(context.link_busy_until, context.now)
    }
}
