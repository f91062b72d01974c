//! Segments that arrive on an open connection, in the order of RFC 9293, section 3.10.7.4.

use core::time::Duration;

use wirecost_proto::{Instant, ResetReason};
use wirecost_wire::tcp::Flags;

use super::{Fin, PeerClock, Synchronized, Transition};
use crate::connection::handshake::clock;
use crate::connection::{Event, Events, State};
use crate::recovery::Ack;
use crate::segment::Segment;
use crate::sequence::is_before;

/// How long a peer's clock value is valid (RFC 7323, section 5.5).
const CLOCK_LIFETIME: Duration = Duration::from_secs(24 * 24 * 60 * 60);

/// The time between two answers to unacceptable segments without data (Linux: net.ipv4.tcp_invalid_ratelimit).
const REFUSAL_INTERVAL: Duration = Duration::from_millis(500);

/// The result of the first checks of a segment.
enum Screened {
    /// It is accepted.
    Counts,
    /// It is dropped, and answered if necessary.
    Dropped,
    /// It is an accepted reset.
    Resets,
}

impl Synchronized {
    pub(crate) fn handle_segment(
        &mut self,
        segment: &Segment,
        payload: &[u8],
        events: &mut Events,
        now: Instant,
    ) -> Transition {
        if let Some(half_open) = &mut self.half_open
            && segment.has(Flags::SYN)
            && !segment.has(Flags::ACK)
            && half_open.is_of_peer(segment)
        {
            half_open.answer_again(now);
            return Transition::Stay;
        }
        match self.screen(segment, payload.len(), now) {
            Screened::Counts => {}
            Screened::Dropped => return Transition::Stay,
            Screened::Resets => {
                return Transition::Reset {
                    answer: None,
                    reason: Some(ResetReason::ByPeer),
                };
            }
        }
        if !self.take_acknowledgment(segment, payload.len(), now) {
            return self.transition(now);
        }
        if !payload.is_empty() {
            self.retransmit_early(now);
        }
        self.take_text(segment.sequence, segment, payload, events, now)
    }

    /// Handles the segment that completed the handshake: a SYN-ACK to an end that connected, or the ACK of a SYN-ACK.
    pub(crate) fn handle_first(
        &mut self,
        segment: &Segment,
        payload: &[u8],
        events: &mut Events,
        now: Instant,
    ) -> Transition {
        if !segment.has(Flags::SYN) {
            let transition = self.handle_segment(segment, payload, events, now);
            self.receiver.forget_echo();
            return transition;
        }
        // RFC 9293, section 3.10.7.3, fourth: an ACK ends SYN-SENT, before any written data. Data of the SYN that the peer did not
        // take leaves again at once, and acknowledges the SYN-ACK (Linux: `tcp_rcv_fastopen_synack`).
        self.greets = !self.refused_data;
        self.take_text(segment.sequence.wrapping_add(1), segment, payload, events, now)
    }

    /// First to fifth: whether the segment is accepted.
    fn screen(&mut self, segment: &Segment, payload_bytes: usize, now: Instant) -> Screened {
        let length = segment.sequence_length(payload_bytes);
        let is_reset = segment.has(Flags::RST);
        let is_in_window = self.receiver.is_acceptable(segment.sequence, length);
        if !is_reset && (self.is_from_the_past(segment, length, now) || !is_in_window) {
            if segment.has(Flags::SYN) {
                self.challenge(now);
            } else if self.may_refuse(length > 0, now) {
                self.receiver.refuse(segment.sequence, length);
            }
            return Screened::Dropped;
        }
        if is_reset {
            return self.screen_reset(segment, is_in_window, now);
        }
        // RFC 5961, section 4.2: a SYN in an open connection is challenged.
        if segment.has(Flags::SYN) {
            self.challenge(now);
            return Screened::Dropped;
        }
        if segment.has(Flags::ACK) {
            Screened::Counts
        } else {
            Screened::Dropped
        }
    }

    /// RFC 5961, section 3.2: a reset is accepted only with the exact sequence number.
    fn screen_reset(&mut self, segment: &Segment, is_in_window: bool, now: Instant) -> Screened {
        if !is_in_window {
            return Screened::Dropped;
        }
        if segment.sequence == self.receiver.next_expected() {
            return Screened::Resets;
        }
        self.challenge(now);
        Screened::Dropped
    }

    /// RFC 7323, section 5.3: protection against wrapped sequence numbers.
    fn is_from_the_past(&self, segment: &Segment, length: u32, now: Instant) -> bool {
        let (Some(peer), Some(stamps)) = (self.peer_clock, segment.timestamps) else {
            return false;
        };
        let is_old = is_before(stamps.value, peer.recent) && now.saturating_since(peer.seen) < CLOCK_LIFETIME;
        // Linux accepts a late acknowledgment without new information (`tcp_disordered_ack`).
        let is_harmless = length == 0
            && segment.sequence == self.receiver.next_expected()
            && segment.acknowledgment == self.unacknowledged_sequence();
        is_old && !is_harmless
    }

    /// RFC 5961, section 7, per connection: whether a dropped segment may be answered.
    fn may_refuse(&mut self, has_data: bool, now: Instant) -> bool {
        let is_soon = |last: Instant| now.saturating_since(last) < REFUSAL_INTERVAL;
        if !has_data {
            if self.refused.is_some_and(is_soon) {
                return false;
            }
            self.refused = Some(now);
        }
        true
    }

    fn challenge(&mut self, now: Instant) {
        if self.may_refuse(false, now) {
            self.receiver.acknowledge_now();
        }
    }

    /// Fifth, the ACK field; false if the rest of the segment is to be ignored.
    fn take_acknowledgment(&mut self, segment: &Segment, payload_bytes: usize, now: Instant) -> bool {
        let acknowledgment = segment.acknowledgment;
        let una = self.unacknowledged_sequence();
        if is_before(self.next_sequence(), acknowledgment) {
            self.challenge(now);
            return false;
        }
        if is_before(acknowledgment, una) {
            // RFC 5961, section 5.2: an acknowledgment from before the largest window is a forgery.
            if una.wrapping_sub(acknowledgment) > self.window.maximum {
                self.challenge(now);
                return false;
            }
            self.note_peer_clock(segment, now);
            // A late acknowledgment may still have new SACK blocks.
            self.note_acknowledgment(segment, payload_bytes, false, now);
            return true;
        }
        self.note_peer_clock(segment, now);
        self.peer_timers.heard(now);
        self.complete_handshake(segment, now);
        self.pushes = true;
        let updates_window = self.window.update(segment, acknowledgment != una);
        self.release_acknowledged(acknowledgment, now);
        self.note_acknowledgment(segment, payload_bytes, updates_window, now);
        if acknowledgment != una {
            self.note_round_trip();
        }
        self.update_persist(now);
        !matches!(self.state, State::Closed | State::TimeWait)
    }

    /// RFC 7323, section 4.3 (2) and (3).
    fn note_peer_clock(&mut self, segment: &Segment, now: Instant) {
        let (Some(peer), Some(stamps)) = (&mut self.peer_clock, segment.timestamps) else {
            return;
        };
        let is_not_beyond = !is_before(self.last_acknowledgment, segment.sequence);
        // RFC 7323, section 5.5: a value that is too old cannot be compared.
        let is_outdated = now.saturating_since(peer.seen) >= CLOCK_LIFETIME;
        if is_not_beyond && (is_outdated || !is_before(stamps.value, peer.recent)) {
            *peer = PeerClock {
                recent: stamps.value,
                seen: now,
            };
        }
    }

    fn note_acknowledgment(
        &mut self,
        segment: &Segment,
        payload_bytes: usize,
        updates_window: bool,
        now: Instant,
    ) {
        let echo = segment
            .timestamps
            .filter(|_| self.peer_clock.is_some())
            .map(|stamps| stamps.echo);
        if let Some(echo) = echo {
            self.receiver
                .note_echo(echo, clock(self.initial_sequence, now), payload_bytes);
        }
        let ack = Ack {
            acknowledgment: segment.acknowledgment,
            sack: segment.sack,
            echo: echo.map(|echo| echo.wrapping_sub(self.initial_sequence)),
            has_data: segment.sequence_length(payload_bytes) > 0,
            updates_window,
            window_bytes: self.window.bytes,
            has_new_data: self.next_segment_fits(),
        };
        self.recovery.handle_ack(&ack, now);
    }

    fn release_acknowledged(&mut self, acknowledgment: u32, now: Instant) {
        let bytes = acknowledgment.wrapping_sub(self.sequence_of(self.send.start()));
        let is_whole = self.fin == Fin::Sent && acknowledgment == self.next_sequence();
        let offset = self.send.start() + u64::from(bytes);
        if self.fin != Fin::Acknowledged {
            self.send.acknowledge(offset.min(self.sent));
        }
        if is_whole {
            self.fin_acknowledged(now);
        }
    }

    /// Seventh and eighth: the segment text from `sequence` on, and the FIN.
    pub(crate) fn take_text(
        &mut self,
        sequence: u32,
        segment: &Segment,
        payload: &[u8],
        events: &mut Events,
        now: Instant,
    ) -> Transition {
        let fin = segment.has(Flags::FIN);
        if payload.is_empty() && !fin {
            return self.transition(now);
        }
        if self.is_detached && self.brings_news(sequence, payload) {
            // RFC 9293, section 3.10.4, and RFC 2525, section 2.17: no application reads it.
            return Transition::Reset {
                answer: segment.reset(payload.len()),
                reason: None,
            };
        }
        let push = segment.has(Flags::PSH);
        let arrived = self.receiver.handle_data(sequence, payload, fin, push, now);
        if arrived.in_order_bytes > 0 {
            events.push(Event::Readable);
        }
        if arrived.fin_reached {
            self.peer_closed(events);
        } else if fin && self.state == State::FinWait2 {
            self.receiver.acknowledge_now();
        }
        self.transition(now)
    }

    /// Whether the text or the FIN ends beyond the expected sequence number (Linux: `tcp_rcv_state_process`).
    fn brings_news(&self, sequence: u32, payload: &[u8]) -> bool {
        let end = sequence.wrapping_add(payload.len() as u32);
        is_before(self.receiver.next_expected(), end)
    }
}
