//! Which segment leaves next: retransmissions, then new data, then a pure acknowledgment.

use alloc::vec::Vec;

use wirecost_proto::Instant;
use wirecost_wire::tcp::Flags;

use super::burst::Burst;
use super::{Fin, Synchronized};
use crate::connection::{Events, Transmit};
use crate::receive::AckDue;
use crate::recovery::Range;
use crate::segment::{SACK_BLOCK_BYTES, SACK_BYTES, Segment};

/// A part of the stream, with the FIN after it if the FIN is sent too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) offset: u64,
    pub(super) bytes: u32,
    pub(super) fin: bool,
}

impl Part {
    const fn length(self) -> u32 {
        self.bytes + self.fin as u32
    }
}

impl Synchronized {
    pub(crate) fn poll_transmit(
        &mut self,
        payload: &mut Vec<u8>,
        events: &mut Events,
        now: Instant,
    ) -> Option<Transmit> {
        if let Some(half_open) = &mut self.half_open
            && let Some(syn_ack) = half_open.poll_transmit(payload, now)
        {
            return Some(self.acknowledging_data(syn_ack, now));
        }
        if core::mem::take(&mut self.greets) {
            return Some(self.transmit_bare(Flags::ACK, self.next_sequence(), now));
        }
        if core::mem::take(&mut self.peer_timers.probes) {
            return Some(self.transmit_probe(payload, events, now));
        }
        if let Some(transmit) = self.next_again(now) {
            return Some(self.with_payload(transmit, payload));
        }
        if self.pushes
            && self.has_unsent()
            && let Some(part) = self.next_part()
            && !self.waits_for_acknowledgment(part)
            && !self.is_deferred(part, now)
        {
            let transmit = self.transmit_new(part, events, now);
            return Some(self.with_payload(transmit, payload));
        }
        if self.pushes {
            // The written data may face a closed window that nothing in flight will open.
            self.update_persist(now);
            self.tell_of_room(events);
        }
        self.pushes = false;
        self.burst = Burst::default();
        (self.receiver.ack_due() == AckDue::Now)
            .then(|| self.transmit_bare(Flags::ACK, self.next_sequence(), now))
    }

    /// A SYN-ACK that acknowledges the data of the SYN too.
    fn acknowledging_data(&mut self, syn_ack: Transmit, now: Instant) -> Transmit {
        self.receiver.ack_sent(now);
        self.last_acknowledgment = self.receiver.next_expected();
        Transmit {
            segment: Segment {
                acknowledgment: self.last_acknowledgment,
                ..syn_ack.segment
            },
            ..syn_ack
        }
    }

    fn transmit_bare(&mut self, flags: Flags, sequence: u32, now: Instant) -> Transmit {
        let segment = self.acknowledging(flags, sequence, now);
        Transmit::bare(segment, self.sent)
    }

    /// Bytes of payload in a segment with the current options.
    pub(super) fn room_in_segment(&self) -> u32 {
        let blocks = self.receiver.sack_block_count();
        let sack = if blocks > 0 {
            SACK_BYTES + SACK_BLOCK_BYTES * blocks
        } else {
            0
        };
        u32::from(self.segment_bytes).saturating_sub(sack as u32).max(1)
    }

    /// The part of the window that is left after the sent bytes.
    pub(super) fn room_in_window(&self) -> u32 {
        let in_flight = self.next_sequence().wrapping_sub(self.unacknowledged_sequence());
        self.window.bytes.saturating_sub(in_flight)
    }

    /// The next new bytes, if the windows allow them.
    pub(super) fn next_part(&self) -> Option<Part> {
        let part = self.unsent_part()?;
        self.recovery.may_send_new().then(|| self.fit(part)).flatten()
    }

    /// Whether there are bytes or a FIN that were never sent.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        self.sent < self.send.end() || self.fin == Fin::Due
    }

    /// The next segment of unsent bytes, without regard to the windows.
    pub(super) fn unsent_part(&self) -> Option<Part> {
        if !self.has_unsent() {
            return None;
        }
        let unsent = self.send.end().saturating_sub(self.sent);
        let room = self.room_in_segment();
        let bytes = u32::try_from(unsent).unwrap_or(u32::MAX).min(room);
        // The last segment of data carries the FIN (Linux: `tcp_send_fin`).
        let fin = self.fin == Fin::Due && u64::from(bytes) == unsent;
        (bytes > 0 || fin).then_some(Part {
            offset: self.sent,
            bytes,
            fin,
        })
    }

    /// The bytes of `part` that fit into the peer's window. Sender's silly window avoidance (RFC 9293, section 3.8.6.2.1): a
    /// whole segment or nothing, unless the segment ends a burst that fills the window.
    fn fit(&self, part: Part) -> Option<Part> {
        let room = self.room_in_window();
        if part.length() <= room {
            return Some(part);
        }
        let rest = Part {
            bytes: room.min(part.bytes),
            fin: false,
            ..part
        };
        (self.burst.is_full && rest.bytes > 0).then_some(rest)
    }

    /// Whether the next segment fits into the peer's window.
    pub(super) fn next_segment_fits(&self) -> bool {
        self.has_unsent()
            && self
                .unsent_part()
                .is_some_and(|part| part.length() <= self.room_in_window())
    }

    pub(super) fn transmit_new(&mut self, part: Part, events: &mut Events, now: Instant) -> Transmit {
        let sequence = self.next_sequence();
        let push = self.note_burst(part);
        self.note_small(part);
        self.recovery.sent(sequence, part.length(), now);
        self.sent += u64::from(part.bytes);
        if part.fin {
            self.fin = Fin::Sent;
        }
        if self.burst.left == 0 {
            self.tell_of_room(events);
        }
        self.transmit(part, sequence, push, now)
    }

    /// Retransmits before the text of the current segment is handled, so that retransmissions carry the earlier
    /// acknowledgment (Linux: `tcp_ack` calls `tcp_xmit_recovery`).
    pub(super) fn retransmit_early(&mut self, now: Instant) {
        while self.recovery.may_retransmit()
            && let Some(transmit) = self.retransmit(now)
        {
            self.early.push_back(transmit);
        }
    }

    /// The next retransmission, which goes before new data.
    #[inline]
    fn next_again(&mut self, now: Instant) -> Option<Transmit> {
        if self.early.is_empty() && !self.recovery.may_retransmit() {
            return None;
        }
        self.early.pop_front().or_else(|| self.retransmit(now))
    }

    #[inline(never)]
    fn retransmit(&mut self, now: Instant) -> Option<Transmit> {
        let range = self.recovery.next_retransmission()?;
        let mut part = self.part_of(&range);
        // The options may need more room than in the first transmission (Linux: `tcp_retransmit_skb`).
        let room = self.room_in_segment();
        if part.bytes > room {
            self.recovery.cut(range.sequence, room);
            part = Part {
                bytes: room,
                fin: false,
                ..part
            };
        }
        self.recovery.sent(range.sequence, part.length(), now);
        Some(self.transmit(part, range.sequence, false, now))
    }

    /// The part of the stream in a range of sequence numbers.
    fn part_of(&self, range: &Range) -> Part {
        let start = self.send.start();
        let offset = start + u64::from(range.sequence.wrapping_sub(self.sequence_of(start)));
        let held = u32::try_from(self.sent.saturating_sub(offset)).unwrap_or(u32::MAX);
        let bytes = range.len.min(held);
        Part {
            offset,
            bytes,
            fin: self.fin == Fin::Sent && range.len > bytes,
        }
    }

    fn transmit(&mut self, part: Part, sequence: u32, push: bool, now: Instant) -> Transmit {
        let ends_write = part.bytes > 0 && self.send.pushes_at(part.offset + u64::from(part.bytes));
        let mut flags = Flags::ACK;
        if push || ends_write {
            flags |= Flags::PSH;
        }
        if part.fin {
            flags |= Flags::FIN;
        }
        let segment = self.acknowledging(flags, sequence, now);
        if part.bytes > 0 {
            self.receiver.data_sent(now);
        }
        Transmit {
            segment,
            offset: part.offset,
            payload_bytes: part.bytes,
        }
    }

    fn with_payload(&self, transmit: Transmit, payload: &mut Vec<u8>) -> Transmit {
        let count = transmit.payload_bytes as usize;
        let copied = self.send.copy(transmit.offset, count, payload);
        Transmit {
            payload_bytes: copied as u32,
            ..transmit
        }
    }

    /// A window probe (RFC 9293, section 3.8.6.1): as many bytes as the window allows, none if the window is closed.
    fn transmit_probe(&mut self, payload: &mut Vec<u8>, events: &mut Events, now: Instant) -> Transmit {
        let room = self.room_in_window();
        if room > 0
            && let Some(part) = self.unsent_part()
        {
            self.peer_timers.stop_persist();
            let bytes = part.bytes.min(room);
            let part = Part {
                bytes,
                fin: part.fin && bytes == part.bytes,
                ..part
            };
            let transmit = self.transmit_new(part, events, now);
            return self.with_payload(transmit, payload);
        }
        // Linux probes with a sequence number that was acknowledged, and without data (`tcp_xmit_probe_skb`).
        let sequence = self.unacknowledged_sequence().wrapping_sub(1);
        self.transmit_bare(Flags::ACK, sequence, now)
    }
}
