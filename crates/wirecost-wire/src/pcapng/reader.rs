//! Reads captures block by block.

use std::io::{self, Read};

use super::blocks::{Block, Decoding, Interface, Packet, Secrets, Section};
use super::fields::{ByteOrder, Fields};
use super::{BLOCK_FRAME_BYTES, BYTE_ORDER_MAGIC, MAX_BLOCK_BYTES, MAX_INTERFACES, block_type};

/// Why a capture cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file refused.
    #[error("cannot read the capture: {0}")]
    Io(#[from] io::Error),
    /// The first block is not a section header.
    #[error("capture must start with block type 0x0a0d0d0a (pcapng), got 0x{got:08x}")]
    NotPcapng {
        /// The first block's type, as a big-endian number.
        got: u32,
    },
    /// The section header names neither byte order.
    #[error("byte-order magic must be 0x1a2b3c4d in either order, got 0x{got:08x}")]
    ByteOrder {
        /// The magic, as a big-endian number.
        got: u32,
    },
    /// A block's total length is not a multiple of 4 between 12 and [`MAX_BLOCK_BYTES`].
    #[error("block length must be a multiple of 4 from 12 to {MAX_BLOCK_BYTES}, got {got}")]
    BlockLength {
        /// The length found.
        got: u32,
    },
    /// The two total lengths of a block differ.
    #[error("block length after the body must be {expected}, got {got}")]
    TrailingLength {
        /// The length before the body.
        expected: u32,
        /// The length after the body.
        got: u32,
    },
    /// The file ends inside a block.
    #[error("block needs {expected} more bytes, the file has {got}")]
    Truncated {
        /// The bytes asked for.
        expected: usize,
        /// The bytes there were.
        got: usize,
    },
    /// A field or an option reaches beyond its block.
    #[error("block body needs {expected} more bytes, got {got}")]
    BodyTooShort {
        /// The bytes asked for.
        expected: usize,
        /// The bytes left in the body.
        got: usize,
    },
    /// A packet on an interface that its section has not described.
    #[error("interface must be below {expected}, got {got}")]
    UnknownInterface {
        /// The number of interfaces so far.
        expected: usize,
        /// The interface named.
        got: u32,
    },
    /// More interfaces than [`MAX_INTERFACES`].
    #[error("section must have at most {MAX_INTERFACES} interfaces")]
    TooManyInterfaces,
}

/// The blocks of a capture, in their order. Ends at the end of the file or after the first error.
///
/// Holds one block at a time, of at most [`MAX_BLOCK_BYTES`], and what it needs to know of the interfaces.
#[derive(Debug)]
pub struct Reader<R> {
    source: R,
    state: State,
}

#[derive(Debug)]
enum State {
    AwaitSection,
    InSection {
        order: ByteOrder,
        interfaces: Vec<Decoding>,
    },
    Ended,
}

impl<R: Read> Reader<R> {
    /// A reader of `source`, best a buffered one.
    pub const fn new(source: R) -> Self {
        Self {
            source,
            state: State::AwaitSection,
        }
    }

    fn block(&mut self) -> Result<Option<Block>, ReadError> {
        let Some(kind) = self.block_start()? else {
            return Ok(None);
        };
        // Type 0x0a0d0d0a reads the same in either byte order (draft-ietf-opsawg-pcapng section 4.1).
        if u32::from_be_bytes(kind) == block_type::SECTION_HEADER {
            return self.section().map(Some);
        }
        let State::InSection { order, interfaces } = &mut self.state else {
            let got = u32::from_be_bytes(kind);
            return Err(ReadError::NotPcapng { got });
        };
        let length = block_length(*order, read_array(&mut self.source)?)?;
        let body = read_body(&mut self.source, *order, length, 8)?;
        decoded(order.u32(kind), *order, &body, interfaces).map(Some)
    }

    /// The bytes of the next block's type; `None` at the end of the file.
    fn block_start(&mut self) -> Result<Option<[u8; 4]>, ReadError> {
        let kind = read_up_to(&mut self.source, 4)?;
        match kind.first_chunk() {
            Some(kind) => Ok(Some(*kind)),
            None if kind.is_empty() => Ok(None),
            None => Err(ReadError::Truncated {
                expected: 4,
                got: kind.len(),
            }),
        }
    }

    /// The section header after its type; from here on its byte order holds.
    fn section(&mut self) -> Result<Block, ReadError> {
        let length = read_array(&mut self.source)?;
        let magic = u32::from_be_bytes(read_array(&mut self.source)?);
        let order = match magic {
            BYTE_ORDER_MAGIC => ByteOrder::Big,
            _ if magic.swap_bytes() == BYTE_ORDER_MAGIC => ByteOrder::Little,
            got => return Err(ReadError::ByteOrder { got }),
        };
        let length = block_length(order, length)?;
        let body = read_body(&mut self.source, order, length, 12)?;
        self.state = State::InSection {
            order,
            interfaces: Vec::new(),
        };
        Section::new(Fields::new(order, &body)).map(Block::Section)
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Block, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if matches!(self.state, State::Ended) {
            return None;
        }
        let block = self.block().transpose();
        if !matches!(block, Some(Ok(_))) {
            self.state = State::Ended;
        }
        block
    }
}

/// The block of `block_type` with `body`; an interface joins `interfaces`.
fn decoded(
    block_type: u32,
    order: ByteOrder,
    body: &[u8],
    interfaces: &mut Vec<Decoding>,
) -> Result<Block, ReadError> {
    let fields = Fields::new(order, body);
    match block_type {
        block_type::INTERFACE_DESCRIPTION => {
            if interfaces.len() >= MAX_INTERFACES {
                return Err(ReadError::TooManyInterfaces);
            }
            let interface = Interface::new(fields, order)?;
            interfaces.push(interface.decoding());
            Ok(Block::Interface(interface))
        }
        block_type::ENHANCED_PACKET => Packet::enhanced(fields, interfaces).map(Block::Packet),
        block_type::SIMPLE_PACKET => Packet::simple(fields, interfaces).map(Block::Packet),
        block_type::DECRYPTION_SECRETS => Secrets::new(fields).map(Block::Secrets),
        block_type => Ok(Block::Other {
            block_type,
            body_bytes: body.len(),
        }),
    }
}

fn block_length(order: ByteOrder, bytes: [u8; 4]) -> Result<u32, ReadError> {
    let length = order.u32(bytes);
    if !length.is_multiple_of(4) || !(BLOCK_FRAME_BYTES..=MAX_BLOCK_BYTES).contains(&length) {
        return Err(ReadError::BlockLength { got: length });
    }
    Ok(length)
}

/// The rest of a block's body, of which `read` bytes of the block are gone, with the trailing length checked.
fn read_body(source: &mut impl Read, order: ByteOrder, length: u32, read: u32) -> Result<Vec<u8>, ReadError> {
    // The trailing length takes four bytes.
    let expected = length
        .checked_sub(read + 4)
        .ok_or(ReadError::BlockLength { got: length })? as usize;
    let body = read_up_to(source, expected)?;
    if body.len() < expected {
        let got = body.len();
        return Err(ReadError::Truncated { expected, got });
    }
    let trailing = order.u32(read_array(source)?);
    if trailing != length {
        return Err(ReadError::TrailingLength {
            expected: length,
            got: trailing,
        });
    }
    Ok(body)
}

fn read_array<const N: usize>(source: &mut impl Read) -> Result<[u8; N], ReadError> {
    let bytes = read_up_to(source, N)?;
    bytes.first_chunk().copied().ok_or(ReadError::Truncated {
        expected: N,
        got: bytes.len(),
    })
}

/// The next `count` bytes, or as many as there are: a wrong length must not reserve memory.
fn read_up_to(source: &mut impl Read, count: usize) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    source.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
