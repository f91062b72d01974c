//! Finds packets that a capture has more than once because several of its interfaces saw them: those of a bridge and its port,
//! or those that a router got and passed on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Serialize;

use crate::captured::{hash, hash_more};

/// The most packets that are remembered.
const REMEMBERED: usize = 16_384;

/// The longest time between the copies of a packet. A host passes a packet on within milliseconds.
const MOST_NS: u64 = 1_000_000_000;

/// The most interfaces that are told apart of a packet, and that are named.
const MAX_INTERFACES: usize = 16;

/// Copies of packets, which are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Copies {
    /// Packets that another interface of the capture had seen before.
    pub packets: u64,
    /// Bytes of their IP packets.
    pub bytes: u64,
    /// The interfaces with packets of which there are copies.
    pub interfaces: Vec<String>,
}

/// An interface: its number in the file, and the one that its frames name.
pub(crate) type Interface = (u32, Option<u32>);

/// What identifies a packet: the hash of what no router changes, and its length.
type Mark = (u64, usize);

#[derive(Debug, Default)]
struct Known {
    last_ns: Option<u64>,
    /// How often the packet was sent.
    sent: u32,
    /// How often each interface saw it.
    seen: Vec<(Interface, u32)>,
}

#[derive(Debug, Default)]
pub(crate) struct CopyFinder {
    names: BTreeMap<u32, Option<String>>,
    known: BTreeMap<Mark, Known>,
    order: VecDeque<Mark>,
    first: Option<Interface>,
    has_several: bool,
    packets: u64,
    bytes: u64,
    interfaces: BTreeSet<Interface>,
}

impl CopyFinder {
    /// Notes the name of an interface of the file.
    pub(crate) fn name(&mut self, number: u32, name: Option<String>) {
        if self.names.len() < usize::from(u16::MAX) {
            self.names.insert(number, name);
        }
        self.has_several |= self.names.len() > 1;
    }

    /// Whether another interface has seen this packet already. `bytes` are those of the IP packet.
    pub(crate) fn is_copy(&mut self, interface: Interface, bytes: &[u8], at_ns: Option<u64>) -> bool {
        self.has_several |= interface.1.is_some() || *self.first.get_or_insert(interface) != interface;
        if !self.has_several {
            return false;
        }
        let mark = (unchanged(bytes), bytes.len());
        let known = self.known.entry(mark).or_insert_with(|| {
            self.order.push_back(mark);
            Known::default()
        });
        let is_old = |last: u64, now: u64| now.abs_diff(last) > MOST_NS;
        if known
            .last_ns
            .zip(at_ns)
            .is_some_and(|(last, now)| is_old(last, now))
        {
            (known.sent, known.seen) = (0, Vec::new());
        }
        known.last_ns = at_ns;
        let is_copy = known.note(interface);
        if is_copy {
            self.packets += 1;
            self.bytes += bytes.len() as u64;
            for (seen, _) in &known.seen {
                if self.interfaces.len() < MAX_INTERFACES {
                    self.interfaces.insert(*seen);
                }
            }
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        is_copy
    }

    /// What was found.
    pub(crate) fn finish(&self) -> Copies {
        let name = |(number, device): &Interface| match (device, self.names.get(number)) {
            (Some(device), _) => format!("number {device}"),
            (None, Some(Some(name))) => name.clone(),
            (None, _) => format!("number {number}"),
        };
        Copies {
            packets: self.packets,
            bytes: self.bytes,
            interfaces: self.interfaces.iter().map(name).collect(),
        }
    }
}

impl Known {
    /// Counts the packet on an interface. It is a copy unless the interface has seen it more often than all others.
    fn note(&mut self, interface: Interface) -> bool {
        let index = self.seen.iter().position(|(known, _)| *known == interface);
        let index = index.unwrap_or_else(|| {
            if self.seen.len() < MAX_INTERFACES {
                self.seen.push((interface, 0));
            }
            self.seen.len() - 1
        });
        let Some((_, count)) = self.seen.get_mut(index) else {
            return false;
        };
        *count += 1;
        let is_copy = *count <= self.sent;
        self.sent = self.sent.max(*count);
        is_copy
    }
}

/// The hash of a packet without what a router changes: the hop limit, and IPv4's checksum of its header.
fn unchanged(bytes: &[u8]) -> u64 {
    let ranges: [&[u8]; 3] = match bytes {
        [first, ..] if first >> 4 == 4 && bytes.len() >= 12 => [&bytes[..8], &bytes[9..10], &bytes[12..]],
        _ if bytes.len() >= 8 => [&bytes[..7], &bytes[8..], &[]],
        _ => [bytes, &[], &[]],
    };
    let [first, second, third] = ranges;
    hash_more(hash_more(hash(first), second), third)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Interface = (0, None);
    const OTHER: Interface = (1, None);

    fn packet(number: u8, hop_limit: u8) -> Vec<u8> {
        let mut bytes = vec![0; 20];
        (bytes[0], bytes[5], bytes[8], bytes[10]) = (0x45, number, hop_limit, hop_limit);
        bytes
    }

    /// Whether each packet, of an interface at a number of milliseconds, is a copy.
    fn copies(packets: &[(Interface, u8, u64)]) -> Vec<bool> {
        let mut finder = CopyFinder::default();
        finder.name(0, Some("veth0".into()));
        finder.name(1, Some("br0".into()));
        let each = packets.iter().map(|(interface, number, at)| {
            let hop_limit = if *interface == ONE { 64 } else { 63 };
            finder.is_copy(*interface, &packet(*number, hop_limit), Some(at * 1_000_000))
        });
        each.collect()
    }

    #[test]
    fn a_packet_of_two_interfaces_counts_once() {
        assert_eq!(
            copies(&[(ONE, 1, 0), (OTHER, 1, 0), (OTHER, 2, 1), (ONE, 2, 1)]),
            [false, true, false, true]
        );
    }

    #[test]
    fn what_is_sent_again_counts_again() {
        let again = [(ONE, 1, 0), (ONE, 1, 0), (OTHER, 1, 0), (OTHER, 1, 0)];
        assert_eq!(copies(&again), [false, false, true, true]);
        assert_eq!(copies(&[(ONE, 1, 0), (OTHER, 1, 2_000)]), [false, false]);
    }

    #[test]
    fn of_one_interface_nothing_is_a_copy() {
        let mut finder = CopyFinder::default();
        for _ in 0..3 {
            assert!(!finder.is_copy(ONE, &packet(1, 64), Some(0)));
        }
        assert_eq!(finder.finish(), Copies::default());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut finder = CopyFinder {
            has_several: true,
            ..CopyFinder::default()
        };
        for number in 0..REMEMBERED as u32 + 1_000 {
            finder.is_copy(ONE, &number.to_be_bytes().repeat(5), None);
        }
        assert!(finder.known.len() <= REMEMBERED);
        assert_eq!(finder.known.len(), finder.order.len());
    }
}
