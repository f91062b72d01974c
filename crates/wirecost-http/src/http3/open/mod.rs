//! Decrypts the packets of others' QUIC connections with their key log and attributes every byte.
//!
//! The keys of Initial packets derive from the packets themselves (RFC 9001 section 5.2). All other keys derive from
//! the secrets of the client whose random is in the first CRYPTO frames. The cipher suite is found by trial. Key
//! updates are followed one at a time (RFC 9001 section 6). Late packets of an earlier key phase are not decrypted.

mod keys;
mod secrets;

use std::collections::BTreeMap;
use std::ops::Range;

use wirecost_proto::{Buffer, Direction};

use super::quic::attribution::{Attribution, cover_datagram};
use super::quic::frame::Kind;
use super::quic::packet::{self, Packet, Space, Type};
use super::quic::tap;
use keys::{Keys, SUITES, TAG_BYTES};

pub use keys::expand_label;
pub use secrets::{Label, Secrets};

/// Decrypts the datagrams of one connection in chronological order.
#[derive(Default)]
pub struct Opener {
    /// The client's and the server's keys of Initial packets.
    initial: Option<[Keys; 2]>,
    keys: BTreeMap<(Type, Direction), Keys>,
    hello: Hello,
    /// Length of the connection IDs in short headers, by direction.
    id_bytes: BTreeMap<Direction, usize>,
    largest: BTreeMap<(Space, Direction), u64>,
    attribution: Attribution,
    server_pieces: Vec<HandshakePiece>,
}

/// A piece of the server's handshake, which packets of two types carry in CRYPTO frames (RFC 9001 section 4.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakePiece {
    /// Whether an Initial packet carried it: a piece of ServerHello. Otherwise it is of what follows, in a Handshake packet.
    pub is_initial: bool,
    /// Where it begins among the bytes of its type of packet.
    pub offset: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Opener {
    /// An opener for a new connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decrypts the packets of a datagram and appends the spans of all its bytes. [`Direction::Up`] is from the
    /// client. Packets that cannot be decrypted belong to the transport layer and are not returned.
    pub fn datagram(
        &mut self,
        direction: Direction,
        datagram: &[u8],
        secrets: &Secrets,
        out: &mut Buffer,
    ) -> Vec<Packet> {
        let id_bytes = self.id_bytes.get(&direction).copied();
        let id_bytes = id_bytes.unwrap_or(packet::CONNECTION_ID_BYTES);
        let (mut opened, mut packets) = (Vec::new(), Vec::new());
        self.server_pieces.clear();
        for packet in packet::split(datagram, id_bytes) {
            if let Some(seen) = self.open(direction, datagram, &packet, secrets) {
                if direction == Direction::Down {
                    self.keep_pieces(packet.kind, &seen.plain);
                }
                opened.push(packet);
                packets.push(seen);
            }
        }
        let attribution = &mut self.attribution;
        cover_datagram(datagram, id_bytes, &packets, out, |packet, out| match direction {
            Direction::Up => attribution.describe_sent(packet, out),
            Direction::Down => attribution.describe_received(packet, out),
        });
        opened
    }

    /// The pieces of the server's handshake in the last datagram.
    pub fn server_pieces(&self) -> &[HandshakePiece] {
        &self.server_pieces
    }

    fn keep_pieces(&mut self, kind: Type, plain: &[u8]) {
        if !matches!(kind, Type::Initial | Type::Handshake) {
            return;
        }
        let pieces = crypto_pieces(plain).map(|(offset, bytes)| HandshakePiece {
            is_initial: kind == Type::Initial,
            offset,
            bytes: bytes.to_vec(),
        });
        self.server_pieces.extend(pieces);
    }

    fn open(
        &mut self,
        direction: Direction,
        datagram: &[u8],
        packet: &Packet,
        secrets: &Secrets,
    ) -> Option<tap::Packet> {
        let found = match packet.kind {
            Type::Retry | Type::VersionNegotiation => None,
            Type::Initial => self.open_initial(direction, datagram, packet),
            _ => self.open_later(direction, datagram, packet, secrets),
        }?;
        if packet.kind != Type::OneRtt {
            // The peer's short headers carry this packet's Source Connection ID.
            self.id_bytes.insert(direction.reverse(), packet.source.len());
        }
        let space = (packet.kind.space(), direction);
        let largest = self.largest.entry(space).or_default();
        *largest = found.number.max(*largest);
        Some(found)
    }

    fn open_initial(
        &mut self,
        direction: Direction,
        datagram: &[u8],
        packet: &Packet,
    ) -> Option<tap::Packet> {
        let largest = self.largest(packet, direction);
        let index = usize::from(direction == Direction::Down);
        let known = self.initial.as_mut();
        let found = known.and_then(|keys| open(keys.get_mut(index)?, datagram, packet, largest));
        if found.is_none() && direction == Direction::Up {
            // The first packet, or the first one after a Retry (RFC 9001 section 5.2).
            let mut keys = Keys::initial(datagram.get(packet.destination.clone())?)?;
            let found = open(&mut keys[0], datagram, packet, None)?;
            self.initial = Some(keys);
            self.hello.read(&found.plain);
            return Some(found);
        }
        if let (Some(found), Direction::Up) = (&found, direction) {
            self.hello.read(&found.plain);
        }
        found
    }

    fn open_later(
        &mut self,
        direction: Direction,
        datagram: &[u8],
        packet: &Packet,
        secrets: &Secrets,
    ) -> Option<tap::Packet> {
        let largest = self.largest(packet, direction);
        let level = (packet.kind, direction);
        if let Some(keys) = self.keys.get_mut(&level) {
            return open(keys, datagram, packet, largest);
        }
        let random = self.hello.random()?;
        let secret = secrets.find(&random, label_of(packet.kind, direction)?)?;
        for suite in SUITES.iter().filter(|suite| suite.secret == secret.len()) {
            let mut keys = Keys::new(*suite, secret.to_vec())?;
            if let Some(found) = open(&mut keys, datagram, packet, largest) {
                self.keys.insert(level, keys);
                return Some(found);
            }
        }
        None
    }

    fn largest(&self, packet: &Packet, direction: Direction) -> Option<u64> {
        self.largest.get(&(packet.kind.space(), direction)).copied()
    }
}

/// The label of the secret for packets of this type and direction.
const fn label_of(kind: Type, direction: Direction) -> Option<Label> {
    match (kind, direction) {
        (Type::ZeroRtt, Direction::Up) => Some(Label::ClientEarlyTraffic),
        (Type::Handshake, Direction::Up) => Some(Label::ClientHandshakeTraffic),
        (Type::Handshake, Direction::Down) => Some(Label::ServerHandshakeTraffic),
        (Type::OneRtt, Direction::Up) => Some(Label::ClientTraffic0),
        (Type::OneRtt, Direction::Down) => Some(Label::ServerTraffic0),
        _ => None,
    }
}

/// Removes header protection, then packet protection (RFC 9001 sections 5.4 and 5.3).
fn open(keys: &mut Keys, datagram: &[u8], packet: &Packet, largest: Option<u64>) -> Option<tap::Packet> {
    // RFC 9001 section 5.4.2: the sample begins where a four-byte packet number would end.
    let sample = datagram.get(packet.number_at + 4..packet.range.end)?.get(..16)?;
    let mask = keys.mask(sample)?;
    let mut first = *datagram.get(packet.range.start)?;
    let has_long_header = packet.kind != Type::OneRtt;
    first ^= mask[0] & if has_long_header { 0x0f } else { 0x1f };
    let number_len = usize::from(first & 3) + 1;
    let header_end = packet.number_at + number_len;
    let mut header = datagram.get(packet.range.start..header_end)?.to_vec();
    *header.first_mut()? = first;
    let at = header.len() - number_len;
    let mut truncated = 0;
    for (byte, mask) in header.get_mut(at..)?.iter_mut().zip(&mask[1..]) {
        *byte ^= mask;
        truncated = truncated << 8 | u64::from(*byte);
    }
    let number = expand_number(truncated, number_len, largest);
    let key_phase = (!has_long_header).then_some(first & 0x04 != 0);
    let mut sealed = datagram.get(header_end..packet.range.end)?.to_vec();
    let plain = keys.open(number, key_phase, &header, &mut sealed)?.to_vec();
    let opened = tap::Packet::new(number, &header, &plain, TAG_BYTES);
    Some(tap::Packet { plain, ..opened })
}

/// The packet number closest to the expected one (RFC 9000 appendix A.3).
fn expand_number(truncated: u64, len: usize, largest: Option<u64>) -> u64 {
    let expected = largest.map_or(0, |largest| largest + 1);
    let window = 1u64 << (8 * len);
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected && candidate + window <= super::varint::MAX {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

/// The data of a packet's CRYPTO frames, each with its offset.
fn crypto_pieces(plain: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut at = 0;
    super::quic::frame::frames(plain).filter_map(move |frame| {
        let data = plain.get(at + frame.header..at + frame.total());
        at += frame.total();
        match frame.kind {
            Kind::Crypto { offset } => Some((offset, data.unwrap_or_default())),
            _ => None,
        }
    })
}

/// The start of the ClientHello. Its pieces may arrive in any order.
#[derive(Default)]
struct Hello {
    pieces: BTreeMap<usize, u8>,
}

/// The range of the random in a ClientHello: after type, length and version (RFC 8446 section 4.1.2).
const RANDOM: Range<usize> = 6..38;

impl Hello {
    fn read(&mut self, plain: &[u8]) {
        for (offset, data) in crypto_pieces(plain) {
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            let known = data.iter().enumerate();
            let placed = known.map(|(index, byte)| (offset.saturating_add(index), *byte));
            self.pieces
                .extend(placed.filter(|(index, _)| RANDOM.contains(index)));
        }
    }

    fn random(&self) -> Option<[u8; 32]> {
        let bytes: Vec<u8> = self.pieces.values().copied().collect();
        bytes.try_into().ok()
    }
}

#[cfg(test)]
mod tests;
