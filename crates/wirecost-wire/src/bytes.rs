//! Reading big-endian fields of a header whose length has been checked.

use crate::Error;

/// The `N` bytes from `at` on; zeros if `bytes` is too short.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let tail = bytes.get(at..).and_then(|tail| tail.first_chunk());
    tail.copied().unwrap_or([0; N])
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array_at(bytes, at))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

/// The address of `N` bytes from `at` on.
pub(crate) fn address_at<const N: usize, A: From<[u8; N]>>(bytes: &[u8], at: usize) -> A {
    A::from(array_at(bytes, at))
}

/// The fixed header at the start of `bytes`.
pub(crate) fn fixed_header<'a, const N: usize>(
    what: &'static str,
    bytes: &'a [u8],
) -> Result<&'a [u8; N], Error> {
    bytes.first_chunk().ok_or(Error::Truncated {
        what,
        expected: N,
        got: bytes.len(),
    })
}

/// The bytes of `bytes` from `start` to `end`.
pub(crate) fn part<'a>(
    what: &'static str,
    bytes: &'a [u8],
    start: usize,
    end: usize,
) -> Result<&'a [u8], Error> {
    bytes.get(start..end).ok_or(Error::Truncated {
        what,
        expected: end,
        got: bytes.len(),
    })
}

/// Refuses a length field below `expected`.
pub(crate) const fn at_least(field: &'static str, expected: usize, got: usize) -> Result<(), Error> {
    if got < expected {
        return Err(Error::LengthTooSmall { field, expected, got });
    }
    Ok(())
}

/// The bytes that `text` writes as hexadecimal digits with spaces.
#[cfg(test)]
pub(crate) fn hex(text: &str) -> alloc::vec::Vec<u8> {
    let digits: alloc::vec::Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}
