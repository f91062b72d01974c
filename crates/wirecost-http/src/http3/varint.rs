//! Variable-length integers (RFC 9000 section 16).

/// The largest value, 2^62 - 1.
pub const MAX: u64 = (1 << 62) - 1;

/// The integer at the start of `bytes` and its length, or `None` if it is incomplete.
pub fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    // The two most significant bits are the base-2 logarithm of the length (RFC 9000 section 16, table 4).
    let len = 1 << (first >> 6);
    let rest = bytes.get(1..len)?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |value, byte| {
        value << 8 | u64::from(*byte)
    });
    Some((value, len))
}

/// Length of `value` in bytes: 1, 2, 4 or 8.
pub const fn len(value: u64) -> usize {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Appends `value` in the shortest form. Values above [`MAX`] become [`MAX`].
pub fn push(value: u64, out: &mut Vec<u8>) {
    let value = value.min(MAX);
    let len = len(value);
    let prefix = (len.trailing_zeros() as u64) << (8 * len - 2);
    let bytes = (value | prefix).to_be_bytes();
    out.extend_from_slice(&bytes[8 - len..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 appendix A.1.
    #[test]
    fn the_examples_of_the_standard_are_read_and_written() {
        let table: [(&[u8], u64); 4] = [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ];
        for (bytes, value) in table {
            assert_eq!(read(bytes), Some((value, bytes.len())));
            let mut out = Vec::new();
            push(value, &mut out);
            assert_eq!(out, bytes);
            assert_eq!(read(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(read(&[0x40, 0x25]), Some((37, 2)), "two bytes where one would do");
    }
}
