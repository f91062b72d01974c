//! The value of Block1 and Block2 (RFC 7959 section 2.2): the block of a body that a message carries.

/// The size exponent of a block: 2^(SZX + 4) bytes, 16 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSize(u8);

impl BlockSize {
    /// 16 bytes.
    pub const MIN: Self = Self(0);
    /// 1,024 bytes.
    pub const MAX: Self = Self(6);

    /// The size with the exponent `szx`, or `None` for the reserved 7 and above.
    pub(crate) const fn from_szx(szx: u8) -> Option<Self> {
        if szx <= Self::MAX.0 { Some(Self(szx)) } else { None }
    }

    /// The largest block of at most `bytes` bytes; 16 bytes if `bytes` is less.
    pub const fn at_most(bytes: usize) -> Self {
        let mut szx = Self::MAX.0;
        while szx > 0 && (16 << szx) > bytes {
            szx -= 1;
        }
        Self(szx)
    }

    /// The size exponent (SZX).
    pub const fn szx(self) -> u8 {
        self.0
    }

    /// The size in bytes.
    pub const fn bytes(self) -> usize {
        16 << self.0
    }
}

/// The largest block number: 20 bits.
pub(crate) const MAX_BLOCK_NUMBER: u32 = (1 << 20) - 1;

/// The number, the more flag and the size of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// NUM: the position of the block in the body, in blocks of `size`.
    pub number: u32,
    /// M: whether more blocks follow.
    pub more: bool,
    /// SZX: the size of the blocks.
    pub size: BlockSize,
}

impl Block {
    /// The block that the option value encodes, or `None` if the size exponent is the reserved 7.
    pub const fn from_value(value: u32) -> Option<Self> {
        match BlockSize::from_szx((value & 0x07) as u8) {
            Some(size) => Some(Self {
                number: (value >> 4) & MAX_BLOCK_NUMBER,
                more: value & 0x08 != 0,
                size,
            }),
            None => None,
        }
    }

    /// The block that begins at `offset` bytes, or `None` if its number exceeds 20 bits.
    pub fn at(offset: usize, more: bool, size: BlockSize) -> Option<Self> {
        let number = u32::try_from(offset / size.bytes()).ok()?;
        (number <= MAX_BLOCK_NUMBER).then_some(Self { number, more, size })
    }

    /// The option value.
    pub const fn value(self) -> u32 {
        (self.number & MAX_BLOCK_NUMBER) << 4 | (self.more as u32) << 3 | self.size.szx() as u32
    }

    /// The offset of the block in the body, in bytes.
    pub const fn offset(self) -> usize {
        self.number as usize * self.size.bytes()
    }

    /// The part of `body` in this block; empty if the block begins at or after the end.
    pub fn slice(self, body: &[u8]) -> &[u8] {
        let rest = body.get(self.offset()..).unwrap_or_default();
        rest.get(..self.size.bytes()).unwrap_or(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_number_more_and_size() {
        for (value, number, more, bytes) in [
            (0x00, 0, false, 16),
            (0x0e, 0, true, 1024),
            (0x16, 1, false, 1024),
            (0xff_fffa & 0xff_fff8 | 2, MAX_BLOCK_NUMBER, true, 64),
        ] {
            let block = Block::from_value(value).expect("the size is not reserved");
            assert_eq!(
                (block.number, block.more, block.size.bytes()),
                (number, more, bytes)
            );
            assert_eq!(block.value(), value);
        }
        assert_eq!(Block::from_value(0x07), None);
    }

    #[test]
    fn a_size_is_a_power_of_two_from_16_to_1024() {
        for (bytes, size) in [(0, 16), (16, 16), (31, 16), (100, 64), (1023, 512), (5000, 1024)] {
            assert_eq!(BlockSize::at_most(bytes).bytes(), size);
        }
    }

    #[test]
    fn a_block_cuts_its_part_of_the_body() {
        let body = [7u8; 40];
        let cut = |number| {
            let (more, size) = (false, BlockSize::MIN);
            Block { number, more, size }.slice(&body).len()
        };
        assert_eq!([cut(0), cut(2), cut(3), cut(MAX_BLOCK_NUMBER)], [16, 8, 0, 0]);
    }
}
