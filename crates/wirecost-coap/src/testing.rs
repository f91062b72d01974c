//! What the unit tests share.

use alloc::vec::Vec;

/// The bytes of hex digits with spaces between them.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let byte = |digits: &str| u8::from_str_radix(digits, 16).expect("two hex digits");
    text.split_whitespace().map(byte).collect()
}
