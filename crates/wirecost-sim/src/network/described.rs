//! One direction of a connection: what its bytes are, and which of them were sent before.

use std::collections::VecDeque;
use std::ops::Range;

use wirecost_proto::{Phase, Span};
use wirecost_tcp::Segment;
use wirecost_wire::tcp::Flags;

use super::datagrams::cut;
use crate::tap::Placement;

/// Send sequence variables as the link sees them, and the spans of what is not acknowledged yet.
///
/// Positions count sequence numbers from the SYN, which has 0, in 64 bits, so that they never wrap; the first byte of
/// the stream has 1.
#[derive(Debug, Default)]
pub(crate) struct Described {
    spans: VecDeque<Span>,
    /// Offset of the first span's first byte in the stream; what was before it is forgotten.
    start: u64,
    /// ISS.
    pub(crate) initial: u32,
    /// The position after the highest one sent.
    next: u64,
    /// Where the segment began that advanced `next` last.
    tail: u64,
    /// The position that the peer expects, as far as it said.
    acknowledged: u64,
    /// The position of the FIN.
    fin: Option<u64>,
    /// The peer's last window, not scaled.
    window: Option<u16>,
    /// Where the connect phase ends among what is forgotten.
    connect_end: u64,
    /// The phase of what was forgotten last.
    forgotten: Option<Phase>,
}

impl Described {
    /// Takes what the next bytes of the stream are.
    pub(crate) fn describe(&mut self, spans: &[Span]) {
        for span in spans {
            match self.spans.back_mut() {
                Some(last) if last.continues(span) && last.len.checked_add(span.len).is_some() => {
                    last.len += span.len;
                }
                _ => self.spans.push_back(*span),
            }
        }
    }

    /// Appends to `out` what the bytes in `range` are.
    pub(crate) fn cover(&mut self, range: Range<u64>, out: &mut Vec<Span>) {
        let local = |offset: u64| usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let range = local(range.start)..local(range.end);
        cut(self.spans.make_contiguous(), &range, out);
    }

    /// Takes a segment that enters the link, with `payload_bytes` bytes of payload.
    pub(crate) fn send(&mut self, segment: &Segment, payload_bytes: u32) -> Placement {
        // RFC 9293 sections 3.5.2 and 3.5.3: a reset's sequence number is its peer's choice.
        if segment.flags.contains(Flags::RST) {
            return Placement::default();
        }
        let position = self.position(segment.sequence);
        let syn = u64::from(segment.flags.contains(Flags::SYN));
        let fin = u64::from(segment.flags.contains(Flags::FIN));
        // RFC 9293 section 3.4: SYN and FIN take a sequence number each.
        let content = position + syn;
        let content_end = content + u64::from(payload_bytes);
        let end = content_end + fin;
        let resent = self.next.clamp(content, content_end) - content;
        let placement = Placement {
            resent_bytes: usize::try_from(resent).unwrap_or(usize::MAX),
            is_resent: position < self.next && position < end,
            is_probe: syn + fin == 0 && self.is_probe(position, payload_bytes),
        };
        if end > self.next {
            self.next = end;
            self.tail = position;
        }
        if fin > 0 {
            self.fin = Some(content_end);
        }
        placement
    }

    /// Takes a segment that the peer sends; the phase that it has where it carries nothing itself. `None` where it
    /// tells nothing of this direction.
    pub(crate) fn acknowledge(&mut self, segment: &Segment) -> Option<Phase> {
        if !segment.flags.contains(Flags::ACK) || segment.flags.contains(Flags::RST) {
            return None;
        }
        let position = self.position(segment.acknowledgment);
        let told = self.told(position, segment);
        self.acknowledged = self.acknowledged.max(position.min(self.next));
        self.window = Some(segment.window);
        told.map(|told| self.phase_of(told))
    }

    /// The position that a segment tells about which acknowledges everything before `position`: the rule of
    /// `wirecost_cost::DeviceLedger`.
    fn told(&self, position: u64, segment: &Segment) -> Option<u64> {
        let last = position.checked_sub(1);
        if position > self.acknowledged {
            return last;
        }
        // RFC 2018 section 4, RFC 2883 section 4: the first block is what arrived last.
        let reported = segment.sack.iter().next().map(|block| self.position(block.right));
        if let Some(right) = reported.filter(|right| (1..=self.next).contains(right)) {
            return right.checked_sub(1);
        }
        if position < self.acknowledged || self.window != Some(segment.window) {
            return last;
        }
        (position < self.next).then_some(position)
    }

    /// The phase of the byte at a position; 0 is the SYN.
    fn phase_of(&self, position: u64) -> Phase {
        if self.fin.is_some_and(|fin| position >= fin) {
            return Phase::Close;
        }
        match position.checked_sub(1) {
            None => Phase::Connect,
            Some(offset) => self.phase_at(offset).unwrap_or(Phase::Message),
        }
    }

    /// Forgets what the sender has seen acknowledged up to `acknowledgment`, but for its last byte: it may be
    /// acknowledged again.
    pub(crate) fn release(&mut self, acknowledgment: u32) {
        let before = self.position(acknowledgment).saturating_sub(2);
        while let Some(first) = self.spans.front() {
            let end = self.start + u64::from(first.len);
            if end > before {
                return;
            }
            if first.phase == Phase::Connect {
                self.connect_end = end;
            }
            self.forgotten = Some(first.phase);
            self.start = end;
            self.spans.pop_front();
        }
    }

    fn phase_at(&self, offset: u64) -> Option<Phase> {
        if offset < self.connect_end {
            return Some(Phase::Connect);
        }
        if offset < self.start {
            return self.forgotten;
        }
        let mut end = self.start;
        let mut spans = self.spans.iter();
        let at = spans.find(|span| {
            end += u64::from(span.len);
            offset < end
        });
        at.map(|span| span.phase)
    }

    /// The position of a sequence number: the one nearest to `next` (RFC 9293 section 3.4: arithmetic modulo 2^32).
    fn position(&self, sequence: u32) -> u64 {
        let next = self.initial.wrapping_add(self.next as u32);
        let distance = sequence.wrapping_sub(next).cast_signed();
        self.next.saturating_add_signed(i64::from(distance))
    }

    /// Whether a segment at `position` only asks the peer for an acknowledgment.
    fn is_probe(&self, position: u64, payload_bytes: u32) -> bool {
        let follows = position + 1;
        match payload_bytes {
            // RFC 9293 section 3.8.4: a keep-alive has SEG.SEQ = SND.NXT-1; Linux probes a zero window with SND.UNA-1.
            0 => follows == self.next || follows == self.acknowledged,
            // Section 3.8.6.1: a byte into a zero window. Section 3.8.4: a keep-alive may have one garbage byte.
            1 => {
                let into_zero_window = self.window == Some(0) && position == self.acknowledged;
                let all_acknowledged = follows == self.next && self.acknowledged == self.next;
                into_zero_window || (all_acknowledged && self.tail != position)
            }
            _ => false,
        }
    }
}
