//! One connection of a container: where it stands, what it has to say, when it gives up.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{Buffer, FlowId, Instant, TimerTable};

use super::Config;
use super::fault::RESOURCE_LIMIT_EXCEEDED;
use super::link::{Link, Sending};
use super::queue::{LinkKey, QueueId};
use crate::codec::frame::{MIN_MAX_FRAME_SIZE, emit_empty_frame};
use crate::codec::{Attribution, Close, Condition, End, Framer, Open, Performative};
use crate::outgoing;
use crate::session::Session;
use crate::timer::Timer;

/// The state of a connection.
#[derive(Debug)]
pub(super) enum State {
    /// Nothing but headers and SASL came; whether the client may go on to AMQP.
    AwaitHeader { may_open: bool },
    /// The client chooses its mechanism.
    AwaitInit,
    /// The AMQP headers are exchanged.
    AwaitOpen,
    /// Open went both ways.
    Opened(Remote),
    /// Close is sent, the client's is awaited.
    AwaitClose,
    /// Nothing more is said but what is already written; then FIN.
    Finishing {
        /// Whether the client's FIN has come.
        is_peer_closed: bool,
    },
    /// FIN is out, the client's is awaited.
    Finished,
}

/// What the client's open says.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) max_frame_size: usize,
    /// How often it wants to hear from us.
    keep_alive: Option<Duration>,
}

impl Remote {
    pub(super) fn new(open: &Open<'_>) -> Self {
        let max_frame_size = open.max_frame_size.max(MIN_MAX_FRAME_SIZE);
        Self {
            max_frame_size: usize::try_from(max_frame_size).unwrap_or(usize::MAX),
            keep_alive: outgoing::keep_alive(open.idle_time_out),
        }
    }
}

/// One session of a connection, on the same channel number both ways.
#[derive(Debug)]
pub(super) enum SessionState {
    /// It stands.
    Mapped {
        session: Session,
        links: BTreeMap<u32, Link>,
    },
    /// It was ended here; the client's end is awaited and everything else ignored (section 2.5.5).
    Discarding,
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
    pub(super) sessions: BTreeMap<u16, SessionState>,
    /// Channels and handles of links that may have something to send.
    pub(super) active: VecDeque<(u16, u32)>,
    /// Whether it waits to be asked for output.
    pub(super) is_touched: bool,
    /// Whether the transport takes no more for the present: messages wait in their queues.
    pub(super) is_congested: bool,
    /// The time under which the container has noted it.
    pub(super) noted: Option<Instant>,
    timers: TimerTable<3>,
    idle_time_out: Option<Duration>,
}

impl Connection {
    pub(super) fn new(flow: FlowId, config: &Config, now: Instant) -> Self {
        let mut timers = TimerTable::new();
        timers.set(Timer::Answer, now + config.connect_timeout);
        Self {
            flow,
            state: State::AwaitHeader {
                may_open: config.anonymous,
            },
            framer: Framer::new(config.max_frame_size.max(MIN_MAX_FRAME_SIZE)),
            consumed: Buffer::new(),
            outgoing: Buffer::new(),
            sessions: BTreeMap::new(),
            active: VecDeque::new(),
            is_touched: false,
            is_congested: false,
            noted: None,
            timers,
            idle_time_out: None,
        }
    }

    pub(super) fn emit(&mut self, performative: Performative<'_>, channel: u16, attribution: Attribution) {
        performative.emit(channel, attribution, &mut self.outgoing);
    }

    /// Answers an open; from now on the client must be heard: what is announced is half of what is endured
    /// (section 2.4.5).
    pub(super) fn open(&mut self, open: &Open<'_>, config: &Config, now: Instant) {
        self.send_open(config);
        self.state = State::Opened(Remote::new(open));
        self.timers.stop(Timer::Answer);
        self.idle_time_out = config.idle_time_out.map(|announced| announced * 2);
        self.heard(now);
    }

    fn send_open(&mut self, config: &Config) {
        let open = Performative::Open(Open {
            container_id: &config.container_id,
            hostname: None,
            max_frame_size: config.max_frame_size.max(MIN_MAX_FRAME_SIZE),
            channel_max: config.channel_max,
            idle_time_out: config.idle_time_out.map(outgoing::milliseconds),
        });
        self.emit(open, 0, Attribution::CONNECT);
    }

    /// Takes that something came, whatever it was.
    pub(super) fn heard(&mut self, now: Instant) {
        if let Some(time_out) = self.idle_time_out {
            self.timers.set(Timer::Idle, now + time_out);
        }
    }

    /// Takes that something leaves now.
    pub(super) fn said(&mut self, now: Instant) {
        if let State::Opened(Remote {
            keep_alive: Some(keep_alive),
            ..
        }) = self.state
        {
            self.timers.set(Timer::KeepAlive, now + keep_alive);
        }
    }

    /// Lets timers expire; returns the condition on which the connection ends, if it does.
    pub(super) fn expire_timers(&mut self, now: Instant) -> Option<&'static str> {
        let is_late = self.timers.expire(Timer::Answer, now);
        if self.timers.expire(Timer::Idle, now) || is_late {
            return Some(RESOURCE_LIMIT_EXCEEDED);
        }
        if self.timers.expire(Timer::KeepAlive, now) {
            emit_empty_frame(&mut self.outgoing);
        }
        None
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Sends close with the reason, where the client can understand it, and ends the flow without waiting.
    pub(super) fn fail(&mut self, error: Condition<'_>, config: &Config) {
        if matches!(self.state, State::AwaitOpen) {
            // Section 2.4.1: open precedes everything, a close too.
            self.send_open(config);
        }
        if matches!(self.state, State::AwaitOpen | State::Opened(_)) {
            self.send_close(Some(error));
        }
        self.finish();
    }

    pub(super) fn send_close(&mut self, error: Option<Condition<'_>>) {
        self.emit(Performative::Close(Close { error }), 0, Attribution::CLOSE);
    }

    /// Sends close and waits for the client's.
    pub(super) fn close(&mut self, error: Condition<'_>, config: &Config, now: Instant) {
        if !matches!(self.state, State::Opened(_)) {
            return self.finish();
        }
        self.send_close(Some(error));
        self.stop_timers();
        self.timers.set(Timer::Answer, now + config.connect_timeout);
        self.state = State::AwaitClose;
    }

    /// Ends a session from this side.
    pub(super) fn end(&mut self, channel: u16, error: Option<Condition<'_>>) {
        self.emit(Performative::End(End { error }), channel, Attribution::CLOSE);
    }

    pub(super) fn finish(&mut self) {
        if !self.is_over() {
            let is_peer_closed = false;
            self.state = State::Finishing { is_peer_closed };
        }
        self.active.clear();
        self.stop_timers();
    }

    /// FIN is out; a client whose own never comes is forgotten some time.
    pub(super) fn await_fin(&mut self, config: &Config, now: Instant) {
        self.state = State::Finished;
        self.timers.set(Timer::Answer, now + config.connect_timeout);
    }

    fn stop_timers(&mut self) {
        self.timers = TimerTable::new();
        self.idle_time_out = None;
    }

    pub(super) const fn is_over(&self) -> bool {
        matches!(self.state, State::Finishing { .. } | State::Finished)
    }

    /// Its links that send, each with the queue that it sends from.
    pub(super) fn senders(&self) -> Vec<(QueueId, LinkKey)> {
        let mut senders = Vec::new();
        for (&channel, session) in &self.sessions {
            let SessionState::Mapped { links, .. } = session else {
                continue;
            };
            senders.extend(links.iter().filter_map(|(&handle, link)| match link {
                Link::Sending(sending) => Some((sending.queue, LinkKey::new(self.flow, channel, handle))),
                _ => None,
            }));
        }
        senders
    }

    /// The end that sends on `handle`, if the session stands and has one.
    pub(super) fn sending(&mut self, channel: u16, handle: u32) -> Option<(&mut Session, &mut Sending)> {
        let Some(SessionState::Mapped { session, links }) = self.sessions.get_mut(&channel) else {
            return None;
        };
        match links.get_mut(&handle) {
            Some(Link::Sending(sending)) => Some((session, sending)),
            _ => None,
        }
    }

    /// Notes that a link may have something to send.
    pub(super) fn activate(&mut self, channel: u16, handle: u32) {
        let Some((_, sending)) = self.sending(channel, handle) else {
            return;
        };
        if !core::mem::replace(&mut sending.is_active, true) {
            self.active.push_back((channel, handle));
        }
    }

    /// Takes the first link off those that may have something to send: it has nothing more for the present.
    pub(super) fn deactivate(&mut self) {
        if let Some((channel, handle)) = self.active.pop_front()
            && let Some((_, sending)) = self.sending(channel, handle)
        {
            sending.is_active = false;
        }
    }
}
