//! A capture as the device's own interface records it. Ours has every packet at the time at which it enters the link, and says in a
//! comment when it leaves it: a packet to the device is moved to that time.

use std::path::{Path, PathBuf};

/// The address of the built-in server.
const SERVER: [u8; 4] = [10, 78, 0, 1];
/// The type of an enhanced packet block.
const PACKET: u32 = 6;

/// Writes the capture beside the given one.
pub(crate) fn capture(ours: &Path) -> PathBuf {
    let bytes = std::fs::read(ours).expect("a capture");
    let (mut head, mut packets) = (Vec::new(), Vec::new());
    let mut rest = bytes.as_slice();
    while rest.len() >= 12 {
        let length = word(rest, 4) as usize;
        let (block, after) = rest.split_at(length);
        match word(block, 0) {
            PACKET => packets.push(moved(block)),
            _ => head.extend_from_slice(block),
        }
        rest = after;
    }
    packets.sort_by_key(|(at, _)| *at);
    let moved = ours.with_file_name("device.pcapng");
    let whole = head
        .into_iter()
        .chain(packets.into_iter().flat_map(|(_, block)| block));
    std::fs::write(&moved, whole.collect::<Vec<u8>>()).expect("written");
    moved
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A packet's time at the device in nanoseconds, and its block with that time.
fn moved(block: &[u8]) -> (u64, Vec<u8>) {
    let entered = u64::from(word(block, 12)) << 32 | u64::from(word(block, 16));
    let text = String::from_utf8_lossy(block);
    let is_down = source(block) == SERVER;
    let after = text
        .split("delivered after ")
        .nth(1)
        .and_then(|after| after.split(" ms").next())
        .and_then(|millis| millis.parse::<f64>().ok());
    let at = match after {
        // The comment has whole microseconds. What the device sends at once must not come before what it has received.
        Some(millis) if is_down => entered + (millis * 1e6).round() as u64 - 500,
        _ => entered,
    };
    let mut block = block.to_vec();
    block[12..16].copy_from_slice(&((at >> 32) as u32).to_le_bytes());
    block[16..20].copy_from_slice(&(at as u32).to_le_bytes());
    (at, block)
}

/// The source address of the packet: raw IPv4.
fn source(block: &[u8]) -> [u8; 4] {
    block[28 + 12..28 + 16].try_into().expect("four bytes")
}
