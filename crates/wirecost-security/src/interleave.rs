//! Merges the spans of an inner endpoint with the bytes of the layer around it, in byte order.
//!
//! A record is bytes of the layer, the plaintext, and bytes of the layer again. The inner endpoint describes the
//! plaintext, on a stream possibly later. Until then everything after it waits.

use std::collections::VecDeque;

use wirecost_proto::{Buffer, Cause, Layer, Phase, Span};

/// The spans of one flow and direction in order, as far as they are known.
///
/// ```
/// use wirecost_proto::{Buffer, Cause, Layer, Phase, Span};
/// use wirecost_security::interleave::{Interleaver, Record};
///
/// let mut interleaver = Interleaver::default();
/// interleaver.push_record(Record { front: 5, plain: 2, back: 17 });
/// let (layer, phase, cause) = (Layer::Application, Phase::KeepAlive, Cause::Original);
/// interleaver.inner(&[Span { len: 2, layer, phase, cause }]);
/// let mut out = Buffer::new();
/// interleaver.drain(&mut out);
/// let spans: Vec<_> = out.spans().iter().map(|span| (span.len, span.layer)).collect();
/// assert_eq!(spans, [(5, Layer::Security), (2, Layer::Application), (17, Layer::Security)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Interleaver {
    pieces: VecDeque<Piece>,
    inner: VecDeque<Span>,
}

/// The layout of a protected record: bytes before the plaintext, the plaintext, bytes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Bytes of header and explicit nonce.
    pub front: usize,
    /// Bytes of plaintext.
    pub plain: usize,
    /// Bytes of content type, padding and tag.
    pub back: usize,
}

#[derive(Clone, Copy, Debug)]
enum Piece {
    Known(Span),
    /// A record, or the rest of one. Phase and cause are those of its first plaintext byte, once it is described.
    Record {
        record: Record,
        purpose: Option<(Phase, Cause)>,
    },
}

impl Interleaver {
    /// Appends bytes of the layer itself: handshake, tickets, alerts.
    pub(crate) fn push_own(&mut self, bytes: usize, phase: Phase, cause: Cause) {
        if bytes == 0 {
            return;
        }
        let span = own(bytes, phase, cause);
        // A peer may send any number of records without plaintext while earlier plaintext is not described.
        if let Some(Piece::Known(last)) = self.pieces.back_mut()
            && last.continues(&span)
            && let Some(len) = last.len.checked_add(span.len)
        {
            last.len = len;
            return;
        }
        self.pieces.push_back(Piece::Known(span));
    }

    /// Appends a record. The layer's bytes take phase and cause of the first plaintext byte. A record without
    /// plaintext counts as handshake.
    pub fn push_record(&mut self, record: Record) {
        if record.plain == 0 {
            return self.push_own(record.front + record.back, Phase::Connect, Cause::Original);
        }
        self.pieces.push_back(Piece::Record {
            record,
            purpose: None,
        });
    }

    /// Appends the inner endpoint's description of its next bytes.
    pub fn inner(&mut self, spans: &[Span]) {
        self.inner.extend(spans);
    }

    /// Appends to `out` all known spans up to the first unknown byte. Returns whether there were any.
    pub fn drain(&mut self, out: &mut Buffer) -> bool {
        let before = out.covered();
        while let Some(piece) = self.pieces.pop_front() {
            if let Some(rest) = self.emit(piece, out) {
                self.pieces.push_front(rest);
                break;
            }
        }
        out.covered() > before
    }

    /// Appends the known part of a piece and returns the rest.
    fn emit(&mut self, piece: Piece, out: &mut Buffer) -> Option<Piece> {
        match piece {
            Piece::Known(span) => {
                out.cover_span(span);
                None
            }
            Piece::Record { mut record, purpose } => {
                let first = self.inner.front().map(|span| (span.phase, span.cause));
                let Some((phase, cause)) = purpose.or(first) else {
                    return Some(piece);
                };
                out.cover_span(own(std::mem::take(&mut record.front), phase, cause));
                record.plain -= self.emit_inner(record.plain, out);
                if record.plain > 0 {
                    let purpose = Some((phase, cause));
                    return Some(Piece::Record { record, purpose });
                }
                out.cover_span(own(record.back, phase, cause));
                None
            }
        }
    }

    /// Appends up to `limit` bytes of the inner endpoint. Returns how many.
    fn emit_inner(&mut self, limit: usize, out: &mut Buffer) -> usize {
        let mut left = limit;
        while left > 0 {
            let Some(mut span) = self.inner.pop_front() else {
                break;
            };
            let taken = (span.len as usize).min(left);
            out.cover(taken, span.layer, span.phase, span.cause);
            left -= taken;
            span.len -= taken as u32;
            if span.len > 0 {
                self.inner.push_front(span);
            }
        }
        limit - left
    }
}

fn own(bytes: usize, phase: Phase, cause: Cause) -> Span {
    Span {
        len: u32::try_from(bytes).unwrap_or(u32::MAX),
        layer: Layer::Security,
        phase,
        cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPLICATION: Span = Span {
        len: 3,
        layer: Layer::Application,
        phase: Phase::KeepAlive,
        cause: Cause::Acknowledgement,
    };
    const PAYLOAD: Span = Span {
        len: 4,
        layer: Layer::Payload,
        phase: Phase::Message,
        cause: Cause::Original,
    };

    fn drained(interleaver: &mut Interleaver) -> Vec<(u32, Layer, Phase)> {
        let mut out = Buffer::new();
        interleaver.drain(&mut out);
        let of = |span: &Span| (span.len, span.layer, span.phase);
        out.spans().iter().map(of).collect()
    }

    fn record(plain: usize) -> Record {
        Record {
            front: 5,
            plain,
            back: 17,
        }
    }

    #[test]
    fn a_record_has_the_phase_of_its_first_plaintext() {
        let mut interleaver = Interleaver::default();
        interleaver.push_record(record(7));
        interleaver.inner(&[APPLICATION, PAYLOAD]);
        let expected = [
            (5, Layer::Security, Phase::KeepAlive),
            (3, Layer::Application, Phase::KeepAlive),
            (4, Layer::Payload, Phase::Message),
            (17, Layer::Security, Phase::KeepAlive),
        ];
        assert_eq!(drained(&mut interleaver), expected);
    }

    #[test]
    fn bytes_after_unknown_plaintext_wait_for_it() {
        let mut interleaver = Interleaver::default();
        interleaver.push_own(1, Phase::Connect, Cause::Original);
        interleaver.push_record(record(2));
        interleaver.push_record(record(1));
        interleaver.push_own(24, Phase::Close, Cause::Original);
        assert_eq!(drained(&mut interleaver), [(1, Layer::Security, Phase::Connect)]);
        interleaver.inner(&[Span {
            len: 1,
            ..APPLICATION
        }]);
        let begun = [
            (5, Layer::Security, Phase::KeepAlive),
            (1, Layer::Application, Phase::KeepAlive),
        ];
        assert_eq!(drained(&mut interleaver), begun);
        interleaver.inner(&[Span { len: 2, ..PAYLOAD }]);
        let rest = [
            (1, Layer::Payload, Phase::Message),
            (17, Layer::Security, Phase::KeepAlive),
            (5, Layer::Security, Phase::Message),
            (1, Layer::Payload, Phase::Message),
            (17, Layer::Security, Phase::Message),
            (24, Layer::Security, Phase::Close),
        ];
        assert_eq!(drained(&mut interleaver), rest);
        assert_eq!(drained(&mut interleaver), []);
    }

    #[test]
    fn waiting_known_bytes_are_merged_into_one_piece() {
        let mut interleaver = Interleaver::default();
        interleaver.push_record(record(2));
        for _ in 0..1_000 {
            interleaver.push_record(record(0));
        }
        assert_eq!(interleaver.pieces.len(), 2);
        interleaver.inner(&[Span {
            len: 2,
            ..APPLICATION
        }]);
        let expected = [
            (5, Layer::Security, Phase::KeepAlive),
            (2, Layer::Application, Phase::KeepAlive),
            (17, Layer::Security, Phase::KeepAlive),
            (22_000, Layer::Security, Phase::Connect),
        ];
        assert_eq!(drained(&mut interleaver), expected);
    }

    #[test]
    fn a_record_without_plaintext_is_handshake() {
        let mut interleaver = Interleaver::default();
        interleaver.push_record(record(0));
        assert_eq!(drained(&mut interleaver), [(22, Layer::Security, Phase::Connect)]);
    }
}
