//! Rules of the receiver, segment by segment, and what must hold for any segments.

use std::vec::Vec;

use super::*;

mod acknowledgments;
mod any_segments;
mod selective;
mod windows;

/// Bytes of a full segment beside timestamps, over Ethernet.
const FULL: usize = 1448;

/// A receiver under test, with the stream's bytes from sequence number 1 on.
pub(super) struct Host {
    pub(super) receiver: Receiver,
    pub(super) now: Instant,
    pub(super) read: Vec<u8>,
}

/// The byte of the stream with this sequence number.
pub(super) fn byte(sequence: u32) -> u8 {
    (sequence % 251) as u8
}

/// `bytes` of the stream from `sequence` on.
pub(super) fn stream(sequence: u32, bytes: usize) -> Vec<u8> {
    (0..bytes as u32)
        .map(|offset| byte(sequence.wrapping_add(offset)))
        .collect()
}

impl Host {
    /// A server that has sent its SYN-ACK.
    pub(super) fn linux() -> Self {
        Self::new(&ReceiveConfig::linux(), true)
    }

    pub(super) fn new(config: &ReceiveConfig, modern: bool) -> Self {
        let terms = Terms {
            maximum_segment_size: 1460,
            timestamps: modern,
            selective: modern,
            window_scale: config.window_scale().unwrap_or_default(),
            window: config.initial_window(FULL as u32),
        };
        let now = Instant::from_millis(1000);
        let mut receiver = Receiver::new(config, terms, 1, now);
        receiver.note_round_trip(Some(Duration::from_millis(25)), Duration::from_millis(225));
        Self {
            receiver,
            now,
            read: Vec::new(),
        }
    }

    /// A segment arrives.
    pub(super) fn arrives(&mut self, sequence: u32, bytes: usize, push: bool) -> Arrived {
        let payload = stream(sequence, bytes);
        self.receiver
            .handle_data(sequence, &payload, false, push, self.now)
    }

    /// The next `bytes` arrive in order.
    pub(super) fn follows(&mut self, bytes: usize, push: bool) -> Arrived {
        self.arrives(self.receiver.next_expected(), bytes, push)
    }

    /// A FIN arrives behind everything else.
    pub(super) fn finishes(&mut self) -> Arrived {
        self.receiver
            .handle_data(self.receiver.next_expected(), &[], true, false, self.now)
    }

    /// An acknowledgment leaves if one is due now; whether it did.
    pub(super) fn acknowledges(&mut self) -> bool {
        let due = self.receiver.ack_due() == AckDue::Now;
        if due {
            self.receiver.ack_sent(self.now);
        }
        due
    }

    /// A segment with data leaves.
    pub(super) fn answers(&mut self) {
        self.receiver.ack_sent(self.now);
        self.receiver.data_sent(self.now);
    }

    /// The application reads all there is.
    pub(super) fn reads(&mut self) -> usize {
        self.receiver.read(&mut self.read, usize::MAX, self.now)
    }

    pub(super) fn after_millis(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    /// Time passes until the acknowledgment that waits leaves; how long that took.
    pub(super) fn waits(&mut self) -> Option<Duration> {
        let AckDue::At(at) = self.receiver.ack_due() else {
            return None;
        };
        let waited = at.saturating_since(self.now);
        self.now = at;
        self.receiver.handle_timeout(at);
        assert!(self.acknowledges(), "the delay ends in an acknowledgment");
        Some(waited)
    }

    /// Segments of 64 bytes arrive and are read until one is not acknowledged at once; how many were.
    pub(super) fn quick_segments(&mut self) -> usize {
        let mut quick = 0;
        loop {
            self.follows(64, false);
            if !self.acknowledges() {
                return quick;
            }
            self.reads();
            quick += 1;
        }
    }
}
