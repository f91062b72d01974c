//! Decides when the two endpoints connect, what goes into the store, and when both end.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::ReasonCode;
use wirecost_proto::director::{Director, Due};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Content, Instant, ResetReason};
use wirecost_security::layer;
use wirecost_store::client as store;
use wirecost_store::keeper::{Arrival, Keeper, Notice, Receipt};

use super::aside::AsideFile;
use super::dashboard::Shown;
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
    /// The broker shall keep what follows: its connection ends by then.
    Leaving(Instant),
    /// There is no connection to the broker until there is room.
    Paused,
    /// The endpoint has said goodbye; its socket closes by then.
    Closing(Instant),
}

/// Leads the subscriber and the store's client: when each connects, what it sends next, and when both end.
pub(super) struct StoreDirector {
    pub(super) keeper: Keeper,
    aside: AsideFile,
    /// When the file of readings that are set aside may be tried again.
    aside_at: Instant,
    /// Deliveries that found no room.
    left: VecDeque<u64>,
    /// Whether the connection to the broker must end because one found none.
    is_full: bool,
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
    pub(super) shown: Option<Shown>,
}

/// How a way from the broker into a store speaks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Voice {
    is_quiet: bool,
    /// What comes before its words.
    prefix: &'static str,
}

impl Voice {
    pub(super) const fn new(is_quiet: bool, prefix: &'static str) -> Self {
        Self { is_quiet, prefix }
    }
}

/// What was said last, so that it is not said again.
struct Said {
    voice: Voice,
    last: String,
    has_room: bool,
}

impl StoreDirector {
    pub(super) fn new(keeper: Keeper, aside: AsideFile, subscribe: mqtt::Command, voice: Voice) -> Self {
        Self {
            keeper,
            aside,
            aside_at: Instant::START,
            left: VecDeque::new(),
            is_full: false,
            subscribe,
            states: [State::Held, State::Connect(Instant::START)],
            has_run: [false; 2],
            is_due: [true; 2],
            end_by: None,
            failure: None,
            said: Said {
                voice,
                last: String::new(),
                has_room: true,
            },
            shown: None,
        }
    }

    fn say(&mut self, text: String) {
        let voice = self.said.voice;
        if !voice.is_quiet && text != self.said.last {
            output::note(format_args!("{}{text}", voice.prefix));
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
        match self.states[part] {
            // The connection ends as it was asked to.
            State::Closing(_) | State::Paused => return,
            State::Leaving(_) => {
                self.states[part] = State::Paused;
                return;
            }
            State::Held | State::Connect(_) | State::Connecting(_) | State::Accepted | State::Open => {}
        }
        let name = ["broker", "store"][part];
        self.states[part] = State::Connect(now + PAUSE);
        // What has worked once comes back as it was. What never has is most likely a wrong URL or password, which waiting does not mend.
        if self.has_run[part] {
            self.say(format!("{name}: {why}; trying again every second"));
            return;
        }
        let hint = match part {
            BROKER => {
                "check the broker's URL: wirecost probe shows every step; a broker without MQTT 5 needs --mqtt 3.1.1"
            }
            _ => "check the store's URL, and that its database exists: wirecost probe shows every step",
        };
        let failure = Failure::new(
            code,
            format!("{}cannot use the {name}: {why}", self.said.voice.prefix),
        );
        self.failure = Some(failure.with_hint(hint));
        self.is_due = [true; 2];
    }

    fn broker_event(&mut self, event: mqtt::Event, now: Instant) {
        let lost = |this: &mut Self, code, why: String| this.lost(BROKER, code, &why, now);
        match event {
            // Not open yet: without the subscription no reading comes.
            mqtt::Event::Connected { .. } => self.states[BROKER] = State::Accepted,
            mqtt::Event::MessageReceived(message) => self.receive(&message, now),
            // A broker may accept the connection and still refuse a topic: nothing would ever arrive.
            mqtt::Event::Subscribed { codes } => match codes.iter().find(|code| code.is_failure()) {
                Some(code) => lost(self, exit::REFUSED, format!("SUBACK {code}")),
                None => {
                    self.states[BROKER] = State::Open;
                    self.has_run[BROKER] = true;
                    self.say("broker: subscribed".to_owned());
                }
            },
            mqtt::Event::Rejected { reason } => lost(self, exit::REFUSED, format!("CONNACK {reason}")),
            mqtt::Event::Disconnected { reason } => lost(self, exit::REFUSED, format!("DISCONNECT {reason}")),
            mqtt::Event::Failed(error) => lost(self, exit::REFUSED, error.to_string()),
            mqtt::Event::TimedOut(_) => lost(self, exit::UNREACHABLE, "no answer in time".to_owned()),
            mqtt::Event::Closed => lost(
                self,
                exit::UNREACHABLE,
                "the broker closed the connection".to_owned(),
            ),
            // Its own abort, which has already said why.
            mqtt::Event::Reset(ResetReason::Local) => {}
            mqtt::Event::Reset(reason) => lost(self, exit::UNREACHABLE, reason.to_string()),
            mqtt::Event::Sent { .. }
            | mqtt::Event::Acknowledged { .. }
            | mqtt::Event::Refused { .. }
            | mqtt::Event::MaySend
            | mqtt::Event::Unprocessed { .. }
            | mqtt::Event::Discarded { .. }
            | mqtt::Event::DigestReceived(_)
            | mqtt::Event::Unsubscribed { .. }
            | mqtt::Event::Pong => {}
        }
    }

    fn receive(&mut self, message: &mqtt::Message, now: Instant) {
        if self.end_by.is_some() {
            // The broker keeps it for the next start.
            self.left.extend(message.delivery);
            self.is_due[BROKER] = true;
            return;
        }
        if let Some(shown) = &self.shown {
            shown.arrived(&message.topic, &message.payload, now);
        }
        let arrival = Arrival {
            sender: &message.topic,
            payload: Content::from(&message.payload[..]),
            delivery: message.delivery,
            is_redelivered: message.may_be_known,
        };
        let receipt = self.keeper.receive(arrival, now);
        let (is_kept, words) = match receipt {
            Receipt::Kept => (true, ""),
            Receipt::Left => (false, "there is no room for more readings: the broker keeps them"),
            Receipt::Lost => (false, "there is no room for more readings: they are lost"),
        };
        // Once for each time that the room is used up: a line for each reading would be thousands.
        if self.said.has_room && !is_kept {
            self.say(words.to_owned());
        }
        self.said.has_room = is_kept;
        if receipt == Receipt::Left {
            self.left.extend(message.delivery);
            self.is_full = true;
        }
        self.is_due = [true; 2];
    }

    /// Writes down what the database does not take. What cannot be written is held, and the broker keeps what follows.
    fn set_aside(&mut self, now: Instant) {
        // Written before it is acknowledged: the broker forgets a message with its acknowledgement.
        while self.aside_at <= now
            && let Some(aside) = self.keeper.to_set_aside()
        {
            let (path, why) = (self.aside.path().display().to_string(), aside.why().to_string());
            match self.aside.write(aside) {
                Ok(()) => {
                    self.keeper.set_aside();
                    self.say(format!("store: a reading is set aside in {path}: {why}"));
                }
                Err(error) => {
                    self.aside_at = now + PAUSE;
                    self.say(format!(
                        "cannot set a reading aside in {path}: {error}; trying again every second"
                    ));
                }
            }
            self.is_due = [true; 2];
            self.count();
        }
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
                // Readings that come before there is a store could only be held in memory.
                if self.states[BROKER] == State::Held {
                    self.states[BROKER] = State::Connect(now);
                    self.is_due[BROKER] = true;
                }
            }
            Notice::Absent(why) => self.lost(STORE, exit::UNREACHABLE, &why, now),
            Notice::Later(words) => {
                self.say(format!("store: it takes nothing now, readings are held: {words}"))
            }
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
            // A firewall that drops packets answers nothing, and the kernel tries for minutes.
            State::Connecting(_) => {
                let why = format!("no answer within {} s", CONNECT_PATIENCE.as_secs());
                self.lost(part, exit::UNREACHABLE, &why, now);
                Some(Step::Abort { reset: false })
            }
            // The broker sends all that is unanswered at once, which without room would end in the same way.
            State::Paused if self.keeper.has_room() => {
                self.states[part] = State::Connect(now);
                self.connect(part, now)
            }
            State::Paused => Some(Step::Wait(None)),
            State::Leaving(until) if until > now => Some(Step::Wait(Some(until))),
            State::Leaving(_) => {
                self.states[part] = State::Paused;
                Some(Step::Abort { reset: false })
            }
            State::Accepted | State::Open | State::Closing(_) => None,
        }
    }

    /// Whether nothing is left to store, or the time for it is over.
    fn has_drained(&self, now: Instant) -> bool {
        let is_late = self.end_by.is_some_and(|end_by| end_by <= now);
        self.keeper.held() == 0 || is_late || self.failure.is_some()
    }

    /// Tells the subscriber what is settled, and what is left to the broker. It takes this without a connection, too.
    fn answer(&mut self) -> Option<mqtt::Command> {
        if let Some(delivery) = self.left.pop_front() {
            return Some(mqtt::Command::Decline { delivery });
        }
        let delivery = self.keeper.next_settled()?;
        Some(mqtt::Command::Acknowledge { delivery })
    }

    fn broker_next(&mut self, context: Context) -> Step<Command> {
        let now = context.now;
        if !context.congested
            // First, and also at the end: a broker sends again what is stored and not acknowledged.
            && let Some(command) = self.answer()
        {
            return Step::Command(Command::Broker(command));
        }
        if self.is_ending() {
            return match self.states[BROKER] {
                State::Open | State::Accepted if !self.has_drained(now) => Step::Wait(self.end_by),
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
        if std::mem::take(&mut self.is_full) {
            // A server delivers again what is without an answer on a later connection alone [MQTT-4.4.0-1].
            self.states[BROKER] = State::Leaving(now + GOODBYE);
            return Step::Command(Command::Broker(mqtt::Command::Disconnect(ReasonCode::Success)));
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
        // A half-open connection takes inserts and answers none, until the kernel gives it up after many minutes.
        if self.keeper.is_stalled(now) {
            self.lost(STORE, exit::UNREACHABLE, "no answer to an insert in time", now);
            // An orderly close would wait for the bytes that the store does not take.
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
        self.is_due = [true; 2];
        self.count();
    }

    fn failed(&mut self, part: usize, reason: ResetReason, now: Instant) {
        self.lost(part, exit::UNREACHABLE, &reason.to_string(), now);
        self.count();
    }

    fn flushed(&mut self, part: usize, now: Instant) -> bool {
        if let State::Closing(until) | State::Leaving(until) = &mut self.states[part] {
            *until = now;
        }
        true
    }

    fn next(&mut self, part: usize, context: Context) -> Step<Command> {
        match part {
            BROKER => self.broker_next(context),
            _ => self.store_next(context),
        }
    }

    fn due(&mut self, now: Instant) -> Due {
        self.set_aside(now);
        let part = self.is_due.iter_mut().position(std::mem::take);
        let again = self.keeper.to_set_aside().map(|_| self.aside_at);
        part.map_or(Due::Later(again), Due::Device)
    }

    fn woken(&mut self, now: Instant) -> ControlFlow<()> {
        self.end_by.get_or_insert(now + DRAIN);
        self.is_due = [true; 2];
        ControlFlow::Continue(())
    }
}
