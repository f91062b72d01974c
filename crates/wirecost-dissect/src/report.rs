//! The report of a capture.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use wirecost_cost::{Totals, Traffic};
use wirecost_http::http3::open::Secrets;
use wirecost_proto::{Cause, Direction, Framing, Layer, Phase};
use wirecost_wire::capture::Packet;
use wirecost_wire::ip;

use crate::copies::Copies;
use crate::flow::Flow;
use crate::frame::NoPacket;
use crate::handshakes::TlsHandshakes;
use crate::offload::Offload;

/// The most groups of server and protocol. Flows beyond it share one group per protocol.
const MAX_GROUPS: usize = 4_096;

/// The most types of blocks that are told apart.
const MAX_BLOCK_TYPES: usize = 64;

/// A capture's bytes by server and protocol, and the bytes that could not be attributed.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Packets of the capture, including frames without an IP packet, without copies of other interfaces.
    pub packets: u64,
    /// Bytes of the groups' IP packets.
    pub wire_bytes: u64,
    /// The earliest timestamp of a packet, in nanoseconds since 1970.
    pub first_ns: Option<u64>,
    /// The latest timestamp of a packet, in nanoseconds since 1970.
    pub last_ns: Option<u64>,
    /// Packets that the capture holds only in part.
    pub truncated_packets: u64,
    /// Number of secrets known.
    pub secrets: u64,
    /// Groups by server and protocol, most bytes first.
    pub groups: Vec<Group>,
    /// Sum of all groups.
    pub total: Phases,
    /// The bytes of the groups as a sniffer counts them; absent without `--framing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<FrameBytes>,
    /// Bytes that could not be attributed, most bytes first.
    pub unattributed: Vec<Unattributed>,
    /// Effects of offload on the capture.
    pub offload: Offload,
    /// Packets that several interfaces of the capture saw. They count once.
    pub copies: Copies,
    /// Packets that the capture lost, as far as the file says.
    pub lost_packets: u64,
    /// Packets among [`Report::packets`] whose frames cannot be read.
    pub unread_packets: u64,
    /// Blocks of the file that cannot be read, by their type.
    pub unread_blocks: Vec<UnreadBlocks>,
}

/// Bytes as a sniffer counts them: every packet with the header of its link layer, without padding and check sequence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FrameBytes {
    /// The link layer.
    #[serde(serialize_with = "write_name")]
    pub framing: Framing,
    /// What it adds to each packet, in bytes.
    pub header_bytes: u64,
    /// From clients to servers, in bytes.
    pub up: f64,
    /// From servers to clients, in bytes.
    pub down: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn write_name<S: Serializer>(framing: &Framing, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(framing.name())
}

/// Blocks of a pcapng file that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadBlocks {
    /// Their type; `None` for those of further types.
    pub block_type: Option<u32>,
    /// Their number.
    pub blocks: u64,
}

impl Report {
    /// The same with the bytes of frames.
    pub fn with_framing(mut self, framing: Framing) -> Self {
        let bytes = |way: &Traffic| framing.frame_bytes(way.packets() as f64, way.wire_bytes() as f64);
        let all = &self.total.all;
        let frames = framing.header_bytes().zip(bytes(&all.up)).zip(bytes(&all.down));
        self.frames = frames.map(|((header_bytes, up), down)| FrameBytes {
            framing,
            header_bytes,
            up,
            down,
        });
        self
    }

    /// Whether more than half of the file's packets and blocks cannot be read.
    pub fn is_mostly_unread(&self) -> bool {
        let blocks: u64 = self.unread_blocks.iter().map(|unread| unread.blocks).sum();
        let unread = self.unread_packets + blocks;
        2 * unread > self.packets + blocks
    }
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
    /// Their handshakes of TLS, DTLS and QUIC, by what they had.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handshakes: Vec<TlsHandshakes>,
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
    /// The number of those bytes.
    pub bytes: u64,
    /// Whether they belong to a flow: its group includes them. Otherwise no figure does.
    pub in_flow: bool,
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
    pub(crate) losses: Losses,
    groups: BTreeMap<GroupKey, Sums>,
    unattributed: BTreeMap<(Cow<'static, str>, &'static str, bool), (u64, u64)>,
    unread_packets: u64,
    unread_blocks: BTreeMap<Option<u32>, u64>,
}

/// The sums of a group.
#[derive(Debug, Default)]
struct Sums {
    flows: u64,
    totals: Totals,
    handshakes: Vec<TlsHandshakes>,
}

/// Packets that the capture lost, by its interfaces.
#[derive(Debug, Default)]
pub(crate) struct Losses(BTreeMap<u32, Lost>);

#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    /// The highest count of the interface's statistics.
    counted: u64,
    /// The sum of what the packets say was lost before them.
    between: u64,
}

impl Losses {
    /// Notes what an interface has lost since the capture began.
    pub(crate) fn of_interface(&mut self, interface: u32, packets: u64) {
        if packets > 0 {
            let lost = self.0.entry(interface).or_default();
            lost.counted = lost.counted.max(packets);
        }
    }

    /// Notes what was lost before a packet.
    pub(crate) fn before_packet(&mut self, packet: &Packet<'_>) {
        if packet.lost_before > 0 {
            let lost = self.0.entry(packet.interface).or_default();
            lost.between = lost.between.saturating_add(packet.lost_before);
        }
    }

    fn sum(&self) -> u64 {
        // Both count the same packets.
        let each = self.0.values().map(|lost| lost.counted.max(lost.between));
        each.fold(0, u64::saturating_add)
    }
}

impl Builder {
    pub(crate) const fn packets(&self) -> u64 {
        self.packets
    }

    pub(crate) fn packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        // Packets of several interfaces need not be in the order of their times.
        let times = |known: Option<u64>| known.into_iter().chain(packet.timestamp_ns);
        self.first_ns = times(self.first_ns).min();
        self.last_ns = times(self.last_ns).max();
    }

    /// Counts a frame of `bytes` bytes that carries something else than an IP packet.
    pub(crate) fn no_packet(&mut self, what: NoPacket, bytes: u64) {
        let (what, why) = match what {
            NoPacket::Other(what) => (what.into(), "no IP packet"),
            NoPacket::Unread(what) => {
                self.unread_packets += 1;
                (what, "not read")
            }
        };
        self.leave_out(what, why, false, (1, bytes));
    }

    /// Counts a packet of `bytes` bytes whose IP header cannot be read.
    pub(crate) fn no_ip_header(&mut self, bytes: u64) {
        self.no_packet(NoPacket::Unread("frames without an IP header".into()), bytes);
    }

    /// Counts a block of the file that cannot be read.
    pub(crate) fn unread_block(&mut self, block_type: u32) {
        let is_known = self.unread_blocks.contains_key(&Some(block_type));
        let has_room = is_known || self.unread_blocks.len() < MAX_BLOCK_TYPES;
        let block_type = Some(block_type).filter(|_| has_room);
        *self.unread_blocks.entry(block_type).or_default() += 1;
    }

    /// Counts an IP packet that belongs to no flow.
    pub(crate) fn no_flow(&mut self, packet: &ip::Packet<'_>) {
        let what = match packet.protocol() {
            _ if !packet.has_upper_header() => "fragments".into(),
            ip::Protocol::Icmp | ip::Protocol::Icmpv6 => "ICMP".into(),
            ip::Protocol::Tcp => "TCP".into(),
            ip::Protocol::Udp => "UDP".into(),
            ip::Protocol::Other(number) => format!("IP protocol {number}").into(),
        };
        self.leave_out(what, "no flow", false, (1, packet.total_bytes() as u64));
    }

    /// Counts a flow that has ended.
    pub(crate) fn flow(&mut self, flow: &Flow) {
        let is_tcp = flow.is_tcp();
        let mut key = (Some(flow.server), is_tcp, flow.label());
        if self.groups.len() >= MAX_GROUPS && !self.groups.contains_key(&key) {
            key.0 = None;
        }
        let sums = self.groups.entry(key).or_default();
        sums.flows += 1;
        sums.totals += &flow.totals;
        if let Some((handshake, bytes)) = flow.handshake() {
            TlsHandshakes::add(&mut sums.handshakes, handshake, bytes);
        }
        if flow.unattributed_bytes > 0 {
            let transport = if is_tcp { "TCP" } else { "UDP" };
            let what = format!("{} ({transport} port {})", flow.label(), flow.server.port());
            let sums = (flow.unattributed_packets, flow.unattributed_bytes);
            self.leave_out(what.into(), flow.reason(), true, sums);
        }
    }

    fn leave_out(
        &mut self,
        what: Cow<'static, str>,
        why: &'static str,
        in_flow: bool,
        (packets, bytes): (u64, u64),
    ) {
        let sums = self.unattributed.entry((what, why, in_flow)).or_default();
        sums.0 += packets;
        sums.1 += bytes;
    }

    pub(crate) fn finish(self, secrets: &Secrets, copies: Copies) -> Report {
        let mut all = Totals::new();
        self.groups.values().for_each(|sums| all += &sums.totals);
        let total = Phases::from(&all);
        let mut groups: Vec<Group> = self.groups.into_iter().map(group).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.traffic.all.wire()));
        let unattributed = |((what, why, in_flow), (packets, bytes)): (_, _)| Unattributed {
            what: Cow::into_owned(what),
            why,
            packets,
            bytes,
            in_flow,
        };
        let unread = |(block_type, blocks)| UnreadBlocks { block_type, blocks };
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
            frames: None,
            unattributed,
            offload: self.offload,
            copies,
            lost_packets: self.losses.sum(),
            unread_packets: self.unread_packets,
            unread_blocks: self.unread_blocks.into_iter().map(unread).collect(),
        }
    }
}

fn group(((server, is_tcp, protocol), sums): (GroupKey, Sums)) -> Group {
    Group {
        server,
        transport: if is_tcp { "tcp" } else { "udp" },
        protocol,
        flows: sums.flows,
        handshakes: sums.handshakes,
        traffic: Phases::from(&sums.totals),
    }
}
