//! Decides when the two endpoints connect, what goes into the store, and when both end.

use std::ops::ControlFlow;
use std::time::Duration;

use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::ReasonCode;
use wirecost_proto::director::{Director, Due};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Content, Instant, ResetReason};
use wirecost_security::layer;
use wirecost_store::client as store;
use wirecost_store::keeper::{Keeper, Notice};

use super::dashboard::Shown;
use super::json;
use super::part::{Command, Event, Part};
use crate::exit::{self, Failure};
use crate::output;

/// The loop's number of the subscriber.
pub(super) const BROKER: usize = 0;
/// The loop's number of the store's client.
pub(super) const STORE: usize = 1;

/// How long a connection may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// The time from the end of a connection to the next attempt.
const PAUSE: Duration = Duration::from_secs(1);
/// How long readings may still be stored after the user has interrupted.
const DRAIN: Duration = Duration::from_secs(10);
/// How long the last bytes of a connection may take.
const GOODBYE: Duration = Duration::from_millis(500);

/// What an endpoint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The store comes first.
    Held,
    /// Connect at this time.
    Connect(Instant),
    /// The connection must be usable by then.
    Connecting(Instant),
    /// The broker has accepted the connection.
    Accepted,
    Open,
    /// The endpoint has said goodbye; its socket closes by then.
    Closing(Instant),
}

/// The director.
pub(super) struct StoreDirector {
    pub(super) keeper: Keeper,
    subscribe: mqtt::Command,
    states: [State; 2],
    /// Whether an endpoint has been open.
    has_run: [bool; 2],
    /// Whether the loop must ask an endpoint.
    is_due: [bool; 2],
    /// When the readings must be stored, after the user has interrupted.
    end_by: Option<Instant>,
    /// Why it could not begin.
    pub(super) failure: Option<Failure>,
    said: Said,
    /// The dashboard, if there is one.
    shown: Option<Shown>,
}

/// What was said last, so that it is not said again.
struct Said {
    is_quiet: bool,
    last: String,
    has_room: bool,
}

impl StoreDirector {
    pub(super) fn new(
        keeper: Keeper,
        subscribe: mqtt::Command,
        is_quiet: bool,
        shown: Option<Shown>,
    ) -> Self {
        Self {
            keeper,
            subscribe,
            states: [State::Held, State::Connect(Instant::START)],
            has_run: [false; 2],
            is_due: [true; 2],
            end_by: None,
            failure: None,
            said: Said {
                is_quiet,
                last: String::new(),
                has_room: true,
            },
            shown,
        }
    }

    fn say(&mut self, text: String) {
        if !self.said.is_quiet && text != self.said.last {
            output::note(&text);
        }
        if let Some(shown) = &self.shown {
            shown.says(&text);
        }
        self.said.last = text;
    }

    /// Gives the dashboard the counts as they are now.
    fn count(&self) {
        if let Some(shown) = &self.shown {
            let open = self.states.map(|state| state == State::Open);
            shown.counted(self.keeper.counts(), self.keeper.held(), open);
        }
    }

    const fn is_ending(&self) -> bool {
        self.end_by.is_some() || self.failure.is_some()
    }

    /// An endpoint has no connection. Before both have run, that is the end.
    fn lost(&mut self, part: usize, code: u8, why: &str, now: Instant) {
        if matches!(self.states[part], State::Closing(_)) {
            return;
        }
        let name = ["broker", "store"][part];
        self.states[part] = State::Connect(now + PAUSE);
        if self.has_run[part] {
            self.say(format!("{name}: {why}; trying again every second"));
            return;
        }
        let hint = match part {
            BROKER => "check the broker's URL: wirecost probe shows every step",
            _ => "check the store's URL, and that its database exists: wirecost probe shows every step",
        };
        let failure = Failure::new(code, format!("cannot use the {name}: {why}"));
        self.failure = Some(failure.with_hint(hint));
        self.is_due = [true; 2];
    }

    fn broker_event(&mut self, event: mqtt::Event, now: Instant) {
        let lost = |this: &mut Self, code, why: String| this.lost(BROKER, code, &why, now);
        match event {
            mqtt::Event::Connected { .. } => self.states[BROKER] = State::Accepted,
            mqtt::Event::MessageReceived(message) => self.receive(&message, now),
            mqtt::Event::Subscribed { codes } => match codes.iter().find(|code| code.is_failure()) {
                Some(code) => lost(self, exit::REFUSED, format!("SUBACK {code}")),
                None => {
                    self.states[BROKER] = State::Open;
                    self.has_run[BROKER] = true;
                    self.say("broker: subscribed".to_owned());
                }
            },
            mqtt::Event::Refused { reason } => lost(self, exit::REFUSED, format!("CONNACK {reason}")),
            mqtt::Event::Disconnected { reason } => lost(self, exit::REFUSED, format!("DISCONNECT {reason}")),
            mqtt::Event::Failed(error) => lost(self, exit::REFUSED, error.to_string()),
            mqtt::Event::TimedOut(_) => lost(self, exit::UNREACHABLE, "no answer in time".to_owned()),
            mqtt::Event::Closed => lost(
                self,
                exit::UNREACHABLE,
                "the broker closed the connection".to_owned(),
            ),
            mqtt::Event::Reset(ResetReason::Local) => {}
            mqtt::Event::Reset(reason) => lost(self, exit::UNREACHABLE, reason.to_string()),
            mqtt::Event::Sent { .. }
            | mqtt::Event::Acknowledged { .. }
            | mqtt::Event::Rejected { .. }
            | mqtt::Event::Discarded { .. }
            | mqtt::Event::DigestReceived(_)
            | mqtt::Event::Unsubscribed { .. }
            | mqtt::Event::Pong => {}
        }
    }

    fn receive(&mut self, message: &mqtt::Message, now: Instant) {
        if let Some(shown) = &self.shown {
            shown.arrived(&message.topic, &message.payload, now);
        }
        let content = Content::from(json(&message.payload));
        let is_kept = self.keeper.receive(&message.topic, content, now);
        if self.said.has_room && !is_kept {
            self.say("there is no room for more readings: they are lost".to_owned());
        }
        self.said.has_room = is_kept;
        self.is_due[STORE] = true;
    }

    fn notice(&mut self, notice: Notice, now: Instant) {
        match notice {
            Notice::Stored { sender, after } => {
                if let Some(shown) = &self.shown {
                    shown.stored(&sender, after);
                }
            }
            Notice::Open => {
                self.states[STORE] = State::Open;
                self.has_run[STORE] = true;
                self.say("store: open".to_owned());
                if self.states[BROKER] == State::Held {
                    self.states[BROKER] = State::Connect(now);
                    self.is_due[BROKER] = true;
                }
            }
            Notice::Absent(why) => self.lost(STORE, exit::UNREACHABLE, &why, now),
            Notice::Full(words) => self.say(format!("store: it has no room, readings are held: {words}")),
            Notice::Refused(words) => self.say(format!("store: it refuses a reading: {words}")),
            Notice::NotSwept(words) => self.say(format!("store: it does not delete old readings: {words}")),
        }
    }

    /// The next step towards a connection; `None` where there is one.
    fn connect(&mut self, part: usize, now: Instant) -> Option<Step<Command>> {
        match self.states[part] {
            State::Held => Some(Step::Wait(None)),
            State::Connect(at) if at > now => Some(Step::Wait(Some(at))),
            State::Connect(_) => {
                self.states[part] = State::Connecting(now + CONNECT_PATIENCE);
                Some(Step::Connect)
            }
            State::Connecting(until) if until > now => Some(Step::Wait(Some(until))),
            State::Connecting(_) => {
                let why = format!("no answer within {} s", CONNECT_PATIENCE.as_secs());
                self.lost(part, exit::UNREACHABLE, &why, now);
                Some(Step::Abort { reset: false })
            }
            State::Accepted | State::Open | State::Closing(_) => None,
        }
    }

    fn broker_next(&mut self, now: Instant) -> Step<Command> {
        if self.is_ending() {
            return match self.states[BROKER] {
                State::Open | State::Accepted => {
                    self.states[BROKER] = State::Closing(now + GOODBYE);
                    Step::Command(Command::Broker(mqtt::Command::Disconnect(ReasonCode::Success)))
                }
                State::Closing(until) if until > now => Step::Wait(Some(until)),
                _ => Step::Finished,
            };
        }
        if let Some(step) = self.connect(BROKER, now) {
            return step;
        }
        if self.states[BROKER] == State::Accepted {
            self.states[BROKER] = State::Open;
            return Step::Command(Command::Broker(self.subscribe.clone()));
        }
        Step::Wait(None)
    }

    fn store_next(&mut self, context: Context) -> Step<Command> {
        let now = context.now;
        if self.failure.is_some() {
            return Step::Finished;
        }
        if let State::Closing(until) = self.states[STORE] {
            return match until > now {
                true => Step::Wait(Some(until)),
                false => Step::Finished,
            };
        }
        if let Some(end_by) = self.end_by
            && (self.keeper.held() == 0 || end_by <= now)
        {
            if self.states[STORE] != State::Open {
                return Step::Finished;
            }
            self.states[STORE] = State::Closing(now + GOODBYE);
            return Step::Command(Command::Store(store::Command::Close));
        }
        let end_by = self.end_by;
        let until = |at: Option<Instant>| Step::Wait(at.into_iter().chain(end_by).min());
        if self.states[STORE] != State::Open {
            return match self.connect(STORE, now) {
                Some(Step::Wait(at)) => until(at),
                step => step.unwrap_or_else(|| until(None)),
            };
        }
        if self.keeper.is_stalled(now) {
            self.lost(STORE, exit::UNREACHABLE, "no answer to an insert in time", now);
            return Step::Abort { reset: true };
        }
        if context.congested {
            return until(None);
        }
        match self.keeper.next(now) {
            Some(command) => Step::Command(Command::Store(command)),
            None => until(self.keeper.wakes()),
        }
    }
}

impl Director<Part> for StoreDirector {
    fn event(&mut self, _: usize, event: Event, now: Instant) {
        match event {
            Event::Broker(event) | Event::Secure(layer::Event::Inner(event)) => self.broker_event(event, now),
            Event::Secure(layer::Event::Failed { fault, .. }) => {
                self.lost(BROKER, exit::REFUSED, &fault.to_string(), now);
            }
            Event::Secure(layer::Event::Established { .. } | layer::Event::EarlyData { .. }) => {}
            Event::SecureStore(layer::Event::Failed { fault, .. }) => {
                self.keeper.ended(String::new());
                self.lost(STORE, exit::REFUSED, &fault.to_string(), now);
            }
            Event::SecureStore(layer::Event::Established { .. } | layer::Event::EarlyData { .. }) => {}
            Event::Store(store::Event::Reset(ResetReason::Local))
            | Event::SecureStore(layer::Event::Inner(store::Event::Reset(ResetReason::Local))) => {
                self.keeper.ended(String::new());
            }
            Event::Store(event) | Event::SecureStore(layer::Event::Inner(event)) => {
                if let Some(notice) = self.keeper.event(event, now) {
                    self.notice(notice, now);
                }
            }
        }
        self.count();
    }

    fn failed(&mut self, part: usize, reason: ResetReason, now: Instant) {
        self.lost(part, exit::UNREACHABLE, &reason.to_string(), now);
        self.count();
    }

    fn flushed(&mut self, part: usize, now: Instant) -> bool {
        if let State::Closing(until) = &mut self.states[part] {
            *until = now;
        }
        true
    }

    fn next(&mut self, part: usize, context: Context) -> Step<Command> {
        match part {
            BROKER => self.broker_next(context.now),
            _ => self.store_next(context),
        }
    }

    fn due(&mut self, _: Instant) -> Due {
        let part = self.is_due.iter_mut().position(std::mem::take);
        part.map_or(Due::Later(None), Due::Device)
    }

    fn woken(&mut self, now: Instant) -> ControlFlow<()> {
        self.end_by.get_or_insert(now + DRAIN);
        self.is_due = [true; 2];
        ControlFlow::Continue(())
    }
}
