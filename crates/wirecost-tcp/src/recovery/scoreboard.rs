//! The scoreboard: sent segments that are not acknowledged (RFC 6675, section 2; RFC 8985, section 5).

use alloc::collections::VecDeque;

use crate::packed::packs;
use crate::sequence::{is_after, is_before};

/// The flags of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tags {
    /// It was selectively acknowledged.
    pub(super) sacked: bool,
    /// It is marked lost.
    pub(super) lost: bool,
    /// Its retransmission is in flight.
    pub(super) retransmitted: bool,
    /// It was retransmitted at some time.
    pub(super) ever_retransmitted: bool,
}

/// A segment in the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The first sequence number.
    pub(super) sequence: u32,
    /// Sequence numbers: bytes, and one of a FIN.
    pub(super) len: u32,
    /// Segments delivered when it was last sent.
    pub(super) delivered: u32,
    /// The number of segments sent before its last transmission, which orders segments sent at one instant.
    pub(super) order: u32,
    /// Its flags.
    pub(super) tags: Tags,
    /// When it was last sent, in microseconds.
    pub(super) sent_micros: u64,
}

impl Record {
    /// The sequence number after the last.
    pub(super) const fn end(&self) -> u32 {
        self.sequence.wrapping_add(self.len)
    }
}

/// Sent segments that are not acknowledged, in the order of sequence numbers.
///
/// `in_flight` is the number of segments in the network: the sent ones, without those that arrived out of order or are lost, and
/// with the retransmissions.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    records: VecDeque<Record>,
    una: u32,
    next: u32,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// After the highest segment selectively acknowledged; significant while there are any.
    highest_sacked: u32,
    /// No segment below it waits for retransmission.
    retransmission_hint: u32,
}

packs!(Scoreboard {
    records,
    una,
    next,
    sacked,
    lost,
    retransmitted,
    highest_sacked,
    retransmission_hint
});

/// Memory that an empty scoreboard keeps, in segments.
const KEPT_RECORDS: usize = 16;

impl Scoreboard {
    pub(super) const fn new(first_sequence: u32) -> Self {
        Self {
            records: VecDeque::new(),
            una: first_sequence,
            next: first_sequence,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            highest_sacked: first_sequence,
            retransmission_hint: first_sequence,
        }
    }

    /// SND.UNA.
    pub(super) const fn una(&self) -> u32 {
        self.una
    }

    /// SND.NXT.
    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    /// Segments sent and not acknowledged.
    pub(super) fn outstanding(&self) -> u32 {
        self.records.len() as u32
    }

    /// Segments selectively acknowledged.
    pub(super) const fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Segments lost, retransmitted or not.
    pub(super) const fn lost(&self) -> u32 {
        self.lost
    }

    /// Retransmissions in flight.
    pub(super) const fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Segments in the network (RFC 6675's pipe).
    pub(super) fn in_flight(&self) -> u32 {
        (self.outstanding() + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    /// After the highest segment selectively acknowledged; SND.UNA if there is none.
    pub(super) const fn highest_sacked(&self) -> u32 {
        if self.sacked == 0 {
            self.una
        } else {
            self.highest_sacked
        }
    }

    /// The first segment not acknowledged.
    pub(super) fn head(&self) -> Option<&Record> {
        self.records.front()
    }

    /// The last segment sent.
    pub(super) fn tail(&self) -> Option<&Record> {
        self.records.back()
    }

    /// The segment that starts at `sequence` or covers it.
    pub(super) fn index_of(&self, sequence: u32) -> Option<usize> {
        let index = self.first_after(sequence).checked_sub(1)?;
        let covers = is_before(sequence, self.records.get(index)?.end());
        covers.then_some(index)
    }

    /// Changes the segment at `index` and updates the counts.
    pub(super) fn retag(&mut self, index: usize, change: impl FnOnce(&mut Record)) {
        let Some(record) = self.records.get_mut(index) else {
            return;
        };
        let before = record.tags;
        change(record);
        let (tags, sequence, end) = (record.tags, record.sequence, record.end());
        self.count(before, tags);
        if tags.sacked && !before.sacked && (self.sacked == 1 || is_after(end, self.highest_sacked)) {
            self.highest_sacked = end;
        }
        if tags.lost && !tags.retransmitted && is_before(sequence, self.retransmission_hint) {
            self.retransmission_hint = sequence;
        }
    }

    /// Segments in the scoreboard.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Sets the number of segments that arrived, from duplicate acknowledgments, if there are no selective ones.
    pub(super) const fn set_sacked(&mut self, segments: u32) {
        self.sacked = segments;
    }

    /// The segment at `index`.
    pub(super) fn get(&self, index: usize) -> Option<&Record> {
        self.records.get(index)
    }

    /// Gives back the memory of an empty list. Returns whether it is empty.
    pub(super) fn rest(&mut self) -> bool {
        if self.records.is_empty() {
            self.records = VecDeque::new();
        }
        self.records.is_empty()
    }

    /// Appends a segment that starts at SND.NXT.
    pub(super) fn push(&mut self, record: Record) {
        self.next = record.end();
        self.records.push_back(record);
    }

    /// Advances SND.UNA, and removes the first segment if all of it is acknowledged.
    pub(super) fn pop_acknowledged(&mut self, acknowledgment: u32) -> Option<Record> {
        if is_after(acknowledgment, self.una) {
            self.una = acknowledgment;
        }
        let head = *self.records.front()?;
        if is_after(head.end(), acknowledgment) {
            self.trim_head();
            return None;
        }
        self.records.pop_front();
        self.count(head.tags, Tags::default());
        if self.records.is_empty() {
            self.release();
        }
        Some(head)
    }

    /// The next segment that is lost and not retransmitted.
    pub(super) fn next_lost(&mut self) -> Option<usize> {
        // Linux: `tcp_xmit_retransmit_queue` stops when every lost segment is retransmitted.
        if self.retransmitted >= self.lost {
            return None;
        }
        if is_before(self.retransmission_hint, self.una) {
            self.retransmission_hint = self.una;
        }
        let start = self.first_after(self.retransmission_hint).saturating_sub(1);
        let waits = |record: &Record| record.tags.lost && !record.tags.retransmitted && !record.tags.sacked;
        let index = self.records.iter().skip(start).position(waits)? + start;
        self.retransmission_hint = self.records.get(index)?.sequence;
        Some(index)
    }

    /// Joins the segment at `index` with the next one if both fit into `limit` sequence numbers and the next one has not
    /// arrived. (Linux: `tcp_retrans_try_collapse`)
    pub(super) fn collapse_next(&mut self, index: usize, limit: u32) -> bool {
        let (Some(first), Some(second)) = (self.records.get(index), self.records.get(index + 1)) else {
            return false;
        };
        if second.tags.sacked || first.len + second.len > limit {
            return false;
        }
        let second = *second;
        self.count(second.tags, Tags::default());
        self.records.remove(index + 1);
        if let Some(first) = self.records.get_mut(index) {
            first.len += second.len;
            first.tags.ever_retransmitted |= second.tags.ever_retransmitted;
        }
        true
    }

    /// Splits the segment at `index`; the first part has `len` sequence numbers. (Linux: `tcp_fragment`)
    pub(super) fn split(&mut self, index: usize, len: u32) {
        let Some(first) = self
            .records
            .get_mut(index)
            .filter(|first| (1..first.len).contains(&len))
        else {
            return;
        };
        let rest = Record {
            sequence: first.sequence.wrapping_add(len),
            len: first.len - len,
            ..*first
        };
        first.len = len;
        self.count(Tags::default(), rest.tags);
        self.records.insert(index + 1, rest);
    }

    /// Removes the acknowledged part of the first segment: only the rest is retransmitted. (Linux: `__tcp_retransmit_skb`)
    fn trim_head(&mut self) {
        let una = self.una;
        if let Some(head) = self.records.front_mut()
            && is_before(head.sequence, una)
        {
            head.len = head.end().wrapping_sub(una);
            head.sequence = una;
        }
    }

    /// Index of the first segment that starts at `sequence` or after it.
    pub(super) fn first_from(&self, sequence: u32) -> usize {
        self.records
            .partition_point(|record| is_before(record.sequence, sequence))
    }

    /// Index of the first segment that starts after `sequence`.
    fn first_after(&self, sequence: u32) -> usize {
        self.records
            .partition_point(|record| !is_after(record.sequence, sequence))
    }

    /// Updates the counts for a change of flags.
    fn count(&mut self, before: Tags, after: Tags) {
        let moved = |count: u32, was: bool, is: bool| {
            count.saturating_add(u32::from(is)).saturating_sub(u32::from(was))
        };
        self.sacked = moved(self.sacked, before.sacked, after.sacked);
        self.lost = moved(self.lost, before.lost, after.lost);
        self.retransmitted = moved(self.retransmitted, before.retransmitted, after.retransmitted);
    }

    /// Panics if the counts do not agree with the flags.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let count =
            |is: fn(&Tags) -> bool| self.records.iter().filter(|record| is(&record.tags)).count() as u32;
        let sacked = count(|tags| tags.sacked);
        assert!(self.sacked == sacked || (sacked == 0 && self.sacked <= self.outstanding()));
        assert_eq!(self.lost, count(|tags| tags.lost));
        assert_eq!(self.retransmitted, count(|tags| tags.retransmitted));
        assert_eq!(
            count(|tags| tags.lost && tags.sacked),
            0,
            "what has arrived is not lost"
        );
        assert!(self.sacked + self.lost <= self.outstanding());
        let mut edge = self.records.front().map_or(self.next, |record| record.sequence);
        for record in &self.records {
            assert_eq!(record.sequence, edge, "segments touch");
            edge = record.end();
        }
        assert_eq!(edge, self.next);
        assert!(!is_after(self.una, self.next));
    }

    fn release(&mut self) {
        if self.records.capacity() > KEPT_RECORDS {
            self.records = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests;
