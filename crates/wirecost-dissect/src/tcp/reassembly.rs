//! Reassembles one direction of a connection: finds the offset of each segment's content and puts the content in
//! order.

use std::collections::BTreeMap;
use std::ops::Range;

/// The most bytes that wait for missing bytes before them. Beyond it, the missing bytes are given up.
const MAX_WAITING_BYTES: u64 = 4 << 20;

/// Bytes in order, or the length of bytes that the capture cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    Bytes(Vec<u8>),
    Uncaptured(u64),
}

impl Run {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Uncaptured(len) => *len,
        }
    }

    /// The run without its first `known` bytes.
    fn without(mut self, known: u64) -> Self {
        match &mut self {
            Self::Bytes(bytes) => drop(bytes.drain(..known as usize)),
            Self::Uncaptured(len) => *len -= known,
        }
        self
    }
}

/// The stream of one direction. Offsets count bytes of content from 0.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    /// The sequence number of the byte at offset 0.
    first: Option<u32>,
    /// The offset of the next byte in order.
    next: u64,
    /// Runs that arrived before the bytes in front of them, by offset.
    waiting: BTreeMap<u64, Run>,
    waiting_bytes: u64,
}

/// A segment's content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content<'a> {
    pub(crate) sequence: u32,
    pub(crate) syn: bool,
    /// The captured part.
    pub(crate) bytes: &'a [u8],
    /// The length of the whole content in bytes.
    pub(crate) len: u64,
}

impl Reassembly {
    /// The offset after the last byte in order.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Whether a SYN with this sequence number opens a connection other than this one.
    pub(crate) fn is_other_connection(&self, sequence: u32) -> bool {
        self.first.is_some_and(|first| first != sequence.wrapping_add(1))
    }

    /// The offsets of a segment's content, or `None` if it lies before the stream.
    pub(crate) fn place(&mut self, content: &Content<'_>) -> Option<Range<u64>> {
        // RFC 9293 section 3.4: the SYN takes a sequence number.
        let sequence = content.sequence.wrapping_add(u32::from(content.syn));
        let first = *self.first.get_or_insert(sequence);
        let start = offset(first, self.next, sequence)?;
        Some(start..start + content.len)
    }

    /// The offset of an acknowledgment number, or `None` if no segment was seen or the offset lies before the stream.
    pub(crate) fn acknowledged(&self, number: u32) -> Option<u64> {
        offset(self.first?, self.next, number)
    }

    /// The content bytes of the segment at `place` that come next in order. Content ahead of a gap is kept.
    pub(crate) fn in_order<'a>(&mut self, place: &Range<u64>, content: &Content<'a>) -> &'a [u8] {
        if place.end <= self.next {
            return &[];
        }
        let captured_end = place.start + content.bytes.len() as u64;
        if captured_end < place.end {
            self.keep(captured_end, Run::Uncaptured(place.end - captured_end));
        }
        if place.start > self.next {
            self.keep(place.start, Run::Bytes(content.bytes.to_vec()));
            return &[];
        }
        let known = usize::try_from(self.next - place.start).unwrap_or(usize::MAX);
        let bytes = content.bytes.get(known..).unwrap_or_default();
        self.next += bytes.len() as u64;
        bytes
    }

    /// The next run in order, or `None` if the next bytes are missing.
    pub(crate) fn next_waiting(&mut self) -> Option<Run> {
        loop {
            let entry = self.waiting.first_entry()?;
            let start = *entry.key();
            if start > self.next {
                return None;
            }
            let run = entry.remove();
            self.waiting_bytes -= run.len();
            let known = self.next - start;
            if known < run.len() {
                self.next = start + run.len();
                return Some(run.without(known));
            }
        }
    }

    /// Whether bytes wait for missing ones.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The number of waiting bytes.
    pub(crate) const fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Whether more bytes wait than the limit allows.
    pub(crate) const fn is_full(&self) -> bool {
        self.waiting_bytes > MAX_WAITING_BYTES
    }

    /// Gives up the bytes missing before the waiting ones. Returns how many.
    pub(crate) fn give_up(&mut self) -> Option<u64> {
        let (start, _) = self.waiting.first_key_value()?;
        let gap = start.checked_sub(self.next).filter(|gap| *gap > 0)?;
        self.next = *start;
        Some(gap)
    }

    fn keep(&mut self, start: u64, run: Run) {
        let is_longer = |known: &Run| known.len() >= run.len();
        if run.len() == 0 || self.waiting.get(&start).is_some_and(is_longer) {
            return;
        }
        self.waiting_bytes += run.len();
        if let Some(shorter) = self.waiting.insert(start, run) {
            self.waiting_bytes -= shorter.len();
        }
    }
}

/// The offset of a sequence number: the one nearest to `next` (RFC 9293 section 3.4: arithmetic modulo 2^32).
fn offset(first: u32, next: u64, sequence: u32) -> Option<u64> {
    let distance = sequence
        .wrapping_sub(first.wrapping_add(next as u32))
        .cast_signed();
    next.checked_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sequence number, captured bytes and length of segments.
    type Segments = &'static [(u32, &'static str, u64)];

    fn segment(sequence: u32, bytes: &[u8], len: u64) -> Content<'_> {
        Content {
            sequence,
            syn: false,
            bytes,
            len,
        }
    }

    /// Feeds the segments and returns the bytes in order, with dots for bytes that were cut off.
    fn assembled(segments: Segments) -> String {
        let mut reassembly = Reassembly::default();
        let mut out = String::new();
        for (sequence, bytes, len) in segments {
            let content = segment(*sequence, bytes.as_bytes(), *len);
            let Some(place) = reassembly.place(&content) else {
                continue;
            };
            out.push_str(std::str::from_utf8(reassembly.in_order(&place, &content)).unwrap());
            while let Some(run) = reassembly.next_waiting() {
                match run {
                    Run::Bytes(bytes) => out.push_str(&String::from_utf8(bytes).unwrap()),
                    Run::Uncaptured(len) => out.push_str(&".".repeat(len as usize)),
                }
            }
        }
        out
    }

    #[test]
    fn bytes_come_out_in_order_and_once() {
        const NEAR_WRAP: u32 = u32::MAX - 1;
        let table: [(Segments, &str); 6] = [
            (&[(10, "abc", 3), (13, "def", 3)], "abcdef"),
            (&[(10, "a", 1), (13, "d", 1), (11, "bc", 2)], "abcd"),
            (&[(10, "abc", 3), (10, "abc", 3), (12, "cde", 3)], "abcde"),
            (&[(10, "ab", 4), (14, "e", 1)], "ab..e"),
            (
                &[(10, "a", 1), (14, "ef", 3), (11, "bcd", 3), (17, "h", 1)],
                "abcdef.h",
            ),
            (
                &[(NEAR_WRAP, "abc", 3), (1, "d", 1), (NEAR_WRAP - 5, "x", 1)],
                "abcd",
            ),
        ];
        for (segments, expected) in table {
            assert_eq!(assembled(segments), expected, "{segments:?}");
        }
    }

    #[test]
    fn missing_bytes_are_given_up() {
        let mut reassembly = Reassembly::default();
        for (sequence, bytes) in [(1, b"a"), (5, b"e")] {
            let content = segment(sequence, bytes, 1);
            let place = reassembly.place(&content).unwrap();
            reassembly.in_order(&place, &content);
        }
        assert!(reassembly.is_waiting());
        assert_eq!(reassembly.give_up(), Some(3));
        assert_eq!(reassembly.next_waiting(), Some(Run::Bytes(b"e".to_vec())));
        assert_eq!((reassembly.next(), reassembly.is_waiting()), (5, false));
    }
}
