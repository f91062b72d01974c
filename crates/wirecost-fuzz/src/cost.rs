//! The ledger: spans cover every packet, for any content and any description.

use wirecost_cost::{Arrivals, DeviceLedger, Ports, Totals};
use wirecost_proto::{Buffer, Cause, Direction, Instant, Layer, Phase, Span};
use wirecost_wire::ip::{self, Addresses};
use wirecost_wire::{tcp, udp};

use crate::script::Script;

const FLOW: Ports = Ports {
    client: 40_000,
    server: 1_883,
};

/// A device's accounting under a script of descriptions and packets. The first byte chooses whether there is a describer.
/// Returns whether every byte was attributed.
pub fn ledger(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let mut accounting = Accounting::new(choice & 1 != 0);
    while let Some(step) = script.byte() {
        accounting.step(step, &mut script);
    }
    accounting.assert_balanced();
    Direction::ALL
        .iter()
        .all(|direction| accounting.totals.unattributed_bytes(*direction) == 0)
}

/// The ledger, the totals and the arrivals that a packet goes through.
struct Accounting {
    ledger: DeviceLedger,
    totals: Totals,
    arrivals: Arrivals,
    spans: Buffer,
    wire_bytes: u64,
}

impl Accounting {
    fn new(describes: bool) -> Self {
        let ledger = if describes {
            DeviceLedger::with_describer(wirecost_coap::describe)
        } else {
            DeviceLedger::new()
        };
        Self {
            ledger,
            totals: Totals::new(),
            arrivals: Arrivals::new(),
            spans: Buffer::new(),
            wire_bytes: 0,
        }
    }

    fn step(&mut self, step: u8, script: &mut Script<'_>) {
        let direction = Direction::ALL[usize::from(step >> 7)];
        match step & 0x07 {
            0 => self.packet(direction, script.u16(), script),
            1 => self.packet(direction, script.byte().map(u16::from), script),
            2 => self.ledger.stream_spans(FLOW, direction, &[span(step, script)]),
            3 => {
                let len = usize::from(script.byte().unwrap_or(0));
                let content = script.take(len);
                self.datagram(direction, content, &[span(step, script)]);
            }
            4 => self.datagram_with_its_spans(direction, step, script),
            5 => self.account(direction, &udp_packet(direction, script)),
            _ => self.account(direction, &tcp_packet(direction, script)),
        }
    }

    fn packet(&mut self, direction: Direction, len: Option<u16>, script: &mut Script<'_>) {
        let packet = script.take(usize::from(len.unwrap_or(0)));
        self.account(direction, packet);
    }

    /// A datagram, and spans that do or do not cover it.
    fn datagram(&mut self, direction: Direction, content: &[u8], spans: &[Span]) {
        self.ledger.datagram_spans(FLOW, direction, content, spans);
    }

    fn datagram_with_its_spans(&mut self, direction: Direction, step: u8, script: &mut Script<'_>) {
        let mut said = span(step, script);
        let content = vec![0; said.len as usize % 2_000];
        said.len = content.len() as u32;
        self.datagram(direction, &content, &[said]);
    }

    fn account(&mut self, direction: Direction, packet: &[u8]) {
        self.spans.clear();
        let verdict = self.ledger.packet(direction, packet, &mut self.spans);
        assert_eq!(
            self.spans.covered(),
            u64::from(verdict.wire_bytes),
            "{packet:02x?}"
        );
        assert!(verdict.unattributed_bytes <= verdict.wire_bytes, "{packet:02x?}");
        self.totals.add_packet(direction, &verdict, self.spans.spans());
        self.arrivals.delivered(direction, &verdict, Instant::START);
        self.wire_bytes += u64::from(verdict.wire_bytes);
    }

    fn assert_balanced(&self) {
        let of_phase =
            |phase| Direction::ALL.map(|direction| self.totals.traffic(phase, direction).wire_bytes());
        let sum: u64 = Phase::ALL.into_iter().flat_map(of_phase).sum();
        assert_eq!(sum, self.wire_bytes);
    }
}

/// A span of a layer and phase that the step's number chooses.
fn span(step: u8, script: &mut Script<'_>) -> Span {
    const LAYERS: [Layer; 2] = [Layer::Application, Layer::Payload];
    Span {
        len: u32::from(script.u16().unwrap_or(1)),
        layer: LAYERS[usize::from(step >> 6) & 1],
        phase: Phase::ALL[usize::from(step >> 3) % Phase::ALL.len()],
        cause: Cause::Original,
    }
}

const fn addresses(direction: Direction) -> Addresses {
    let up = Addresses::V4 {
        source: std::net::Ipv4Addr::new(10, 77, 0, 2),
        destination: std::net::Ipv4Addr::new(10, 77, 0, 1),
    };
    match direction {
        Direction::Up => up,
        Direction::Down => up.swapped(),
    }
}

const fn ports(direction: Direction) -> (u16, u16) {
    match direction {
        Direction::Up => (FLOW.client, FLOW.server),
        Direction::Down => (FLOW.server, FLOW.client),
    }
}

/// A segment of the flow whose numbers lie near each other, and near the end of their range.
fn tcp_packet(direction: Direction, script: &mut Script<'_>) -> Vec<u8> {
    let mut near = || u32::from(script.u16().unwrap_or(0)).wrapping_sub(1_000);
    let (sequence_number, acknowledgment_number) = (near(), near());
    let (source_port, destination_port) = ports(direction);
    let segment = tcp::Repr {
        source_port,
        destination_port,
        sequence_number,
        acknowledgment_number,
        flags: tcp::Flags::from_bits(script.byte().unwrap_or(0)),
        window: u16::from(script.byte().unwrap_or(0)),
        ..tcp::Repr::default()
    };
    let content = vec![0; usize::from(script.u16().unwrap_or(0)) % 2_000];
    let ip = ip::Repr::new(addresses(direction), ip::Protocol::Tcp);
    emitted(|out| ip.emit_tcp(&segment, &content, out))
}

fn udp_packet(direction: Direction, script: &mut Script<'_>) -> Vec<u8> {
    let (source_port, destination_port) = ports(direction);
    let datagram = udp::Repr {
        source_port,
        destination_port,
    };
    let content = vec![0; usize::from(script.u16().unwrap_or(0)) % 2_000];
    let ip = ip::Repr::new(addresses(direction), ip::Protocol::Udp);
    emitted(|out| ip.emit_udp(&datagram, &content, out))
}

fn emitted(emit: impl Fn(&mut Vec<u8>) -> Result<(), wirecost_wire::Error>) -> Vec<u8> {
    let mut packet = Vec::new();
    emit(&mut packet).expect("the packet is short enough");
    packet
}
