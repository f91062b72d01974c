//! Comparison of sequence numbers, which wrap (RFC 9293, section 3.4).

use wirecost_wire::tcp::SackBlock;

pub(super) use crate::sequence::{is_after, is_before};

/// The later of two.
pub(super) const fn latest(a: u32, b: u32) -> u32 {
    if is_after(a, b) { a } else { b }
}

/// The earlier of two.
pub(super) const fn earliest(a: u32, b: u32) -> u32 {
    if is_before(a, b) { a } else { b }
}

/// Bytes from `from` to `to`; 0 where `to` comes first.
pub(super) const fn distance(from: u32, to: u32) -> usize {
    if is_before(to, from) {
        0
    } else {
        to.wrapping_sub(from) as usize
    }
}

/// `sequence` moved by `bytes`, of which a window has less than 2^30 (RFC 7323, section 2.3).
pub(super) const fn advanced(sequence: u32, bytes: usize) -> u32 {
    sequence.wrapping_add(bytes as u32)
}

/// The common part of two runs.
pub(super) fn overlap(a: &SackBlock, b: &SackBlock) -> Option<SackBlock> {
    let common = SackBlock {
        left: latest(a.left, b.left),
        right: earliest(a.right, b.right),
    };
    is_before(common.left, common.right).then_some(common)
}

/// Both runs as one, if they touch.
pub(super) fn joined(a: &SackBlock, b: &SackBlock) -> Option<SackBlock> {
    if is_after(a.left, b.right) || is_after(b.left, a.right) {
        return None;
    }
    Some(SackBlock {
        left: earliest(a.left, b.left),
        right: latest(a.right, b.right),
    })
}
