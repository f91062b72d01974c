//! When an acknowledgment leaves without data.

use core::time::Duration;

use wirecost_proto::Instant;

use crate::packed::packs;

use super::window::WindowChoice;
use super::{AckDue, AckPolicy, Terms};

pub(super) mod every_second;
pub(super) mod linux;
mod segment_size;

use every_second::EverySecond;
use linux::Linux;

/// A segment with new bytes to acknowledge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Bytes of payload.
    pub(super) bytes: u32,
    /// Whether it has PSH.
    pub(super) push: bool,
    /// Whether it carries the peer's FIN.
    pub(super) fin: bool,
}

/// The inputs of a decision about an acknowledgment, apart from the counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckContext {
    /// The window that could be advertised now, where more than a full segment was received since the last acknowledgment.
    pub(super) room: Option<WindowChoice>,
    /// The next sequence number expected.
    pub(super) next: u32,
    /// Bytes of the window that was advertised last.
    pub(super) advertised: u32,
    /// Whether there are bytes after a gap.
    pub(super) is_holding: bool,
    /// Whether the peer understands selective acknowledgments.
    pub(super) selective: bool,
    /// The receiver's own estimate of the round-trip time.
    pub(super) receive_rtt: Option<Duration>,
}

/// The state after a read of the application.
#[derive(Clone, Copy, Debug)]
pub(super) struct AfterRead {
    /// Bytes that it read.
    pub(super) bytes: usize,
    /// Whether no bytes are left, neither in order nor after a gap.
    pub(super) emptied: bool,
    /// Bytes received since the last acknowledgment left.
    pub(super) unacknowledged: u32,
}

/// The acknowledgment rules of an implementation, with their state.
#[derive(Debug)]
pub(super) enum Acknowledgment {
    /// Quick acknowledgments, then delayed ones that wait for data to ride on.
    Linux(Linux),
    /// Every second segment, or the next tick of a timer.
    EverySecond(EverySecond),
}

packs!(enum Acknowledgment {
    0 => Linux { 0: linux },
    1 => EverySecond { 0: every_second },
});

impl Acknowledgment {
    pub(super) fn new(policy: AckPolicy, terms: &Terms, window: u32, now: Instant) -> Self {
        match policy {
            AckPolicy::Linux { jiffy } => Self::Linux(Linux::new(jiffy, terms, window, now)),
            AckPolicy::EverySecond { timer } => Self::EverySecond(EverySecond::new(timer)),
        }
    }

    pub(super) fn due(&self) -> AckDue {
        match self {
            Self::Linux(linux) => linux.due(),
            Self::EverySecond(every_second) => every_second.due(),
        }
    }

    /// Bytes arrived in order.
    pub(super) fn in_order(&mut self, arrival: Arrival, advertised: u32, now: Instant) {
        match self {
            Self::Linux(linux) => linux.in_order(arrival, advertised, now),
            Self::EverySecond(every_second) => every_second.in_order(now),
        }
    }

    /// Bytes arrived beyond a gap: RFC 5681, section 4.2 wants a duplicate acknowledgment at once.
    pub(super) fn out_of_order(&mut self, arrival: Arrival) {
        match self {
            Self::Linux(linux) => linux.out_of_order(arrival),
            Self::EverySecond(every_second) => every_second.at_once(),
        }
    }

    /// A run at `place` among the reported ones has grown.
    pub(super) const fn run_grown(&mut self, place: usize) {
        if let Self::Linux(linux) = self {
            linux.run_grown(place);
        }
    }

    /// A segment arrived again, or from outside the window.
    pub(super) fn refused(&mut self, advertised: u32) {
        match self {
            Self::Linux(linux) => linux.refused(advertised),
            Self::EverySecond(every_second) => every_second.at_once(),
        }
    }

    /// The FIN is reached.
    pub(super) const fn finished(&mut self) {
        match self {
            Self::Linux(linux) => linux.finished(),
            Self::EverySecond(every_second) => every_second.at_once(),
        }
    }

    /// One acknowledgment is due now, for any counters.
    pub(super) const fn at_once(&mut self) {
        match self {
            Self::Linux(linux) => linux.at_once(),
            Self::EverySecond(every_second) => every_second.at_once(),
        }
    }

    /// Less than half of the window is free.
    pub(super) const fn window_tightened(&mut self) {
        if let Self::Linux(linux) = self {
            linux.window_tightened();
        }
    }

    /// The window has grown with the segment just taken.
    pub(super) const fn window_grown(&mut self) {
        if let Self::Linux(linux) = self {
            linux.window_grown();
        }
    }

    /// Decides on the segment just taken, once it is in its place.
    pub(super) fn decide(&mut self, context: &AckContext, now: Instant) {
        if let Self::Linux(linux) = self {
            linux.decide(context, now);
        }
    }

    /// The application has read.
    pub(super) const fn read(&mut self, after: AfterRead) {
        if let Self::Linux(linux) = self {
            linux.read(after);
        }
    }

    /// The sending side's measurements of the path.
    pub(super) fn note_round_trip(&mut self, smoothed: Option<Duration>, timeout: Duration) {
        if let Self::Linux(linux) = self {
            linux.note_round_trip(smoothed, timeout);
        }
    }

    /// A segment with payload left.
    pub(super) fn data_sent(&mut self, now: Instant) {
        if let Self::Linux(linux) = self {
            linux.data_sent(now);
        }
    }

    /// A segment with an acknowledgment left.
    pub(super) fn acknowledged(&mut self) {
        match self {
            Self::Linux(linux) => linux.acknowledged(),
            Self::EverySecond(every_second) => every_second.acknowledged(),
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Linux(linux) => linux.handle_timeout(now),
            Self::EverySecond(every_second) => every_second.handle_timeout(now),
        }
    }

    /// The size of the peer's full segments, as far as it shows.
    pub(super) const fn segment_bytes(&self) -> Option<u32> {
        match self {
            Self::Linux(linux) => Some(linux.segment_bytes()),
            Self::EverySecond(_) => None,
        }
    }
}
