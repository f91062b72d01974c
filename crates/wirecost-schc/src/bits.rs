//! Strings of bits, the most significant first.

/// Bits that are put together.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    length: u32,
}

impl BitWriter {
    /// Appends the low `count` bits of `value`, at most 128.
    pub(crate) fn push(&mut self, value: u128, count: u32) {
        for index in (0..count).rev() {
            if self.length.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let bit = (value >> index & 1) as u8;
            if let Some(last) = self.bytes.last_mut() {
                *last |= bit << (7 - self.length % 8);
            }
            self.length += 1;
        }
    }

    /// The number of bits.
    pub(crate) const fn length(&self) -> u32 {
        self.length
    }

    /// The bits, padded with zeros to whole bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bits that are taken apart.
#[derive(Clone, Debug)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The bit that is taken next.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `count` bits, at most 128; `None` where fewer are left.
    pub(crate) fn take(&mut self, count: u32) -> Option<u128> {
        if self.at + count as usize > 8 * self.bytes.len() {
            return None;
        }
        let mut value = 0;
        for _ in 0..count {
            let byte = self.bytes[self.at / 8];
            value = value << 1 | u128::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }

    /// The whole bytes that are left. Fewer than eight bits at the end are padding (RFC 8724 section 7.2).
    pub(crate) fn rest_in_bytes(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        while let Some(byte) = self.take(8) {
            rest.push(byte as u8);
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_as_they_were_written() {
        let mut bits = BitWriter::default();
        bits.push(0b101, 3);
        bits.push(0x1234, 16);
        bits.push(0, 0);
        bits.push(u128::MAX, 128);
        assert_eq!(bits.length(), 147);
        let bytes = bits.into_bytes();
        assert_eq!(bytes.len(), 19);
        let mut reader = BitReader::new(&bytes);
        assert_eq!((reader.take(3), reader.take(16)), (Some(0b101), Some(0x1234)));
        assert_eq!((reader.take(128), reader.take(6)), (Some(u128::MAX), None));
    }
}
