//! CoAP: describes each datagram on its own and recognizes repetitions (RFC 7252 section 4.2).

use wirecost_coap::edhoc::message_name;
use wirecost_coap::message::{Repr, Type};
use wirecost_coap::option::OptionNumber;
use wirecost_proto::{BothWays, Buffer, Cause, Direction, Layer, Phase, Span};

use crate::captured::hash;
use crate::sender::Sender;
use crate::span_list::{Piece, SpanList};

/// Messages remembered per direction. More are never in transmission at a time (RFC 7252 section 4.7).
const REMEMBERED: usize = 64;

/// Identifies a message: its length and a hash of its bytes.
type Mark = (usize, u64);

#[derive(Debug)]
pub(crate) struct Coap {
    seen: BothWays<Vec<Mark>>,
    /// Index of the next mark to overwrite once [`REMEMBERED`] marks are stored.
    oldest: BothWays<usize>,
    /// The message identifiers of the last pings. An RST answers a ping.
    pings: BothWays<Option<u16>>,
    spans: Buffer,
    has_oscore: bool,
    has_edhoc: bool,
}

impl Default for Coap {
    fn default() -> Self {
        Self {
            seen: BothWays::default(),
            oldest: BothWays::default(),
            pings: BothWays::default(),
            spans: Buffer::new(),
            has_oscore: false,
            has_edhoc: false,
        }
    }
}

impl Coap {
    pub(crate) const fn label(&self) -> &'static str {
        match (self.has_oscore, self.has_edhoc) {
            (true, true) => "CoAP with EDHOC and OSCORE",
            (true, false) => "CoAP with OSCORE",
            (false, true) => "CoAP with EDHOC",
            (false, false) => "CoAP",
        }
    }

    /// Why bytes were left out.
    pub(crate) const fn reason(&self) -> &'static str {
        if self.has_oscore {
            "encrypted, no secrets"
        } else {
            "not a CoAP message"
        }
    }

    pub(crate) fn describe(&mut self, direction: Direction, bytes: &[u8], out: &mut SpanList) {
        let Ok(repr) = Repr::parse(bytes) else {
            out.leave_out(bytes.len() as u64);
            return;
        };
        let again = self.is_repetition(direction, bytes);
        let is_pong = self.is_pong(direction, &repr);
        self.spans.clear();
        wirecost_coap::describe(bytes, &mut self.spans);
        // RFC 8613 section 4.2: OSCORE encrypts the payload. The tag at its end is security.
        let is_closed = repr.options.first(OptionNumber::OSCORE).is_some();
        self.has_oscore |= is_closed;
        let edhoc = message_name(&repr);
        self.has_edhoc |= edhoc.is_some();
        // A message_3 of EDHOC stands before the ciphertext (RFC 9668 section 3.2).
        let before = edhoc.filter(|_| is_closed).map_or(0, |(_, length)| length);
        let payload_start = bytes.len() - repr.payload.len() + before;
        let mut at = 0;
        for span in self.spans.spans() {
            let mut span = *span;
            if again && span.cause == Cause::Original {
                span.cause = Cause::Retransmission;
            }
            // Section 4.3: an RST that does not answer a ping rejects a message.
            if repr.kind == Type::Reset && !is_pong {
                span.phase = Phase::Message;
            }
            let len = span.len as usize;
            let before = match is_closed && span.layer != Layer::Security {
                true => payload_start.saturating_sub(at).min(len),
                false => len,
            };
            at += len;
            for (len, known) in [(before, true), (len - before, false)] {
                let len = u32::try_from(len).unwrap_or(u32::MAX);
                let span = Span { len, ..span };
                out.push_piece(Piece { span, known });
            }
        }
    }

    /// Whether the same bytes were sent in this direction before. Remembers them.
    fn is_repetition(&mut self, direction: Direction, bytes: &[u8]) -> bool {
        let mark = (bytes.len(), hash(bytes));
        let seen = &mut self.seen[direction];
        if seen.contains(&mark) {
            return true;
        }
        if seen.len() < REMEMBERED {
            seen.push(mark);
            return false;
        }
        let oldest = &mut self.oldest[direction];
        if let Some(place) = seen.get_mut(*oldest % REMEMBERED) {
            *place = mark;
        }
        *oldest = (*oldest + 1) % REMEMBERED;
        false
    }

    /// Whether an RST answers a ping (RFC 7252 section 4.3). Remembers pings.
    fn is_pong(&mut self, direction: Direction, repr: &Repr<'_>) -> bool {
        if repr.kind == Type::Confirmable && repr.code == wirecost_coap::code::Code::EMPTY {
            self.pings[direction] = Some(repr.message_id);
        }
        repr.kind == Type::Reset && self.pings[direction.reverse()] == Some(repr.message_id)
    }
}

/// Whether a datagram to an unknown port looks like CoAP: version 1, a token of at most 8 bytes, a defined code
/// class, and a message that parses.
pub(super) fn looks_alike(bytes: &[u8]) -> bool {
    let [first, code, ..] = *bytes else { return false };
    // RFC 7252 section 3: version in two bits, type in two, token length in four; classes 0, 2, 4 and 5.
    first >> 6 == 1 && first & 0x0f <= 8 && matches!(code >> 5, 0 | 2 | 4 | 5) && Repr::parse(bytes).is_ok()
}

/// Who sends a message: requests have codes of class 0, responses of the others (RFC 7252 section 3). An empty one does not tell.
pub(super) fn sender(bytes: &[u8]) -> Option<Sender> {
    match *bytes.get(1)? {
        0 => None,
        1..=0x1f => Some(Sender::Client),
        0x20.. => Some(Sender::Server),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9668, section 3.2: message_3 of 19 B is seen, of the 12 B behind it the tag.
    #[test]
    fn a_third_message_of_edhoc_before_the_ciphertext_is_known() {
        let message_3 = [&[0x52][..], &[9; 18]].concat();
        let datagram = [&[0x40, 2, 0, 1, 0x90, 0xc0, 0xff][..], &message_3, &[7; 12]].concat();
        let (mut coap, mut out) = (Coap::default(), SpanList::default());
        coap.describe(Direction::Up, &datagram, &mut out);
        assert_eq!(coap.label(), "CoAP with EDHOC and OSCORE");
        let of = |piece: &Piece| {
            (
                piece.span.len,
                piece.span.phase.name(),
                piece.span.layer.name(),
                piece.known,
            )
        };
        let pieces: Vec<_> = out.pieces().iter().map(of).filter(|piece| piece.0 > 0).collect();
        let expected = [
            (4, "message", "application", true),
            (1, "message", "security", true),
            (2, "message", "application", true),
            (19, "connect", "security", true),
            (4, "message", "application", false),
            (8, "message", "security", true),
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn the_ciphertext_of_oscore_is_left_out() {
        // POST with an empty OSCORE option and 12 B of ciphertext, of which 8 B are the tag.
        let datagram = [&[0x40, 2, 0, 1, 0x90, 0xff][..], &[7; 12]].concat();
        let mut out = SpanList::default();
        Coap::default().describe(Direction::Up, &datagram, &mut out);
        let pieces = out.pieces().iter();
        let of = |piece: &Piece| (piece.span.len, piece.span.layer.name(), piece.known);
        let bytes: u32 = pieces.clone().map(|piece| piece.span.len).sum();
        assert_eq!(bytes, 18);
        let left_out: Vec<_> = pieces.filter(|piece| !piece.known).map(of).collect();
        assert_eq!(left_out, [(4, "application", false)]);
    }
}
