//! One end of a connection (RFC 9293).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::time::Duration;

use wirecost_proto::{Instant, ResetReason};

use crate::connection::handshake::{HandshakeStep, Opening, PeerSyn};
use crate::connection::resting::Resting;
use crate::connection::synchronized::{Synchronized, Transition};
use crate::fast_open::Cookie;
use crate::on_demand::OnDemand;
use crate::packed::packs;
use crate::{Config, ConnectionStart, Segment};

mod events;
mod handshake;
mod resting;
mod synchronized;
#[cfg(test)]
mod tests;
mod time_wait;

pub(crate) use events::Events;
pub use resting::RestPattern;
pub(crate) use time_wait::TimeWait;

/// The states of RFC 9293, section 3.3.2; LISTEN is the driver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Open in both directions.
    Established,
    /// This end has closed; its FIN is not acknowledged.
    FinWait1,
    /// This end has closed and the peer has acknowledged it.
    FinWait2,
    /// The peer has closed.
    CloseWait,
    /// Both have closed at once; the FIN is not acknowledged.
    Closing,
    /// The peer closed first; this end's FIN is not acknowledged.
    LastAck,
    /// Both directions are closed; late segments are answered for a while.
    TimeWait,
    /// Nothing is left.
    Closed,
}

packs!(enum State {
    0 => SynSent {},
    1 => SynReceived {},
    2 => Established {},
    3 => FinWait1 {},
    4 => FinWait2 {},
    5 => CloseWait {},
    6 => Closing {},
    7 => LastAck {},
    8 => TimeWait {},
    9 => Closed {},
});

impl State {
    /// The order of the states in a connection's life, from 0 on; it never decreases.
    pub const fn age(self) -> u8 {
        match self {
            Self::SynSent => 0,
            Self::SynReceived => 1,
            Self::Established => 2,
            Self::CloseWait | Self::FinWait1 => 3,
            Self::FinWait2 | Self::Closing | Self::LastAck => 4,
            Self::TimeWait => 5,
            Self::Closed => 6,
        }
    }
}

/// An event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Opened,
    /// There are bytes to read.
    Readable,
    /// The send buffer has room again after a write that did not fit.
    Writable,
    /// The peer's FIN has arrived and everything before it is readable.
    PeerClosed,
    /// The connection ends.
    Reset(ResetReason),
}

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Everything but ports and payload.
    pub segment: Segment,
    /// The position of the payload in the stream of this direction, from 0; of a segment without payload, where the next byte
    /// would be.
    pub offset: u64,
    /// Bytes of payload, which were appended to the buffer.
    pub payload_bytes: u32,
}

impl Transmit {
    /// A segment without payload.
    pub(crate) const fn bare(segment: Segment, offset: u64) -> Self {
        Self {
            segment,
            offset,
            payload_bytes: 0,
        }
    }
}

/// One end of a connection.
///
/// After every call that takes `now`, call [`Connection::poll_transmit`] until it returns `None`, then
/// [`Connection::poll_event`] until it returns `None`, then arm a timer for [`Connection::next_timeout`].
#[derive(Debug)]
pub struct Connection {
    stage: Stage,
    events: Events,
    /// A segment to be sent in any stage. It is rare, and connections at rest are many.
    answer: Option<Box<Segment>>,
    /// The cookie that the peer has given.
    cookie: Option<Box<Cookie>>,
    /// The unread bytes of a connection that has ended.
    leftover: OnDemand<Vec<u8>>,
    /// The host's clock at the start of the run. Internally, time is that of the host's clock.
    clock_phase: Duration,
}

/// The state of a part of a connection's life.
#[derive(Debug)]
enum Stage {
    /// SYN-SENT and SYN-RECEIVED.
    Opening(Box<Opening>),
    /// ESTABLISHED to LAST-ACK.
    Synchronized(Box<Synchronized>),
    /// The same while nothing happens: all that changes a connection wakes it first ([`Connection::wake`]). There is nothing to read or
    /// to send.
    Resting(Box<Resting>),
    /// TIME-WAIT.
    TimeWait(Box<TimeWait>),
    /// CLOSED.
    Closed,
}

impl Connection {
    /// An end that opens: its SYN is to be transmitted. With the cookie of an earlier connection (RFC 7413), [`Event::Opened`] is
    /// there at once, and the SYN waits for the first write.
    pub fn connect(config: impl Into<Arc<Config>>, start: impl Into<ConnectionStart>, _: Instant) -> Self {
        let start = start.into();
        let clock_phase = start.clock_phase;
        let opening = Opening::connect(config.into(), start);
        let may_write = opening.is_early;
        let mut connection = Self::new(opening, clock_phase);
        if may_write {
            connection.events.push(Event::Opened);
        }
        connection
    }

    /// An end that answers `syn`: its SYN-ACK is to be transmitted. The data of the SYN is taken if the SYN has the cookie of its
    /// sender's address (RFC 7413), and dropped otherwise.
    pub fn accept(
        config: impl Into<Arc<Config>>,
        syn: &Segment,
        data: &[u8],
        start: impl Into<ConnectionStart>,
        now: Instant,
    ) -> Self {
        let start = start.into();
        let clock_phase = start.clock_phase;
        let opening = Opening::accept(config.into(), syn, start);
        let now = now + clock_phase;
        let peer = opening.peer.filter(|_| !data.is_empty() && opening.trusts(syn));
        let Some(peer) = peer else {
            return Self::new(opening, clock_phase);
        };
        let open = Synchronized::open_early(opening, &peer, now);
        let mut connection = Self::at(Stage::Synchronized(Box::new(open)), clock_phase);
        connection.events.push(Event::Opened);
        connection.drive(|open, events| open.take_text(peer.next, syn, data, events, now));
        connection
    }

    fn new(opening: Opening, clock_phase: Duration) -> Self {
        Self::at(Stage::Opening(Box::new(opening)), clock_phase)
    }

    const fn at(stage: Stage, clock_phase: Duration) -> Self {
        Self {
            stage,
            clock_phase,
            events: Events::NONE,
            answer: None,
            cookie: None,
            leftover: OnDemand::NONE,
        }
    }

    /// Takes a segment from the peer.
    pub fn handle_segment(&mut self, segment: &Segment, payload: &[u8], now: Instant) {
        let now = now + self.clock_phase;
        self.wake();
        match &mut self.stage {
            Stage::Opening(opening) => match opening.handle_segment(segment, payload.len(), now) {
                HandshakeStep::Stay => {}
                HandshakeStep::Answer(answer) => self.answer = Some(Box::new(answer)),
                HandshakeStep::Open(peer) => self.handshake_done(peer, segment, payload, now),
                HandshakeStep::End(reason) => self.end(Some(reason)),
            },
            Stage::Synchronized(_) => {
                self.drive(|open, events| open.handle_segment(segment, payload, events, now));
            }
            Stage::TimeWait(wait) => {
                if wait.handle_segment(segment, payload.len(), now) {
                    self.stage = Stage::Closed;
                }
            }
            // RFC 9293, section 3.10.7.1.
            Stage::Closed | Stage::Resting(_) => self.answer = segment.reset(payload.len()).map(Box::new),
        }
    }

    /// Handles the segment that completes the handshake, with its content.
    fn handshake_done(&mut self, peer: PeerSyn, segment: &Segment, payload: &[u8], now: Instant) {
        let Stage::Opening(opening) = mem::replace(&mut self.stage, Stage::Closed) else {
            return;
        };
        // An end whose SYN carried data has told its application before.
        let is_known = opening.is_early;
        let cookie = segment.fast_open.filter(|_| opening.start.fast_open.is_some());
        self.cookie = cookie.map(Box::new);
        let synchronized = Synchronized::open(*opening, &peer, segment, now);
        self.stage = Stage::Synchronized(Box::new(synchronized));
        if !is_known {
            self.events.push(Event::Opened);
        }
        self.drive(|open, events| open.handle_first(segment, payload, events, now));
    }

    /// Runs a step of the open connection, and makes the resulting transition.
    fn drive(&mut self, step: impl FnOnce(&mut Synchronized, &mut Events) -> Transition) {
        self.wake();
        let Stage::Synchronized(open) = &mut self.stage else {
            return;
        };
        match step(open, &mut self.events) {
            Transition::Stay => {}
            Transition::TimeWait(wait) => {
                keep_unread(open, &mut self.leftover);
                self.stage = Stage::TimeWait(Box::new(wait));
            }
            Transition::Closed => {
                keep_unread(open, &mut self.leftover);
                self.stage = Stage::Closed;
            }
            Transition::Reset { answer, reason } => {
                self.answer = answer.map(Box::new);
                self.end(reason);
            }
        }
    }

    fn end(&mut self, reason: Option<ResetReason>) {
        self.stage = Stage::Closed;
        if let Some(reason) = reason {
            self.events.push(Event::Reset(reason));
        }
    }

    /// Handles a time-out; early calls are harmless.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = now + self.clock_phase;
        match &mut self.stage {
            Stage::Opening(opening) => {
                if !opening.handle_timeout(now) {
                    self.end(Some(ResetReason::TimedOut));
                }
            }
            Stage::Synchronized(_) | Stage::Resting(_) => self.drive(|open, _| open.handle_timeout(now)),
            Stage::TimeWait(wait) if wait.ends() <= now => self.stage = Stage::Closed,
            Stage::TimeWait(_) | Stage::Closed => {}
        }
    }

    /// When [`Connection::handle_timeout`] is to be called.
    pub fn next_timeout(&self) -> Option<Instant> {
        let at = match &self.stage {
            Stage::Opening(opening) => opening.next_timeout(),
            Stage::Synchronized(open) => open.next_timeout(),
            Stage::Resting(resting) => resting.next_timeout(),
            Stage::TimeWait(wait) => Some(wait.ends()),
            Stage::Closed => None,
        };
        at.map(|at| at - self.clock_phase)
    }

    /// The next segment to be sent; its payload is appended to `payload`.
    pub fn poll_transmit(&mut self, payload: &mut Vec<u8>, now: Instant) -> Option<Transmit> {
        let now = now + self.clock_phase;
        if let Some(answer) = self.answer.take() {
            return Some(Transmit::bare(*answer, 0));
        }
        match &mut self.stage {
            Stage::Opening(opening) => opening.poll_transmit(payload, now),
            Stage::Synchronized(open) => open.poll_transmit(payload, &mut self.events, now),
            Stage::TimeWait(wait) => wait.poll_transmit(now),
            Stage::Resting(resting) => {
                resting.is_not_changed_by(|open| {
                    assert_eq!(open.poll_transmit(payload, &mut self.events, now), None)
                });
                None
            }
            Stage::Closed => None,
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Writes bytes, as one write of the application; returns how many the send buffer accepted: none after the close of this
    /// end's direction. If they do not all fit, [`Event::Writable`] follows.
    pub fn write(&mut self, bytes: &[u8], now: Instant) -> usize {
        let now = now + self.clock_phase;
        self.wake();
        match &mut self.stage {
            Stage::Opening(opening) => opening.write(bytes),
            Stage::Synchronized(open) => open.write(bytes, &mut self.events, now),
            Stage::Resting(_) | Stage::TimeWait(_) | Stage::Closed => 0,
        }
    }

    /// Reads up to `limit` bytes that have arrived in order, as one read of the application; appends them to `out`. It may
    /// cause an acknowledgment or a window update.
    pub fn read(&mut self, out: &mut Vec<u8>, limit: usize, now: Instant) -> usize {
        let now = now + self.clock_phase;
        match &mut self.stage {
            Stage::Opening(_) => 0,
            Stage::Resting(resting) => {
                resting.is_not_changed_by(|open| assert_eq!(open.read(out, limit, now), 0));
                0
            }
            Stage::Synchronized(open) => open.read(out, limit, now),
            Stage::TimeWait(_) | Stage::Closed => {
                let count = limit.min(self.leftover.len());
                if count > 0 {
                    out.extend(self.leftover.drain(..count));
                }
                count
            }
        }
    }

    /// The cookie that the peer has given for later connections (RFC 7413).
    pub fn cookie(&self) -> Option<Cookie> {
        self.cookie.as_deref().copied()
    }

    /// Whether an acknowledgment is due now, which a read can cause.
    pub fn acknowledges_now(&self) -> bool {
        match &self.stage {
            Stage::Synchronized(open) => open.acknowledges_now(),
            Stage::Opening(_) | Stage::Resting(_) | Stage::TimeWait(_) | Stage::Closed => false,
        }
    }

    /// Bytes that can be read.
    pub fn available(&self) -> usize {
        match &self.stage {
            Stage::Opening(_) | Stage::Resting(_) => 0,
            Stage::Synchronized(open) => open.available(),
            Stage::TimeWait(_) | Stage::Closed => self.leftover.len(),
        }
    }

    /// Bytes written that are not acknowledged, sent or not.
    pub fn unacknowledged(&self) -> usize {
        match &self.stage {
            Stage::Opening(opening) => opening.send.len(),
            Stage::Synchronized(open) => open.unacknowledged(),
            Stage::Resting(_) | Stage::TimeWait(_) | Stage::Closed => 0,
        }
    }

    /// Keeps as little memory as it can until something happens, if nothing is on its way or due and everything is read: what differs from
    /// `pattern`. Returns whether that is so.
    pub fn rest(&mut self, pattern: &mut RestPattern) -> bool {
        let open = match &mut self.stage {
            Stage::Synchronized(open) => open,
            Stage::Resting(_) => return true,
            Stage::Opening(_) | Stage::TimeWait(_) | Stage::Closed => return false,
        };
        if !open.rest() {
            return false;
        }
        if let Some(resting) = Resting::from_open(open, pattern) {
            self.stage = Stage::Resting(Box::new(resting));
        }
        true
    }

    /// Ends the rest.
    fn wake(&mut self) {
        if let Stage::Resting(resting) = &self.stage {
            self.stage = Stage::Synchronized(Box::new(resting.open()));
        }
    }

    /// Closes this end's direction: a FIN follows what was written.
    pub fn shutdown(&mut self, _: Instant) {
        self.wake();
        match &mut self.stage {
            Stage::Opening(opening) => opening.close(),
            Stage::Synchronized(open) => open.shutdown(),
            Stage::Resting(_) | Stage::TimeWait(_) | Stage::Closed => {}
        }
    }

    /// Closes the socket, as `close` does: with a FIN, or with a reset if there are unread bytes.
    pub fn close(&mut self, now: Instant) {
        let now = now + self.clock_phase;
        match &mut self.stage {
            // RFC 9293, section 3.10.4: no peer knows of it yet.
            Stage::Opening(opening) if opening.peer.is_none() => self.end(None),
            Stage::Opening(opening) => opening.close(),
            Stage::Synchronized(_) | Stage::Resting(_) => self.drive(|open, _| open.close(now)),
            Stage::TimeWait(_) | Stage::Closed => self.leftover.free(),
        }
    }

    /// Ends the connection with a reset.
    pub fn abort(&mut self, now: Instant) {
        let now = now + self.clock_phase;
        match &mut self.stage {
            Stage::Opening(opening) => {
                self.answer = opening.abort(now).map(Box::new);
                self.end(None);
            }
            Stage::Synchronized(_) | Stage::Resting(_) => self.drive(|open, _| open.abort(now)),
            Stage::TimeWait(_) | Stage::Closed => self.end(None),
        }
    }

    /// The state of the connection.
    pub fn state(&self) -> State {
        match &self.stage {
            Stage::Opening(opening) if opening.peer.is_none() => State::SynSent,
            Stage::Opening(_) => State::SynReceived,
            Stage::Synchronized(open) => open.state(),
            Stage::Resting(resting) => resting.state(),
            Stage::TimeWait(_) => State::TimeWait,
            Stage::Closed => State::Closed,
        }
    }
}

/// Keeps what the application has not read of a connection that ends.
fn keep_unread(open: &mut Synchronized, leftover: &mut OnDemand<Vec<u8>>) {
    if open.available() > 0 {
        open.take_unread(leftover);
    }
}
