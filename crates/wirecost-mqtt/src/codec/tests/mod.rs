//! Packets as hex with their meaning, both ways; invalid packets; and properties of all packets.

mod malformed;
mod properties;
mod tables;

use alloc::vec::Vec;

use wirecost_proto::Buffer;

use super::*;
use crate::quality::{Delivery, PacketId};

/// Bytes from hex digits; white space is ignored.
pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| core::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

pub(super) fn text(text: &str) -> Text<'_> {
    Text::new(text).unwrap()
}

pub(super) fn id(id: u16) -> PacketId {
    PacketId::new(id).unwrap()
}

pub(super) fn decode(bytes: &[u8], version: Version) -> Result<Packet<'_>, DecodeError> {
    let mut framer = Framer::new(framing::LARGEST_PACKET);
    let mut left = bytes;
    let whole = framer.next(&mut left)?.map(|frame| frame.bytes().len());
    assert_eq!(whole, Some(bytes.len()), "one whole packet");
    Packet::decode(Frame::new(bytes), version)
}

pub(super) fn emitted(packet: &Packet<'_>, version: Version) -> Vec<u8> {
    let mut out = Buffer::new();
    packet.emit(version, &mut out).unwrap();
    assert_eq!(out.covered(), out.bytes().len() as u64);
    out.bytes().to_vec()
}

pub(super) fn both_ways(version: Version, bytes: &str, packet: Packet<'_>) {
    let bytes = hex(bytes);
    assert_eq!(decode(&bytes, version), Ok(packet), "{bytes:02x?}");
    assert_eq!(emitted(&packet, version), bytes, "{packet:?}");
}

pub(super) fn connect(version: Version) -> Connect<'static> {
    Connect {
        version,
        clean_start: true,
        keep_alive: 60,
        properties: Properties::EMPTY,
        client_id: Text::EMPTY,
        will: None,
        username: None,
        password: None,
    }
}

pub(super) fn publish(delivery: Delivery) -> Publish<'static> {
    Publish {
        dup: false,
        delivery,
        retain: false,
        topic: Text::new("a").unwrap(),
        properties: Properties::EMPTY,
        payload: b"hi",
    }
}
