//! What a device does in its world: it prepares itself if it must, sends one report, and notes how that ends.
//!
//! ```text
//! cue -> connect -> ready -> send -> end                                   nothing before the report
//! cue -> connect -> ready, cue -> send -> end                              a kept connection
//! cue -> connect -> ready, cue -> close, cue -> connect -> ready -> send   a ticket of an earlier connection
//! ```
//!
//! The owner of the world gives the cues with `World::wake_director`.

use std::net::SocketAddr;
use std::ops::ControlFlow;

use wirecost_proto::director::{Director, Due};
use wirecost_proto::driver::ServiceObserver;
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Instant, ResetReason};
use wirecost_security::Start;
use wirecost_stack::server::ServerEvent;
use wirecost_stack::{Client, Command, Event};

/// What a device has from before its report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing: it connects for its report.
    #[default]
    Nothing,
    /// A ticket of an earlier connection, which is closed.
    Ticket,
    /// A connection that it keeps.
    Connection,
}

/// The director of one device.
#[derive(Debug)]
pub(super) struct Reporter {
    is_answered: bool,
    before: Before,
    /// How the connection of the report must start.
    start: Start,
    step: ReporterStep,
    /// Whether the owner of the world has given a cue that is not handled.
    is_cued: bool,
    failure: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReporterStep {
    /// It waits for the first cue.
    Idle,
    Connect,
    AwaitReady,
    /// It has the connection from before the report, and waits for a cue.
    Holds,
    Close,
    /// It has closed the connection from before the report, and waits for a cue.
    Closed,
    Send,
    AwaitEnd,
    /// The client needs nothing more.
    Done,
    /// The client has given up.
    Failed,
}

impl Reporter {
    pub(super) const fn new(is_answered: bool, before: Before, start: Start) -> Self {
        Self {
            is_answered,
            before,
            start,
            step: ReporterStep::Idle,
            is_cued: false,
            failure: None,
        }
    }

    /// Whether the client needs nothing more: its report is acknowledged, or sent where nothing answers it.
    pub(super) fn is_done(&self) -> bool {
        self.step == ReporterStep::Done
    }

    /// Whether it has the connection from before its report.
    pub(super) fn holds_connection(&self) -> bool {
        self.step == ReporterStep::Holds
    }

    /// Whether it has closed the connection from before its report.
    pub(super) fn has_closed(&self) -> bool {
        self.step == ReporterStep::Closed
    }

    /// Why the client has given up.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn fail(&mut self, why: String) {
        // An end of the connection that was asked for, or that comes after the report's, changes nothing.
        let is_expected = matches!(
            self.step,
            ReporterStep::Close | ReporterStep::Closed | ReporterStep::Done | ReporterStep::Failed
        );
        if !is_expected {
            self.step = ReporterStep::Failed;
            self.failure = Some(why);
        }
    }

    fn ready(&mut self) {
        if self.step == ReporterStep::AwaitReady {
            self.step = match self.before {
                Before::Nothing => ReporterStep::Send,
                Before::Ticket | Before::Connection => ReporterStep::Holds,
            };
        }
    }

    /// The connection of the report must start as it was asked for.
    fn established(&mut self, granted: Start) {
        if self.before == Before::Nothing && granted != self.start {
            self.fail(format!("asked for {}, the server granted {granted}", self.start));
        }
    }
}

impl Director<Client> for Reporter {
    fn event(&mut self, _: usize, event: Event, _: Instant) {
        match event {
            Event::Established { start } => self.established(start),
            Event::MaySend => {}
            Event::Ready { .. } => self.ready(),
            // Where nothing answers, what was sent is all that the device ever learns.
            Event::Sent { .. } if !self.is_answered && self.step == ReporterStep::AwaitEnd => {
                self.step = ReporterStep::Done;
            }
            Event::Acknowledged { .. } => self.step = ReporterStep::Done,
            Event::Refused { reason, .. } | Event::Rejected { reason } | Event::Lost { reason } => {
                self.fail(reason);
            }
            Event::TimedOut { .. } | Event::Unanswered { .. } => self.fail("no answer in time".into()),
            Event::Closed => self.fail("the server closed the connection".into()),
            _ => {}
        }
    }

    fn failed(&mut self, _: usize, reason: ResetReason, _: Instant) {
        self.fail(reason.to_string());
    }

    fn flushed(&mut self, _: usize, _: Instant) -> bool {
        false
    }

    fn next(&mut self, _: usize, _: Context) -> Step<Command> {
        match self.step {
            ReporterStep::Connect => {
                self.step = ReporterStep::AwaitReady;
                Step::Connect
            }
            ReporterStep::Send => {
                self.step = ReporterStep::AwaitEnd;
                Step::Command(Command::Send { message: 0 })
            }
            ReporterStep::Close => {
                self.step = ReporterStep::Closed;
                Step::Command(Command::Close)
            }
            _ => Step::Wait(None),
        }
    }

    fn due(&mut self, _: Instant) -> Due {
        match std::mem::take(&mut self.is_cued) {
            true => Due::Device(0),
            false => Due::Later(None),
        }
    }

    fn woken(&mut self, _: Instant) -> ControlFlow<()> {
        self.is_cued = true;
        (self.step, self.before) = match (self.step, self.before) {
            (ReporterStep::Idle, before) => (ReporterStep::Connect, before),
            (ReporterStep::Holds, Before::Ticket) => (ReporterStep::Close, Before::Ticket),
            (ReporterStep::Holds, before) => (ReporterStep::Send, before),
            (ReporterStep::Closed, _) => (ReporterStep::Connect, Before::Nothing),
            unchanged => unchanged,
        };
        ControlFlow::Continue(())
    }
}

/// When the first report arrived at the server.
#[derive(Debug, Default)]
pub(super) struct Arrival(pub(super) Option<Instant>);

impl ServiceObserver<wirecost_stack::server::Server> for Arrival {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, event: ServerEvent, now: Instant) {
        if event.message().is_some() {
            self.0.get_or_insert(now);
        }
    }
}
