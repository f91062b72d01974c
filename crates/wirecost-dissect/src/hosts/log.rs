//! What the logger of a host saw.

use std::collections::BTreeMap;
use std::net::IpAddr;

use wirecost_wire::ip;

use crate::captured::{hash, hash_more};

/// The bytes of the transport header and its content that tell a packet from others. They are within the snap lengths in use,
/// and include the sequence numbers of TCP, DTLS and QUIC and the message ID of CoAP.
const TELLING: usize = 64;

/// A packet of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// What tells it from others.
    pub(super) mark: u64,
    /// Nanoseconds since 1970, by the clock of the host.
    pub(super) at_ns: i64,
    /// The number of its addresses, see [`Log`].
    pub(super) ends: u32,
    /// Bytes of the IP packet.
    pub(super) bytes: u32,
}

/// The packets of a capture: 24 bytes for each.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub(super) seen: Vec<Seen>,
    /// Packets without a time, which cannot be compared.
    pub(super) untimed: u64,
    /// The number of each pair of addresses: source, destination.
    ends: BTreeMap<(IpAddr, IpAddr), u32>,
    /// The number of the opposite pair.
    opposite: Vec<Option<u32>>,
}

impl Log {
    /// Notes a packet.
    pub(crate) fn packet(&mut self, packet: &ip::Packet<'_>, at_ns: Option<u64>) {
        let Some(at_ns) = at_ns.and_then(|at| i64::try_from(at).ok()) else {
            self.untimed += 1;
            return;
        };
        self.note(
            mark(packet),
            at_ns,
            (packet.source(), packet.destination()),
            packet.total_bytes(),
        );
    }

    pub(super) fn note(&mut self, mark: u64, at_ns: i64, ends: (IpAddr, IpAddr), bytes: usize) {
        let ends = self.number(ends);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.seen.push(Seen {
            mark,
            at_ns,
            ends,
            bytes,
        });
    }

    fn number(&mut self, (source, destination): (IpAddr, IpAddr)) -> u32 {
        if let Some(number) = self.ends.get(&(source, destination)) {
            return *number;
        }
        let number = u32::try_from(self.opposite.len()).unwrap_or(u32::MAX);
        let opposite = self.ends.get(&(destination, source)).copied();
        self.opposite.push(opposite);
        if let Some(known) = opposite.and_then(|other| self.opposite.get_mut(other as usize)) {
            *known = Some(number);
        }
        self.ends.insert((source, destination), number);
        number
    }

    /// The number of the pair of addresses opposite to `ends`.
    pub(super) fn opposite(&self, ends: u32) -> Option<u32> {
        self.opposite.get(ends as usize).copied().flatten()
    }
}

/// A hash of what neither a router nor address translation nor a network card changes.
fn mark(packet: &ip::Packet<'_>) -> u64 {
    let upper = packet.payload();
    let upper = upper.get(..TELLING).unwrap_or(upper);
    let parts: [&[u8]; 2] = match (packet.fragment(), packet.protocol()) {
        (None, ip::Protocol::Tcp) if upper.len() >= 18 => [&upper[4..16], &upper[18..]],
        (None, ip::Protocol::Udp) if upper.len() >= 8 => [&upper[4..6], &upper[8..]],
        _ => [upper, &[]],
    };
    let length = hash(&(packet.total_bytes() as u64).to_le_bytes());
    hash_more(hash_more(length, parts[0]), parts[1])
}
