//! The sequence numbers of one direction of a TCP connection, seen at the link.

use std::ops::Range;

/// Send sequence variables (RFC 9293 section 3.3.1).
///
/// Positions count sequence numbers from the SYN, which has position 0, in 64 bits, so that they never wrap. The first
/// byte of the stream has position 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendSequence {
    /// ISS.
    pub initial: u32,
    /// The position after the highest one sent.
    next: u64,
    /// Where the segment began that advanced `next` last.
    tail: u64,
    /// The position that the peer expects, as far as the peer has acknowledged.
    acknowledged: u64,
    /// The position of the FIN.
    fin: Option<u64>,
    /// The peer's last window, not scaled.
    window: Option<u16>,
}

/// A segment in the stream of its direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The positions of the payload.
    pub payload: Range<u64>,
    /// The position after the last byte of payload that was sent before; at least the start of the payload.
    pub resent_end: u64,
    /// Whether a byte, the SYN or the FIN was sent before.
    pub is_resent: bool,
    /// Whether it is a keep-alive or a zero-window probe.
    pub is_probe: bool,
}

impl SendSequence {
    /// A direction whose SYN has the sequence number `initial`; nothing is sent yet.
    pub fn new(initial: u32) -> Self {
        Self {
            initial,
            ..Self::default()
        }
    }

    /// The position of a sequence number: the one nearest to `next` (RFC 9293 section 3.4: arithmetic modulo 2^32).
    /// `None` before the SYN.
    #[inline]
    pub fn position(&self, sequence: u32) -> Option<u64> {
        let next = self.initial.wrapping_add(self.next as u32);
        let distance = sequence.wrapping_sub(next).cast_signed();
        self.next.checked_add_signed(i64::from(distance))
    }

    /// Notes that a segment at `position` enters the link. Do not call it for a reset: RFC 9293 sections 3.5.2 and 3.5.3
    /// let the peer choose the sequence number of a reset.
    #[inline]
    pub fn send(&mut self, position: u64, has_syn: bool, payload_bytes: u32, has_fin: bool) -> Placement {
        // RFC 9293 section 3.4: SYN and FIN take a sequence number each.
        let start = position + u64::from(has_syn);
        let payload_end = start + u64::from(payload_bytes);
        let end = payload_end + u64::from(has_fin);
        let placement = Placement {
            payload: start..payload_end,
            resent_end: self.next.clamp(start, payload_end),
            is_resent: position < self.next && position < end,
            is_probe: !has_syn && !has_fin && self.is_probe(position, payload_bytes),
        };
        if end > self.next {
            self.next = end;
            self.tail = position;
        }
        if has_fin {
            self.fin = Some(payload_end);
        }
        placement
    }

    /// Notes that the peer acknowledges everything before `position` and offers `window`. Returns the position that the
    /// acknowledgment is about:
    ///
    /// - if it acknowledges something new or announces another window: the last position acknowledged;
    /// - else, if it has a SACK block: the last position before `reported`, the right edge of the first block. This block is
    ///   what arrived last, for the first time (RFC 2018 section 4) or again (RFC 2883 section 4);
    /// - else it is a duplicate (RFC 5681 section 2): the position that the peer waits for, if that was sent.
    ///
    /// `None` if it is about nothing: a keep-alive, the answer to one, or the answer to a segment that was not acceptable.
    #[inline]
    pub fn acknowledge(&mut self, position: u64, reported: Option<u32>, window: u16) -> Option<u64> {
        let about = self.about(position, reported, window);
        self.acknowledged = self.acknowledged.max(position.min(self.next));
        self.window = Some(window);
        about
    }

    fn about(&self, position: u64, reported: Option<u32>, window: u16) -> Option<u64> {
        let last = position.checked_sub(1);
        if position > self.acknowledged {
            return last;
        }
        let reported = reported.and_then(|right| self.position(right));
        if let Some(right) = reported.filter(|right| (1..=self.next).contains(right)) {
            return right.checked_sub(1);
        }
        if position < self.acknowledged || self.window != Some(window) {
            return last;
        }
        (position < self.next).then_some(position)
    }

    /// The position that the peer expects, as far as the peer has acknowledged.
    pub const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The position after the last byte sent: that of the FIN, if the FIN was sent.
    pub fn end(&self) -> u64 {
        self.fin.unwrap_or(self.next)
    }

    /// Whether a position is that of the FIN or lies behind it.
    #[inline]
    pub fn is_closed_at(&self, position: u64) -> bool {
        self.fin.is_some_and(|fin| position >= fin)
    }

    /// Whether a segment at `position` only asks the peer for an acknowledgment.
    fn is_probe(&self, position: u64, payload_bytes: u32) -> bool {
        let follows = position + 1;
        match payload_bytes {
            // RFC 9293 section 3.8.4: a keep-alive has SEG.SEQ = SND.NXT-1; Linux probes a zero window with SND.UNA-1.
            0 => follows == self.next || follows == self.acknowledged,
            // Section 3.8.6.1: a byte into a zero window. Section 3.8.4: a keep-alive may have one garbage byte; a segment
            // that was one byte long from the start is sent again as data.
            1 => {
                let into_zero_window = self.window == Some(0) && position == self.acknowledged;
                let all_acknowledged = follows == self.next && self.acknowledged == self.next;
                into_zero_window || (all_acknowledged && self.tail != position)
            }
            _ => false,
        }
    }
}
