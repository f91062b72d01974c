//! The three-way handshake (RFC 9293, section 3.5), up to the segment that completes it.
//!
//! 1. SYN, with the options that this end offers; SYN-SENT.
//! 2. SYN-ACK, with the options that the peer offers too; the peer is in SYN-RECEIVED.
//! 3. ACK: both ends are open.
//!
//! With Fast Open (RFC 7413) the SYN of an end that has a cookie waits for data and carries it; the peer's SYN-ACK acknowledges it.
//!
//! - `offer`: SYN and SYN-ACK

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{Instant, ResetReason};
use wirecost_wire::tcp::Flags;

use crate::buffers::SendBuffer;
use crate::config::{Config, ConnectionStart};
use crate::connection::Transmit;
use crate::recovery;
use crate::segment::Segment;
use crate::sequence::is_before;

mod offer;

pub(crate) use offer::PeerSyn;

/// The time between two SYN-ACKs that retransmitted SYNs cause (Linux: net.ipv4.tcp_invalid_ratelimit).
const REPEATED_SYN_INTERVAL: Duration = Duration::from_millis(500);

/// Bytes of options for which a SYN with data leaves room (Linux: `MAX_TCP_OPTION_SPACE`).
const OPTION_ROOM: u16 = 40;

/// A connection that is not open yet.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) config: Arc<Config>,
    pub(crate) start: ConnectionStart,
    pub(crate) send: SendBuffer,
    /// Whether this end closes as soon as it is open.
    pub(crate) closes: bool,
    /// The peer's SYN: the state is SYN-RECEIVED with it, SYN-SENT without it.
    pub(crate) peer: Option<PeerSyn>,
    /// The number of retransmissions of the SYN or SYN-ACK, and the number of those after a time-out.
    retransmissions: u8,
    timeouts: u8,
    first_sent: Option<Instant>,
    /// When a repeated SYN was answered last.
    answered: Option<Instant>,
    timeout: Duration,
    deadline: Option<Instant>,
    is_due: bool,
    /// Whether the application may write before the SYN, which carries data: it has the cookie of an earlier connection.
    pub(crate) is_early: bool,
    /// Whether the SYN waits for the first write.
    waits_for_data: bool,
    /// Bytes of data that the first SYN carried.
    syn_data: u32,
    /// Whether the SYN-ACK gives the peer the cookie of its address.
    grants_cookie: bool,
}

/// The effect of a segment on a connection that is not open.
#[derive(Debug)]
pub(crate) enum HandshakeStep {
    /// No effect.
    Stay,
    /// It is answered, without any other effect.
    Answer(Segment),
    /// The connection is open.
    Open(PeerSyn),
    /// The connection ends.
    End(ResetReason),
}

impl Opening {
    pub(crate) fn connect(config: Arc<Config>, start: ConnectionStart) -> Self {
        let cookie = start.fast_open.and_then(|fast_open| fast_open.cookie);
        let is_early = cookie.is_some_and(|cookie| !cookie.is_request());
        Self {
            is_due: !is_early,
            is_early,
            waits_for_data: is_early,
            syn_data: 0,
            grants_cookie: false,
            timeout: config.handshake.initial_timeout,
            config,
            start,
            send: SendBuffer::default(),
            closes: false,
            peer: None,
            retransmissions: 0,
            timeouts: 0,
            first_sent: None,
            answered: None,
            deadline: None,
        }
    }

    pub(crate) fn accept(config: Arc<Config>, syn: &Segment, start: ConnectionStart) -> Self {
        let mut opening = Self::connect(config, start);
        opening.is_early = false;
        opening.begin();
        opening.grants_cookie = syn.fast_open.is_some() && !opening.trusts(syn);
        opening.peer = Some(opening.agree(syn));
        opening
    }

    /// Whether the data of a SYN may be taken: it has the cookie of its sender's address (RFC 7413, section 4.2.2).
    pub(crate) fn trusts(&self, syn: &Segment) -> bool {
        let expected = self.start.fast_open.and_then(|fast_open| fast_open.cookie);
        expected.is_some_and(|cookie| syn.fast_open == Some(cookie))
    }

    /// Ends the wait for data.
    fn begin(&mut self) {
        self.is_due |= core::mem::take(&mut self.waits_for_data);
    }

    /// Stores bytes until the connection is open; returns how many the buffer accepted.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> usize {
        if self.closes {
            return 0;
        }
        let room = self.config.send_buffer.minimum.saturating_sub(self.send.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.send.write(taken);
        let count = taken.len();
        if count > 0 {
            self.begin();
        }
        count
    }

    /// Closes this end's direction as soon as it is open.
    pub(crate) fn close(&mut self) {
        self.closes = true;
        self.begin();
    }

    /// The reset for a peer that knows of the connection.
    pub(crate) fn abort(&self, now: Instant) -> Option<Segment> {
        let expectation = self.expectation(self.peer?, now);
        Some(Segment {
            flags: Flags::RST | Flags::ACK,
            ..expectation
        })
    }

    /// Handles a segment for this connection.
    pub(crate) fn handle_segment(
        &mut self,
        segment: &Segment,
        payload_bytes: usize,
        now: Instant,
    ) -> HandshakeStep {
        match self.peer {
            None => self.handle_in_syn_sent(segment, payload_bytes),
            Some(peer) => self.handle_in_syn_received(peer, segment, payload_bytes, now),
        }
    }

    /// RFC 9293, section 3.10.7.3.
    fn handle_in_syn_sent(&mut self, segment: &Segment, payload_bytes: usize) -> HandshakeStep {
        let has_ack = segment.has(Flags::ACK);
        if has_ack && !self.is_acknowledged_by(segment) {
            return segment
                .reset(payload_bytes)
                .map_or(HandshakeStep::Stay, HandshakeStep::Answer);
        }
        if segment.has(Flags::RST) {
            return if has_ack {
                HandshakeStep::End(ResetReason::Refused)
            } else {
                HandshakeStep::Stay
            };
        }
        if !segment.has(Flags::SYN) {
            return HandshakeStep::Stay;
        }
        let peer = self.agree(segment);
        if has_ack {
            return HandshakeStep::Open(peer);
        }
        // RFC 9293, section 3.5, figure 8: simultaneous open.
        self.peer = Some(peer);
        self.is_due = true;
        self.timeout = self.config.handshake.initial_timeout;
        HandshakeStep::Stay
    }

    /// RFC 9293, section 3.10.7.4, with the rules of Linux for a request (`tcp_check_req`).
    fn handle_in_syn_received(
        &mut self,
        peer: PeerSyn,
        segment: &Segment,
        payload_bytes: usize,
        now: Instant,
    ) -> HandshakeStep {
        let acknowledges = segment.has(Flags::ACK) && self.is_acknowledged_by(segment);
        if segment.has(Flags::SYN) && self.is_of_peer(segment) {
            // In a simultaneous open the SYN arrives again with an ACK.
            if acknowledges {
                return HandshakeStep::Open(peer);
            }
            self.answer_again(now);
            return HandshakeStep::Stay;
        }
        if segment.has(Flags::RST) {
            // RFC 5961, section 3.2: only the exact sequence number ends it.
            let is_exact = segment.sequence == peer.next;
            return if is_exact {
                HandshakeStep::End(ResetReason::ByPeer)
            } else {
                HandshakeStep::Stay
            };
        }
        if segment.sequence.wrapping_sub(peer.next) >= u32::from(self.window()).max(1) {
            // RFC 9293, section 3.10.7.4, first: the answer has the expected sequence number.
            return HandshakeStep::Answer(self.expectation(peer, now));
        }
        if acknowledges && !segment.has(Flags::SYN) {
            return HandshakeStep::Open(peer);
        }
        let is_wrong = segment.has(Flags::SYN) || segment.has(Flags::ACK);
        let reset = segment.reset(payload_bytes).filter(|_| is_wrong);
        reset.map_or(HandshakeStep::Stay, HandshakeStep::Answer)
    }

    /// Whether a SYN is the one that was received, again.
    pub(crate) fn is_of_peer(&self, syn: &Segment) -> bool {
        self.peer
            .is_some_and(|peer| syn.sequence.wrapping_add(1) == peer.next)
    }

    /// Answers a repeated SYN: the SYN-ACK was lost, or slow (RFC 9293, section 3.10.7.4, fourth).
    pub(crate) fn answer_again(&mut self, now: Instant) {
        let is_soon = |last: Instant| now.saturating_since(last) < REPEATED_SYN_INTERVAL;
        if self.first_sent.is_some() && !self.answered.is_some_and(is_soon) {
            self.answered = Some(now);
            self.retransmissions = self.retransmissions.saturating_add(1);
            self.is_due = true;
        }
    }

    /// Whether `segment` acknowledges the SYN, and at most the data that the SYN carried.
    pub(crate) fn is_acknowledged_by(&self, segment: &Segment) -> bool {
        self.first_sent.is_some() && self.acknowledged_data(segment) <= self.syn_data
    }

    /// Whether a SYN-ACK leaves data of the SYN unacknowledged.
    pub(crate) const fn refuses_data(&self, syn_ack: &Segment) -> bool {
        self.acknowledged_data(syn_ack) < self.syn_data
    }

    /// Bytes of the SYN's data that `segment` acknowledges.
    pub(crate) const fn acknowledged_data(&self, segment: &Segment) -> u32 {
        let first = self.start.sequence.wrapping_add(1);
        segment.acknowledgment.wrapping_sub(first)
    }

    fn expectation(&self, peer: PeerSyn, now: Instant) -> Segment {
        Segment {
            sequence: self.start.sequence.wrapping_add(1),
            acknowledgment: peer.next,
            flags: Flags::ACK,
            window: self.window(),
            timestamps: self.timestamps(now),
            ..Segment::default()
        }
    }

    /// The SYN or SYN-ACK, if one is due.
    pub(crate) fn poll_transmit(&mut self, payload: &mut Vec<u8>, now: Instant) -> Option<Transmit> {
        if !core::mem::take(&mut self.is_due) {
            return None;
        }
        let segment = match self.peer {
            Some(peer) => self.syn_ack(peer, now),
            None => self.syn(now),
        };
        self.first_sent.get_or_insert(now);
        self.deadline = Some(self.config.granularity.deadline(now, self.timeout));
        let mut transmit = Transmit::bare(segment, 0);
        if self.carries_data() {
            let room = self.config.maximum_segment_size.saturating_sub(OPTION_ROOM);
            self.syn_data = self.send.copy(0, usize::from(room), payload) as u32;
            transmit.payload_bytes = self.syn_data;
        }
        Some(transmit)
    }

    /// Whether the SYN carries data: only the first one, because a host on the path may drop such SYNs (RFC 7413, section 4.1.3).
    fn carries_data(&self) -> bool {
        self.is_early && self.peer.is_none() && self.timeouts == 0
    }

    pub(crate) const fn next_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// Sends the SYN or SYN-ACK again after its time-out; false if there are no retries left.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return true;
        }
        self.deadline = None;
        let handshake = &self.config.handshake;
        let (retries, linear) = match self.peer {
            None => (handshake.syn_retries, handshake.linear_syn_timeouts),
            Some(_) => (handshake.syn_ack_retries, 0),
        };
        if self.timeouts >= retries {
            return false;
        }
        self.timeouts += 1;
        self.retransmissions = self.retransmissions.saturating_add(1);
        // RFC 6298, section 5.5; Linux: the first time-outs of a SYN do not double (`tcp_syn_linear_timeouts`).
        if self.timeouts > linear {
            self.timeout = self.timeout.saturating_mul(2).min(handshake.maximum_timeout);
        }
        self.is_due = true;
        true
    }

    /// The result of the handshake for loss recovery, from `segment`, which answers the SYN or SYN-ACK.
    pub(crate) fn opened(
        &self,
        peer: &PeerSyn,
        segment: &Segment,
        now: Instant,
    ) -> recovery::HandshakeResult {
        let echo = segment
            .timestamps
            .filter(|_| peer.timestamp.is_some())
            .map(|stamps| stamps.echo);
        let first = self.first_sent.map(|first| clock(self.start.sequence, first));
        recovery::HandshakeResult {
            rtt: self.round_trip(echo, now),
            // Linux: a SYN-ACK that was only sent again for repeated SYNs is no sign of congestion (`tcp_create_openreq_child`).
            retransmissions: u32::from(
                self.retransmissions
                    .min(if self.timeouts > 0 { u8::MAX } else { 1 }),
            ),
            is_spurious: self.retransmissions > 0 && echo.is_some() && echo == first,
            has_sack: peer.selective,
            segment_bytes: u32::from(peer.segment_bytes()),
        }
    }

    fn round_trip(&self, echo: Option<u32>, now: Instant) -> Option<Duration> {
        if self.retransmissions == 0 {
            return self.first_sent.map(|sent| now.saturating_since(sent));
        }
        // RFC 6298, section 3 (Karn): only a timestamp shows which transmission was answered.
        let millis = clock(self.start.sequence, now).wrapping_sub(echo?);
        // An echo of a future time is not a measurement.
        (!is_before(millis, 0)).then(|| Duration::from_millis(u64::from(millis)))
    }
}

/// The timestamp clock: milliseconds (Linux without `usec_ts`), from a start that depends on the connection (RFC 7323,
/// section 5.4).
pub(crate) fn clock(initial_sequence: u32, now: Instant) -> u32 {
    let millis = now.as_nanos() / 1_000_000;
    initial_sequence.wrapping_add(millis as u32)
}
