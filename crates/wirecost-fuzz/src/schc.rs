//! Header compression.

use std::net::SocketAddr;

use wirecost_proto::Direction;
use wirecost_schc::{Context, Ends};

/// PUT coap://server/test, with a token of 2 B and the payload `x`: all requests of the context are like it.
const REQUEST: &[u8] = b"\x42\x03\x00\x00\x01\x02\xb4test\xffx";

/// A packet, and the same bytes as a compressed packet. The first byte chooses the version of IP and the direction. Every packet is
/// restored exactly, and a packet that was decompressed is the same after it is compressed and decompressed again. Returns whether a rule describes
/// the packet.
pub fn packet(bytes: &[u8]) -> bool {
    let Some((first, bytes)) = bytes.split_first() else {
        return false;
    };
    let direction = Direction::ALL[usize::from(first >> 1 & 1)];
    let Some(context) = context(first & 1 == 1) else {
        return false;
    };
    let compressed = context.compress(bytes, direction);
    assert_eq!(context.decompress(&compressed, direction).as_deref(), Some(bytes));
    if let Some(packet) = context.decompress(bytes, direction) {
        let again = context.compress(&packet, direction);
        assert_eq!(context.decompress(&again, direction), Some(packet));
    }
    context.rule_of(bytes, direction).is_some()
}

fn context(is_v6: bool) -> Option<Context> {
    let [device, server]: [SocketAddr; 2] = match is_v6 {
        true => ["[fd00::2]:40000".parse().ok()?, "[fd00::1]:5683".parse().ok()?],
        false => ["10.0.0.2:40000".parse().ok()?, "10.0.0.1:5683".parse().ok()?],
    };
    Some(Context::of_report(Ends { device, server }, Some(REQUEST)))
}
