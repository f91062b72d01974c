//! One direction of a TCP connection: which bytes a segment carries and whether they were sent before.

use std::ops::Range;

use wirecost_proto::{Buffer, Cause, Phase, Span};

use super::headers::Segment;
use super::span_log::{Kind, SpanLog};

/// The stream of one direction and the sequence numbers sent in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    spans: SpanLog,
    sequence: Option<Sequence>,
}

/// Send sequence variables (RFC 9293 section 3.3.1), seen from outside.
///
/// Positions count sequence numbers from the SYN, which has 0, in 64 bits, so that they never wrap; the first
/// byte of the stream has 1.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    /// ISS.
    initial: u32,
    /// Offset of the connection's first byte: above 0 where the ports were used before.
    base: u64,
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
}

/// What a segment is to the stream that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// Offset of the first byte of content in the stream.
    pub(super) start: u64,
    /// Offset after the last byte of content.
    pub(super) end: u64,
    /// Offset after the last byte of content that was sent before; at least `start`.
    resent_end: u64,
    /// Whether a byte, the SYN or the FIN was sent before.
    pub(super) is_resent: bool,
    /// Whether it is a keep-alive or zero-window probe.
    pub(super) is_probe: bool,
}

impl Stream {
    pub(super) fn describe(&mut self, spans: &[Span]) {
        spans.iter().for_each(|span| self.spans.append(*span));
    }

    pub(super) fn skip(&mut self, len: u64) {
        self.spans.append_undescribed(len);
    }

    /// Takes a segment that is not a reset; `None` where its sequence number lies before the stream.
    pub(super) fn send(&mut self, segment: &Segment) -> Option<Placement> {
        let sequence = self.sequence_for(segment);
        let position = sequence.position(segment.sequence)?;
        let content = position + u64::from(segment.syn);
        // RFC 9293 section 3.4: SYN and FIN take a sequence number each.
        let content_end = content + u64::from(segment.content_bytes);
        let end = content_end + u64::from(segment.fin);
        let offset = |position| sequence.offset(position);
        let placement = Placement {
            start: offset(content),
            end: offset(content_end),
            resent_end: offset(sequence.next.clamp(content, content_end)),
            is_resent: position < sequence.next && position < end,
            is_probe: sequence.is_probe(position, segment),
        };
        sequence.advance(position, end);
        if segment.fin {
            sequence.fin = Some(content_end);
        }
        Some(placement)
    }

    /// The connection's sequence numbers; a SYN with another initial number begins a connection.
    fn sequence_for(&mut self, segment: &Segment) -> &mut Sequence {
        // Without its SYN the stream is taken to begin with the first segment seen.
        let initial = segment.sequence.wrapping_sub(u32::from(!segment.syn));
        let sequence = self.sequence.get_or_insert(Sequence::new(initial, 0));
        if segment.syn && sequence.initial != initial {
            *sequence = Sequence::new(initial, sequence.sent_end());
        }
        sequence
    }

    /// Appends to `out` what the content was; bytes sent before are retransmission, in a probe they are probe.
    /// Returns how many bytes no endpoint described.
    pub(super) fn cover(&self, placement: &Placement, out: &mut Buffer) -> u64 {
        let again = if placement.is_probe {
            Cause::Probe
        } else {
            Cause::Retransmission
        };
        let resent: Range<u64> = placement.start..placement.resent_end;
        let new = placement.resent_end..placement.end;
        self.spans.cover(resent, Some(again), out) + self.spans.cover(new, None, out)
    }

    /// Takes a segment of the peer, which acknowledges this stream up to `acknowledgement`; returns the phase that
    /// the segment has where it carries nothing itself. `None` where it tells nothing of this stream.
    pub(super) fn acknowledge(&mut self, acknowledgement: u32, segment: &Segment) -> Option<Phase> {
        let sequence = self.sequence.as_mut()?;
        let position = sequence.position(acknowledgement)?;
        let told = sequence.told(position, segment);
        sequence.acknowledged = sequence.acknowledged.max(position.min(sequence.next));
        sequence.window = Some(segment.window);
        let released = sequence.offset(sequence.acknowledged);
        let phase = told.map(|told| self.phase_at(told));
        self.spans.release_before(released);
        phase
    }

    /// The phase of what is at a position.
    fn phase_at(&self, position: u64) -> Phase {
        let Some(sequence) = self.sequence.filter(|_| position > 0) else {
            return Phase::Connect;
        };
        if sequence.fin.is_some_and(|fin| position >= fin) {
            return Phase::Close;
        }
        let kind = self.spans.at(sequence.offset(position));
        kind.unwrap_or(Kind::UNDESCRIBED).phase
    }
}

impl Sequence {
    const fn new(initial: u32, base: u64) -> Self {
        Self {
            initial,
            base,
            next: 0,
            tail: 0,
            acknowledged: 0,
            fin: None,
            window: None,
        }
    }

    /// The position of a sequence number: the one nearest to `next` (RFC 9293 section 3.4: arithmetic modulo
    /// 2^32). `None` before the SYN.
    fn position(&self, sequence: u32) -> Option<u64> {
        let next = self.initial.wrapping_add(self.next as u32);
        let distance = sequence.wrapping_sub(next).cast_signed();
        self.next.checked_add_signed(i64::from(distance))
    }

    /// The position that a segment tells about which acknowledges everything before `position`:
    ///
    /// - where it acknowledges anything new, or a window that was not told before, the last one acknowledged;
    /// - else the last one of the first SACK block, which is what arrived last, for the first time (RFC 2018 section 4)
    ///   or again (RFC 2883 section 4);
    /// - else, as a duplicate (RFC 5681 section 2), the one that it waits for, if that was sent.
    ///
    /// `None` where it tells nothing: a keep-alive, and the answer to one or to a segment that was not acceptable.
    fn told(&self, position: u64, segment: &Segment) -> Option<u64> {
        let last = position.checked_sub(1);
        if position > self.acknowledged {
            return last;
        }
        let reported = segment.reported.and_then(|right| self.position(right));
        let reported = reported.filter(|right| (1..=self.next).contains(right));
        if let Some(right) = reported {
            return right.checked_sub(1);
        }
        if position < self.acknowledged || self.window != Some(segment.window) {
            return last;
        }
        (position < self.next).then_some(position)
    }

    fn advance(&mut self, position: u64, end: u64) {
        if end > self.next {
            self.next = end;
            self.tail = position;
        }
    }

    /// The offset in the stream of the byte at a position.
    const fn offset(&self, position: u64) -> u64 {
        self.base + position.saturating_sub(1)
    }

    /// The offset after the last byte that was sent.
    fn sent_end(&self) -> u64 {
        self.offset(self.fin.unwrap_or(self.next))
    }

    /// Whether a segment at `position` only asks the peer for an acknowledgement.
    fn is_probe(&self, position: u64, segment: &Segment) -> bool {
        let follows = position + 1;
        match segment.content_bytes {
            _ if segment.syn || segment.fin => false,
            // RFC 9293 section 3.8.4: a keep-alive has SEG.SEQ = SND.NXT-1; Linux probes a zero window with
            // SND.UNA-1.
            0 => follows == self.next || follows == self.acknowledged,
            // Section 3.8.6.1: a byte into a zero window. Section 3.8.4: a keep-alive may have one garbage
            // byte; a segment that was one byte long from the start is sent again as data.
            1 => {
                let into_zero_window = self.window == Some(0) && position == self.acknowledged;
                let all_acknowledged = follows == self.next && self.acknowledged == self.next;
                into_zero_window || (all_acknowledged && self.tail != position)
            }
            _ => false,
        }
    }
}
