//! The ledger: turns packets and the descriptions of their content into spans that cover every byte.
//!
//! - Content has the layer, phase and cause that its sender or consumer gave it. Bytes of a stream that were sent
//!   before are retransmission.
//! - Headers have the phase and cause of the first span of content. Those of a segment with a byte, SYN or FIN that
//!   was sent before are retransmission; those of a probe are probe.
//! - A segment without content: SYN is connect, FIN and RST are close. A pure ACK is an acknowledgement in the phase
//!   of the byte, SYN or FIN that it is about; [`SendSequence::acknowledge`](crate::SendSequence::acknowledge) has the
//!   rules. If it is about nothing, it has the phase of the packet before it on its connection.
//! - An ICMP error is a probe in the phase of the flow that it quotes.
//! - Everything else is unattributed. The ledger counts it, as application bytes of a message, or as transport if it
//!   does not understand a header.

mod datagram_log;
mod fragments;
mod headers;
mod span_log;
mod stream;

use std::collections::BTreeMap;
use std::ops::Range;

use wirecost_proto::log::DirectionLog;
use wirecost_proto::{BothWays, Buffer, Cause, Direction, Layer, Phase, Span};
use wirecost_wire::udp;

pub use datagram_log::DatagramId;

use crate::{Content, PacketVerdict, Ports};
use datagram_log::DatagramLog;
use fragments::{FragmentKey, Fragmented, Fragments};
use headers::{Body, Datagram, Headers, Quoted, Segment};
use span_log::Kind;
use stream::{Placement, Stream};

/// Appends to the buffer the spans of a datagram that no endpoint described, derived from its bytes. For a fragmented
/// datagram, the bytes are those of its first fragment, and the last span reaches to the datagram's end.
pub type Describer = fn(&[u8], &mut Buffer);

/// The ledger of one device: its flows, by transport and ports.
///
/// Give it the descriptions before the packets that carry the described bytes. It has one stream per pair of TCP ports: a
/// second connection on the same ports continues the stream after the last byte of the first one.
#[derive(Clone, Debug)]
pub struct DeviceLedger {
    connections: BTreeMap<Ports, Flow<Stream>>,
    peers: BTreeMap<Ports, Flow<DatagramLog>>,
    fragments: Fragments,
    describer: Option<Describer>,
    /// The phase of the last packet.
    phase: Phase,
    /// The spans of the current packet after its headers; empty between packets.
    content: Buffer,
}

#[derive(Clone, Debug)]
struct Flow<T> {
    directions: BothWays<T>,
    /// The phase of the last packet.
    phase: Phase,
}

impl<T: Default> Flow<T> {
    fn new(phase: Phase) -> Self {
        Self {
            directions: BothWays::default(),
            phase,
        }
    }
}

/// The ledger's decision about a packet's headers and content.
struct Judgement {
    phase: Phase,
    cause: Cause,
    transport_header_bytes: usize,
    unattributed_bytes: u64,
    content: Content,
}

impl Default for DeviceLedger {
    fn default() -> Self {
        Self::new()
    }
}

impl DeviceLedger {
    /// A ledger that counts datagrams that no endpoint described as unattributed.
    pub const fn new() -> Self {
        Self {
            connections: BTreeMap::new(),
            peers: BTreeMap::new(),
            fragments: Fragments::new(),
            describer: None,
            phase: Phase::Connect,
            content: Buffer::new(),
        }
    }

    /// A ledger that calls `describer` for datagrams that no endpoint described: those of another program's server that the
    /// link lost.
    pub fn with_describer(describer: Describer) -> Self {
        Self {
            describer: Some(describer),
            ..Self::new()
        }
    }

    /// Adds the spans of the next bytes of a TCP direction, from their sender or from their consumer.
    pub fn stream_spans(&mut self, flow: Ports, direction: Direction, spans: &[Span]) {
        self.connection(flow).directions[direction].describe(spans);
    }

    /// Marks the next `bytes` bytes of a TCP direction as undescribed. The bytes after them can be described again.
    pub fn stream_undescribed(&mut self, flow: Ports, direction: Direction, bytes: u64) {
        self.connection(flow).directions[direction].skip(bytes);
    }

    /// Adds the spans of a UDP datagram with the content `bytes`; returns its number for [`crate::Arrivals`].
    pub fn datagram_spans(
        &mut self,
        flow: Ports,
        direction: Direction,
        bytes: &[u8],
        spans: &[Span],
    ) -> DatagramId {
        self.peer(flow).directions[direction].describe(bytes, spans)
    }

    /// Adds one side's log of one direction of a flow; returns the numbers of its datagrams in their order.
    pub fn log_spans(&mut self, flow: Ports, direction: Direction, log: &DirectionLog) -> Vec<DatagramId> {
        self.stream_spans(flow, direction, &log.stream);
        let datagrams = log.datagrams.iter();
        datagrams
            .map(|datagram| self.datagram_spans(flow, direction, &datagram.bytes, &datagram.spans))
            .collect()
    }

    /// Appends to `out` the spans of a packet, IP header first; they cover exactly its `wire_bytes`.
    ///
    /// Call it for packets in the order in which they entered the link. Bytes that are not an IP packet are unattributed.
    pub fn packet(&mut self, direction: Direction, ip_bytes: &[u8], out: &mut Buffer) -> PacketVerdict {
        self.captured(direction, ip_bytes, ip_bytes.len(), out)
    }

    /// The same of a packet that takes `link_bytes` bytes of its frame, of which a capture has `ip_bytes`: its headers at least.
    pub fn captured(
        &mut self,
        direction: Direction,
        ip_bytes: &[u8],
        link_bytes: usize,
        out: &mut Buffer,
    ) -> PacketVerdict {
        self.content.clear();
        let headers = Headers::parse(ip_bytes, link_bytes).unwrap_or(Headers {
            wire_bytes: link_bytes,
            ip_header_bytes: 0,
            body: Body::Other,
        });
        let judgement = match headers.body {
            Body::Segment(segment) => self.segment(direction, &segment),
            Body::Datagram(datagram) => self.datagram(direction, &datagram),
            Body::LaterFragment { key, start, end } => self.later_fragment(direction, &key, start..end),
            Body::IcmpError(quoted) => self.icmp_error(direction, &quoted),
            Body::Other => None,
        };
        let judgement = judgement.unwrap_or(Judgement {
            phase: self.phase,
            cause: Cause::Original,
            transport_header_bytes: headers.wire_bytes - headers.ip_header_bytes,
            unattributed_bytes: headers.wire_bytes as u64,
            content: Content::None,
        });
        self.phase = judgement.phase;
        self.account(&headers, &judgement, out)
    }

    /// Lays the packet's spans end to end.
    fn account(&self, headers: &Headers<'_>, judgement: &Judgement, out: &mut Buffer) -> PacketVerdict {
        let (phase, cause) = (judgement.phase, judgement.cause);
        out.cover(headers.ip_header_bytes, Layer::Ip, phase, cause);
        out.cover(judgement.transport_header_bytes, Layer::Transport, phase, cause);
        out.cover_spans(self.content.spans());
        let header_bytes = headers.ip_header_bytes + judgement.transport_header_bytes;
        let covered = header_bytes as u64 + self.content.covered();
        // Bytes after the end of a datagram, or the text of a reset: part of the packet, but of no message.
        let surplus = (headers.wire_bytes as u64).saturating_sub(covered);
        Kind::UNDESCRIBED.cover(surplus, out);
        PacketVerdict {
            phase,
            cause,
            wire_bytes: saturated(headers.wire_bytes as u64),
            unattributed_bytes: saturated(judgement.unattributed_bytes + surplus),
            payload_bytes_original: self
                .content
                .spans()
                .iter()
                .map(Span::original_payload_bytes)
                .sum(),
            content: judgement.content,
        }
    }

    fn segment(&mut self, direction: Direction, segment: &Segment) -> Option<Judgement> {
        let flow = Ports::of_packet(direction, segment.source_port, segment.destination_port);
        let connection = self
            .connections
            .entry(flow)
            .or_insert_with(|| Flow::new(Phase::Connect));
        let BothWays { up, down } = &mut connection.directions;
        let (stream, peer) = match direction {
            Direction::Up => (up, down),
            Direction::Down => (down, up),
        };
        let acknowledged = segment
            .acknowledgement
            .filter(|_| !segment.rst)
            .and_then(|number| peer.acknowledge(number, segment));
        // RFC 9293 sections 3.5.2 and 3.5.3: the peer determines a reset's sequence number, and data on a reset is not
        // part of the stream.
        let placement = if segment.rst { None } else { stream.send(segment) };
        let unattributed_bytes = placement.map_or(0, |placement| stream.cover(&placement, &mut self.content));
        let first = self.content.spans().first();
        connection.phase = match first {
            Some(span) => span.phase,
            None if segment.syn => Phase::Connect,
            None if segment.fin || segment.rst => Phase::Close,
            None => acknowledged.unwrap_or(connection.phase),
        };
        let first_cause = first.map(|span| span.cause);
        Some(Judgement {
            phase: connection.phase,
            cause: segment_cause(segment, placement, first_cause),
            transport_header_bytes: segment.header_bytes,
            unattributed_bytes,
            content: stream_content(flow, placement),
        })
    }

    fn datagram(&mut self, direction: Direction, datagram: &Datagram<'_>) -> Option<Judgement> {
        let flow = Ports::of_packet(direction, datagram.source_port, datagram.destination_port);
        let id = self.identify(flow, direction, datagram);
        let bytes = HEADER_BYTES.saturating_add(datagram.content_bytes);
        if let Some(key) = datagram.fragment {
            let first = Fragmented { key, flow, id, bytes };
            self.fragments.remember(first);
        }
        let content = Content::Datagram {
            flow,
            id,
            start: 0,
            end: HEADER_BYTES.saturating_add(datagram.carried_bytes),
            of: bytes,
        };
        self.datagram_part(direction, content)
    }

    /// The number of the datagram in a packet. If no endpoint described the datagram, the describer does, and it gets a new
    /// number.
    fn identify(&mut self, flow: Ports, direction: Direction, datagram: &Datagram<'_>) -> DatagramId {
        let describer = self.describer;
        let mut spans = std::mem::take(&mut self.content);
        let log = &mut self.peer(flow).directions[direction];
        let len = datagram.content_bytes;
        let id = log.send(len, datagram.content).unwrap_or_else(|| {
            if let Some(describe) = describer {
                describe(datagram.content, &mut spans);
            }
            log.describe_sent(len, datagram.content, &mut spans)
        });
        spans.clear();
        self.content = spans;
        id
    }

    fn later_fragment(
        &mut self,
        direction: Direction,
        key: &FragmentKey,
        bytes: Range<u32>,
    ) -> Option<Judgement> {
        let first = self.fragments.find(key)?;
        let content = Content::Datagram {
            flow: first.flow,
            id: first.id,
            start: bytes.start.min(first.bytes),
            end: bytes.end.min(first.bytes),
            of: first.bytes,
        };
        self.datagram_part(direction, content)
    }

    /// Decides about a packet by the part of a datagram that it carries.
    fn datagram_part(&mut self, direction: Direction, content: Content) -> Option<Judgement> {
        let Content::Datagram {
            flow, id, start, end, ..
        } = content
        else {
            return None;
        };
        let header_bytes = HEADER_BYTES.saturating_sub(start);
        let range = start.max(HEADER_BYTES) - HEADER_BYTES..end.max(HEADER_BYTES) - HEADER_BYTES;
        let peer = self.peers.get_mut(&flow)?;
        let log = &peer.directions[direction];
        let unattributed_bytes = log.cover(id, range, &mut self.content);
        let first = self.content.spans().first();
        peer.phase = first.map_or(peer.phase, |span| span.phase);
        Some(Judgement {
            phase: peer.phase,
            cause: first.map_or(Cause::Original, |span| span.cause),
            transport_header_bytes: header_bytes as usize,
            unattributed_bytes,
            content,
        })
    }

    /// An ICMP error is the network's probe of the flow whose packet it quotes.
    fn icmp_error(&mut self, direction: Direction, quoted: &Quoted) -> Option<Judgement> {
        let flow = Ports::of_packet(direction.reverse(), quoted.source_port, quoted.destination_port);
        let phase = if quoted.is_tcp {
            self.connections.get(&flow)?.phase
        } else {
            self.peers.get(&flow)?.phase
        };
        Some(Judgement {
            phase,
            cause: Cause::Probe,
            transport_header_bytes: quoted.icmp_bytes,
            unattributed_bytes: 0,
            content: Content::None,
        })
    }

    fn connection(&mut self, flow: Ports) -> &mut Flow<Stream> {
        let new = || Flow::new(Phase::Connect);
        self.connections.entry(flow).or_insert_with(new)
    }

    /// A UDP flow; its phase is never connect.
    fn peer(&mut self, flow: Ports) -> &mut Flow<DatagramLog> {
        let new = || Flow::new(Phase::Message);
        self.peers.entry(flow).or_insert_with(new)
    }
}

/// Bytes of a UDP header.
const HEADER_BYTES: u32 = udp::HEADER_BYTES as u32;

/// The cause of a segment's headers.
fn segment_cause(segment: &Segment, placement: Option<Placement>, first_content: Option<Cause>) -> Cause {
    match placement {
        Some(placement) if placement.is_probe => Cause::Probe,
        Some(placement) if placement.is_resent => Cause::Retransmission,
        _ if segment.syn || segment.fin || segment.rst => first_content.unwrap_or(Cause::Original),
        _ => first_content.unwrap_or(Cause::Acknowledgement),
    }
}

fn stream_content(flow: Ports, placement: Option<Placement>) -> Content {
    match placement {
        Some(Placement { start, end, .. }) if start < end => Content::Stream { flow, start, end },
        _ => Content::None,
    }
}

fn saturated(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
