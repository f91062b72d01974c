//! The script of a probe: its steps, and what it notes of them.
//!
//! ```text
//! [ticket: connect, settle, close]   where the measured connection is to be resumed
//! connect -> security -> open -> message -> close
//! ```
//!
//! Each step begins where the step before it ended. A protocol leaves out the steps that it does not have: datagrams have no
//! connect, and only MQTT and AMQP have an open. With early data the message begins before the handshake is complete, and
//! shares its flights.

use std::collections::VecDeque;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::script::{Context, Script, Step as Action};
use wirecost_proto::{BothWays, Endpoint, Instant, ResetReason};
use wirecost_security::Start;
use wirecost_stack::Command;

use super::event::{Event, Fact, ProbeEvent, StreamPosition, Trouble};
use super::notes::{Mark, Notes, Step};
use super::options::Options;

/// How long a server may take to close its direction.
const CLOSE_WAIT: Duration = Duration::from_secs(1);

/// How long the connection that brings the ticket stays open at least: a ticket follows the handshake.
const TICKET_WAIT: Duration = Duration::from_millis(300);

/// The command that sends the client's own message.
const SEND: Command = Command::Send { message: 0 };

/// What the probe does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has not begun.
    Idle,
    /// It opens the connection that brings the ticket.
    TicketOpening,
    /// It waits for the ticket.
    TicketSettling,
    /// It closes that connection.
    TicketClosing,
    /// It runs a step of the measured connection.
    Running(Step),
    /// It has ended.
    Over,
}

/// The script of a probe.
pub struct ProbeScript {
    notes: Notes,
    stage: Stage,
    deadline: Option<Instant>,
    actions: VecDeque<Action<Command>>,
    timeout: Duration,
    transport: Transport,
    has_handshake: bool,
    has_open: bool,
    is_answered: bool,
    needs_ticket: bool,
    /// Whether the probe ends after the handshake.
    is_handshake_only: bool,
    /// The position of the flow when a message without an answer was sent, until the script closes the connection.
    sent: Option<StreamPosition>,
}

impl ProbeScript {
    /// The script that `options` ask for.
    pub fn new(options: &Options) -> Self {
        let scheme = options.url.scheme;
        Self {
            notes: Notes::default(),
            stage: Stage::Idle,
            deadline: None,
            actions: VecDeque::new(),
            timeout: options.timeout,
            transport: scheme.stack().transport(),
            has_handshake: scheme.is_secure(),
            has_open: scheme.protocol().has_open(),
            is_answered: options.stack().is_answered(),
            needs_ticket: options.start != Start::Cold,
            is_handshake_only: false,
            sent: None,
        }
    }

    /// A script that ends after the handshake.
    pub fn handshake_only(options: &Options) -> Self {
        Self {
            is_handshake_only: true,
            ..Self::new(options)
        }
    }

    /// Returns the notes.
    pub fn into_notes(self) -> Notes {
        self.notes
    }

    fn begin(&mut self, now: Instant) {
        if self.needs_ticket {
            self.mark(Step::Ticket, StreamPosition::default(), now);
            self.enter(Stage::TicketOpening, self.timeout, now);
            self.actions.push_back(Action::Connect);
        } else {
            self.connect(now);
        }
    }

    fn connect(&mut self, now: Instant) {
        let first = match (self.transport, self.has_handshake) {
            (Transport::Stream, _) => Step::Connect,
            (Transport::Datagram, true) => Step::Security,
            (Transport::Datagram, false) => Step::Message,
        };
        self.notes.first_bytes.clear();
        self.notes.is_echo = false;
        self.step(first, StreamPosition::default(), now);
        self.actions.push_back(Action::Connect);
    }

    fn enter(&mut self, stage: Stage, patience: Duration, now: Instant) {
        self.stage = stage;
        self.deadline = Some(now + patience);
    }

    fn step(&mut self, step: Step, position: StreamPosition, now: Instant) {
        let is_new = self.notes.marks.last().is_none_or(|mark| mark.step != step);
        if is_new {
            self.mark(step, position, now);
        }
        let patience = if step == Step::Close {
            CLOSE_WAIT
        } else {
            self.timeout
        };
        self.enter(Stage::Running(step), patience, now);
    }

    fn mark(&mut self, step: Step, position: StreamPosition, at: Instant) {
        self.notes.marks.push(Mark { step, at, position });
    }

    /// Notes the trouble unless there was one before, and ends the probe.
    fn fail(&mut self, trouble: Trouble, now: Instant) {
        self.note_trouble(trouble, now);
        self.end(now);
    }

    fn note_trouble(&mut self, trouble: Trouble, now: Instant) {
        let Some(mark) = self.notes.marks.last() else {
            return;
        };
        let spent = now.saturating_since(mark.at);
        let step = mark.step;
        self.notes.trouble.get_or_insert((step, trouble, spent));
    }

    fn end(&mut self, now: Instant) {
        if self.stage != Stage::Over {
            self.notes.ended = Some(now);
        }
        self.stage = Stage::Over;
        self.deadline = None;
        self.actions.clear();
    }

    fn handle(&mut self, event: Event, now: Instant) {
        self.notes.first_bytes = event.first_bytes;
        match self.stage {
            Stage::Idle | Stage::Over => {}
            Stage::TicketOpening | Stage::TicketSettling | Stage::TicketClosing => {
                self.handle_ticket(event.kind, now);
            }
            Stage::Running(Step::Close) => self.handle_closing(&event.kind, now),
            Stage::Running(_) => self.handle_running(event.kind, event.position, now),
        }
    }

    fn handle_ticket(&mut self, kind: ProbeEvent, now: Instant) {
        match (kind, self.stage) {
            (ProbeEvent::Ready(_), Stage::TicketOpening) => {
                let opened = self.notes.marks.first().map_or(now, |mark| mark.at);
                let patience = TICKET_WAIT.max(now.saturating_since(opened));
                self.enter(Stage::TicketSettling, patience, now);
            }
            (ProbeEvent::PeerClosed | ProbeEvent::Reset(_), Stage::TicketClosing) => self.connect(now),
            (ProbeEvent::Closing, Stage::TicketClosing) if self.transport == Transport::Datagram => {
                self.connect(now);
            }
            (_, Stage::TicketClosing) => {}
            (kind, _) => self.handle_trouble(kind, now),
        }
    }

    fn handle_running(&mut self, kind: ProbeEvent, position: StreamPosition, now: Instant) {
        match kind {
            ProbeEvent::Opened if self.has_handshake => self.step(Step::Security, position, now),
            ProbeEvent::Opened if self.has_open => self.step(Step::Open, position, now),
            ProbeEvent::Established { start, negotiated } => {
                self.notes.start = Some(start);
                self.notes.negotiated = negotiated.map(|negotiated| *negotiated);
                if self.is_handshake_only {
                    self.end(now);
                } else if self.has_open && self.stage == Stage::Running(Step::Security) {
                    self.step(Step::Open, position, now);
                }
            }
            ProbeEvent::Ready(facts) => {
                self.notes.facts.extend(facts);
                self.step(Step::Message, position, now);
                self.actions.push_back(Action::Command(SEND));
            }
            ProbeEvent::Sent if !self.is_answered => {
                self.notes
                    .facts
                    .push(Fact::new("message", "sent; nothing answers it"));
                self.sent = Some(position);
            }
            ProbeEvent::Answered(facts) => {
                self.notes.facts.extend(facts);
                self.close(position, now);
            }
            ProbeEvent::Refused(refusal) => {
                self.notes
                    .facts
                    .push(Fact::new("message", refusal.reason.clone()));
                self.note_trouble(Trouble::Refused(refusal), now);
                self.close(position, now);
            }
            ProbeEvent::Ignored(what) => self.notes.ignored = Some(what),
            ProbeEvent::Echoed => self.notes.is_echo = true,
            kind => self.handle_trouble(kind, now),
        }
    }

    fn handle_trouble(&mut self, kind: ProbeEvent, now: Instant) {
        match kind {
            ProbeEvent::Trouble(trouble) => self.fail(trouble, now),
            ProbeEvent::PeerClosed => self.fail(Trouble::Closed, now),
            ProbeEvent::Reset(reason) => self.fail(Trouble::Broken(reason), now),
            _ => {}
        }
    }

    fn close(&mut self, position: StreamPosition, now: Instant) {
        self.step(Step::Close, position, now);
        self.actions.push_back(Action::Command(Command::Close));
    }

    fn handle_closing(&mut self, kind: &ProbeEvent, now: Instant) {
        let is_over = match kind {
            ProbeEvent::PeerClosed | ProbeEvent::Reset(_) => {
                self.notes.peer_closed = true;
                true
            }
            ProbeEvent::Closing => self.transport == Transport::Datagram,
            _ => false,
        };
        if is_over {
            self.end(now);
        }
    }

    /// Ends a stage whose time is over.
    fn expire(&mut self, now: Instant) {
        match self.stage {
            Stage::TicketSettling => {
                self.enter(Stage::TicketClosing, CLOSE_WAIT, now);
                self.actions.push_back(Action::Command(Command::Close));
            }
            Stage::TicketClosing => self.connect(now),
            Stage::Running(Step::Close) => self.end(now),
            Stage::TicketOpening | Stage::Running(_) => self.fail(Trouble::TimedOut, now),
            Stage::Idle | Stage::Over => {}
        }
    }
}

impl<E> Script<E> for ProbeScript
where
    E: Endpoint<Command = Command, Event = Event>,
{
    fn event(&mut self, event: Event, now: Instant) {
        self.handle(event, now);
    }

    fn failed(&mut self, reason: ResetReason, now: Instant) {
        if self.stage != Stage::Over {
            self.fail(Trouble::Unconnected(reason), now);
        }
    }

    fn flushed(&mut self, _: Instant) {}

    fn next(&mut self, context: Context) -> Action<Command> {
        if self.stage == Stage::Idle {
            self.begin(context.now);
        }
        if self.deadline.is_some_and(|deadline| deadline <= context.now) {
            self.expire(context.now);
        }
        if let Some(StreamPosition(sent)) = self.sent.take() {
            // The layer below may send the bytes only after the protocol's client has reported the message as sent.
            let up = context.transmitted;
            self.close(StreamPosition(BothWays { up, ..sent }), context.now);
        }
        match self.actions.pop_front() {
            Some(action) => action,
            None if self.stage == Stage::Over => Action::Finished,
            None => Action::Wait(self.deadline),
        }
    }
}

#[cfg(test)]
mod tests;
