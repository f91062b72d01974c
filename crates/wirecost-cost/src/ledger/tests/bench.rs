//! Packets from templates, and verdicts as text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wirecost_proto::{Buffer, Cause, Direction, Layer, Phase, Span};
use wirecost_wire::{ip, tcp, udp};

use crate::{DeviceLedger, PacketVerdict, Ports};

pub(super) const FLOW: Ports = Ports {
    client: 40_000,
    server: 1_883,
};

pub(super) use Direction::{Down, Up};

/// A segment with sequence numbers counted from its side's SYN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seg {
    pub(super) direction: Direction,
    pub(super) flags: tcp::Flags,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) window: u16,
    /// The only SACK block.
    pub(super) sack: Option<(u32, u32)>,
    pub(super) len: usize,
}

/// The device's pure acknowledgement of the SYN-ACK: every test line starts from it.
pub(super) const ACK: Seg = Seg {
    direction: Up,
    flags: tcp::Flags::ACK,
    seq: 1,
    ack: 1,
    window: 1_000,
    sack: None,
    len: 0,
};

pub(super) const SYN: Seg = Seg {
    flags: tcp::Flags::SYN,
    seq: 0,
    ..ACK
};

pub(super) const SYN_ACK: Seg = Seg {
    direction: Down,
    flags: tcp::Flags::from_bits(0x12),
    seq: 0,
    ..ACK
};

pub(super) const FIN_ACK: Seg = Seg {
    flags: tcp::Flags::from_bits(0x11),
    ..ACK
};

pub(super) const RST: Seg = Seg {
    flags: tcp::Flags::RST,
    ..ACK
};

impl Seg {
    pub(super) const fn down(self) -> Self {
        Self {
            direction: Down,
            ..self
        }
    }

    pub(super) const fn seq(self, seq: u32) -> Self {
        Self { seq, ..self }
    }

    pub(super) const fn ack(self, ack: u32) -> Self {
        Self { ack, ..self }
    }

    pub(super) const fn window(self, window: u16) -> Self {
        Self { window, ..self }
    }

    pub(super) const fn sack(self, left: u32, right: u32) -> Self {
        Self {
            sack: Some((left, right)),
            ..self
        }
    }

    pub(super) const fn len(self, len: usize) -> Self {
        Self { len, ..self }
    }
}

pub(super) struct Bench {
    pub(super) ledger: DeviceLedger,
    up_initial: u32,
    down_initial: u32,
}

impl Bench {
    /// An MQTT-like conversation. Device: connect 10, message 4 + 96 payload, close 2. Server: connect 4, and an
    /// acknowledgement of 4.
    pub(super) fn new(up_initial: u32, down_initial: u32) -> Self {
        let mut ledger = DeviceLedger::new();
        let up = [
            span(10, Layer::Application, Phase::Connect, Cause::Original),
            span(4, Layer::Application, Phase::Message, Cause::Original),
            span(96, Layer::Payload, Phase::Message, Cause::Original),
            span(2, Layer::Application, Phase::Close, Cause::Original),
        ];
        let down = [
            span(4, Layer::Application, Phase::Connect, Cause::Original),
            span(4, Layer::Application, Phase::Message, Cause::Acknowledgement),
        ];
        ledger.stream_spans(FLOW, Up, &up);
        ledger.stream_spans(FLOW, Down, &down);
        Self {
            ledger,
            up_initial,
            down_initial,
        }
    }

    /// Where the handshake is over.
    pub(super) fn established(up_initial: u32, down_initial: u32) -> Self {
        let mut bench = Self::new(up_initial, down_initial);
        bench.send(SYN);
        bench.send(SYN_ACK);
        bench.send(ACK);
        bench
    }

    pub(super) fn send(&mut self, seg: Seg) -> (PacketVerdict, Vec<Span>) {
        let (own, peer) = match seg.direction {
            Up => (self.up_initial, self.down_initial),
            Down => (self.down_initial, self.up_initial),
        };
        let (source_port, destination_port) = ports(seg.direction);
        let repr = tcp::Repr {
            source_port,
            destination_port,
            sequence_number: own.wrapping_add(seg.seq),
            acknowledgment_number: peer.wrapping_add(seg.ack),
            flags: seg.flags,
            window: seg.window,
            urgent_pointer: 0,
            options: options(peer, seg.sack),
        };
        let mut packet = Vec::new();
        let ip = ip::Repr::new(addresses(seg.direction, ip::Version::V4), ip::Protocol::Tcp);
        ip.emit_tcp(&repr, &vec![0; seg.len], &mut packet).unwrap();
        account(&mut self.ledger, seg.direction, &packet)
    }

    /// Sends the rows in order; each must be judged as its text says.
    pub(super) fn expect(&mut self, rows: &[(Seg, &str)]) {
        for (number, (seg, expected)) in rows.iter().enumerate() {
            let (verdict, spans) = self.send(*seg);
            assert_eq!(text(&verdict, &spans), *expected, "row {number}: {seg:?}");
        }
    }
}

/// The options of a segment that reports a block of its peer's sequence numbers.
fn options(peer: u32, sack: Option<(u32, u32)>) -> tcp::Options {
    let block = |(left, right): (u32, u32)| tcp::SackBlock {
        left: peer.wrapping_add(left),
        right: peer.wrapping_add(right),
    };
    let sack = sack.map(|sack| tcp::TcpOption::Sack(tcp::SackBlocks::new(&[block(sack)])));
    let pad = tcp::TcpOption::NoOperation;
    sack.map_or_else(tcp::Options::default, |sack| {
        tcp::Options::new(&[pad, pad, sack]).unwrap()
    })
}

pub(super) const fn span(len: u32, layer: Layer, phase: Phase, cause: Cause) -> Span {
    Span {
        len,
        layer,
        phase,
        cause,
    }
}

pub(super) fn ports(direction: Direction) -> (u16, u16) {
    match direction {
        Up => (FLOW.client, FLOW.server),
        Down => (FLOW.server, FLOW.client),
    }
}

pub(super) fn addresses(direction: Direction, version: ip::Version) -> ip::Addresses {
    let host = |last: u8| match version {
        ip::Version::V4 => IpAddr::V4(Ipv4Addr::new(10, 77, 0, last)),
        ip::Version::V6 => IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into())),
    };
    let up = ip::Addresses::new(host(2), host(1)).unwrap();
    match direction {
        Up => up,
        Down => up.swapped(),
    }
}

/// A whole IP packet with one UDP datagram.
pub(super) fn udp_packet(direction: Direction, version: ip::Version, content: &[u8]) -> Vec<u8> {
    let (source_port, destination_port) = ports(direction);
    let repr = udp::Repr {
        source_port,
        destination_port,
    };
    let mut packet = Vec::new();
    let ip = ip::Repr::new(addresses(direction, version), ip::Protocol::Udp);
    ip.emit_udp(&repr, content, &mut packet).unwrap();
    packet
}

/// What the ledger makes of a packet; its spans must cover it.
pub(super) fn account(
    ledger: &mut DeviceLedger,
    direction: Direction,
    packet: &[u8],
) -> (PacketVerdict, Vec<Span>) {
    let mut out = Buffer::new();
    let verdict = ledger.packet(direction, packet, &mut out);
    assert_eq!(out.covered(), u64::from(verdict.wire_bytes));
    (verdict, out.spans().to_vec())
}

/// `phase cause: content`, each run of content as `bytes layer`, with its cause where it is not original and its
/// phase where it is not the packet's.
pub(super) fn text(verdict: &PacketVerdict, spans: &[Span]) -> String {
    let content = spans
        .iter()
        .filter(|span| !matches!(span.layer, Layer::Ip | Layer::Transport));
    let runs: Vec<String> = content.map(|span| run(verdict, span)).collect();
    let unattributed = match verdict.unattributed_bytes {
        0 => String::new(),
        bytes => format!(" ({bytes} unattributed)"),
    };
    let (phase, cause) = (verdict.phase.name(), verdict.cause.name());
    format!("{phase} {cause}: {}{unattributed}", runs.join(", "))
}

fn run(verdict: &PacketVerdict, span: &Span) -> String {
    let mut text = format!("{} {}", span.len, span.layer.name());
    if span.cause != Cause::Original {
        text = format!("{text} {}", span.cause.name());
    }
    if span.phase != verdict.phase {
        text = format!("{text} of {}", span.phase.name());
    }
    text
}
