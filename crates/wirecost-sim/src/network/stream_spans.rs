//! One direction of a connection: the spans of its bytes, and which bytes were sent before.

use std::collections::VecDeque;
use std::ops::Range;

use wirecost_cost::SendSequence;
use wirecost_proto::{Phase, Span};
use wirecost_tcp::Segment;
use wirecost_wire::tcp::Flags;

use crate::tap::Placement;

/// The sequence numbers of a direction, and the spans of the bytes that are not acknowledged yet.
#[derive(Debug, Default)]
pub(crate) struct StreamSpans {
    /// Behind `only`.
    spans: VecDeque<Span>,
    /// The span of a stream at rest, which has one at most.
    only: Option<Span>,
    /// Offset in the stream of the first span's first byte; the spans before it are dropped.
    start: u64,
    pub(crate) sequence: SendSequence,
    /// The end of the connect phase among the dropped spans.
    connect_end: u64,
    /// The phase of the span dropped last.
    dropped: Option<Phase>,
}

impl StreamSpans {
    /// Appends the spans of the next bytes of the stream.
    pub(crate) fn describe(&mut self, new: &[Span]) {
        self.spans.extend(self.only.take());
        for span in new {
            match self.spans.back_mut() {
                Some(last) if last.continues(span) && last.len.checked_add(span.len).is_some() => {
                    last.len += span.len;
                }
                _ => self.spans.push_back(*span),
            }
        }
    }

    /// Appends to `out` the spans of the bytes in `range`.
    pub(crate) fn cover(&mut self, range: Range<u64>, out: &mut Vec<Span>) {
        let local = |offset: u64| usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let range = local(range.start)..local(range.end);
        match &self.only {
            Some(only) => cut(std::slice::from_ref(only), &range, out),
            None => cut(self.spans.make_contiguous(), &range, out),
        }
    }

    /// Gives back the memory of the spans, where at most one is left.
    pub(crate) fn rest(&mut self) {
        if self.spans.len() <= 1 {
            self.only = self.spans.pop_front().or(self.only);
            self.spans = VecDeque::new();
        }
    }

    /// Takes a segment that enters the link, with `payload_bytes` bytes of payload.
    pub(crate) fn send(&mut self, segment: &Segment, payload_bytes: u32) -> Placement {
        let flags = segment.flags;
        if flags.contains(Flags::RST) {
            return Placement::default();
        }
        let position = self.position(segment.sequence);
        let (has_syn, has_fin) = (flags.contains(Flags::SYN), flags.contains(Flags::FIN));
        let placed = self.sequence.send(position, has_syn, payload_bytes, has_fin);
        let resent = placed.resent_end - placed.payload.start;
        Placement {
            resent_bytes: usize::try_from(resent).unwrap_or(usize::MAX),
            is_resent: placed.is_resent,
            is_probe: placed.is_probe,
        }
    }

    /// Takes a segment that the peer sends. Returns the phase that the segment has if it has no payload. `None` if it says
    /// nothing about this direction.
    pub(crate) fn acknowledge(&mut self, segment: &Segment) -> Option<Phase> {
        if !segment.flags.contains(Flags::ACK) || segment.flags.contains(Flags::RST) {
            return None;
        }
        let position = self.position(segment.acknowledgment);
        let reported = segment.sack.iter().next().map(|block| block.right);
        let about = self.sequence.acknowledge(position, reported, segment.window);
        about.map(|about| self.phase_of(about))
    }

    /// The phase of the byte at a position; 0 is the SYN.
    fn phase_of(&self, position: u64) -> Phase {
        if self.sequence.is_closed_at(position) {
            return Phase::Close;
        }
        match position.checked_sub(1) {
            None => Phase::Connect,
            Some(offset) => self.phase_at(offset).unwrap_or(Phase::Message),
        }
    }

    /// Drops the spans that are acknowledged up to `acknowledgment`, except the last byte: the peer may acknowledge that
    /// byte again.
    pub(crate) fn release(&mut self, acknowledgment: u32) {
        let before = self.position(acknowledgment).saturating_sub(2);
        while let Some(first) = self.first() {
            let end = self.start + u64::from(first.len);
            if end > before {
                return;
            }
            if first.phase == Phase::Connect {
                self.connect_end = end;
            }
            self.dropped = Some(first.phase);
            self.start = end;
            if self.only.take().is_none() {
                self.spans.pop_front();
            }
        }
    }

    /// The first span.
    fn first(&self) -> Option<Span> {
        self.only.or_else(|| self.spans.front().copied())
    }

    fn phase_at(&self, offset: u64) -> Option<Phase> {
        if offset < self.connect_end {
            return Some(Phase::Connect);
        }
        if offset < self.start {
            return self.dropped;
        }
        let mut end = self.start;
        let mut spans = self.only.iter().chain(&self.spans);
        let at = spans.find(|span| {
            end += u64::from(span.len);
            offset < end
        });
        at.map(|span| span.phase)
    }

    /// The position of a sequence number; 0 for one before the SYN.
    fn position(&self, sequence: u32) -> u64 {
        self.sequence.position(sequence).unwrap_or(0)
    }
}

/// Appends to `out` the spans of the bytes in `range`.
pub(super) fn cut(spans: &[Span], range: &Range<usize>, out: &mut Vec<Span>) {
    let mut start = 0;
    for span in spans {
        let end = start + span.len as usize;
        let len = end.min(range.end).saturating_sub(start.max(range.start));
        if len > 0 {
            // No longer than the span itself.
            let len = len as u32;
            out.push(Span { len, ..*span });
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use wirecost_proto::{Cause, Layer, Rng};

    use super::*;

    /// A segment that acknowledges up to a sequence number.
    fn acknowledging(acknowledgment: u32) -> Segment {
        Segment {
            flags: Flags::ACK,
            acknowledgment,
            ..Segment::default()
        }
    }

    /// Beside a stream that never rests.
    #[test]
    fn a_stream_that_rests_says_the_same() {
        let mut rng = Rng::new(5);
        let (mut awake, mut rests) = (StreamSpans::default(), StreamSpans::default());
        let mut end = 0;
        for step in 0..2_000 {
            let phase = if step < 50 { Phase::Connect } else { Phase::Message };
            let new: Vec<Span> = (0..1 + rng.next_below(3))
                .map(|number| Span {
                    len: 1 + rng.next_below(9) as u32,
                    layer: if number == 1 {
                        Layer::Payload
                    } else {
                        Layer::Application
                    },
                    phase,
                    cause: Cause::Original,
                })
                .collect();
            let begins = end;
            end += new.iter().map(|span| u64::from(span.len)).sum::<u64>();
            let acknowledged = if rng.next_below(4) == 0 { begins + 1 } else { end };
            let said = [&mut awake, &mut rests].map(|stream| {
                stream.describe(&new);
                let mut covered = Vec::new();
                stream.cover(begins..end, &mut covered);
                let segment = Segment {
                    flags: Flags::ACK,
                    sequence: 1 + begins as u32,
                    ..Segment::default()
                };
                let placement = stream.send(&segment, (end - begins) as u32);
                let acknowledgment = 1 + acknowledged as u32;
                let phase = stream.acknowledge(&acknowledging(acknowledgment));
                stream.release(acknowledgment);
                (covered, placement, phase)
            });
            assert_eq!(said[1].0, new, "all of the new bytes are covered");
            assert_eq!(said[0], said[1]);
            rests.rest();
            assert!(
                rests.spans.capacity() == 0 || acknowledged < end,
                "all is acknowledged"
            );
            let again = [&mut awake, &mut rests].map(|stream| {
                let mut last = Vec::new();
                stream.cover(end - 1..end, &mut last);
                (
                    last,
                    stream.acknowledge(&acknowledging(1 + end as u32)),
                    stream.phase_at(end - 1),
                )
            });
            assert_eq!(again[0], again[1]);
        }
    }
}
