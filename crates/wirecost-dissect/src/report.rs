//! The report of a capture.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use wirecost_cost::{Totals, Traffic};
use wirecost_http::http3::open::Secrets;
use wirecost_proto::{Cause, Direction, Layer, Phase};
use wirecost_wire::capture::Packet;
use wirecost_wire::ip;

use crate::flow::Flow;
use crate::offload::Offload;

/// The most groups of server and protocol. Flows beyond it share one group per protocol.
const MAX_GROUPS: usize = 4_096;

/// A capture's bytes by server and protocol, and the bytes that could not be attributed.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Packets of the capture, including frames without an IP packet.
    pub packets: u64,
    /// Bytes of the groups' IP packets.
    pub wire_bytes: u64,
    /// Timestamp of the first packet, in nanoseconds since 1970.
    pub first_ns: Option<u64>,
    /// Timestamp of the last packet, in nanoseconds since 1970.
    pub last_ns: Option<u64>,
    /// Packets that the capture holds only in part.
    pub truncated_packets: u64,
    /// Number of secrets known.
    pub secrets: u64,
    /// Groups by server and protocol, most bytes first.
    pub groups: Vec<Group>,
    /// Sum of all groups.
    pub total: Phases,
    /// Bytes that could not be attributed, most bytes first.
    pub unattributed: Vec<Unattributed>,
    /// Effects of offload on the capture.
    pub offload: Offload,
}

/// The flows of one protocol to one server.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The server, or `None` for flows beyond the limit of groups.
    pub server: Option<SocketAddr>,
    /// `tcp` or `udp`.
    pub transport: &'static str,
    /// The protocol.
    pub protocol: String,
    /// TCP connections, or pairs of UDP ports.
    pub flows: u64,
    /// Their bytes.
    #[serde(flatten)]
    pub traffic: Phases,
}

/// Bytes and packets by phase.
#[derive(Clone, Debug, Serialize)]
pub struct Phases {
    /// All phases.
    pub all: Section,
    /// Everything until the client may send application data.
    pub connect: Section,
    /// Messages and their acknowledgements.
    pub message: Section,
    /// Keep-alives.
    pub keep_alive: Section,
    /// Closing of connections.
    pub close: Section,
}

/// Bytes and packets of both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Section {
    /// From client to server.
    #[serde(serialize_with = "write_traffic")]
    pub up: Traffic,
    /// From server to client.
    #[serde(serialize_with = "write_traffic")]
    pub down: Traffic,
}

/// Writes packets, bytes by layer, bytes of whole IP packets, and bytes by cause.
fn write_traffic<S: Serializer>(traffic: &Traffic, to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(None)?;
    map.serialize_entry("packets", &traffic.packets())?;
    for layer in Layer::ALL {
        map.serialize_entry(layer.name(), &traffic.bytes(layer))?;
    }
    map.serialize_entry("wire", &traffic.wire_bytes())?;
    for cause in Cause::ALL {
        map.serialize_entry(cause.name(), &traffic.bytes_by_cause(cause))?;
    }
    map.end()
}

/// Bytes that could not be attributed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unattributed {
    /// The protocol and its port, or the kind of frame.
    pub what: String,
    /// The reason.
    pub why: &'static str,
    /// Packets that contain such bytes.
    pub packets: u64,
    /// The number of those bytes. If they belong to a flow, its group includes them.
    pub bytes: u64,
}

impl Section {
    /// Wire bytes of both directions.
    pub fn wire(&self) -> u64 {
        self.up.wire_bytes() + self.down.wire_bytes()
    }
}

impl From<&Totals> for Phases {
    fn from(totals: &Totals) -> Self {
        let section = |phases: &[Phase]| {
            let mut section = Section::default();
            for phase in phases {
                section.up += totals.traffic(*phase, Direction::Up);
                section.down += totals.traffic(*phase, Direction::Down);
            }
            section
        };
        Self {
            all: section(&Phase::ALL),
            connect: section(&[Phase::Connect]),
            message: section(&[Phase::Message]),
            keep_alive: section(&[Phase::KeepAlive]),
            close: section(&[Phase::Close]),
        }
    }
}

/// The server, whether the transport is TCP, and the protocol.
type GroupKey = (Option<SocketAddr>, bool, String);

/// Collects the figures of a report.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    packets: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    pub(crate) truncated: u64,
    pub(crate) offload: Offload,
    groups: BTreeMap<GroupKey, (u64, Totals)>,
    unattributed: BTreeMap<(String, &'static str), (u64, u64)>,
}

impl Builder {
    pub(crate) const fn packets(&self) -> u64 {
        self.packets
    }

    pub(crate) fn packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        self.first_ns = self.first_ns.or(packet.timestamp_ns);
        self.last_ns = packet.timestamp_ns.or(self.last_ns);
    }

    /// Counts a frame of `bytes` bytes that carries `what` instead of an IP packet.
    pub(crate) fn no_packet(&mut self, what: &'static str, bytes: u64) {
        self.leave_out(what.to_owned(), "no IP packet", 1, bytes);
    }

    /// Counts an IP packet that belongs to no flow.
    pub(crate) fn no_flow(&mut self, packet: &ip::Packet<'_>) {
        let what = match packet.protocol() {
            _ if !packet.has_upper_header() => "fragments".to_owned(),
            ip::Protocol::Icmp | ip::Protocol::Icmpv6 => "ICMP".to_owned(),
            ip::Protocol::Tcp => "TCP".to_owned(),
            ip::Protocol::Udp => "UDP".to_owned(),
            ip::Protocol::Other(number) => format!("IP protocol {number}"),
        };
        self.leave_out(what, "no flow", 1, packet.total_bytes() as u64);
    }

    /// Counts a flow that has ended.
    pub(crate) fn flow(&mut self, flow: &Flow) {
        let is_tcp = flow.is_tcp();
        let mut key = (Some(flow.server), is_tcp, flow.label());
        if self.groups.len() >= MAX_GROUPS && !self.groups.contains_key(&key) {
            key.0 = None;
        }
        let (flows, totals) = self.groups.entry(key).or_default();
        *flows += 1;
        *totals += &flow.totals;
        if flow.unattributed_bytes > 0 {
            let transport = if is_tcp { "TCP" } else { "UDP" };
            let what = format!("{} ({transport} port {})", flow.label(), flow.server.port());
            self.leave_out(
                what,
                flow.reason(),
                flow.unattributed_packets,
                flow.unattributed_bytes,
            );
        }
    }

    fn leave_out(&mut self, what: String, why: &'static str, packets: u64, bytes: u64) {
        let sums = self.unattributed.entry((what, why)).or_default();
        sums.0 += packets;
        sums.1 += bytes;
    }

    pub(crate) fn finish(self, secrets: &Secrets) -> Report {
        let mut all = Totals::new();
        self.groups.values().for_each(|(_, totals)| all += totals);
        let total = Phases::from(&all);
        let mut groups: Vec<Group> = self.groups.into_iter().map(group).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.traffic.all.wire()));
        let unattributed = |((what, why), (packets, bytes))| Unattributed {
            what,
            why,
            packets,
            bytes,
        };
        let mut unattributed: Vec<Unattributed> = self.unattributed.into_iter().map(unattributed).collect();
        unattributed.sort_by_key(|entry| std::cmp::Reverse(entry.bytes));
        Report {
            packets: self.packets,
            wire_bytes: total.all.wire(),
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            truncated_packets: self.truncated,
            secrets: secrets.count(),
            groups,
            total,
            unattributed,
            offload: self.offload,
        }
    }
}

fn group(((server, is_tcp, protocol), (flows, totals)): (GroupKey, (u64, Totals))) -> Group {
    Group {
        server,
        transport: if is_tcp { "tcp" } else { "udp" },
        protocol,
        flows,
        traffic: Phases::from(&totals),
    }
}
