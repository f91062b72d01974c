//! Every packet's bytes, in memory.

use std::net::SocketAddr;

use wirecost_cost::{DeviceLedger, Ports, Totals};
use wirecost_proto::driver::{DeviceReport, FlowReport};
use wirecost_proto::record::{Record, RecordedDelivery, RecordedPacket};
use wirecost_proto::{Buffer, Delivery, Direction, Fate, Instant};
use wirecost_wire::ip::{self, Addresses, Protocol, Version};
use wirecost_wire::{icmp, ipv4, ipv6, udp};

use super::{Fragment, Packet, Tap, Transport};

/// Keeps what the recorder of the emulated link would note: packets in the order of entry, each followed by its
/// deliveries, which come exactly as planned.
#[derive(Debug, Default)]
pub struct Recording {
    records: Vec<Record>,
    packets: u64,
    /// The IP payload of the packet at hand.
    upper: Vec<u8>,
}

impl Recording {
    /// A recording of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was recorded.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// What was recorded, to be kept.
    pub fn into_records(self) -> Vec<Record> {
        self.records
    }

    /// What the ledger finds in the packets of one device, told by the device's own logs and by those of the service at
    /// `port`, as [`Finished::flows`](crate::Finished::flows) has them.
    pub fn totals_of<D>(&self, device: &DeviceReport<D>, flows: &[(u16, FlowReport)], port: u16) -> Totals {
        let mut ledger = DeviceLedger::new();
        for (local, log) in &device.logs {
            let ports = Ports {
                client: local.port(),
                server: port,
            };
            ledger.log_spans(ports, Direction::Up, &log.up);
            if let Some((_, flow)) = flows.iter().find(|(_, flow)| flow.peer == *local) {
                ledger.log_spans(ports, Direction::Down, &flow.log.down);
            }
        }
        let mut totals = Totals::new();
        for record in &self.records {
            let Record::Packet(packet) = record else { continue };
            if packet.host == Some(device.host) {
                let mut spans = Buffer::new();
                let verdict = ledger.packet(packet.direction, &packet.bytes, &mut spans);
                totals.add_packet(packet.direction, &verdict, spans.spans());
            }
        }
        totals
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
            Transport::Unreachable => {
                self.upper.clear();
                unreachable(packet.payload, &addresses).emit(&addresses, &mut self.upper);
                let header = error_header(addresses, packet.identification);
                header.emit(&self.upper, &mut bytes).ok()?;
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

/// The header of an ICMP error: of the precedence that RFC 1812 section 4.3.2.5 gives it, as Linux does for hosts too.
fn error_header(addresses: Addresses, identification: u16) -> ip::Repr {
    match header(addresses, Protocol::Icmp, identification) {
        ip::Repr::V4(repr) => ip::Repr::V4(ipv4::Repr {
            traffic_class: 0xc0,
            ..repr
        }),
        ip::Repr::V6(repr) => ip::Repr::V6(ipv6::Repr {
            protocol: Protocol::Icmpv6,
            ..repr
        }),
    }
}

/// Port unreachable: code 3 of RFC 792, code 4 of RFC 4443 section 3.1.
const fn unreachable<'a>(quoted: &'a [u8], addresses: &Addresses) -> icmp::Repr<'a> {
    let code = match addresses.version() {
        Version::V4 => 3,
        Version::V6 => 4,
    };
    icmp::Repr::DestinationUnreachable { code, quoted }
}

/// The bytes of a datagram's packet; `None` where no IP packet could have them.
pub(crate) fn datagram_packet(
    source: SocketAddr,
    destination: SocketAddr,
    identification: u16,
    payload: &[u8],
) -> Option<Vec<u8>> {
    let addresses = Addresses::new(source.ip(), destination.ip()).ok()?;
    let repr = udp::Repr {
        source_port: source.port(),
        destination_port: destination.port(),
    };
    let (mut upper, mut packet) = (Vec::new(), Vec::new());
    repr.emit(&addresses, payload, &mut upper).ok()?;
    header(addresses, Protocol::Udp, identification)
        .emit(&upper, &mut packet)
        .ok()?;
    Some(packet)
}

impl Tap for Recording {
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]) {
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
