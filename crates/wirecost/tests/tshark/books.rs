//! Bytes by device, phase, direction and layer, from tshark's fields alone: the rules of the ledger, written once
//! more and differently.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::tshark::{Body, Coap, Datagram, Packet};
use crate::stream::Connection;

/// Phases of a device; the warm-up message is no phase of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Connect,
    WarmUp,
    Measured,
    KeepAlive,
    Close,
}

impl Phase {
    /// The name that a packet's comment gives it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::WarmUp => "warm-up",
            Self::Measured => "message",
            Self::KeepAlive => "keep_alive",
            Self::Close => "close",
        }
    }
}

/// What one packet is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) packets: u64,
    pub(crate) ip: u64,
    pub(crate) transport: u64,
    pub(crate) application: u64,
    pub(crate) payload: u64,
    /// Those of the above that were sent before, with the headers in front of them.
    pub(crate) retransmitted: u64,
    /// Those of the network's own errors about what it was given.
    pub(crate) probes: u64,
}

impl Sums {
    pub(crate) const fn wire(&self) -> u64 {
        self.ip + self.transport + self.application + self.payload
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.ip += other.ip;
        self.transport += other.transport;
        self.application += other.application;
        self.payload += other.payload;
        self.retransmitted += other.retransmitted;
        self.probes += other.probes;
    }
}

/// What a device is found to speak and to send.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) stack: String,
    pub(crate) payload_bytes: u64,
}

/// The books of one device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    pub(crate) identity: Identity,
    pub(crate) sums: BTreeMap<(Phase, usize), Sums>,
    /// The phase that each packet was counted in, by frame.
    pub(crate) phases: BTreeMap<u64, Phase>,
    /// Measured messages whose sending began.
    pub(crate) measured: u64,
}

impl Books {
    fn enter(&mut self, packet: &Packet, phase: Phase, sums: &Sums) {
        assert_eq!(
            sums.wire(),
            packet.wire_bytes,
            "frame {}: the layers and the whole",
            packet.frame
        );
        self.sums.entry((phase, packet.way)).or_default().add(sums);
        self.phases.insert(packet.frame, phase);
    }

    /// Bytes of one phase; nothing where there were none.
    pub(crate) fn sum(&self, phase: Phase, way: usize) -> Sums {
        self.sums.get(&(phase, way)).copied().unwrap_or_default()
    }
}

/// The books of every device by its address, and the bytes of the link checks. `sizes` are those of the run, `warm_ups` the messages of a
/// connection before the measured ones: none in a life.
pub(crate) fn keep(packets: &[Packet], sizes: &[u64], warm_ups: usize) -> (BTreeMap<String, Books>, u64) {
    let mut by_device: BTreeMap<String, Vec<&Packet>> = BTreeMap::new();
    let mut checks = 0;
    for packet in packets {
        match packet.body {
            Body::Icmp => checks += packet.wire_bytes,
            _ => by_device.entry(packet.device.clone()).or_default().push(packet),
        }
    }
    let books = by_device.into_iter().map(|(device, packets)| {
        let is_stream = packets.iter().any(|packet| matches!(packet.body, Body::Tcp(_)));
        let books = if is_stream {
            of_connection(&packets, warm_ups)
        } else {
            of_datagrams(&packets, sizes)
        };
        (device, books)
    });
    (books.collect(), checks)
}

fn of_connection(packets: &[&Packet], warm_ups: usize) -> Books {
    let mut connection = Connection::new(packets, warm_ups);
    let mut books = Books {
        identity: connection.identity(),
        ..Books::default()
    };
    for packet in packets {
        let (phase, sums) = connection.packet(packet);
        books.enter(packet, phase, &sums);
    }
    books.measured = connection.measured();
    books
}

/// What the fragments of a datagram share.
#[derive(Clone, Copy)]
struct Shared {
    phase: Phase,
    is_resent: bool,
}

fn of_datagrams(packets: &[&Packet], sizes: &[u64]) -> Books {
    let mut books = Books::default();
    let mut fragmented: BTreeMap<(usize, String), Shared> = BTreeMap::new();
    let mut sent: BTreeSet<(usize, u8, String)> = BTreeSet::new();
    let mut messages = 0_u64;
    for packet in packets {
        let key = packet
            .fragment_of
            .clone()
            .map(|identification| (packet.way, identification));
        if matches!(packet.body, Body::IcmpError) {
            books.enter(packet, phase_after(messages), &error(packet));
            continue;
        }
        let (shared, transport, application) = match &packet.body {
            Body::LaterFragment => (fragmented[&key.expect("a fragment")], 0, 0),
            Body::Udp(datagram) => {
                let coap = datagram.coap.as_ref();
                let is_resent = coap.is_some_and(|coap| !sent.insert(name_of(coap, packet)));
                if packet.way == 0 && !is_resent && begins_message(coap) {
                    messages += 1;
                }
                if packet.way == 0 && messages == 1 && books.identity.stack.is_empty() {
                    books.identity = identity(datagram, sizes);
                }
                let phase = phase_after(messages);
                let shared = Shared { phase, is_resent };
                key.map(|key| fragmented.insert(key, shared));
                (shared, 8, coap.map_or(0, |coap| coap.application_bytes))
            }
            other => panic!("frame {}: {other:?} among datagrams", packet.frame),
        };
        let mut sums = Sums {
            packets: 1,
            ip: packet.ip_bytes,
            transport,
            application,
            ..Sums::default()
        };
        sums.payload = packet.wire_bytes - sums.wire();
        sums.retransmitted = if shared.is_resent { sums.wire() } else { 0 };
        books.enter(packet, shared.phase, &sums);
    }
    books.measured = messages.saturating_sub(1);
    books
}

/// The phase of datagrams when so many messages have begun.
const fn phase_after(messages: u64) -> Phase {
    if messages > 1 {
        Phase::Measured
    } else {
        Phase::WarmUp
    }
}

/// A kernel that has waited in vain for the fragments of a datagram says so (RFC 1122 section 3.3.2, RFC 8200 section
/// 4.5): all behind the IP header is of the network's own making.
fn error(packet: &Packet) -> Sums {
    Sums {
        packets: 1,
        ip: packet.ip_bytes,
        transport: packet.wire_bytes - packet.ip_bytes,
        probes: packet.wire_bytes,
        ..Sums::default()
    }
}

/// What a message and its repetitions share: a CON its message id (RFC 7252 section 4.2), a request in a NON, which
/// gets a new message id, its token and its block, for a token of two bytes may come again in a later request. An ACK
/// that answers a CON sent again is an acknowledgement like the first, and a NON response to a NON sent again is an
/// answer of its own.
fn name_of(coap: &Coap, packet: &Packet) -> (usize, u8, String) {
    const CON: u8 = 0;
    const NON: u8 = 1;
    let name = match coap.kind {
        CON => coap.message_id.to_string(),
        NON if packet.way == 0 => format!("{} block {:?}", coap.token, coap.block),
        _ => format!("frame {}", packet.frame),
    };
    (packet.way, coap.kind, name)
}

/// A bare datagram is a message; a CoAP message begins with its first block, or has none (RFC 7959 section 2.2).
fn begins_message(coap: Option<&Coap>) -> bool {
    const REQUESTS: std::ops::RangeInclusive<u8> = 1..=31;
    coap.is_none_or(|coap| REQUESTS.contains(&coap.code) && coap.block.unwrap_or(0) == 0)
}

fn identity(first: &Datagram, sizes: &[u64]) -> Identity {
    let Some(coap) = &first.coap else {
        return Identity {
            stack: "udp".into(),
            payload_bytes: first.bytes - 8,
        };
    };
    let stack = if coap.kind == 0 { "coap-con" } else { "coap-non" };
    let payload_bytes = match coap.block {
        None => first.bytes - 8 - coap.application_bytes,
        Some(_) => only_blockwise(sizes),
    };
    Identity {
        stack: stack.into(),
        payload_bytes,
    }
}

/// A transfer under loss may never end: its first block names the size only where one size needs blocks. Without
/// loss [`complete`] finds the size.
fn only_blockwise(sizes: &[u64]) -> u64 {
    let mut blockwise = sizes.iter().filter(|size| **size > 1_024);
    match (blockwise.next(), blockwise.next()) {
        (Some(size), None) => *size,
        _ => 0,
    }
}

impl Books {
    /// Takes the size of a block-wise message from what all its blocks carried, where the run had several such sizes.
    pub(crate) fn complete(&mut self) {
        if self.identity.stack.starts_with("coap") && self.identity.payload_bytes == 0 {
            self.identity.payload_bytes = self.sum(Phase::WarmUp, 0).payload;
        }
    }
}
