//! One end, with checks of every segment that it sends.

use std::collections::VecDeque;
use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_tcp::{Connection, Event, Segment, State};
use wirecost_wire::ip::Addresses;
use wirecost_wire::tcp::{self, Flags};

use super::{MOST_WRITTEN, MSS, byte_at};

/// More segments than the largest input can cause, including retransmissions.
const MOST_SEGMENTS: usize = 20_000;

/// An end and its application.
pub(super) struct End {
    pub(super) connection: Connection,
    /// The sequence number of the first byte of its stream.
    first: u32,
    pub(super) written: u64,
    /// Bytes read from the peer.
    pub(super) received: u64,
    pub(super) events: Vec<Event>,
    /// Segments that it has sent and the other end has not received.
    pub(super) sent: VecDeque<(Segment, Vec<u8>)>,
    /// The last acknowledgment number.
    pub(super) acknowledged: Option<u32>,
    /// Where the last segment ended.
    pub(super) next: u32,
    age: u8,
}

impl End {
    pub(super) fn new(connection: Connection, initial_sequence: u32, now: Instant) -> Self {
        let mut end = Self {
            age: connection.state().age(),
            connection,
            first: initial_sequence.wrapping_add(1),
            written: 0,
            received: 0,
            events: Vec::new(),
            sent: VecDeque::new(),
            acknowledged: None,
            next: initial_sequence,
        };
        end.settle(now);
        end
    }

    /// Collects and checks the segments and events of the connection.
    pub(super) fn settle(&mut self, now: Instant) {
        let mut payload = Vec::new();
        let mut budget = MOST_SEGMENTS;
        while let Some(transmit) = self.connection.poll_transmit(&mut payload, now) {
            budget -= 1;
            assert!(budget > 0, "an end that never stops: {:?}", transmit.segment);
            assert_eq!(transmit.payload_bytes as usize, payload.len());
            self.check(&transmit.segment, transmit.offset, &payload);
            self.sent
                .push_back((transmit.segment, std::mem::take(&mut payload)));
        }
        while let Some(event) = self.connection.poll_event() {
            assert!(self.events.len() < MOST_SEGMENTS, "events without end");
            self.events.push(event);
        }
        let age = self.connection.state().age();
        assert!(self.age <= age, "back to {:?}", self.connection.state());
        self.age = age;
    }

    fn check(&mut self, segment: &Segment, offset: u64, payload: &[u8]) {
        let bytes = segment.header_bytes() + payload.len();
        assert!(bytes <= tcp::HEADER_BYTES + usize::from(MSS), "{bytes} B");
        assert_eq!(seen_on_the_wire(segment, payload), *segment);
        if segment.has(Flags::RST) {
            return;
        }
        let start = segment.sequence.wrapping_add(u32::from(segment.has(Flags::SYN)));
        if !payload.is_empty() {
            assert_eq!(start, self.first.wrapping_add(offset as u32), "{segment:?}");
            assert!(offset + payload.len() as u64 <= self.written, "{segment:?}");
            assert!(is_stream(start, payload), "other bytes than were written");
        }
        if segment.has(Flags::ACK) {
            let before = self.acknowledged.replace(segment.acknowledgment);
            let moved = segment
                .acknowledgment
                .wrapping_sub(before.unwrap_or(segment.acknowledgment));
            assert!(moved < 1 << 31, "an acknowledgment taken back: {segment:?}");
        }
        let end = segment
            .sequence
            .wrapping_add(segment.sequence_length(payload.len()));
        if end.wrapping_sub(self.next) < 1 << 31 {
            self.next = end;
        }
    }

    pub(super) fn write(&mut self, bytes: u64, now: Instant) {
        let bytes = bytes.min(MOST_WRITTEN.saturating_sub(self.written));
        let from = self.first.wrapping_add(self.written as u32);
        let taken = self.connection.write(&stream(from, bytes as usize), now);
        self.written += taken as u64;
        self.settle(now);
    }

    /// Reads up to `limit` bytes of the peer's stream, whose first byte has this sequence number.
    pub(super) fn read(&mut self, limit: usize, peer_first: u32, now: Instant) {
        let mut read = Vec::new();
        let available = self.connection.available();
        let count = self.connection.read(&mut read, limit, now);
        assert_eq!((count, read.len()), (available.min(limit), available.min(limit)));
        let from = peer_first.wrapping_add(self.received as u32);
        assert!(is_stream(from, &read), "other bytes than the peer's");
        self.received += count as u64;
        self.settle(now);
    }

    pub(super) fn receive(&mut self, segment: &Segment, payload: &[u8], now: Instant) {
        self.connection.handle_segment(segment, payload, now);
        self.settle(now);
    }

    /// Handles the timers that are due; none of them may stay due.
    pub(super) fn wake(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
        self.settle(now);
        let next = self.connection.next_timeout();
        assert!(
            next.is_none_or(|at| at > now),
            "a timer stays due at {now:?}: {:?}",
            self.connection
        );
    }

    /// Whether both directions are closed.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.connection.state(), State::Closed | State::TimeWait)
    }

    pub(super) fn was_reset(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Reset(_)))
    }

    /// The time until its next timer.
    pub(super) fn patience(&self, now: Instant) -> Option<Duration> {
        Some(self.connection.next_timeout()?.saturating_since(now))
    }
}

/// The segment as it is read from the bytes that it is emitted to.
pub(super) fn seen_on_the_wire(segment: &Segment, payload: &[u8]) -> Segment {
    let addresses =
        Addresses::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into()).expect("both are of one version");
    let mut bytes = Vec::new();
    segment.repr(1, 2).emit(&addresses, payload, &mut bytes);
    Segment::from_view(&tcp::Segment::new(&bytes).expect("it was emitted"))
}

/// `bytes` bytes of a stream from a sequence number on.
pub(super) fn stream(from: u32, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| byte_at(from.wrapping_add(at as u32)))
        .collect()
}

fn is_stream(from: u32, bytes: &[u8]) -> bool {
    bytes
        .iter()
        .enumerate()
        .all(|(at, byte)| *byte == byte_at(from.wrapping_add(at as u32)))
}
