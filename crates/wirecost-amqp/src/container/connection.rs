//! One connection of a container: its state, its unsent frames and its timers.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use wirecost_proto::{FlowId, Held, Instant};

use super::Config;
use super::link::{Link, Sending};
use super::queue::{LinkKey, QueueId};
use crate::codec::frame::MIN_MAX_FRAME_SIZE;
use crate::codec::{Attribution, Condition, Open, Performative};
use crate::frames::{Frames, Timer, milliseconds};
use crate::session::Session;

/// The links that a connection may have before they count as held.
const USUAL_LINKS: usize = 16;
/// What a link takes, in bytes.
const LINK_BYTES: usize = 256;

/// The state of a connection.
#[derive(Debug)]
pub(super) enum State {
    /// Only headers and SASL frames have arrived. `may_open`: whether the client may send the AMQP header.
    AwaitHeader { may_open: bool },
    /// The client must send sasl-init.
    AwaitInit,
    /// The AMQP headers are exchanged.
    AwaitOpen,
    /// Both sides have sent open.
    Opened,
    /// We sent close, and wait for the client's close.
    AwaitClose,
    /// The connection is closed. Unsent frames leave, then FIN.
    Finishing {
        /// Whether the client has sent FIN.
        is_peer_closed: bool,
    },
    /// FIN was sent, the client's FIN has not arrived.
    Finished,
}

/// One session of a connection. It has the same channel number in both directions.
#[derive(Debug)]
pub(super) enum SessionState {
    /// The session is open.
    Mapped(Session, Links),
    /// We ended the session. Every frame is ignored until the client's end arrives (section 2.5.5).
    Discarding,
}

/// The links of a session by handle.
pub(super) type Links = BTreeMap<u32, Link>;

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) frames: Frames,
    pub(super) state: State,
    /// Whether the client was refused before its open: what it has sent behind its sasl-init is still part of its connect.
    pub(super) was_refused: bool,
    pub(super) sessions: BTreeMap<u16, SessionState>,
    /// Channels and handles of the links that may have something to send.
    pub(super) active: VecDeque<(u16, u32)>,
    /// Whether the flow is in the container's list of flows with output.
    pub(super) is_touched: bool,
    /// Whether the transport is full: messages wait in their queues.
    pub(super) is_congested: bool,
    /// The time of the flow's entry in the container's wake-up list.
    pub(super) noted: Option<Instant>,
}

impl Connection {
    pub(super) fn new(flow: FlowId, config: &Config, now: Instant) -> Self {
        Self {
            frames: Frames::new(flow, config.max_frame_size, now + config.connect_timeout),
            state: State::AwaitHeader {
                may_open: config.anonymous,
            },
            was_refused: false,
            sessions: BTreeMap::new(),
            active: VecDeque::new(),
            is_touched: false,
            is_congested: false,
            noted: None,
        }
    }

    /// Answers an open.
    pub(super) fn open(&mut self, open: &Open<'_>, config: &Config, now: Instant) {
        self.send_open(config);
        self.state = State::Opened;
        self.frames.timers.stop(Timer::Answer);
        self.frames.peer_opened(open, config.idle_time_out, now);
    }

    fn send_open(&mut self, config: &Config) {
        let open = Performative::Open(Open {
            container_id: &config.container_id,
            hostname: None,
            max_frame_size: config.max_frame_size.max(MIN_MAX_FRAME_SIZE),
            channel_max: config.channel_max,
            idle_time_out: config.idle_time_out.map(milliseconds),
        });
        self.frames.emit(open, 0, Attribution::CONNECT);
    }

    /// Sends close with the reason if the client can decode it, and ends the flow without waiting for the answer.
    pub(super) fn fail(&mut self, error: Condition<'_>, config: &Config) {
        if matches!(self.state, State::AwaitOpen) {
            // Section 2.4.1: open is the first frame, also before close.
            self.send_open(config);
        }
        if matches!(self.state, State::AwaitOpen | State::Opened) {
            self.send_close(Some(error));
        }
        self.finish();
    }

    pub(super) fn send_close(&mut self, error: Option<Condition<'_>>) {
        self.frames
            .emit(Performative::Close(error), 0, Attribution::CLOSE);
    }

    /// Sends close and waits for the client's close.
    pub(super) fn close(&mut self, error: Condition<'_>, config: &Config, now: Instant) {
        if !matches!(self.state, State::Opened) {
            return self.finish();
        }
        self.send_close(Some(error));
        self.frames.stop_timers();
        self.frames
            .timers
            .set(Timer::Answer, now + config.connect_timeout);
        self.state = State::AwaitClose;
    }

    pub(super) fn finish(&mut self) {
        if !self.is_over() {
            self.state = State::Finishing {
                is_peer_closed: false,
            };
        }
        self.active.clear();
        self.frames.stop_timers();
    }

    /// Waits for the client's FIN, for a limited time.
    pub(super) fn await_fin(&mut self, config: &Config, now: Instant) {
        self.state = State::Finished;
        self.frames
            .timers
            .set(Timer::Answer, now + config.connect_timeout);
    }

    pub(super) const fn is_over(&self) -> bool {
        matches!(self.state, State::Finishing { .. } | State::Finished)
    }

    /// The sending links, each with its queue.
    pub(super) fn senders(&self) -> Vec<(QueueId, LinkKey)> {
        let mut senders = Vec::new();
        for (&channel, session) in &self.sessions {
            let SessionState::Mapped(_, links) = session else {
                continue;
            };
            senders.extend(links.iter().filter_map(|(&handle, link)| match link {
                Link::Sending(sending) => {
                    let key = LinkKey::new(self.frames.flow, channel, handle);
                    Some((sending.queue, key))
                }
                _ => None,
            }));
        }
        senders
    }

    /// What has arrived of an incomplete frame and of messages of several frames, and what unusually many links take.
    pub(super) fn held(&self) -> Held {
        let (mut incomplete, mut links) = (self.frames.framer.memory(), 0);
        for session in self.sessions.values() {
            let SessionState::Mapped(_, attached) = session else {
                continue;
            };
            links += attached.len();
            incomplete += attached.values().map(Link::incoming_bytes).sum::<usize>();
        }
        Held::incomplete(incomplete).and(Held {
            bytes: links.saturating_sub(USUAL_LINKS) * LINK_BYTES,
            is_unfinished: false,
        })
    }

    /// The session on this channel with its links, unless one side has ended it.
    pub(super) fn mapped(&mut self, channel: u16) -> Option<(&mut Session, &mut Links)> {
        match self.sessions.get_mut(&channel)? {
            SessionState::Mapped(session, links) => Some((session, links)),
            SessionState::Discarding => None,
        }
    }

    /// The sending link with this handle, and its session.
    pub(super) fn sending(&mut self, channel: u16, handle: u32) -> Option<(&mut Session, &mut Sending)> {
        let (session, links) = self.mapped(channel)?;
        match links.get_mut(&handle)? {
            Link::Sending(sending) => Some((session, sending)),
            _ => None,
        }
    }

    /// Records that a link may have something to send.
    pub(super) fn activate(&mut self, channel: u16, handle: u32) {
        let Some((_, sending)) = self.sending(channel, handle) else {
            return;
        };
        if !core::mem::replace(&mut sending.is_active, true) {
            self.active.push_back((channel, handle));
        }
    }

    /// Removes the first link from those that may have something to send.
    pub(super) fn deactivate(&mut self) {
        if let Some((channel, handle)) = self.active.pop_front()
            && let Some((_, sending)) = self.sending(channel, handle)
        {
            sending.is_active = false;
        }
    }
}
