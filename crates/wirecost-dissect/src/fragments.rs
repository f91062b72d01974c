//! Reassembles UDP datagrams from IP fragments (RFC 791 section 3.2, RFC 8200 section 4.5). The packets wait until
//! the datagram is complete, because only a complete datagram can be read.
//!
//! Fragments may arrive in any order, and more than once. What repeats a fragment of a datagram that is complete belongs to it.

use std::collections::VecDeque;
use std::ops::Range;

use wirecost_wire::ip;

use crate::captured::{Captured, hash};

/// The most incomplete datagrams, and the most complete ones whose fragments are remembered. Beyond it, the oldest is given up.
const MAX_DATAGRAMS: usize = 64;

/// The most bytes of a datagram (RFC 768: a length field of 16 bits).
const MAX_DATAGRAM_BYTES: usize = 65_535;

/// The most packets of a datagram. No link has an MTU that needs more.
const MAX_PACKETS: usize = 1_024;

/// Bytes kept of each packet's content: what the ledger needs of a first fragment.
const KEPT_CONTENT: usize = 128;

/// What all fragments of a datagram have in common.
type Key = (ip::Addresses, ip::Protocol, u32);

/// What tells a fragment from the others of its datagram: its place, whether more follow, and a hash of its content.
type Mark = (u32, bool, usize, u64);

/// A packet with a fragment: its headers and the first bytes of its content.
#[derive(Debug)]
pub(crate) struct Part {
    offset: u32,
    bytes: Vec<u8>,
    link_bytes: usize,
    at_ns: Option<u64>,
    /// Whether the capture has had this fragment before.
    pub(crate) is_again: bool,
}

impl Part {
    pub(crate) fn captured(&self) -> Captured<'_> {
        Captured {
            bytes: &self.bytes,
            link_bytes: self.link_bytes,
            at_ns: self.at_ns,
        }
    }
}

/// Fragments of one datagram.
#[derive(Debug)]
pub(crate) struct Fragmented {
    key: Key,
    /// The datagram's bytes that have arrived, UDP header included.
    pub(crate) bytes: Vec<u8>,
    /// The ranges that have arrived, in order and apart from each other.
    present: Vec<Range<usize>>,
    /// The datagram's length, known once the last fragment has arrived.
    total: Option<usize>,
    marks: Vec<Mark>,
    /// The packets, in the order of their places in the datagram.
    pub(crate) packets: Vec<Part>,
}

/// What became of a fragment.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It waits.
    Waits,
    /// A datagram is complete, or is given up because too many wait.
    Datagram(Fragmented),
    /// It repeats a fragment of a datagram that was complete before, with these source and destination ports.
    Again(u16, u16),
    /// It can be no part of a datagram.
    Refused,
}

impl Fragmented {
    const fn new(key: Key) -> Self {
        Self {
            key,
            bytes: Vec::new(),
            present: Vec::new(),
            total: None,
            marks: Vec::new(),
            packets: Vec::new(),
        }
    }

    /// Whether all bytes have arrived.
    pub(crate) fn is_whole(&self) -> bool {
        match (self.total, self.present.as_slice()) {
            (Some(total), [range]) => *range == (0..total),
            _ => false,
        }
    }

    /// Adds a fragment. Returns whether there is room for it.
    fn add(&mut self, packet: &ip::Packet<'_>, fragment: ip::Fragment, captured: Captured<'_>) -> bool {
        let content = packet.payload();
        let start = fragment.offset_bytes as usize;
        let end = start + content.len();
        if end > MAX_DATAGRAM_BYTES || self.packets.len() >= MAX_PACKETS {
            return false;
        }
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(place) = self.bytes.get_mut(start..end) {
            place.copy_from_slice(content);
        }
        self.note_present(start..end);
        if !fragment.more && !packet.is_truncated() {
            self.total = Some(end);
        }
        let mark = mark(packet, fragment);
        let is_again = self.marks.contains(&mark);
        if !is_again {
            self.marks.push(mark);
        }
        let kept = packet.header_bytes() + content.len().min(KEPT_CONTENT);
        let part = Part {
            offset: fragment.offset_bytes,
            bytes: captured.bytes.get(..kept).unwrap_or(captured.bytes).to_vec(),
            link_bytes: captured.link_bytes,
            at_ns: captured.at_ns,
            is_again,
        };
        // The ledger knows a datagram by its first fragment.
        let place = self.packets.partition_point(|known| known.offset <= part.offset);
        self.packets.insert(place, part);
        true
    }

    /// Joins a range to those that have arrived.
    fn note_present(&mut self, range: Range<usize>) {
        let from = self.present.partition_point(|known| known.end < range.start);
        let until = self.present.partition_point(|known| known.start <= range.end);
        let joined = self.present.get(from..until).unwrap_or_default();
        let start = joined
            .first()
            .map_or(range.start, |first| first.start.min(range.start));
        let end = joined.last().map_or(range.end, |last| last.end.max(range.end));
        self.present
            .splice(from..until.max(from), std::iter::once(start..end));
    }
}

/// The incomplete datagrams, and what the last complete ones consisted of.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    waiting: VecDeque<Fragmented>,
    complete: VecDeque<Complete>,
}

/// A datagram that was complete: its ports and its fragments.
#[derive(Debug)]
struct Complete {
    key: Key,
    ports: (u16, u16),
    marks: Vec<Mark>,
}

impl Fragments {
    /// Handles a fragment.
    pub(crate) fn take(
        &mut self,
        packet: &ip::Packet<'_>,
        fragment: ip::Fragment,
        captured: Captured<'_>,
    ) -> Taken {
        let key = (packet.addresses(), packet.protocol(), fragment.id);
        let known = self.waiting.iter().position(|known| known.key == key);
        let has_it =
            |complete: &&Complete| complete.key == key && complete.marks.contains(&mark(packet, fragment));
        if known.is_none()
            && let Some(complete) = self.complete.iter().find(has_it)
        {
            let (source, destination) = complete.ports;
            return Taken::Again(source, destination);
        }
        let index = known.unwrap_or_else(|| {
            self.waiting.push_back(Fragmented::new(key));
            self.waiting.len() - 1
        });
        let Some(datagram) = self.waiting.get_mut(index) else {
            return Taken::Refused;
        };
        if !datagram.add(packet, fragment, captured) {
            return Taken::Refused;
        }
        if datagram.is_whole() {
            return self.waiting.remove(index).map_or(Taken::Waits, |datagram| {
                self.remember(&datagram);
                Taken::Datagram(datagram)
            });
        }
        if self.waiting.len() > MAX_DATAGRAMS {
            return self.give_up().map_or(Taken::Waits, Taken::Datagram);
        }
        Taken::Waits
    }

    /// Removes the oldest incomplete datagram.
    pub(crate) fn give_up(&mut self) -> Option<Fragmented> {
        self.waiting.pop_front()
    }

    fn remember(&mut self, datagram: &Fragmented) {
        let [a, b, c, d, ..] = *datagram.bytes.as_slice() else {
            return;
        };
        self.complete.retain(|complete| complete.key != datagram.key);
        if self.complete.len() >= MAX_DATAGRAMS {
            self.complete.pop_front();
        }
        self.complete.push_back(Complete {
            key: datagram.key,
            ports: (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])),
            marks: datagram.marks.clone(),
        });
    }
}

fn mark(packet: &ip::Packet<'_>, fragment: ip::Fragment) -> Mark {
    let content = packet.payload();
    (fragment.offset_bytes, fragment.more, content.len(), hash(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_in_any_order_cover_what_they_cover(
            ranges in proptest::collection::vec((0usize..60, 0usize..20), 0..20)
        ) {
            let key = (
                ip::Addresses::new([1, 1, 1, 1].into(), [2, 2, 2, 2].into()).expect("of one version"),
                ip::Protocol::Udp,
                0,
            );
            let mut datagram = Fragmented::new(key);
            let mut covered = [false; 100];
            for (start, len) in ranges {
                datagram.note_present(start..start + len);
                covered[start..start + len].fill(true);
            }
            let mut found = [false; 100];
            for range in &datagram.present {
                found[range.clone()].fill(true);
            }
            prop_assert_eq!(found, covered);
            let apart = datagram.present.windows(2).all(|pair| pair[0].end < pair[1].start);
            prop_assert!(apart);
        }
    }
}
