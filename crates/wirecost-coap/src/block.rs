//! The value of Block1 and Block2 (RFC 7959 section 2.2): the block of a body that a message carries. On a stream, a message may
//! carry many blocks of 1,024 bytes (BERT, RFC 8323 section 6).

/// The size exponent of a block: 2^(SZX + 4) bytes, 16 to 1,024. The exponent 7 means any number of blocks of 1,024 bytes on
/// a stream, and is reserved in datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSize(u8);

impl BlockSize {
    /// 16 bytes.
    pub const MIN: Self = Self(0);
    /// 1,024 bytes.
    pub const MAX: Self = Self(6);

    /// Blocks of 1,024 bytes, any number of them in a message (RFC 8323 section 6).
    pub(crate) const BERT: Self = Self(7);

    /// Whether it is the exponent 7.
    pub(crate) fn is_bert(self) -> bool {
        self == Self::BERT
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

    /// The size of one block in bytes.
    pub const fn bytes(self) -> usize {
        let szx = if self.0 > Self::MAX.0 { Self::MAX.0 } else { self.0 };
        16 << szx
    }

    /// Whether `len` bytes are a valid payload of a block: the full size unless it is the last one (RFC 7959 section 2.2), and
    /// of BERT a multiple of it (RFC 8323 section 6).
    pub(crate) fn fits(self, len: usize, more: bool) -> bool {
        match (self.is_bert(), more) {
            (false, true) => len == self.bytes(),
            (false, false) => len <= self.bytes(),
            (true, true) => len > 0 && len.is_multiple_of(self.bytes()),
            (true, false) => true,
        }
    }
}

/// How much of a body one message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portion {
    /// The largest body that is sent without a block option, in bytes.
    pub(crate) whole: usize,
    /// The size of blocks.
    pub(crate) size: BlockSize,
    /// The number of blocks in a message; 1 unless `size` is BERT.
    pub(crate) blocks: usize,
}

impl Portion {
    /// One block of at most `bytes` in a message.
    pub(crate) const fn block(bytes: usize) -> Self {
        let size = BlockSize::at_most(bytes);
        let (whole, blocks) = (size.bytes(), 1);
        Self { whole, size, blocks }
    }

    /// The bytes of a body in one message.
    pub(crate) const fn bytes(self) -> usize {
        self.size.bytes() * self.blocks
    }

    /// The same with blocks of at most `size`.
    pub(crate) fn with(self, size: BlockSize) -> Self {
        match size < self.size {
            true => Self {
                size,
                blocks: 1,
                ..self
            },
            false => self,
        }
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
    /// The block that the option value encodes.
    pub const fn from_value(value: u32) -> Self {
        Self {
            number: (value >> 4) & MAX_BLOCK_NUMBER,
            more: value & 0x08 != 0,
            size: BlockSize((value & 0x07) as u8),
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

    /// The part of `body` in a message with `blocks` blocks from this one on; empty if the block begins at or after the end.
    pub(crate) fn slice(self, body: &[u8], blocks: usize) -> &[u8] {
        let rest = body.get(self.offset()..).unwrap_or_default();
        rest.get(..self.size.bytes() * blocks).unwrap_or(rest)
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
            let block = Block::from_value(value);
            assert_eq!(
                (block.number, block.more, block.size.bytes()),
                (number, more, bytes)
            );
            assert_eq!(block.value(), value);
        }
        assert!(Block::from_value(0x07).size.is_bert());
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
            Block { number, more, size }.slice(&body, 1).len()
        };
        assert_eq!([cut(0), cut(2), cut(3), cut(MAX_BLOCK_NUMBER)], [16, 8, 0, 0]);
    }
}
