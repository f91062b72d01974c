//! What was written and is not acknowledged.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Ends of writes that are remembered; of more the latest counts.
const MAX_PUSHES: usize = 32;

/// Memory that an empty buffer keeps, in bytes: small messages come again.
const KEPT_BYTES: usize = 512;

/// The bytes of one direction from the first that is not acknowledged to the last that was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendBuffer {
    bytes: VecDeque<u8>,
    /// Where the first of them stands in the stream.
    start: u64,
    /// Where writes ended, in order: the segments that end there carry PSH.
    pushes: VecDeque<u64>,
}

impl SendBuffer {
    /// Where the first byte that is not acknowledged stands in the stream.
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// Where the next byte to be written will stand.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Bytes that are held.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends one write.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.bytes.extend(bytes);
        if self.pushes.len() >= MAX_PUSHES {
            self.pushes.pop_back();
        }
        self.pushes.push_back(self.end());
    }

    /// Lets go of everything before `offset`.
    pub(crate) fn acknowledge(&mut self, offset: u64) {
        let acknowledged = offset.min(self.end()).saturating_sub(self.start);
        let count = usize::try_from(acknowledged)
            .unwrap_or(usize::MAX)
            .min(self.bytes.len());
        self.bytes.drain(..count);
        self.start += count as u64;
        while self.pushes.front().is_some_and(|end| *end <= self.start) {
            self.pushes.pop_front();
        }
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT_BYTES {
            self.bytes = VecDeque::new();
            self.pushes = VecDeque::new();
        }
    }

    /// Appends up to `count` bytes from `offset` on to `out`; returns how many there were.
    pub(crate) fn copy(&self, offset: u64, count: usize, out: &mut Vec<u8>) -> usize {
        let from = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let from = from.min(self.bytes.len());
        let count = count.min(self.bytes.len() - from);
        let (first, second) = self.bytes.as_slices();
        let of_first = first.get(from..).unwrap_or_default();
        let of_first = of_first.get(..count).unwrap_or(of_first);
        let from = from.saturating_sub(first.len());
        let of_second = second.get(from..).unwrap_or_default();
        out.extend_from_slice(of_first);
        out.extend_from_slice(of_second.get(..count - of_first.len()).unwrap_or_default());
        count
    }

    /// Whether a write ended at `offset`, or nothing follows it.
    pub(crate) fn pushes_at(&self, offset: u64) -> bool {
        offset == self.end() || self.pushes.binary_search(&offset).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(buffer: &SendBuffer, offset: u64, count: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let copied = buffer.copy(offset, count, &mut out);
        assert_eq!(copied, out.len());
        out
    }

    #[test]
    fn gives_any_range_that_it_holds() {
        let mut buffer = SendBuffer::default();
        let mut stream = Vec::new();
        for round in 0..100u8 {
            let write: Vec<u8> = (0..round).map(|byte| byte ^ round).collect();
            buffer.write(&write);
            stream.extend(write);
            let start = buffer.start() as usize;
            assert_eq!(copied(&buffer, buffer.start(), usize::MAX), stream[start..]);
            let middle = (start + stream.len()) / 2;
            assert_eq!(
                copied(&buffer, middle as u64, 7),
                stream[middle..stream.len().min(middle + 7)]
            );
            buffer.acknowledge(middle as u64);
        }
        assert_eq!(copied(&buffer, u64::MAX, 1), []);
    }

    #[test]
    fn knows_where_writes_ended() {
        let mut buffer = SendBuffer::default();
        buffer.write(b"abc");
        buffer.write(b"");
        buffer.write(b"de");
        assert_eq!(
            [0, 2, 3, 4, 5].map(|at| buffer.pushes_at(at)),
            [false, false, true, false, true]
        );
        buffer.acknowledge(3);
        assert!(!buffer.pushes_at(4) && buffer.pushes_at(5));
    }

    #[test]
    fn an_empty_buffer_keeps_little() {
        let mut buffer = SendBuffer::default();
        buffer.write(&[0; 10_000]);
        buffer.acknowledge(u64::MAX);
        assert_eq!(
            (buffer.len(), buffer.start(), buffer.bytes.capacity()),
            (0, 10_000, 0)
        );
    }
}
