//! The send buffer: bytes that are written and not acknowledged.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::on_demand::{Empty, OnDemand};
use crate::packed::packs;

/// The number of pushes that are remembered; of more, the latest replaces the last.
const MAX_PUSHES: usize = 32;

/// The memory that an empty buffer keeps, in bytes, for further small messages.
const KEPT_BYTES: usize = 512;

/// The bytes of one direction from the first that is not acknowledged to the last that was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendBuffer {
    /// The position of the first of them in the stream.
    start: u64,
    queue: OnDemand<Queue>,
}

packs!(SendBuffer { start, queue });

/// The bytes, and where they are cut.
#[derive(Clone, Debug)]
struct Queue {
    bytes: VecDeque<u8>,
    /// The ends of pushed packets, in order: the segments that end there carry PSH. The last packet of a write is pushed.
    pushes: VecDeque<u64>,
    /// The ends of the packets that the bytes leave in, in order: first the sent packets, then the waiting ones.
    packets: VecDeque<u64>,
}

impl Empty for Queue {
    const EMPTY: &'static Self = &Self {
        bytes: VecDeque::new(),
        pushes: VecDeque::new(),
        packets: VecDeque::new(),
    };

    fn empty() -> Self {
        Self::EMPTY.clone()
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingPacket {
    /// Bytes of it.
    pub(crate) bytes: u64,
    /// Bytes of the one behind it.
    pub(crate) next_bytes: u64,
}

impl SendBuffer {
    /// The position of the first byte that is not acknowledged in the stream.
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// The position of the next byte to be written.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.queue.bytes.len() as u64
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.queue.bytes.len()
    }

    /// Gives back the memory of an empty buffer. Returns whether it is empty.
    pub(crate) fn rest(&mut self) -> bool {
        if self.queue.bytes.is_empty() && self.queue.packets.is_empty() && self.queue.pushes.is_empty() {
            self.queue.free();
        }
        self.queue.is_free()
    }

    /// The number of packets that the bytes leave in.
    pub(crate) fn packets(&self) -> usize {
        self.queue.packets.len()
    }

    /// Appends one write to the last packet.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.fill_packet(bytes, false);
        self.push();
    }

    /// Appends to the last packet, which stays pushed if it `keeps_push`.
    pub(crate) fn fill_packet(&mut self, bytes: &[u8], keeps_push: bool) {
        let before = self.end();
        self.queue.bytes.extend(bytes);
        let end = self.end();
        match self.queue.packets.back_mut() {
            Some(last) => *last = end,
            None => self.queue.packets.push_back(end),
        }
        if self.queue.pushes.back() == Some(&before) {
            self.queue.pushes.pop_back();
            if keeps_push {
                self.queue.pushes.push_back(end);
            }
        }
    }

    /// Appends as a packet of its own.
    pub(crate) fn start_packet(&mut self, bytes: &[u8]) {
        self.queue.bytes.extend(bytes);
        let end = self.end();
        self.queue.packets.push_back(end);
    }

    /// Marks the end of the buffer: the segment that ends here carries PSH.
    pub(crate) fn push(&mut self) {
        let end = self.end();
        if self.queue.pushes.back() == Some(&end) {
            return;
        }
        if self.queue.pushes.len() >= MAX_PUSHES {
            self.queue.pushes.pop_back();
        }
        self.queue.pushes.push_back(end);
    }

    /// Bytes of the last packet after `offset`.
    pub(crate) fn last_packet_bytes(&self, offset: u64) -> u64 {
        let start = match self.queue.packets.len() {
            0 | 1 => self.start,
            count => self.queue.packets.get(count - 2).copied().unwrap_or(self.start),
        };
        self.end().saturating_sub(start.max(offset))
    }

    /// The packet that starts at `offset`.
    pub(crate) fn packet_at(&self, offset: u64) -> WaitingPacket {
        let index = self.queue.packets.partition_point(|end| *end <= offset);
        let end = self.queue.packets.get(index).copied().unwrap_or(offset);
        let next_end = self.queue.packets.get(index + 1).copied().unwrap_or(end);
        WaitingPacket {
            bytes: end - offset,
            next_bytes: next_end - end,
        }
    }

    /// Makes the bytes from `start` to `end` one packet: splits the packet at `start`, or joins it with the packets after it and
    /// their pushes.
    pub(crate) fn cut_packet(&mut self, start: u64, end: u64) {
        let index = self.queue.packets.partition_point(|end| *end <= start);
        // Pushes are where packets end.
        if self.queue.packets.get(index) == Some(&end) {
            return;
        }
        while self.queue.packets.get(index).is_some_and(|other| *other <= end) {
            self.queue.packets.remove(index);
        }
        self.queue.packets.insert(index, end);
        let index = self.queue.pushes.partition_point(|push| *push <= start);
        let mut is_pushed = false;
        while self.queue.pushes.get(index).is_some_and(|push| *push <= end) {
            self.queue.pushes.remove(index);
            is_pushed = true;
        }
        if is_pushed {
            self.queue.pushes.insert(index, end);
        }
    }

    /// Drops the bytes before `offset`.
    pub(crate) fn acknowledge(&mut self, offset: u64) {
        let acknowledged = offset.min(self.end()).saturating_sub(self.start);
        let count = usize::try_from(acknowledged)
            .unwrap_or(usize::MAX)
            .min(self.queue.bytes.len());
        if count > 0 {
            self.queue.bytes.drain(..count);
            self.start += count as u64;
        }
        while self.queue.pushes.front().is_some_and(|end| *end <= self.start) {
            self.queue.pushes.pop_front();
        }
        while self.queue.packets.front().is_some_and(|end| *end <= self.start) {
            self.queue.packets.pop_front();
        }
        if self.queue.bytes.is_empty() && self.queue.bytes.capacity() > KEPT_BYTES {
            self.queue.free();
        }
    }

    /// Appends up to `count` bytes from `offset` on to `out`; returns how many there were.
    pub(crate) fn copy(&self, offset: u64, count: usize, out: &mut Vec<u8>) -> usize {
        let from = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let from = from.min(self.queue.bytes.len());
        let count = count.min(self.queue.bytes.len() - from);
        let (first, second) = self.queue.bytes.as_slices();
        let of_first = first.get(from..).unwrap_or_default();
        let of_first = of_first.get(..count).unwrap_or(of_first);
        let from = from.saturating_sub(first.len());
        let of_second = second.get(from..).unwrap_or_default();
        out.extend_from_slice(of_first);
        out.extend_from_slice(of_second.get(..count - of_first.len()).unwrap_or_default());
        count
    }

    /// Whether the packet that ends at `offset` was pushed.
    pub(crate) fn pushes_at(&self, offset: u64) -> bool {
        self.queue.pushes.binary_search(&offset).is_ok()
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
    fn knows_where_packets_were_pushed() {
        let mut buffer = SendBuffer::default();
        buffer.write(b"abc");
        buffer.write(b"");
        buffer.start_packet(b"de");
        buffer.push();
        assert_eq!(
            [0, 2, 3, 4, 5].map(|at| buffer.pushes_at(at)),
            [false, false, true, false, true]
        );
        buffer.acknowledge(3);
        assert!(!buffer.pushes_at(4) && buffer.pushes_at(5));
        buffer.fill_packet(b"f", true);
        assert!(!buffer.pushes_at(5) && buffer.pushes_at(6));
        buffer.fill_packet(b"g", false);
        assert!(!buffer.pushes_at(6) && !buffer.pushes_at(7));
    }

    /// Packets of 3, 4 and 2 bytes, the first two pushed.
    fn three_packets() -> SendBuffer {
        let mut buffer = SendBuffer::default();
        for bytes in [&b"abc"[..], b"defg"] {
            buffer.start_packet(bytes);
            buffer.push();
        }
        buffer.start_packet(b"hi");
        buffer
    }

    const fn waiting(bytes: u64, next_bytes: u64) -> WaitingPacket {
        WaitingPacket { bytes, next_bytes }
    }

    #[test]
    fn knows_the_packets_that_wait() {
        let mut buffer = three_packets();
        assert_eq!(
            [0, 3, 5, 7, 9].map(|at| buffer.packet_at(at)),
            [
                waiting(3, 4),
                waiting(4, 2),
                waiting(2, 2),
                waiting(2, 0),
                waiting(0, 0)
            ]
        );
        assert_eq!(
            [0, 7, 8, 9].map(|sent| buffer.last_packet_bytes(sent)),
            [2, 2, 1, 0]
        );
        buffer.acknowledge(4);
        assert_eq!(buffer.packets(), 2);
        assert_eq!(buffer.last_packet_bytes(4), 2);
    }

    #[test]
    fn packets_are_cut_and_joined() {
        let mut buffer = three_packets();
        buffer.cut_packet(0, 2);
        assert_eq!((buffer.packets(), buffer.packet_at(0)), (4, waiting(2, 1)));
        buffer.cut_packet(2, 5);
        assert_eq!((buffer.packets(), buffer.packet_at(2)), (4, waiting(3, 2)));
        assert_eq!([3, 5, 7].map(|at| buffer.pushes_at(at)), [false, true, true]);
        buffer.cut_packet(5, 9);
        assert_eq!((buffer.packets(), buffer.packet_at(5)), (3, waiting(4, 0)));
        assert_eq!([7, 9].map(|at| buffer.pushes_at(at)), [false, true]);
    }

    #[test]
    fn an_empty_buffer_keeps_little() {
        let mut buffer = SendBuffer::default();
        buffer.write(&[0; 10_000]);
        buffer.acknowledge(u64::MAX);
        assert_eq!(
            (buffer.len(), buffer.start(), buffer.queue.bytes.capacity()),
            (0, 10_000, 0)
        );
    }
}
