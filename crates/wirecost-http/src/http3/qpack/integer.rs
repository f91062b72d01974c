//! Integers with a prefix of n bits (RFC 7541 section 5.1, RFC 9204 section 4.1.1).

/// Appends `value`. `first` holds the bits above the prefix of `prefix` bits.
pub fn push(value: u64, prefix: u32, first: u8, out: &mut Vec<u8>) {
    let most = (1u64 << prefix) - 1;
    if value < most {
        out.push(first | value as u8);
        return;
    }
    out.push(first | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Reads an integer from the front of `bytes`, or returns `None` if it is incomplete or exceeds 62 bits (RFC 9204
/// section 4.1.1).
pub fn read(bytes: &mut &[u8], prefix: u32) -> Option<u64> {
    let (first, mut rest) = bytes.split_first()?;
    let most = (1u64 << prefix) - 1;
    let mut value = u64::from(*first) & most;
    let mut shift = 0;
    let mut more = value == most;
    while more {
        let (byte, tail) = rest.split_first()?;
        if shift > 56 {
            return None;
        }
        value += u64::from(byte & 0x7f) << shift;
        shift += 7;
        more = byte & 0x80 != 0;
        rest = tail;
    }
    *bytes = rest;
    (value <= crate::http3::varint::MAX).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 7541 appendix C.1.
    #[test]
    fn the_examples_of_the_standard_are_read_and_written() {
        let table: [(u64, u32, &[u8]); 3] =
            [(10, 5, &[0x0a]), (1337, 5, &[0x1f, 0x9a, 0x0a]), (42, 8, &[0x2a])];
        for (value, prefix, bytes) in table {
            let mut out = Vec::new();
            push(value, prefix, 0, &mut out);
            assert_eq!(out, bytes);
            assert_eq!(read(&mut &*bytes, prefix), Some(value));
        }
        assert_eq!(read(&mut &[0xff; 12][..], 5), None);
    }

    proptest! {
        #[test]
        fn every_value_survives(value in 0..=crate::http3::varint::MAX, prefix in 3..=7u32) {
            let mut out = Vec::new();
            push(value, prefix, 0, &mut out);
            prop_assert_eq!(read(&mut &out[..], prefix), Some(value));
        }
    }
}
