//! Gives the packets of a capture's devices to observers, in the order of time.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use wirecost_cost::{DeviceEvent, ObservedPacket, Observer, PacketVerdict};
use wirecost_proto::{Cause, Direction, Instant, Phase, Span};

/// A packet of a device.
#[derive(Clone, Debug)]
struct Sighting {
    /// Nanoseconds since 1970.
    at_ns: u64,
    device: IpAddr,
    what: Seen,
}

#[derive(Clone, Debug)]
enum Seen {
    Connect,
    Packet {
        direction: Direction,
        phase: Phase,
        cause: Cause,
        /// Its spans among those of all packets.
        spans: Range<usize>,
    },
}

/// What the devices of a capture did. A device is the address of a client.
///
/// The dissector describes some packets later than packets after them, so all are kept until the capture ends: about 100 bytes
/// for each.
#[derive(Clone, Debug, Default)]
pub struct Sightings {
    seen: Vec<Sighting>,
    spans: Vec<Span>,
    untimed: u64,
}

impl Sightings {
    pub(crate) fn packet(
        &mut self,
        at_ns: Option<u64>,
        device: IpAddr,
        direction: Direction,
        verdict: &PacketVerdict,
        spans: &[Span],
    ) {
        let start = self.spans.len();
        self.spans.extend_from_slice(spans);
        let what = Seen::Packet {
            direction,
            phase: verdict.phase,
            cause: verdict.cause,
            spans: start..self.spans.len(),
        };
        self.add(at_ns, device, what);
    }

    pub(crate) fn connect(&mut self, at_ns: Option<u64>, device: IpAddr) {
        self.add(at_ns, device, Seen::Connect);
    }

    fn add(&mut self, at_ns: Option<u64>, device: IpAddr, what: Seen) {
        match at_ns {
            Some(at_ns) => self.seen.push(Sighting { at_ns, device, what }),
            None => self.untimed += 1,
        }
    }

    pub(crate) fn sort(&mut self) {
        self.seen.sort_by_key(|sighting| sighting.at_ns);
    }

    /// Packets without a time. Observers do not receive them.
    pub const fn untimed(&self) -> u64 {
        self.untimed
    }

    /// The devices with the bytes of their IP packets, both ways.
    pub fn devices(&self) -> BTreeMap<IpAddr, u64> {
        let mut devices = BTreeMap::new();
        for sighting in &self.seen {
            let Seen::Packet { spans, .. } = &sighting.what else {
                continue;
            };
            let bytes: u64 = self.spans[spans.clone()]
                .iter()
                .map(|span| u64::from(span.len))
                .sum();
            *devices.entry(sighting.device).or_default() += bytes;
        }
        devices
    }

    /// Tells an observer what one device did, in the order of time. Times are those of the capture, since 1970.
    pub fn tell(&self, device: IpAddr, observer: &mut impl Observer) {
        for sighting in self.seen.iter().filter(|sighting| sighting.device == device) {
            let at = Instant::from_nanos(sighting.at_ns);
            match &sighting.what {
                Seen::Connect => observer.event(at, DeviceEvent::Connect),
                Seen::Packet {
                    direction,
                    phase,
                    cause,
                    spans,
                } => observer.packet(&ObservedPacket {
                    at,
                    direction: *direction,
                    phase: *phase,
                    cause: *cause,
                    spans: &self.spans[spans.clone()],
                }),
            }
        }
    }
}
