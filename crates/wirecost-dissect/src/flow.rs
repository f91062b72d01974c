//! One flow: a TCP connection or a pair of UDP ports. Each flow has a ledger of its own.

use std::net::SocketAddr;

use wirecost_cost::{DeviceLedger, PacketVerdict, Ports, Totals};
use wirecost_http::http3::open::Secrets;
use wirecost_proto::{Buffer, Cause, Direction, Layer, Phase, Span};
use wirecost_wire::{ip, tcp};

use crate::captured::Captured;
use crate::connection::{Connection, Workspace};
use crate::datagram::Datagrams;
use crate::handshakes::TlsHandshake;
use crate::offload::SegmentLimits;
use crate::sightings::Sightings;
use crate::span_list::SpanList;
use crate::stream::Context;

/// Identifies a flow, regardless of the packets' direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    low: SocketAddr,
    high: SocketAddr,
    is_tcp: bool,
}

impl Key {
    pub(crate) fn new(source: SocketAddr, destination: SocketAddr, is_tcp: bool) -> Self {
        Self {
            low: source.min(destination),
            high: source.max(destination),
            is_tcp,
        }
    }
}

/// Buffers that all flows share, so that no packet causes an allocation.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    content: SpanList,
    spans: Buffer,
    described: Vec<Span>,
    headers: Vec<u8>,
    scratch: Vec<u8>,
    /// When the packet at hand was captured, in nanoseconds since 1970.
    pub(crate) now_ns: Option<u64>,
    /// The packets for an observer, if there is one.
    pub(crate) sightings: Option<Sightings>,
}

#[derive(Debug)]
pub(crate) struct Flow {
    client: SocketAddr,
    pub(crate) server: SocketAddr,
    ports: Ports,
    ledger: DeviceLedger,
    carried: Carried,
    pub(crate) limits: SegmentLimits,
    pub(crate) totals: Totals,
    /// Packets with bytes that were left out, and the number of those bytes.
    pub(crate) unattributed_packets: u64,
    pub(crate) unattributed_bytes: u64,
    /// The number of the flow's last packet.
    pub(crate) last_packet: u64,
}

#[derive(Debug)]
enum Carried {
    Connection(Box<Connection>),
    Datagrams(Datagrams),
}

impl Flow {
    pub(crate) fn connection(client: SocketAddr, server: SocketAddr) -> Self {
        let ports = ports(client, server);
        let connection = Box::new(Connection::new(ports));
        Self::new(
            client,
            server,
            DeviceLedger::new(),
            Carried::Connection(connection),
        )
    }

    /// A flow whose first datagram is `bytes`.
    pub(crate) fn datagrams(client: SocketAddr, server: SocketAddr, bytes: &[u8]) -> Self {
        let datagrams = Datagrams::detect(server.port(), bytes);
        let ledger = datagrams
            .describer()
            .map_or_else(DeviceLedger::new, DeviceLedger::with_describer);
        Self::new(client, server, ledger, Carried::Datagrams(datagrams))
    }

    fn new(client: SocketAddr, server: SocketAddr, ledger: DeviceLedger, carried: Carried) -> Self {
        Self {
            client,
            server,
            ports: ports(client, server),
            ledger,
            carried,
            limits: SegmentLimits::default(),
            totals: Totals::new(),
            unattributed_packets: 0,
            unattributed_bytes: 0,
            last_packet: 0,
        }
    }

    /// Tells the observer that the device has started the flow.
    pub(crate) fn start(&self, buffers: &mut Buffers) {
        if let Some(sightings) = &mut buffers.sightings {
            sightings.connect(buffers.now_ns, self.client.ip());
        }
    }

    /// The direction of a packet from `source`.
    pub(crate) fn direction(&self, source: SocketAddr) -> Direction {
        if source == self.client {
            Direction::Up
        } else {
            Direction::Down
        }
    }

    /// Whether a segment opens a new connection between the same addresses and ports.
    pub(crate) fn is_ended_by(&self, direction: Direction, segment: &tcp::Segment<'_>) -> bool {
        match &self.carried {
            Carried::Connection(connection) => connection.is_ended_by(direction, segment),
            Carried::Datagrams(_) => false,
        }
    }

    /// Handles a TCP packet with `len` bytes of content.
    pub(crate) fn segment(
        &mut self,
        direction: Direction,
        (packet, captured): (&ip::Packet<'_>, Captured<'_>),
        segment: &tcp::Segment<'_>,
        len: u64,
        (secrets, buffers): (&Secrets, &mut Buffers),
    ) {
        let Carried::Connection(connection) = &mut self.carried else {
            return;
        };
        let mut workspace = Workspace {
            context: Context {
                secrets,
                scratch: &mut buffers.scratch,
            },
            spans: &mut buffers.content,
            ledger: &mut self.ledger,
        };
        let wait = connection.segment(direction, segment, len, &mut workspace);
        let Some(until) = wait else {
            self.account(direction, captured, buffers);
            return;
        };
        let header_bytes = packet.header_bytes() + segment.header_bytes();
        let headers = Captured {
            bytes: captured.bytes.get(..header_bytes).unwrap_or(captured.bytes),
            ..captured
        };
        connection.hold(direction, until, headers);
        let all = connection.is_overfull();
        self.release(all, buffers);
    }

    /// Accounts the packets whose bytes are described.
    fn release(&mut self, all: bool, buffers: &mut Buffers) {
        let mut headers = std::mem::take(&mut buffers.headers);
        while let Carried::Connection(connection) = &mut self.carried
            && let Some((direction, captured)) = connection.release(all, &mut headers)
        {
            self.account(direction, captured, buffers);
        }
        buffers.headers = headers;
    }

    /// Describes a datagram before its packet or packets are accounted.
    pub(crate) fn describe(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        (secrets, buffers): (&Secrets, &mut Buffers),
    ) {
        let Carried::Datagrams(datagrams) = &mut self.carried else {
            return;
        };
        buffers.content.clear();
        let mut context = Context {
            secrets,
            scratch: &mut buffers.scratch,
        };
        datagrams.describe(direction, bytes, &mut context, &mut buffers.content);
        buffers.described.clear();
        let pieces = buffers.content.pieces();
        buffers.described.extend(pieces.iter().map(|piece| piece.span));
        let left_out = pieces.iter().filter(|piece| !piece.known);
        let left_out: u64 = left_out.map(|piece| u64::from(piece.span.len)).sum();
        self.unattributed_packets += u64::from(left_out > 0);
        self.unattributed_bytes += left_out;
        buffers.content.clear();
        self.ledger
            .datagram_spans(self.ports, direction, bytes, &buffers.described);
    }

    /// Handles a packet that needs no description: part of a datagram, or an ICMP error.
    pub(crate) fn other(&mut self, direction: Direction, captured: Captured<'_>, buffers: &mut Buffers) {
        match &mut self.carried {
            Carried::Connection(connection) => {
                connection.hold(direction, 0, captured);
                self.release(false, buffers);
            }
            Carried::Datagrams(_) => self.account(direction, captured, buffers),
        }
    }

    /// Accounts a packet whose content is described or stays undescribed.
    pub(crate) fn account(&mut self, direction: Direction, captured: Captured<'_>, buffers: &mut Buffers) {
        let verdict = self.judge(direction, captured, buffers);
        self.count(direction, captured.at_ns, &verdict, buffers);
    }

    /// Accounts a packet that repeats a fragment: whatever it carries was sent before.
    pub(crate) fn account_again(
        &mut self,
        direction: Direction,
        captured: Captured<'_>,
        buffers: &mut Buffers,
    ) {
        let mut verdict = self.judge(direction, captured, buffers);
        (verdict.cause, verdict.payload_bytes_original) = (Cause::Retransmission, 0);
        buffers.described.clear();
        buffers.described.extend(buffers.spans.spans());
        buffers.spans.clear();
        for span in &buffers.described {
            buffers.spans.cover_span(Span {
                cause: Cause::Retransmission,
                ..*span
            });
        }
        self.count(direction, captured.at_ns, &verdict, buffers);
    }

    /// What the ledger makes of a packet. Its spans are in the buffers.
    fn judge(
        &mut self,
        direction: Direction,
        captured: Captured<'_>,
        buffers: &mut Buffers,
    ) -> PacketVerdict {
        buffers.spans.clear();
        let Captured {
            bytes, link_bytes, ..
        } = captured;
        self.ledger
            .captured(direction, bytes, link_bytes, &mut buffers.spans)
    }

    fn count(
        &mut self,
        direction: Direction,
        at_ns: Option<u64>,
        verdict: &PacketVerdict,
        buffers: &mut Buffers,
    ) {
        let spans = buffers.spans.spans();
        self.totals.add_packet(direction, verdict, spans);
        if let Some(sightings) = &mut buffers.sightings {
            sightings.packet(at_ns, self.client.ip(), direction, verdict, spans);
        }
        let unattributed = u64::from(verdict.unattributed_bytes);
        self.unattributed_packets += u64::from(unattributed > 0);
        self.unattributed_bytes += unattributed;
    }

    /// Bytes that are kept until more bytes arrive.
    pub(crate) fn kept_bytes(&self) -> u64 {
        match &self.carried {
            Carried::Connection(connection) => connection.kept_bytes(),
            Carried::Datagrams(_) => 0,
        }
    }

    /// Accounts the packets that still wait. Nothing will describe them any more.
    pub(crate) fn finish(&mut self, buffers: &mut Buffers) {
        self.release(true, buffers);
    }

    pub(crate) const fn is_tcp(&self) -> bool {
        matches!(self.carried, Carried::Connection(_))
    }

    /// What its handshake of TLS, DTLS or QUIC had, if there was one, with the bytes of the security layer in the connect, up and down.
    pub(crate) fn handshake(&self) -> Option<(TlsHandshake, [u64; 2])> {
        let handshake = match &self.carried {
            Carried::Connection(connection) => connection.stream().handshake(),
            Carried::Datagrams(datagrams) => datagrams.handshake(),
        }?;
        let of_way = |way| self.totals.traffic(Phase::Connect, way).bytes(Layer::Security);
        Some((handshake, [Direction::Up, Direction::Down].map(of_way)))
    }

    /// The protocol's name.
    pub(crate) fn label(&self) -> String {
        match &self.carried {
            Carried::Connection(connection) => connection.stream().label(),
            Carried::Datagrams(datagrams) => datagrams.label(),
        }
    }

    /// Why bytes were left out.
    pub(crate) fn reason(&self) -> &'static str {
        match &self.carried {
            Carried::Connection(connection) => connection.stream().reason(),
            Carried::Datagrams(datagrams) => datagrams.reason(),
        }
    }
}

const fn ports(client: SocketAddr, server: SocketAddr) -> Ports {
    Ports {
        client: client.port(),
        server: server.port(),
    }
}
