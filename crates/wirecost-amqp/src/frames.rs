//! The frames of a connection in both directions, and its timers: the part that client and container share.

use core::time::Duration;

use wirecost_proto::{Buffer, FlowId, Instant, TimerTable};

use crate::codec::frame::{FrameTooLarge, LARGEST_FRAME, MIN_MAX_FRAME_SIZE, emit_empty_frame};
use crate::codec::{Attribution, Framer, Open, Performative, Sasl};

/// The timers of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    /// The peer must answer until then.
    Answer,
    /// The peer must send something until then.
    Idle,
    /// An empty frame is due, so that the peer does not time out (section 2.4.5).
    KeepAlive,
}

impl From<Timer> for usize {
    fn from(timer: Timer) -> Self {
        timer as Self
    }
}

/// The frames and the timers of one end of a connection.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) flow: FlowId,
    pub(crate) framer: Framer,
    /// The spans of the received bytes.
    pub(crate) consumed: Buffer,
    /// Frames that are encoded but not yet handed to the driver.
    pub(crate) outgoing: Buffer,
    pub(crate) timers: TimerTable<3>,
    /// The largest frame that the peer accepts, in bytes.
    pub(crate) max_frame_size: usize,
    /// The first frame that was not encoded because it is too large. The connection cannot go on without it.
    pub(crate) too_large: Option<FrameTooLarge>,
    /// How long the peer may send nothing.
    idle_time_out: Option<Duration>,
    /// How often the peer wants to receive a frame.
    keep_alive: Option<Duration>,
}

impl Frames {
    /// A connection that accepts frames of `max_frame_size` bytes, and whose peer must answer until `answer_by`.
    pub(crate) fn new(flow: FlowId, max_frame_size: u32, answer_by: Instant) -> Self {
        let mut timers = TimerTable::new();
        timers.set(Timer::Answer, answer_by);
        Self {
            flow,
            framer: Framer::new(max_frame_size.max(MIN_MAX_FRAME_SIZE)),
            consumed: Buffer::new(),
            outgoing: Buffer::new(),
            timers,
            max_frame_size: MIN_MAX_FRAME_SIZE as usize,
            too_large: None,
            idle_time_out: None,
            keep_alive: None,
        }
    }

    /// Encodes a performative, unless the peer does not accept a frame of its length: then that is noted, and nothing follows
    /// until it is taken.
    pub(crate) fn emit(&mut self, performative: Performative<'_>, channel: u16, attribution: Attribution) {
        if self.too_large.is_some() {
            return;
        }
        let emitted = performative.emit(channel, attribution, self.max_frame_size, &mut self.outgoing);
        self.too_large = emitted.err();
    }

    /// Encodes a SASL frame, unless it is too large: then that is noted.
    pub(crate) fn emit_sasl(&mut self, sasl: &Sasl<'_>) {
        let emitted = sasl.emit(&mut self.outgoing);
        self.too_large = self.too_large.or(emitted.err());
    }

    /// Takes the limits in the peer's open and starts the idle timer. The `announced` time-out is half of the actual one
    /// (section 2.4.5).
    pub(crate) fn peer_opened(&mut self, open: &Open<'_>, announced: Option<Duration>, now: Instant) {
        let max_frame_size = open.max_frame_size.max(MIN_MAX_FRAME_SIZE);
        // No frame is larger, whatever the peer says that it accepts.
        self.max_frame_size =
            usize::try_from(max_frame_size).map_or(LARGEST_FRAME, |size| size.min(LARGEST_FRAME));
        // A peer that announces 0 has no idle time-out.
        let peers = open.idle_time_out.filter(|millis| *millis > 0);
        self.keep_alive = peers.map(|millis| Duration::from_millis(u64::from(millis)) / 2);
        self.idle_time_out = announced.map(|announced| announced * 2);
        self.received(now);
    }

    /// Restarts the idle timer, because the peer sent something.
    pub(crate) fn received(&mut self, now: Instant) {
        if let Some(time_out) = self.idle_time_out {
            self.timers.set(Timer::Idle, now + time_out);
        }
    }

    /// Restarts the keep-alive timer, because a frame leaves now.
    pub(crate) fn sent(&mut self, now: Instant) {
        if let Some(keep_alive) = self.keep_alive {
            self.timers.set(Timer::KeepAlive, now + keep_alive);
        }
    }

    /// Stops all timers.
    pub(crate) fn stop_timers(&mut self) {
        self.timers = TimerTable::new();
        self.idle_time_out = None;
        self.keep_alive = None;
    }

    /// Returns an expired timer, if there is one. For the keep-alive timer it also encodes an empty frame.
    pub(crate) fn expire_timer(&mut self, now: Instant) -> Option<Timer> {
        let mut timers = [Timer::Answer, Timer::Idle, Timer::KeepAlive].into_iter();
        let expired = timers.find(|timer| self.timers.expire(*timer, now))?;
        if matches!(expired, Timer::KeepAlive) {
            emit_empty_frame(&mut self.outgoing);
        }
        Some(expired)
    }

    /// Moves the spans of received bytes to `out`. Returns whether there were any.
    pub(crate) fn take_consumed(&mut self, out: &mut Buffer) -> bool {
        let has_some = !self.consumed.is_empty();
        out.cover_spans(self.consumed.spans());
        self.consumed.clear();
        has_some
    }

    /// Moves the encoded frames to `out`. Returns whether there were any.
    pub(crate) fn take_outgoing(&mut self, out: &mut Buffer) -> bool {
        let has_some = !self.outgoing.is_empty();
        out.push_described(self.outgoing.bytes(), self.outgoing.spans());
        self.outgoing.clear();
        has_some
    }
}

/// A duration as the `milliseconds` type of the standard.
pub(crate) fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
