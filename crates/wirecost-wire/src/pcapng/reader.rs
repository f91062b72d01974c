//! Reads captures block by block.

use alloc::vec::Vec;
use std::io::{self, Read};

use super::blocks::{Block, Decoding, Interface, PacketView, Section, Statistics};
use super::fields::Fields;
use super::{BLOCK_FRAME_BYTES, BYTE_ORDER_MAGIC, MAX_BLOCK_BYTES, MAX_INTERFACES, block_type};
use crate::packet::{ByteOrder, Item, Secrets};
use crate::window::Window;

/// The error that ends the reading of a capture.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system returned an error.
    #[error("cannot read the capture: {0}")]
    Io(#[from] io::Error),
    /// The first block is not a section header.
    #[error("capture must start with block type 0x0a0d0d0a (pcapng), got 0x{got:08x}")]
    NotPcapng {
        /// The first block's type, as a big-endian number.
        got: u32,
    },
    /// The section header's magic belongs to neither byte order.
    #[error("byte-order magic must be 0x1a2b3c4d in either order, got 0x{got:08x}")]
    ByteOrder {
        /// The magic, as a big-endian number.
        got: u32,
    },
    /// A block's total length is not a multiple of 4 between 12 and `MAX_BLOCK_BYTES`.
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
    /// More interfaces than `MAX_INTERFACES`.
    #[error("section must have at most {MAX_INTERFACES} interfaces")]
    TooManyInterfaces,
}

/// The blocks of a capture, in their order. Ends at the end of the file or after the first error.
///
/// Holds one block at a time, of at most `MAX_BLOCK_BYTES`, and the properties of the interfaces.
#[derive(Debug)]
pub struct Reader<R> {
    source: Window<R>,
    state: State,
    /// Interfaces of the sections before this one.
    interfaces_before: u32,
}

/// A block in the window.
enum View<'a> {
    Packet(PacketView<'a>),
    Other(Block),
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
    /// A reader of `source`, with a buffer of its own.
    pub const fn new(source: R) -> Self {
        Self::of_window(Window::new(source))
    }

    pub(crate) const fn of_window(source: Window<R>) -> Self {
        Self {
            source,
            state: State::AwaitSection,
            interfaces_before: 0,
        }
    }

    /// The next item, without blocks that say nothing about packets; `None` at the end of the file.
    pub(crate) fn item(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        // A separate loop, so that the borrow checker sees that skipped blocks are not kept.
        while self.is_left_out()? {
            self.view()?;
        }
        let State::InSection { order, interfaces } = &self.state else {
            return self.view().map(|_| None);
        };
        let (order, before, described) = (*order, self.interfaces_before, interfaces.len());
        let number = |interface: u32| before.saturating_add(interface);
        Ok(self.view()?.map(|view| match view {
            View::Packet(packet) => Item::Packet(packet.captured(before, order)),
            View::Other(Block::Secrets(secrets)) => Item::Secrets(secrets),
            View::Other(Block::Interface(interface)) => Item::Interface {
                number: number(u32::try_from(described).unwrap_or(u32::MAX)),
                name: interface.name,
            },
            View::Other(Block::Statistics(statistics)) => Item::Lost {
                interface: number(statistics.interface),
                packets: statistics.dropped(),
            },
            View::Other(Block::Other { block_type, .. }) => Item::Unread { block_type },
            View::Other(Block::Section(_) | Block::Packet(_)) => Item::Unread {
                block_type: block_type::SECTION_HEADER,
            },
        }))
    }

    /// Whether the next block is known to say nothing about packets.
    fn is_left_out(&mut self) -> Result<bool, ReadError> {
        let kind = self.source.peek(4)?.first_chunk();
        let (Some(kind), State::InSection { order, .. }) = (kind, &self.state) else {
            return Ok(kind.is_some());
        };
        let left_out = [
            block_type::SECTION_HEADER,
            block_type::NAME_RESOLUTION,
            block_type::JOURNAL_EXPORT,
        ];
        Ok(left_out.contains(&order.u32(*kind)))
    }

    fn view(&mut self) -> Result<Option<View<'_>>, ReadError> {
        let Some(kind) = self.block_start()? else {
            return Ok(None);
        };
        // Type 0x0a0d0d0a reads the same in either byte order (draft-ietf-opsawg-pcapng section 4.1).
        if u32::from_be_bytes(kind) == block_type::SECTION_HEADER {
            return self.section().map(|section| Some(View::Other(section)));
        }
        let State::InSection { order, interfaces } = &mut self.state else {
            let got = u32::from_be_bytes(kind);
            return Err(ReadError::NotPcapng { got });
        };
        let length = block_length(*order, read_array(&mut self.source)?)?;
        let body = read_body(&mut self.source, *order, length, 8)?;
        decoded(order.u32(kind), *order, body, interfaces).map(Some)
    }

    /// The bytes of the next block's type; `None` at the end of the file.
    fn block_start(&mut self) -> Result<Option<[u8; 4]>, ReadError> {
        let kind = self.source.take(4)?;
        match kind.first_chunk() {
            Some(kind) => Ok(Some(*kind)),
            None if kind.is_empty() => Ok(None),
            None => Err(ReadError::Truncated {
                expected: 4,
                got: kind.len(),
            }),
        }
    }

    /// Reads the section header after its type. From here on the section's byte order applies.
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
        let section = Section::new(Fields::new(order, body))?;
        if let State::InSection { interfaces, .. } = &self.state {
            let described = u32::try_from(interfaces.len()).unwrap_or(u32::MAX);
            self.interfaces_before = self.interfaces_before.saturating_add(described);
        }
        self.state = State::InSection {
            order,
            interfaces: Vec::new(),
        };
        Ok(Block::Section(section))
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Block, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if matches!(self.state, State::Ended) {
            return None;
        }
        let owned = |view| match view {
            View::Packet(packet) => packet.into_packet().map(Block::Packet),
            View::Other(block) => Ok(block),
        };
        let block = self.view().transpose().map(|view| view.and_then(owned));
        if !matches!(block, Some(Ok(_))) {
            self.state = State::Ended;
        }
        block
    }
}

/// The block of `block_type` with `body`. Adds an interface to `interfaces`.
fn decoded<'a>(
    block_type: u32,
    order: ByteOrder,
    body: &'a [u8],
    interfaces: &mut Vec<Decoding>,
) -> Result<View<'a>, ReadError> {
    let fields = Fields::new(order, body);
    let block = match block_type {
        block_type::INTERFACE_DESCRIPTION => {
            if interfaces.len() >= MAX_INTERFACES {
                return Err(ReadError::TooManyInterfaces);
            }
            let interface = Interface::new(fields, order)?;
            interfaces.push(interface.decoding());
            Block::Interface(interface)
        }
        block_type::ENHANCED_PACKET => return PacketView::enhanced(fields, interfaces).map(View::Packet),
        block_type::PACKET => return PacketView::obsolete(fields, interfaces).map(View::Packet),
        block_type::SIMPLE_PACKET => return PacketView::simple(fields, interfaces).map(View::Packet),
        block_type::INTERFACE_STATISTICS => Block::Statistics(Statistics::new(fields, order)),
        block_type::DECRYPTION_SECRETS => Block::Secrets(Secrets::new(fields)?),
        block_type => Block::Other {
            block_type,
            body_bytes: body.len(),
        },
    };
    Ok(View::Other(block))
}

fn block_length(order: ByteOrder, bytes: [u8; 4]) -> Result<u32, ReadError> {
    let length = order.u32(bytes);
    if !length.is_multiple_of(4) || !(BLOCK_FRAME_BYTES..=MAX_BLOCK_BYTES).contains(&length) {
        return Err(ReadError::BlockLength { got: length });
    }
    Ok(length)
}

/// Reads the rest of a block's body after `read` bytes of the block, and checks the trailing length.
fn read_body<R: Read>(
    source: &mut Window<R>,
    order: ByteOrder,
    length: u32,
    read: u32,
) -> Result<&[u8], ReadError> {
    // The trailing length takes four bytes.
    let expected = length
        .checked_sub(read + 4)
        .ok_or(ReadError::BlockLength { got: length })? as usize;
    let bytes = source.take(expected + 4)?;
    let truncated = |expected, got| ReadError::Truncated { expected, got };
    let (body, trailing) = bytes
        .split_at_checked(expected)
        .ok_or(truncated(expected, bytes.len()))?;
    let trailing = trailing.first_chunk().ok_or(truncated(4, trailing.len()))?;
    let trailing = order.u32(*trailing);
    if trailing != length {
        return Err(ReadError::TrailingLength {
            expected: length,
            got: trailing,
        });
    }
    Ok(body)
}

fn read_array<const N: usize, R: Read>(source: &mut Window<R>) -> Result<[u8; N], ReadError> {
    let bytes = source.take(N)?;
    bytes.first_chunk().copied().ok_or(ReadError::Truncated {
        expected: N,
        got: bytes.len(),
    })
}
