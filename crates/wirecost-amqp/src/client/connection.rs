//! One connection of a client: where it stands, what it has to say, when it gives up.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{Buffer, FlowId, Instant, Output, TimerTable};

use super::{Awaited, Closing, Config, Event, Failure, MessageTemplate, SaslConfig, Stats};
use crate::codec::frame::{MIN_MAX_FRAME_SIZE, emit_empty_frame};
use crate::codec::sasl::plain_response;
use crate::codec::{
    Attach, Attribution, Close, Condition, Detach, End, Framer, Open, Performative, ProtocolHeader, Role,
    Sasl, SenderSettleMode, Terminus,
};
use crate::outgoing;
use crate::session::Session;
use crate::timer::Timer;

/// The channel and the handle that the client uses for its only session and link.
pub(super) const CHANNEL: u16 = 0;
pub(super) const HANDLE: u32 = 0;

/// The state of a connection.
#[derive(Debug)]
pub(super) enum State {
    AwaitSaslHeader,
    AwaitMechanisms,
    AwaitOutcome,
    AwaitHeader,
    AwaitOpen,
    AwaitBegin(Remote),
    AwaitAttach(Remote, Session),
    Attached(Remote, Session, Link),
    /// Close is sent, the peer's is awaited.
    AwaitClose,
    /// Nothing more is said but what is already written; then FIN.
    Finishing,
    /// FIN is out.
    Finished,
}

/// What the peer's open says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remote {
    pub(super) max_frame_size: usize,
    /// How often it wants to hear from us.
    pub(super) keep_alive: Option<Duration>,
}

/// The client's end of its link (section 2.6).
#[derive(Debug)]
pub(super) struct Link {
    /// The handle that the peer gave it.
    pub(super) remote_handle: u32,
    pub(super) max_message_size: u64,
    pub(super) delivery_count: u32,
    pub(super) credit: u32,
    /// Whether there ever was credit.
    pub(super) has_credit: bool,
    /// Numbers of the deliveries without an outcome, oldest first, and of their messages.
    pub(super) unsettled: VecDeque<(u32, u64)>,
    pub(super) current: Option<Current>,
}

/// A message of which a part is sent.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) message: u64,
    pub(super) template: Arc<MessageTemplate>,
    pub(super) delivery_id: u32,
    pub(super) sent: usize,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) flow: FlowId,
    pub(super) state: State,
    pub(super) framer: Framer,
    /// What received bytes were.
    pub(super) consumed: Buffer,
    /// Frames that are written and not handed out.
    pub(super) outgoing: Buffer,
    /// Messages that have no outcome and will have none.
    pub(super) abandoned: Vec<u64>,
    timers: TimerTable<3>,
    idle_time_out: Option<Duration>,
}

impl Connection {
    /// Begins a connection on `flow`.
    pub(super) fn open(flow: FlowId, config: &Config, now: Instant) -> Self {
        let mut connection = Self {
            flow,
            state: State::AwaitSaslHeader,
            framer: Framer::new(config.max_frame_size.max(MIN_MAX_FRAME_SIZE)),
            consumed: Buffer::new(),
            outgoing: Buffer::new(),
            abandoned: Vec::new(),
            timers: TimerTable::new(),
            idle_time_out: None,
        };
        connection.timers.set(Timer::Answer, now + config.answer_timeout);
        match config.sasl {
            SaslConfig::None => connection.open_all(config),
            _ => ProtocolHeader::SASL.emit(&mut connection.outgoing),
        }
        connection
    }

    pub(super) const fn link(&self) -> Option<&Link> {
        match &self.state {
            State::Attached(.., link) => Some(link),
            _ => None,
        }
    }

    pub(super) const fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    pub(super) fn choose_mechanism(&mut self, sasl: &SaslConfig) {
        let response = match sasl {
            SaslConfig::Plain { user, password } => Some(plain_response(user, password)),
            _ => None,
        };
        let init = Sasl::Init {
            mechanism: sasl.mechanism(),
            initial_response: response.as_deref(),
        };
        init.emit(&mut self.outgoing);
        self.state = State::AwaitOutcome;
    }

    /// Everything up to the link in one flight (section 2.4.2).
    pub(super) fn open_all(&mut self, config: &Config) {
        ProtocolHeader::AMQP.emit(&mut self.outgoing);
        let open = Performative::Open(Open {
            container_id: &config.container_id,
            hostname: config.hostname.as_deref(),
            max_frame_size: config.max_frame_size.max(MIN_MAX_FRAME_SIZE),
            channel_max: config.channel_max,
            idle_time_out: config.idle_time_out.map(outgoing::milliseconds),
        });
        let begin = Performative::Begin(Session::new(config.session_window).begin(None));
        let attach = Performative::Attach(Attach {
            name: &config.link_name,
            handle: HANDLE,
            role: Role::Sender,
            snd_settle_mode: match config.settled {
                true => SenderSettleMode::Settled,
                false => SenderSettleMode::Unsettled,
            },
            receiver_settles_second: false,
            source: Some(Terminus::ANONYMOUS),
            target: Some(Terminus::at(&config.target)),
            initial_delivery_count: Some(0), // section 2.7.3: a sender must give it
            max_message_size: None,
        });
        for performative in [open, begin, attach] {
            performative.emit(CHANNEL, Attribution::CONNECT, &mut self.outgoing);
        }
        self.state = State::AwaitHeader;
    }

    /// The link has credit for the first time: the connection is complete.
    pub(super) fn opened(&mut self) {
        self.timers.stop(Timer::Answer);
    }

    /// Takes that something came, whatever it was.
    pub(super) fn heard(&mut self, now: Instant) {
        if let Some(time_out) = self.idle_time_out {
            self.timers.set(Timer::Idle, now + time_out);
        }
    }

    /// From now on the peer must be heard; what was announced is half of what is endured (section 2.4.5).
    pub(super) fn demand_frames(&mut self, config: &Config, now: Instant) {
        self.idle_time_out = config.idle_time_out.map(|announced| announced * 2);
        self.heard(now);
    }

    /// Takes that something leaves now.
    pub(super) fn said(&mut self, now: Instant) {
        let (State::AwaitBegin(remote) | State::AwaitAttach(remote, _) | State::Attached(remote, ..)) =
            &self.state
        else {
            return;
        };
        if let Some(keep_alive) = remote.keep_alive {
            self.timers.set(Timer::KeepAlive, now + keep_alive);
        }
    }

    /// Sends close, where the peer can understand it, and waits for the answer.
    pub(super) fn close(&mut self, config: &Config, now: Instant) {
        if !self.is_open_sent() {
            return self.finish();
        }
        let closed = Performative::Detach(Detach {
            handle: HANDLE,
            closed: true,
            error: None,
        });
        let frames = [
            closed,
            Performative::End(End { error: None }),
            Performative::Close(Close { error: None }),
        ];
        let skipped = match config.closing {
            Closing::Connection => frames.len() - 1,
            Closing::Everything => 0,
        };
        for performative in frames.iter().skip(skipped) {
            performative.emit(CHANNEL, Attribution::CLOSE, &mut self.outgoing);
        }
        self.stop_timers();
        self.timers.set(Timer::Answer, now + config.answer_timeout);
        self.leave(State::AwaitClose);
    }

    /// Sends close with the reason and ends the flow without waiting.
    pub(super) fn fail(&mut self, failure: &Failure) {
        if self.is_open_sent() {
            let error = condition(failure).map(Condition::new);
            let close = Performative::Close(Close { error });
            close.emit(CHANNEL, Attribution::CLOSE, &mut self.outgoing);
        }
        self.finish();
    }

    /// Answers the peer's close, where we did not begin, and ends the flow.
    pub(super) fn closed(&mut self) {
        if !matches!(self.state, State::AwaitClose) {
            let close = Performative::Close(Close { error: None });
            close.emit(CHANNEL, Attribution::CLOSE, &mut self.outgoing);
        }
        self.finish();
    }

    pub(super) fn finish(&mut self) {
        if !matches!(self.state, State::Finished) {
            self.leave(State::Finishing);
        }
        self.stop_timers();
    }

    /// Goes on to a state without a link: what was on its way has no outcome.
    pub(super) fn leave(&mut self, next: State) {
        if let State::Attached(.., link) = core::mem::replace(&mut self.state, next) {
            let current = link.current.map(|current| current.message);
            let unsettled = link.unsettled.into_iter().map(|(_, message)| message);
            self.abandoned.extend(unsettled.chain(current));
        }
    }

    fn stop_timers(&mut self) {
        self.timers = TimerTable::new();
        self.idle_time_out = None;
    }

    /// Whether the peer's close was taken or the connection was given up.
    pub(super) const fn is_peer_heard_out(&self) -> bool {
        matches!(self.state, State::Finishing | State::Finished)
    }

    pub(super) const fn awaits_header(&self) -> bool {
        matches!(self.state, State::AwaitSaslHeader | State::AwaitHeader)
    }

    const fn is_open_sent(&self) -> bool {
        matches!(
            self.state,
            State::AwaitHeader
                | State::AwaitOpen
                | State::AwaitBegin(_)
                | State::AwaitAttach(..)
                | State::Attached(..)
        )
    }

    /// Lets timers expire; returns why the connection cannot go on, if it cannot.
    pub(super) fn expire_timers(&mut self, now: Instant, stats: &mut Stats) -> Option<Failure> {
        if self.timers.expire(Timer::Answer, now) {
            return Some(Failure::TimedOut(self.awaited()));
        }
        if self.timers.expire(Timer::Idle, now) {
            return Some(Failure::TimedOut(Awaited::Frame));
        }
        if self.timers.expire(Timer::KeepAlive, now) {
            stats.empty_frames += 1;
            emit_empty_frame(&mut self.outgoing);
        }
        None
    }

    const fn awaited(&self) -> Awaited {
        match self.state {
            State::AwaitSaslHeader | State::AwaitHeader => Awaited::Header,
            State::AwaitMechanisms | State::AwaitOutcome => Awaited::Sasl,
            State::AwaitClose | State::Finishing | State::Finished => Awaited::Close,
            _ => Awaited::Credit,
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Gives what received bytes were, if that is not told yet.
    pub(super) fn take_consumed(&mut self, out: &mut Buffer) -> Option<Output<Event>> {
        if self.consumed.is_empty() {
            return None;
        }
        outgoing::move_into(&mut self.consumed, out);
        Some(Output::Consumed { flow: self.flow })
    }
}

/// The error condition that tells the peer of a failure (sections 2.8.15 to 2.8.17).
fn condition(failure: &Failure) -> Option<&'static str> {
    match failure {
        Failure::Decode(error) => Some(error.condition()),
        Failure::Unexpected(_) => Some("amqp:not-allowed"),
        Failure::TimedOut(_) => Some("amqp:resource-limit-exceeded"),
        _ => None,
    }
}
