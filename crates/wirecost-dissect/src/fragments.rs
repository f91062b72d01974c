//! Reassembles UDP datagrams from IP fragments (RFC 791 section 3.2, RFC 8200 section 4.5). The packets wait until
//! the datagram is complete, because only a complete datagram can be read.

use std::collections::VecDeque;

use wirecost_wire::ip;

/// The most incomplete datagrams. Beyond it, the oldest is given up.
const MAX_DATAGRAMS: usize = 64;

/// The most bytes of a datagram (RFC 768: a length field of 16 bits).
const MAX_DATAGRAM_BYTES: usize = 65_535;

/// The most packets of a datagram. No link has an MTU that needs more.
const MAX_PACKETS: usize = 1_024;

/// What all fragments of a datagram have in common.
type Key = (ip::Addresses, ip::Protocol, u32);

/// Fragments of one datagram.
#[derive(Debug)]
pub(crate) struct Fragmented {
    key: Key,
    /// The datagram's bytes that have arrived, UDP header included.
    pub(crate) bytes: Vec<u8>,
    /// The number of bytes that have arrived.
    present: usize,
    /// The datagram's length, known once the last fragment has arrived.
    total: Option<usize>,
    /// The packets with their times, in order of arrival.
    pub(crate) packets: Vec<(Option<u64>, Vec<u8>)>,
}

impl Fragmented {
    fn is_whole(&self) -> bool {
        self.total
            .is_some_and(|total| self.present >= total && self.bytes.len() == total)
    }

    fn add(
        &mut self,
        packet: &ip::Packet<'_>,
        fragment: ip::Fragment,
        (at_ns, ip_bytes): (Option<u64>, &[u8]),
    ) {
        let start = fragment.offset_bytes as usize;
        let end = start + packet.payload().len();
        if end > MAX_DATAGRAM_BYTES || self.packets.len() >= MAX_PACKETS {
            return;
        }
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(place) = self.bytes.get_mut(start..end) {
            place.copy_from_slice(packet.payload());
            self.present += place.len();
        }
        if !fragment.more {
            self.total = Some(end);
        }
        self.packets.push((at_ns, ip_bytes.to_vec()));
    }
}

/// The incomplete datagrams.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    waiting: VecDeque<Fragmented>,
}

impl Fragments {
    /// Handles a fragment. Returns its datagram once it is complete, or the oldest one if too many wait.
    pub(crate) fn take(
        &mut self,
        packet: &ip::Packet<'_>,
        fragment: ip::Fragment,
        (at_ns, ip_bytes): (Option<u64>, &[u8]),
    ) -> Option<Fragmented> {
        let key = (packet.addresses(), packet.protocol(), fragment.id);
        let known = self.waiting.iter().position(|known| known.key == key);
        let index = known.unwrap_or_else(|| {
            self.waiting.push_back(Fragmented {
                key,
                bytes: Vec::new(),
                present: 0,
                total: None,
                packets: Vec::new(),
            });
            self.waiting.len() - 1
        });
        if let Some(datagram) = self.waiting.get_mut(index) {
            datagram.add(packet, fragment, (at_ns, ip_bytes));
            if datagram.is_whole() {
                return self.waiting.remove(index);
            }
        }
        if self.waiting.len() > MAX_DATAGRAMS {
            return self.give_up();
        }
        None
    }

    /// Removes the oldest incomplete datagram.
    pub(crate) fn give_up(&mut self) -> Option<Fragmented> {
        self.waiting.pop_front()
    }
}
