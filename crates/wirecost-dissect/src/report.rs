//! What was found in a capture.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use wirecost_cost::{Totals, Traffic};
use wirecost_proto::{Cause, Direction, Layer, Phase};
use wirecost_wire::capture::Packet;
use wirecost_wire::ip;

use crate::flow::Flow;
use crate::offload::Offload;
use crate::secrets::Secrets;

/// Servers and protocols that are told apart; what comes after them is one group.
const MAX_GROUPS: usize = 4_096;

/// The bytes of a capture by server and protocol, and what could not be attributed.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Packets of the capture, frames without an IP packet among them.
    pub packets: u64,
    /// IP packet bytes of the groups.
    pub wire_bytes: u64,
    /// Nanoseconds since 1970 of the first packet and of the last.
    pub first_ns: Option<u64>,
    /// See `first_ns`.
    pub last_ns: Option<u64>,
    /// Packets of which the capture holds a part only.
    pub truncated_packets: u64,
    /// Secrets known.
    pub secrets: u64,
    /// By server and protocol, most bytes first.
    pub groups: Vec<Group>,
    /// All groups together.
    pub total: Phases,
    /// What could not be attributed, most bytes first.
    pub unattributed: Vec<Unattributed>,
    /// What offload did to the capture.
    pub offload: Offload,
}

/// The flows to one server that speak one protocol.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The server; none where too many servers were seen to be told apart.
    pub server: Option<SocketAddr>,
    /// `tcp` or `udp`.
    pub transport: &'static str,
    /// What is spoken.
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
    /// Every phase.
    pub all: Section,
    /// Until the client may send application data.
    pub connect: Section,
    /// Messages and what acknowledges them.
    pub message: Section,
    /// What keeps connections open.
    pub keep_alive: Section,
    /// What ends them.
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

/// Packets, bytes by layer, of whole IP packets, and by cause.
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
    /// Why.
    pub why: &'static str,
    /// Packets with such bytes.
    pub packets: u64,
    /// Those bytes; they are among the bytes of a group where there is a flow.
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

/// The server, whether TCP, and the protocol.
type GroupKey = (Option<SocketAddr>, bool, String);

/// Collects what a report says.
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

    /// Takes a frame of `bytes` bytes that has no IP packet but `what`.
    pub(crate) fn no_packet(&mut self, what: &'static str, bytes: u64) {
        self.leave_out(what.to_owned(), "no IP packet", 1, bytes);
    }

    /// Takes an IP packet of no flow.
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

    /// Takes a flow that is over.
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
            secrets: secrets.len(),
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
