//! TCP options (RFC 9293 section 3.2, RFC 7323, RFC 2018, RFC 7413).

use crate::Error;
use crate::bytes::{at_least, u16_at, u32_at};
use crate::tcp::MAX_OPTION_BYTES;

/// Option kinds of IANA's registry "TCP Option Kind Numbers".
mod kind {
    pub(super) const END_OF_LIST: u8 = 0;
    pub(super) const NO_OPERATION: u8 = 1;
    pub(super) const MAXIMUM_SEGMENT_SIZE: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const FAST_OPEN_COOKIE: u8 = 34;
}

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// The list ends here; the rest is padding.
    EndOfList,
    /// Padding between options.
    NoOperation,
    /// The largest segment that the sender accepts, in bytes without headers.
    MaximumSegmentSize(u16),
    /// The shift of the sender's windows, in bits.
    WindowScale(u8),
    /// The sender understands selective acknowledgments.
    SackPermitted,
    /// Blocks that arrived beyond the acknowledgment number.
    Sack(SackBlocks),
    /// Timestamps for round-trip time measurement.
    Timestamps {
        /// The sender's clock.
        value: u32,
        /// The peer's clock as last seen.
        echo: u32,
    },
    /// A Fast Open cookie; empty to request one.
    FastOpenCookie(&'a [u8]),
    /// Another kind, or a known kind with an invalid length.
    Unknown {
        /// The kind.
        kind: u8,
        /// The bytes after kind and length.
        bytes: &'a [u8],
    },
}

impl<'a> TcpOption<'a> {
    /// The option of `kind` with `bytes` after its length.
    fn new(kind: u8, bytes: &'a [u8]) -> Self {
        match (kind, bytes) {
            (kind::MAXIMUM_SEGMENT_SIZE, [_, _]) => Self::MaximumSegmentSize(u16_at(bytes, 0)),
            (kind::WINDOW_SCALE, [shift]) => Self::WindowScale(*shift),
            (kind::SACK_PERMITTED, []) => Self::SackPermitted,
            (kind::SACK, _) if bytes.len().is_multiple_of(SackBlock::BYTES) => {
                Self::Sack(SackBlocks::from_wire(bytes))
            }
            (kind::TIMESTAMPS, [_, _, _, _, _, _, _, _]) => Self::Timestamps {
                value: u32_at(bytes, 0),
                echo: u32_at(bytes, 4),
            },
            // RFC 7413 section 4.1.1: absent, or 4 to 16 bytes and an even number of them.
            (kind::FAST_OPEN_COOKIE, [] | [_, _, _, _, ..])
                if bytes.len() <= 16 && bytes.len().is_multiple_of(2) =>
            {
                Self::FastOpenCookie(bytes)
            }
            (kind, bytes) => Self::Unknown { kind, bytes },
        }
    }
}

/// A run of bytes that arrived, as a half-open range of sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// The first sequence number of the run.
    pub left: u32,
    /// The sequence number after the last.
    pub right: u32,
}

impl SackBlock {
    const BYTES: usize = 8;
}

/// Up to four blocks, the most that fit into a header (RFC 2018 section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; Self::MAX],
    count: usize,
}

impl SackBlocks {
    /// The most blocks that one option holds.
    pub const MAX: usize = 4;

    /// No block.
    pub const NONE: Self = Self {
        blocks: [SackBlock { left: 0, right: 0 }; Self::MAX],
        count: 0,
    };

    /// The first four of `blocks`.
    pub fn new(blocks: &[SackBlock]) -> Self {
        blocks.iter().copied().collect()
    }

    /// The number of blocks.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The blocks, in their order.
    pub fn iter(&self) -> impl Iterator<Item = SackBlock> {
        self.blocks.get(..self.count).unwrap_or_default().iter().copied()
    }

    fn from_wire(bytes: &[u8]) -> Self {
        let block = |edges: &[u8; SackBlock::BYTES]| SackBlock {
            left: u32_at(edges, 0),
            right: u32_at(edges, 4),
        };
        bytes.as_chunks().0.iter().map(block).collect()
    }
}

/// Collects the first four blocks.
impl FromIterator<SackBlock> for SackBlocks {
    fn from_iter<I: IntoIterator<Item = SackBlock>>(blocks: I) -> Self {
        let mut collected = Self::default();
        for (slot, block) in collected.blocks.iter_mut().zip(blocks) {
            *slot = block;
            collected.count += 1;
        }
        collected
    }
}

/// The options of a header. Ends after [`TcpOption::EndOfList`] or after an error.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    rest: &'a [u8],
}

impl<'a> Iter<'a> {
    pub(super) const fn new(options: &'a [u8]) -> Self {
        Self { rest: options }
    }

    /// The option of `kind`, whose length and data are at the start of `tail`, and the bytes after it.
    fn split(kind: u8, tail: &'a [u8]) -> Result<(TcpOption<'a>, &'a [u8]), Error> {
        let length = tail.first().map_or(0, |length| usize::from(*length));
        // RFC 9293 section 3.2: the length counts kind and length; MUST-7: a wrong one must not crash us.
        at_least("TCP option length", 2, length)?;
        let data = tail.get(1..).unwrap_or_default();
        let split = data.split_at_checked(length - 2);
        let (bytes, rest) = split.ok_or(Error::Truncated {
            what: "TCP option",
            expected: length,
            got: tail.len() + 1,
        })?;
        Ok((TcpOption::new(kind, bytes), rest))
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = Result<TcpOption<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, tail) = self.rest.split_first()?;
        self.rest = &[];
        match *kind {
            kind::END_OF_LIST => Some(Ok(TcpOption::EndOfList)),
            kind::NO_OPERATION => {
                self.rest = tail;
                Some(Ok(TcpOption::NoOperation))
            }
            kind => Some(Self::split(kind, tail).map(|(option, rest)| {
                self.rest = rest;
                option
            })),
        }
    }
}

/// The options of a header to be emitted: at most 40 bytes, in place.
#[derive(Clone, Copy, Debug, Eq)]
pub struct Options {
    bytes: [u8; MAX_OPTION_BYTES],
    len: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bytes: [0; MAX_OPTION_BYTES],
            len: 0,
        }
    }
}

/// Equal if the emitted bytes are equal.
impl PartialEq for Options {
    fn eq(&self, other: &Self) -> bool {
        self.padded() == other.padded()
    }
}

impl Options {
    /// These options, in their order.
    ///
    /// # Errors
    /// [`Error::TooLong`] if they take more than 40 bytes.
    pub fn new(options: &[TcpOption<'_>]) -> Result<Self, Error> {
        let mut all = Self::default();
        for option in options {
            all.push(option)?;
        }
        Ok(all)
    }

    /// Appends `option`.
    ///
    /// # Errors
    /// [`Error::TooLong`] if it does not fit; the options are then unchanged.
    pub fn push(&mut self, option: &TcpOption<'_>) -> Result<(), Error> {
        let mut longer = *self;
        match option {
            TcpOption::EndOfList => longer.append(&[kind::END_OF_LIST])?,
            TcpOption::NoOperation => longer.append(&[kind::NO_OPERATION])?,
            TcpOption::MaximumSegmentSize(size) => {
                longer.append_data(kind::MAXIMUM_SEGMENT_SIZE, &[&size.to_be_bytes()])?;
            }
            TcpOption::WindowScale(shift) => longer.append_data(kind::WINDOW_SCALE, &[&[*shift]])?,
            TcpOption::SackPermitted => longer.append_data(kind::SACK_PERMITTED, &[])?,
            TcpOption::Sack(blocks) => {
                let edges = blocks
                    .blocks
                    .map(|block| [block.left.to_be_bytes(), block.right.to_be_bytes()]);
                let data = edges.as_flattened().as_flattened();
                let data = data.get(..blocks.count * SackBlock::BYTES).unwrap_or_default();
                longer.append_data(kind::SACK, &[data])?;
            }
            TcpOption::Timestamps { value, echo } => {
                longer.append_data(kind::TIMESTAMPS, &[&value.to_be_bytes(), &echo.to_be_bytes()])?;
            }
            TcpOption::FastOpenCookie(cookie) => longer.append_data(kind::FAST_OPEN_COOKIE, &[cookie])?,
            TcpOption::Unknown { kind, bytes } => longer.append_data(*kind, &[bytes])?,
        }
        *self = longer;
        Ok(())
    }

    /// The options with the encoding of a header.
    pub(super) fn from_wire(options: &[u8]) -> Self {
        let mut all = Self::default();
        for (to, from) in all.bytes.iter_mut().zip(options) {
            *to = *from;
            all.len += 1;
        }
        all
    }

    /// The options, padded with zeros to words of four bytes (RFC 9293 section 3.1).
    pub(super) fn padded(&self) -> &[u8] {
        let padded = self.len.next_multiple_of(4).min(MAX_OPTION_BYTES);
        self.bytes.get(..padded).unwrap_or_default()
    }

    fn append_data(&mut self, kind: u8, parts: &[&[u8]]) -> Result<(), Error> {
        let bytes = 2 + parts.iter().map(|part| part.len()).sum::<usize>();
        let length = u8::try_from(bytes).map_err(|_| self.too_long(bytes))?;
        self.append(&[kind, length])?;
        parts.iter().try_for_each(|part| self.append(part))
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let end = self.len + bytes.len();
        let Some(room) = self.bytes.get_mut(self.len..end) else {
            return Err(self.too_long(bytes.len()));
        };
        room.copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }

    const fn too_long(&self, bytes: usize) -> Error {
        Error::TooLong {
            what: "TCP options",
            expected: MAX_OPTION_BYTES,
            got: self.len + bytes,
        }
    }
}
