//! Writes the data types of section 1.5, and a fixed header before a body.

use alloc::vec::Vec;

use crate::codec::{Binary, Text, TooLong};

/// The largest variable byte integer (section 1.5.5). It is also the largest remaining length.
pub const MAXIMUM_VARIABLE_BYTE_INTEGER: u32 = 268_435_455;

pub(crate) fn put_two_byte_integer(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: Text<'_>) {
    put_sized(out, text.as_str().as_bytes());
}

pub(crate) fn put_binary(out: &mut Vec<u8>, data: Binary<'_>) {
    put_sized(out, data.as_bytes());
}

/// Writes a two-byte length and the bytes. `Text` and `Binary` limit their length, so that nothing is cut here.
fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    put_two_byte_integer(out, len);
    out.extend_from_slice(bytes.get(..usize::from(len)).unwrap_or(bytes));
}

pub(crate) fn put_variable_byte_integer(out: &mut Vec<u8>, value: u32) {
    let mut left = value.min(MAXIMUM_VARIABLE_BYTE_INTEGER);
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// The length of `value` as a variable byte integer: 1 to 4 bytes.
pub(crate) const fn variable_byte_integer_len(value: usize) -> usize {
    match value {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        _ => 4,
    }
}

/// A length as a variable byte integer (section 1.5.5).
///
/// # Errors
/// A packet with this length cannot be framed.
pub(crate) fn check_len(len: usize) -> Result<u32, TooLong> {
    let fits = u32::try_from(len)
        .ok()
        .filter(|len| *len <= MAXIMUM_VARIABLE_BYTE_INTEGER);
    fits.ok_or(TooLong(len))
}

/// Writes a fixed header and the body that `body` writes.
///
/// # Errors
/// The body is longer than the remaining length can say. Nothing is written.
pub(crate) fn put_framed(
    out: &mut Vec<u8>,
    first_byte: u8,
    body: impl FnOnce(&mut Vec<u8>),
) -> Result<(), TooLong> {
    let packet = out.len();
    out.push(first_byte);
    let start = out.len();
    body(out);
    let remaining = check_len(out.len() - start).inspect_err(|_| out.truncate(packet))?;
    // The length is known only after the body: write it at the end and rotate it to its place.
    let end = out.len();
    put_variable_byte_integer(out, remaining);
    let len_bytes = out.len() - end;
    if let Some(unordered) = out.get_mut(start..) {
        unordered.rotate_right(len_bytes);
    }
    Ok(())
}
