//! What the unit tests share.

use alloc::vec::Vec;

/// The bytes of hex digits with spaces between them.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let byte = |digits: &str| u8::from_str_radix(digits, 16).expect("two hex digits");
    text.split_whitespace().map(byte).collect()
}

/// The bytes of hex digits without spaces, as long vectors are written.
pub(crate) fn digits(text: &str) -> Vec<u8> {
    let pairs = (0..text.len()).step_by(2);
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("two hex digits");
    pairs.map(byte).collect()
}
