//! A recording of every packet's bytes, in memory.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use wirecost_cost::{DeviceLedger, Ports, Totals};
use wirecost_proto::driver::{DeviceReport, FlowReport};
use wirecost_proto::record::{Record, RecordedDelivery, RecordedPacket};
use wirecost_proto::{Buffer, Delivery, Direction, Fate, Instant};
use wirecost_wire::ip::{self, Addresses, Protocol, Version};
use wirecost_wire::{icmp, udp};

use super::{Fragment, Packet, Tap, Transport};

/// Records the entries that the recorder of the emulated link would write: packets in the order of entry, each followed by its
/// deliveries, at exactly the planned times.
#[derive(Debug, Default)]
pub struct Recording {
    records: Vec<Record>,
    packets: u64,
    /// Where the packets that the carrier holds are, by the world's number: the position in `records`, and the number of the packet.
    held: BTreeMap<u32, (usize, u64)>,
    /// The deliveries of packets that were held, by the number of the packet.
    late: BTreeMap<u64, RecordedDelivery>,
}

impl Recording {
    /// An empty recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// The recorded entries, without the deliveries of packets that were held.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The recorded entries, each packet followed by its deliveries; consumes the recording.
    pub fn into_records(mut self) -> Vec<Record> {
        if self.late.is_empty() {
            return self.records;
        }
        let mut records = Vec::with_capacity(self.records.len() + self.late.len());
        let mut packets = 0;
        for record in self.records {
            let is_packet = matches!(record, Record::Packet(_));
            records.push(record);
            if is_packet {
                records.extend(self.late.remove(&packets).map(Record::Delivery));
                packets += 1;
            }
        }
        records
    }

    /// The ledger's totals for the packets of one device. The ledger gets the device's own logs and those of the service at
    /// `port`, which are in [`Finished::flows`](crate::Finished::flows).
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
}

/// The bytes of a packet; `None` if they do not fit into an IP packet.
pub(super) fn emit(packet: &Packet<'_>) -> Option<Vec<u8>> {
    let addresses = Addresses::new(packet.source.ip(), packet.destination.ip()).ok()?;
    let mut header = header(addresses, packet.identification);
    let mut bytes = Vec::with_capacity(packet.wire_bytes);
    match packet.transport {
        Transport::Tcp { segment, .. } => {
            let segment = segment.repr(packet.source.port(), packet.destination.port());
            header.emit_tcp(&segment, packet.payload, &mut bytes).ok()?;
        }
        Transport::Udp => {
            let ports = ports(packet.source, packet.destination);
            header.emit_udp(&ports, packet.payload, &mut bytes).ok()?;
        }
        Transport::Unreachable => {
            // The precedence that RFC 1812 section 4.3.2.5 asks for; Linux hosts use it too.
            if let ip::Repr::V4(header) = &mut header {
                header.traffic_class = 0xc0;
            }
            let message = unreachable(packet.payload, &addresses);
            header.emit_icmp(&message, &mut bytes).ok()?;
        }
        Transport::Fragment(Fragment {
            datagram,
            offset,
            more,
        }) => {
            let mut whole = Vec::new();
            let ports = ports(packet.source, packet.destination);
            ports.emit(&addresses, datagram, &mut whole).ok()?;
            let end = offset.max(udp::HEADER_BYTES) + packet.payload.len();
            let fragment = ip::Fragment {
                id: u32::from(packet.identification),
                offset_bytes: u32::try_from(offset).ok()?,
                more,
            };
            let part = whole.get(offset..end)?;
            header.emit_fragment(fragment, part, &mut bytes).ok()?;
        }
    }
    Some(bytes)
}

/// The IP header that hosts send: IPv6 without a flow label.
fn header(addresses: Addresses, identification: u16) -> ip::Repr {
    let mut header = ip::Repr::new(addresses, Protocol::Udp);
    if let ip::Repr::V4(header) = &mut header {
        header.identification = identification;
    }
    header
}

const fn ports(source: SocketAddr, destination: SocketAddr) -> udp::Repr {
    udp::Repr {
        source_port: source.port(),
        destination_port: destination.port(),
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

/// The bytes of a datagram's packet; `None` if they do not fit into an IP packet.
pub(crate) fn datagram_packet(
    source: SocketAddr,
    destination: SocketAddr,
    identification: u16,
    payload: &[u8],
) -> Option<Vec<u8>> {
    let addresses = Addresses::new(source.ip(), destination.ip()).ok()?;
    let mut packet = Vec::new();
    header(addresses, identification)
        .emit_udp(&ports(source, destination), payload, &mut packet)
        .ok()?;
    Some(packet)
}

impl Tap for Recording {
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]) {
        let Some(bytes) = emit(packet) else {
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
        if fate == Fate::Held {
            self.held.insert(packet.number, (self.records.len() - 1, index));
        }
        let deliveries = deliveries.iter().map(|delivery| RecordedDelivery {
            packet: index,
            planned: delivery.at,
            actual: delivery.at,
            intact: delivery.flip_bit.is_none(),
        });
        self.records.extend(deliveries.map(Record::Delivery));
    }

    fn decided(&mut self, number: u32, _: Instant, arrives: Option<Instant>) {
        let Some((position, packet)) = self.held.remove(&number) else {
            return;
        };
        if let Some(Record::Packet(record)) = self.records.get_mut(position) {
            record.fate = match arrives {
                Some(_) => Fate::Delivered,
                None => Fate::Lost,
            };
        }
        if let Some(at) = arrives {
            let delivery = RecordedDelivery {
                packet,
                planned: at,
                actual: at,
                intact: true,
            };
            self.late.insert(packet, delivery);
        }
    }
}
