//! What of a device's packets crosses the air: the IP packets, the payloads of UDP, or packets with compressed headers.

use std::collections::VecDeque;

use wirecost_nbiot::config::{BearerConfig, HeaderCompression, PdnType};
use wirecost_proto::bare::Transport;
use wirecost_proto::{Delivery, Direction, Fate, Instant};
use wirecost_schc::{Context, Ends};
use wirecost_sim::{Packet, Recording, Tap};
use wirecost_stack::{Channel, Stack};

/// Why a stack cannot be run with a bearer; `None` where it can.
pub(super) fn refusal(bearer: &BearerConfig, stack: Stack) -> Option<&'static str> {
    let is_stream = stack.transport() == Transport::Stream;
    match (is_stream, bearer.pdn_type, bearer.header_compression) {
        (true, PdnType::NonIp, _) => Some("non-IP delivery carries the payloads of UDP alone (TS 23.682)"),
        (true, PdnType::Ip, HeaderCompression::Schc) => {
            Some("the rules of SCHC do not describe TCP (RFC 8724, RFC 9391), and ROHC is not built")
        }
        _ => None,
    }
}

/// How a packet becomes what crosses the air.
#[derive(Clone, Debug)]
enum Framing {
    /// It crosses as it is.
    Ip,
    /// The payload of UDP alone.
    NonIp,
    /// Compressed, in the context of the device from its first packet on.
    Schc {
        context: Option<Box<Context>>,
        has_coap_rules: bool,
    },
}

/// Adds up the bytes of a device's packets, and keeps those of the packets that were not offered to the cells yet.
#[derive(Debug)]
pub(super) struct AirTap {
    framing: Framing,
    /// Bytes of IP packets, up and down.
    pub(super) ip_bytes: [u64; 2],
    /// Bytes of them that cross the air.
    pub(super) air_bytes: [u64; 2],
    /// Of the contents of their TCP segments and UDP datagrams.
    pub(super) contents: [u64; 2],
    waiting: VecDeque<usize>,
    /// The packets themselves, of a device that is recorded.
    pub(super) recording: Option<Box<Recording>>,
}

impl AirTap {
    pub(super) fn new(bearer: &BearerConfig, stack: Stack) -> Self {
        Self {
            framing: match (bearer.pdn_type, bearer.header_compression) {
                (PdnType::NonIp, _) => Framing::NonIp,
                (PdnType::Ip, HeaderCompression::None) => Framing::Ip,
                (PdnType::Ip, HeaderCompression::Schc) => Framing::Schc {
                    context: None,
                    // What DTLS and OSCORE protect has no fields for rules.
                    has_coap_rules: stack.is_coap() && stack.channel == Channel::Plain,
                },
            },
            ip_bytes: [0; 2],
            air_bytes: [0; 2],
            contents: [0; 2],
            waiting: VecDeque::new(),
            recording: None,
        }
    }

    /// The bytes on the air of the next packet, in the order in which packets entered.
    pub(super) fn next_on_air(&mut self) -> Option<usize> {
        self.waiting.pop_front()
    }
}

impl Framing {
    fn bytes(&mut self, packet: &Packet<'_>) -> usize {
        match self {
            Self::Ip => packet.wire_bytes,
            Self::NonIp => packet.payload.len(),
            Self::Schc {
                context,
                has_coap_rules,
            } => {
                // A packet that cannot be written out cannot be compressed, and crosses as it is.
                let Some(bytes) = packet.to_bytes() else {
                    return packet.wire_bytes;
                };
                // The first packet has the addresses and ports that the rules of this device hold (RFC 8724, section 7).
                let context = context.get_or_insert_with(|| context_from(packet, *has_coap_rules));
                context.compress(&bytes, packet.direction).len()
            }
        }
    }
}

/// The context that both ends hold of a device: its port, and the fields that all its reports have in common.
fn context_from(first: &Packet<'_>, has_coap_rules: bool) -> Box<Context> {
    let (device, server) = match first.direction {
        Direction::Up => (first.source, first.destination),
        Direction::Down => (first.destination, first.source),
    };
    let is_request = has_coap_rules && first.direction == Direction::Up;
    let request = is_request.then_some(first.payload);
    Box::new(Context::of_report(Ends { device, server }, request))
}

impl Tap for AirTap {
    /// Packets of a preparation cross an ideal link, and are not held.
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]) {
        if fate != Fate::Held {
            return;
        }
        let way = packet.direction as usize;
        let on_air = self.framing.bytes(packet);
        self.ip_bytes[way] += packet.wire_bytes as u64;
        self.air_bytes[way] += on_air as u64;
        self.contents[way] += packet.payload.len() as u64;
        self.waiting.push_back(on_air);
        if let Some(recording) = &mut self.recording {
            recording.packet(packet, entered, fate, deliveries);
        }
    }

    fn decided(&mut self, number: u32, now: Instant, arrives: Option<Instant>) {
        if let Some(recording) = &mut self.recording {
            recording.decided(number, now, arrives);
        }
    }
}
