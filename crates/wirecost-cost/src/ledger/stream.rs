//! One direction of a TCP connection: which bytes a segment carries and whether they were sent before.

use wirecost_proto::{Buffer, Cause, Phase, Span};

use super::headers::Segment;
use super::span_log::{Kind, SpanLog};
use crate::sequence::SendSequence;

/// The stream of one direction and the sequence numbers sent in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    spans: SpanLog,
    /// Offset of the connection's first byte: above 0 if an earlier connection used the same ports.
    base: u64,
    sequence: Option<SendSequence>,
}

/// A segment in the stream of its direction.
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

    /// Takes a segment that is not a reset; `None` if its sequence number lies before the stream.
    pub(super) fn send(&mut self, segment: &Segment) -> Option<Placement> {
        let sequence = self.sequence_for(segment);
        let position = sequence.position(segment.sequence)?;
        let placed = sequence.send(position, segment.syn, segment.content_bytes, segment.fin);
        Some(Placement {
            start: self.offset(placed.payload.start),
            end: self.offset(placed.payload.end),
            resent_end: self.offset(placed.resent_end),
            is_resent: placed.is_resent,
            is_probe: placed.is_probe,
        })
    }

    /// The connection's sequence numbers; a SYN with another initial number begins a connection.
    fn sequence_for(&mut self, segment: &Segment) -> &mut SendSequence {
        // If the capture lacks the SYN, the stream begins with the first segment in the capture.
        let initial = segment.sequence.wrapping_sub(u32::from(!segment.syn));
        let sequence = self.sequence.get_or_insert(SendSequence::new(initial));
        if segment.syn && sequence.initial != initial {
            self.base += sequence.end().saturating_sub(1);
            *sequence = SendSequence::new(initial);
        }
        sequence
    }

    /// Appends to `out` the spans of the content. Bytes sent before are retransmissions, those of a probe are a probe.
    /// Returns how many bytes no endpoint described.
    pub(super) fn cover(&self, placement: &Placement, out: &mut Buffer) -> u64 {
        let again = if placement.is_probe {
            Cause::Probe
        } else {
            Cause::Retransmission
        };
        let resent = placement.start..placement.resent_end;
        let new = placement.resent_end..placement.end;
        self.spans.cover(resent, Some(again), out) + self.spans.cover(new, None, out)
    }

    /// Takes a segment of the peer, which acknowledges this stream up to `acknowledgement`. Returns the phase that the
    /// segment has if it has no content of its own. `None` if it says nothing about this stream.
    pub(super) fn acknowledge(&mut self, acknowledgement: u32, segment: &Segment) -> Option<Phase> {
        let sequence = self.sequence.as_mut()?;
        let position = sequence.position(acknowledgement)?;
        let about = sequence.acknowledge(position, segment.reported, segment.window);
        let acknowledged = sequence.acknowledged();
        let phase = about.map(|about| self.phase_at(about));
        self.spans.release_before(self.offset(acknowledged));
        phase
    }

    /// The phase of the byte, SYN or FIN at a position.
    fn phase_at(&self, position: u64) -> Phase {
        let Some(sequence) = self.sequence.filter(|_| position > 0) else {
            return Phase::Connect;
        };
        if sequence.is_closed_at(position) {
            return Phase::Close;
        }
        let kind = self.spans.at(self.offset(position));
        kind.unwrap_or(Kind::UNDESCRIBED).phase
    }

    /// The offset in the stream of the byte at a position.
    const fn offset(&self, position: u64) -> u64 {
        self.base + position.saturating_sub(1)
    }
}
