//! Bytes that arrive in pieces, in any order and more than once: the handshake in datagrams (RFC 6347 section 4.2.3, RFC 9000 section
//! 19.6).

use std::collections::BTreeMap;

/// The most bytes kept of a handshake.
const MAX_BYTES: usize = 1 << 16;

/// The most pieces that wait behind a gap: each costs more than its bytes.
const MAX_PIECES: usize = 1_024;

/// Pieces, put in order.
#[derive(Debug, Default)]
pub(crate) struct Ordered {
    /// Bytes before `front`, which were taken.
    taken: usize,
    front: Vec<u8>,
    /// Pieces behind a gap, by offset.
    waiting: BTreeMap<usize, Vec<u8>>,
    /// Their bytes.
    waiting_bytes: usize,
}

impl Ordered {
    /// Adds a piece. What has no room is ignored, so that what follows it stays unknown.
    pub(crate) fn add(&mut self, offset: u64, bytes: &[u8]) {
        let Ok(offset) = usize::try_from(offset) else {
            return;
        };
        if bytes.is_empty() || self.front.len() + self.waiting_bytes + bytes.len() > MAX_BYTES {
            return;
        }
        if self.waiting.len() >= MAX_PIECES && offset > self.taken + self.front.len() {
            return;
        }
        let longer = self.waiting.entry(offset).or_default();
        if longer.len() < bytes.len() {
            self.waiting_bytes += bytes.len() - longer.len();
            *longer = bytes.to_vec();
        }
        while let Some(first) = self.waiting.first_entry() {
            let end = self.taken + self.front.len();
            let Some(known) = end.checked_sub(*first.key()) else {
                return;
            };
            let piece = first.remove();
            self.waiting_bytes -= piece.len();
            self.front.extend(piece.get(known..).unwrap_or_default());
        }
    }

    /// The bytes without a gap.
    pub(crate) fn front(&self) -> &[u8] {
        &self.front
    }

    /// Forgets the first bytes.
    pub(crate) fn take(&mut self, bytes: usize) {
        let bytes = bytes.min(self.front.len());
        self.front.drain(..bytes);
        self.taken += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_in_any_order_are_one_text() {
        let mut ordered = Ordered::default();
        ordered.add(6, b"world");
        ordered.add(0, b"hel");
        assert_eq!(ordered.front(), b"hel");
        ordered.add(1, b"ello ");
        ordered.add(6, b"wor");
        assert_eq!(ordered.front(), b"hello world");
        ordered.take(6);
        ordered.add(3, b"lo world!");
        assert_eq!(ordered.front(), b"world!");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut ordered = Ordered::default();
        for offset in 1..1_000 {
            ordered.add(offset * 1_000, &[0; 999]);
        }
        let kept: usize = ordered.waiting.values().map(Vec::len).sum();
        assert!(kept <= MAX_BYTES && kept == ordered.waiting_bytes, "{kept} B");
        let mut ordered = Ordered::default();
        for offset in 0..60_000 {
            ordered.add(offset * 2 + 1, b"x");
        }
        assert_eq!(ordered.waiting.len(), MAX_PIECES);
        ordered.add(0, b"y");
        assert_eq!(
            (ordered.front(), ordered.waiting_bytes),
            (&b"yx"[..], MAX_PIECES - 1)
        );
        ordered.add(u64::MAX, b"end");
        assert_eq!(ordered.front(), b"yx");
    }
}
