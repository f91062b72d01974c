//! Deferred segments: more of them leave at once with the next acknowledgment. (Linux: `tcp_tso_should_defer`)

use wirecost_proto::Instant;

use super::state::State;
use super::{Recovery, micros};

/// A packet that was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Its length, in bytes.
    pub(crate) bytes: u32,
    /// Whether other packets wait after it, so that it does not grow.
    pub(crate) is_followed: bool,
    /// The largest burst, in bytes.
    pub(crate) burst_bytes: u32,
    /// The free part of the peer's window, in bytes.
    pub(crate) window_room: u32,
    /// The peer's window, in bytes.
    pub(crate) window_bytes: u32,
    /// Whether a FIN follows.
    pub(crate) is_last: bool,
}

/// The longest deferral, and the longest time since the last transmission for a deferral, in microseconds.
const PATIENCE_MICROS: u64 = 1_000;

/// There is no deferral if this part of the window is free. (net.ipv4.tcp_tso_win_divisor)
const WINDOW_DIVISOR: u32 = 3;

impl Recovery {
    /// Whether `waiting` must wait for the next acknowledgment although a segment of it may leave.
    pub(crate) fn defers(&mut self, waiting: &Waiting, now: Instant) -> bool {
        let room = self.window.cwnd().saturating_sub(self.scoreboard.in_flight());
        let congestion_room = room.saturating_mul(self.segment_bytes);
        let limit = congestion_room.min(waiting.window_room);
        if waiting.bytes <= self.segment_bytes || self.is_pressing(waiting, limit) || !self.awaits_ack(now) {
            return false;
        }
        if waiting.bytes < limit {
            // Nothing but more data could make the burst longer.
            return !waiting.is_last;
        }
        if congestion_room < waiting.window_room {
            self.note_window_limits(now);
        }
        true
    }

    /// Whether enough bytes may leave at once.
    fn is_pressing(&self, waiting: &Waiting, limit: u32) -> bool {
        let window = self.window.cwnd().saturating_mul(self.segment_bytes);
        let part = window.min(waiting.window_bytes) / WINDOW_DIVISOR;
        let is_whole = waiting.is_followed && limit >= waiting.bytes;
        self.state >= State::Recovery || limit >= waiting.burst_bytes || is_whole || limit >= part
    }

    /// Whether segments have just left and an acknowledgment is due.
    fn awaits_ack(&self, now: Instant) -> bool {
        let now = micros(now);
        let Some((head, srtt_eighths)) = self.scoreboard.head().zip(self.rtt.srtt_eighths()) else {
            return false;
        };
        let srtt = srtt_eighths / 8;
        let expected = head.sent_micros + srtt;
        let is_recent = now.saturating_sub(self.last_sent_micros) <= PATIENCE_MICROS;
        is_recent && expected.saturating_sub(now) <= (srtt / 2).min(PATIENCE_MICROS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{MSS, at, ms, opened, sequence_of};
    use super::super::{Ack, Recovery};
    use super::*;
    use crate::Config;
    use core::time::Duration;

    const WAITING: Waiting = Waiting {
        bytes: 10 * MSS,
        is_followed: false,
        burst_bytes: 2 * MSS,
        window_room: 60_000,
        window_bytes: 65_160,
        is_last: false,
    };

    /// Ten segments left at 0, and one of them is acknowledged at 20 ms: two more may leave.
    fn acknowledged() -> Recovery {
        let mut recovery = opened(&Config::linux(1_460), Duration::from_millis(20));
        for segment in 0..10 {
            recovery.sent(sequence_of(segment), MSS, at(0));
        }
        let ack = Ack {
            acknowledgment: sequence_of(1),
            window_bytes: 65_160,
            ..Ack::default()
        };
        recovery.handle_ack(&ack, at(ms(20)));
        recovery
    }

    #[test]
    fn the_first_acknowledgment_after_a_pause_lets_segments_go() {
        assert!(!acknowledged().defers(&WAITING, at(ms(20))));
    }

    #[test]
    fn what_the_next_acknowledgment_allows_waits_for_more() {
        let mut recovery = acknowledged();
        recovery.sent(sequence_of(10), MSS, at(ms(20)));
        assert_eq!((recovery.in_flight(), recovery.congestion_window()), (10, 11));
        // One segment of eleven is less than a third of the window.
        assert!(recovery.defers(&WAITING, at(ms(20))));
        assert!(!recovery.defers(&WAITING, at(ms(22))), "the pause is long enough");
        let last = Waiting {
            bytes: MSS,
            ..WAITING
        };
        assert!(!recovery.defers(&last, at(ms(20))), "a single segment is Nagle's");
        let narrow = Waiting {
            window_bytes: 3 * MSS,
            ..WAITING
        };
        assert!(
            !recovery.defers(&narrow, at(ms(20))),
            "a third of the peer's window"
        );
    }
}
