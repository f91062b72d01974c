//! Reassembly: bytes in order, and bytes after a gap.
//!
//! One buffer has both: in-order bytes at its front, then room for the gaps and the bytes after them. Each byte is copied to
//! its position once, in any order of segments.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use wirecost_wire::tcp::SackBlock;

use super::sequence::{advanced, distance, earliest, is_after, is_before, joined, latest, overlap};
use crate::on_demand::{Empty, OnDemand};
use crate::packed::packs;

/// An empty buffer above this capacity is freed; a smaller one is kept for the next message.
const KEPT_BYTES: usize = 2048;

/// The receive buffer.
#[derive(Debug)]
pub(super) struct Reassembly {
    /// The next sequence number expected.
    next: u32,
    /// The number of unread in-order bytes, at the buffer's front.
    available: usize,
    /// The sequence number of the peer's FIN, known once it is reached or held.
    fin: Option<u32>,
    unread: OnDemand<Unread>,
}

packs!(Reassembly {
    next,
    available,
    fin,
    unread
});

/// The bytes that the application has not read.
#[derive(Debug)]
struct Unread {
    buffer: VecDeque<u8>,
    /// Runs after a gap, in order; they do not touch.
    held: Vec<SackBlock>,
}

impl Empty for Unread {
    const EMPTY: &'static Self = &Self {
        buffer: VecDeque::new(),
        held: Vec::new(),
    };

    fn empty() -> Self {
        Self {
            buffer: VecDeque::new(),
            held: Vec::new(),
        }
    }
}

/// The effect of in-order bytes on the bytes after a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Joined {
    /// Whether the last gap is filled.
    pub(super) filled_gap: bool,
    /// Bytes that arrived again, to be reported (RFC 2883).
    pub(super) duplicate: Option<SackBlock>,
}

impl Reassembly {
    /// An empty buffer that expects `next`.
    pub(super) const fn new(next: u32) -> Self {
        Self {
            next,
            available: 0,
            fin: None,
            unread: OnDemand::NONE,
        }
    }

    /// The next sequence number expected, after the FIN if it was reached.
    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    /// Gives back the memory of an empty buffer; returns whether it is empty.
    pub(super) fn rest(&mut self) -> bool {
        let is_empty = self.unread.buffer.is_empty() && self.unread.held.is_empty();
        if is_empty {
            self.unread.free();
        }
        is_empty
    }

    /// Whether it has no memory of its own.
    pub(super) const fn is_free(&self) -> bool {
        self.unread.is_free()
    }

    /// Bytes that can be read.
    pub(super) const fn available(&self) -> usize {
        self.available
    }

    /// Whether there are bytes after a gap.
    pub(super) fn is_holding(&self) -> bool {
        !self.unread.held.is_empty()
    }

    /// The end of the bytes after a gap.
    pub(super) fn held_end(&self) -> Option<u32> {
        self.unread.held.last().map(|run| run.right)
    }

    /// Whether the FIN and everything before it has arrived.
    pub(super) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| is_after(self.next, fin))
    }

    /// Appends bytes at the next sequence number, then joins the runs that follow them.
    pub(super) fn append(&mut self, payload: &[u8], fin: bool) -> Joined {
        let (payload, fin) = self.clip_to_fin(self.next, payload, fin);
        self.store(self.available, payload);
        self.available += payload.len();
        self.next = advanced(self.next, payload.len());
        if fin {
            self.finish(self.next);
            return Joined::default();
        }
        self.join()
    }

    /// Stores bytes after a gap; returns their run, and the bytes of them that were stored already.
    pub(super) fn hold(
        &mut self,
        sequence: u32,
        payload: &[u8],
        fin: bool,
    ) -> (SackBlock, Option<SackBlock>) {
        let (payload, fin) = self.clip_to_fin(sequence, payload, fin);
        let end = advanced(sequence, payload.len());
        let segment = SackBlock {
            left: sequence,
            right: end.wrapping_add(u32::from(fin)),
        };
        if fin {
            self.fin = Some(end);
        }
        self.store(self.offset_of(sequence), payload);
        self.insert(segment)
    }

    /// Takes up to `limit` bytes.
    pub(super) fn read(&mut self, out: &mut Vec<u8>, limit: usize) -> usize {
        let count = limit.min(self.available);
        let (front, back) = self.unread.buffer.as_slices();
        let from_front = count.min(front.len());
        out.extend_from_slice(front.get(..from_front).unwrap_or_default());
        out.extend_from_slice(back.get(..count - from_front).unwrap_or_default());
        if count > 0 {
            self.unread.buffer.drain(..count);
            self.available -= count;
        }
        if self.unread.buffer.is_empty() && self.unread.buffer.capacity() > KEPT_BYTES {
            self.unread.buffer = VecDeque::new();
        }
        count
    }

    /// The position of the byte with `sequence` in the buffer.
    fn offset_of(&self, sequence: u32) -> usize {
        self.available + distance(self.next, sequence)
    }

    /// Writes `bytes` at `offset`, filling a gap before it with room.
    fn store(&mut self, offset: usize, bytes: &[u8]) {
        if offset == self.unread.buffer.len() {
            self.unread.buffer.extend(bytes);
            return;
        }
        let end = offset + bytes.len();
        if end > self.unread.buffer.len() {
            self.unread.buffer.resize(end, 0);
        }
        for (place, byte) in self.unread.buffer.range_mut(offset..end).zip(bytes) {
            *place = *byte;
        }
    }

    /// Truncates bytes after a known FIN, and ignores a FIN before bytes that are stored after a gap.
    fn clip_to_fin<'a>(&self, sequence: u32, payload: &'a [u8], fin: bool) -> (&'a [u8], bool) {
        let end = advanced(sequence, payload.len());
        if let Some(known) = self.fin {
            let room = if is_before(sequence, known) {
                distance(sequence, known)
            } else {
                0
            };
            let kept = payload.get(..room).unwrap_or(payload);
            return (kept, fin && end == known);
        }
        let believed = fin && self.held_end().is_none_or(|held| !is_after(held, end));
        (payload, believed)
    }

    /// Merges `segment` into the runs.
    fn insert(&mut self, segment: SackBlock) -> (SackBlock, Option<SackBlock>) {
        let first = self
            .unread
            .held
            .partition_point(|run| is_before(run.right, segment.left));
        let touching = self
            .unread
            .held
            .iter()
            .skip(first)
            .take_while(|run| !is_after(run.left, segment.right));
        let mut merged = segment;
        let mut duplicate = None;
        let mut count = 0;
        for run in touching {
            duplicate = grown(duplicate, overlap(run, &segment));
            merged = joined(run, &merged).unwrap_or(merged);
            count += 1;
        }
        self.unread.held.splice(first..first + count, [merged]);
        (merged, duplicate)
    }

    /// Moves the next sequence number over the runs that it has reached.
    fn join(&mut self) -> Joined {
        let arrived = self.next;
        let reached = self
            .unread
            .held
            .partition_point(|run| !is_after(run.left, arrived));
        let mut result = Joined::default();
        for run in self.unread.held.drain(..reached) {
            let again = SackBlock {
                left: run.left,
                right: earliest(run.right, arrived),
            };
            result.duplicate = grown(result.duplicate, (again.left != again.right).then_some(again));
            self.next = latest(self.next, run.right);
        }
        if reached > 0 {
            result.filled_gap = self.unread.held.is_empty();
            self.release_runs();
            self.settle(arrived);
        }
        result
    }

    /// Counts the bytes from `arrived` to the next sequence number as available, without the FIN.
    fn settle(&mut self, arrived: u32) {
        let data_end = match self.fin {
            Some(fin) if is_after(self.next, fin) => fin,
            _ => self.next,
        };
        self.available += distance(arrived, data_end);
        if data_end != self.next {
            self.finish(data_end);
        }
    }

    /// Reaches the FIN at `sequence`; drops everything after it.
    fn finish(&mut self, sequence: u32) {
        self.fin = Some(sequence);
        self.next = sequence.wrapping_add(1);
        self.unread.held = Vec::new();
        self.unread.buffer.truncate(self.available);
    }

    fn release_runs(&mut self) {
        if self.unread.held.is_empty() {
            self.unread.held = Vec::new();
        }
    }
}

/// Extends a report of duplicate bytes by `more` if they touch (Linux: tcp_dsack_extend).
fn grown(report: Option<SackBlock>, more: Option<SackBlock>) -> Option<SackBlock> {
    match (report, more) {
        (Some(report), Some(more)) => joined(&report, &more).or(Some(report)),
        (report, more) => report.or(more),
    }
}
