//! Every packet's bytes, in memory.

use wirecost_proto::record::{Record, RecordedDelivery, RecordedPacket};
use wirecost_proto::{Delivery, Fate, Instant};
use wirecost_wire::ip::{self, Addresses, Protocol};
use wirecost_wire::{ipv4, udp};

use super::{Fragment, Packet, Tap, Transport};

/// Keeps what the recorder of the emulated link would note: packets in the order of entry, each followed by its
/// deliveries, which come exactly as planned.
#[derive(Debug, Default)]
pub struct Recording {
    records: Vec<Record>,
    packets: u64,
    hosts: Option<u32>,
    /// The IP payload of the packet at hand.
    upper: Vec<u8>,
}

impl Recording {
    /// A recording of every host.
    pub fn new() -> Self {
        Self::default()
    }

    /// A recording of the hosts below number `hosts`.
    pub fn of_hosts(hosts: u32) -> Self {
        Self {
            hosts: Some(hosts),
            ..Self::default()
        }
    }

    /// What was recorded.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// What was recorded, to be kept.
    pub fn into_records(self) -> Vec<Record> {
        self.records
    }

    /// The bytes of a packet; `None` where no IP packet could have them.
    fn emit(&mut self, packet: &Packet<'_>) -> Option<Vec<u8>> {
        let addresses = Addresses::new(packet.source.ip(), packet.destination.ip()).ok()?;
        let ports = (packet.source.port(), packet.destination.port());
        let mut bytes = Vec::with_capacity(packet.wire_bytes);
        match packet.transport {
            Transport::Tcp { segment, .. } => {
                let repr = segment.repr(ports.0, ports.1);
                self.upper.clear();
                repr.emit(&addresses, packet.payload, &mut self.upper);
                header(addresses, Protocol::Tcp, packet.identification)
                    .emit(&self.upper, &mut bytes)
                    .ok()?;
            }
            Transport::Udp => {
                self.emit_udp(ports, &addresses, packet.payload)?;
                header(addresses, Protocol::Udp, packet.identification)
                    .emit(&self.upper, &mut bytes)
                    .ok()?;
            }
            Transport::Fragment(Fragment {
                datagram,
                offset,
                more,
            }) => {
                self.emit_udp(ports, &addresses, datagram)?;
                let end = match offset {
                    0 => udp::HEADER_BYTES + packet.payload.len(),
                    offset => offset + packet.payload.len(),
                };
                let part = self.upper.get(offset..end)?;
                let fragment = ip::Fragment {
                    id: u32::from(packet.identification),
                    offset_bytes: u32::try_from(offset).ok()?,
                    more,
                };
                let header = header(addresses, Protocol::Udp, packet.identification);
                header.emit_fragment(fragment, part, &mut bytes).ok()?;
            }
        }
        Some(bytes)
    }

    fn emit_udp(&mut self, ports: (u16, u16), addresses: &Addresses, payload: &[u8]) -> Option<()> {
        let repr = udp::Repr {
            source_port: ports.0,
            destination_port: ports.1,
        };
        self.upper.clear();
        repr.emit(addresses, payload, &mut self.upper).ok()
    }
}

/// The IP header as hosts send it: IPv6 without a flow label.
fn header(addresses: Addresses, protocol: Protocol, identification: u16) -> ip::Repr {
    match ip::Repr::new(addresses, protocol) {
        ip::Repr::V4(repr) => ip::Repr::V4(ipv4::Repr {
            identification,
            ..repr
        }),
        v6 => v6,
    }
}

impl Tap for Recording {
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]) {
        if self.hosts.is_some_and(|hosts| packet.host >= hosts) {
            return;
        }
        let Some(bytes) = self.emit(packet) else {
            return;
        };
        self.records.push(Record::Packet(RecordedPacket {
            host: Some(packet.host),
            direction: packet.direction,
            entered,
            fate,
            bytes,
        }));
        let index = self.packets;
        self.packets += 1;
        let deliveries = deliveries.iter().map(|delivery| RecordedDelivery {
            packet: index,
            planned: delivery.at,
            actual: delivery.at,
            intact: delivery.flip_bit.is_none(),
        });
        self.records.extend(deliveries.map(Record::Delivery));
    }
}
