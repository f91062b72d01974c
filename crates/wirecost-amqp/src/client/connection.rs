//! One connection of a client: its state, its unsent frames and its timers.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use wirecost_proto::{FlowId, Instant};

use super::{Awaited, Closing, Config, Failure, MessageTemplate, SaslConfig, Stats};
use crate::codec::frame::MIN_MAX_FRAME_SIZE;
use crate::codec::sasl::plain_response;
use crate::codec::{
    Attach, Attribution, Condition, Detach, Open, Performative, ProtocolHeader, Role, Sasl, SenderSettleMode,
    Terminus,
};
use crate::frames::{Frames, Timer, milliseconds};
use crate::session::{Credit, Session};

/// The channel and the handle of the client's only session and link.
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
    AwaitBegin,
    AwaitAttach(Session),
    Attached(Session, Link),
    /// We sent close, and wait for the peer's close.
    AwaitClose,
    /// The connection is closed. Unsent frames leave, then FIN.
    Finishing,
    /// FIN was sent.
    Finished,
}

/// The client's end of its link (section 2.6).
#[derive(Debug)]
pub(super) struct Link {
    /// The peer's handle for the link.
    pub(super) remote_handle: u32,
    pub(super) max_message_size: u64,
    pub(super) credit: Credit,
    /// Delivery-id and message number of each delivery without an outcome, oldest first.
    pub(super) unsettled: VecDeque<(u32, u64)>,
    pub(super) current: Option<Current>,
}

/// A message that is partly sent.
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
    pub(super) frames: Frames,
    pub(super) state: State,
    /// Messages that will not get an outcome.
    pub(super) abandoned: Vec<u64>,
}

impl Connection {
    /// Begins a connection on `flow`.
    pub(super) fn open(flow: FlowId, config: &Config, now: Instant) -> Self {
        let mut connection = Self {
            frames: Frames::new(flow, config.max_frame_size, now + config.answer_timeout),
            state: State::AwaitSaslHeader,
            abandoned: Vec::new(),
        };
        match config.sasl {
            SaslConfig::None => connection.open_all(config),
            SaslConfig::Anonymous | SaslConfig::Plain { .. } => {
                ProtocolHeader::SASL.emit(&mut connection.frames.outgoing);
                if config.pipelines {
                    connection.initiate(&config.sasl);
                    connection.open_all(config);
                    connection.state = State::AwaitSaslHeader;
                }
            }
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

    /// Chooses the mechanism of the configuration.
    pub(super) fn initiate(&mut self, sasl: &SaslConfig) {
        let response = match sasl {
            SaslConfig::Plain { user, password } => Some(plain_response(user, password)),
            _ => None,
        };
        let init = Sasl::Init {
            mechanism: sasl.mechanism(),
            initial_response: response.as_deref(),
        };
        self.frames.emit_sasl(&init);
    }

    /// Sends everything up to the attach in one flight (section 2.4.2).
    pub(super) fn open_all(&mut self, config: &Config) {
        ProtocolHeader::AMQP.emit(&mut self.frames.outgoing);
        let open = Performative::Open(Open {
            container_id: &config.container_id,
            hostname: config.hostname.as_deref(),
            max_frame_size: config.max_frame_size.max(MIN_MAX_FRAME_SIZE),
            channel_max: config.channel_max,
            idle_time_out: config.idle_time_out.map(milliseconds),
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
            initial_delivery_count: Some(0), // section 2.7.3: mandatory for a sender
            max_message_size: None,
        });
        self.frames.emit(open, CHANNEL, Attribution::CONNECT);
        if self.frames.too_large.is_some() {
            // Section 2.4.1: nothing comes before open, close neither.
            return;
        }
        self.state = State::AwaitHeader;
        for performative in [begin, attach] {
            self.frames.emit(performative, CHANNEL, Attribution::CONNECT);
        }
    }

    /// Sends close if the peer has our open, and waits for the answer.
    pub(super) fn close(&mut self, config: &Config, now: Instant) {
        if !self.is_open_sent() {
            return self.finish();
        }
        let detach = Performative::Detach(Detach {
            handle: HANDLE,
            closed: true,
            error: None,
        });
        if config.closing == Closing::Everything {
            self.frames.emit(detach, CHANNEL, Attribution::CLOSE);
            self.frames
                .emit(Performative::End(None), CHANNEL, Attribution::CLOSE);
        }
        self.emit_close(None);
        self.frames.stop_timers();
        self.frames.timers.set(Timer::Answer, now + config.answer_timeout);
        self.leave(State::AwaitClose);
    }

    /// Sends close with the reason and ends the flow without waiting for the answer.
    pub(super) fn fail(&mut self, failure: &Failure) {
        if self.is_open_sent() {
            self.emit_close(condition(failure).map(Condition::new));
        }
        self.finish();
    }

    /// Answers the peer's close, unless it is an answer itself, and ends the flow.
    pub(super) fn closed(&mut self) {
        if !matches!(self.state, State::AwaitClose) {
            self.emit_close(None);
        }
        self.finish();
    }

    pub(super) fn finish(&mut self) {
        if !matches!(self.state, State::Finished) {
            self.leave(State::Finishing);
        }
        self.frames.stop_timers();
    }

    fn emit_close(&mut self, error: Option<Condition<'_>>) {
        self.frames
            .emit(Performative::Close(error), CHANNEL, Attribution::CLOSE);
    }

    /// Changes to a state without a link. The messages that are partly sent or unsettled become abandoned.
    pub(super) fn leave(&mut self, next: State) {
        if let State::Attached(.., link) = core::mem::replace(&mut self.state, next) {
            let current = link.current.map(|current| current.message);
            let unsettled = link.unsettled.into_iter().map(|(_, message)| message);
            self.abandoned.extend(unsettled.chain(current));
        }
    }

    /// Whether the client ignores what the peer sends: the peer has closed, or the connection failed.
    pub(super) const fn is_over(&self) -> bool {
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
                | State::AwaitBegin
                | State::AwaitAttach(..)
                | State::Attached(..)
        )
    }

    /// Handles expired timers. Returns the failure if one of them ends the connection.
    pub(super) fn expire_timers(&mut self, now: Instant, stats: &mut Stats) -> Option<Failure> {
        match self.frames.expire_timer(now)? {
            Timer::Answer => Some(Failure::TimedOut(self.awaited())),
            Timer::Idle => Some(Failure::TimedOut(Awaited::Frame)),
            Timer::KeepAlive => {
                stats.empty_frames += 1;
                None
            }
        }
    }

    const fn awaited(&self) -> Awaited {
        match self.state {
            State::AwaitSaslHeader | State::AwaitHeader => Awaited::Header,
            State::AwaitMechanisms | State::AwaitOutcome => Awaited::Sasl,
            State::AwaitClose | State::Finishing | State::Finished => Awaited::Close,
            _ => Awaited::Credit,
        }
    }
}

/// The error condition that tells the peer about a failure (sections 2.8.15 to 2.8.17).
fn condition(failure: &Failure) -> Option<&'static str> {
    match failure {
        Failure::Decode(error) => Some(error.condition()),
        Failure::Unexpected(_) => Some("amqp:not-allowed"),
        Failure::TimedOut(_) => Some("amqp:resource-limit-exceeded"),
        Failure::FrameTooLarge(_) => Some("amqp:frame-size-too-small"),
        _ => None,
    }
}
