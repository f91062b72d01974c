//! Captures of either format, pcap or pcapng, read without a copy per packet.
//!
//! ```
//! use wirecost_wire::capture::{Item, Reader};
//! use wirecost_wire::pcapng::{Capture, Way, Writer};
//!
//! let capture = Capture { interface: Some("lo"), ..Capture::default() };
//! let mut writer = Writer::new(Vec::new(), &capture)?;
//! writer.packet(Way::Unknown, 42, &[0x45, 0x00], None)?;
//! let file = writer.finish()?;
//!
//! let mut reader = Reader::new(file.as_slice())?;
//! let Some(Item::Interface { number: 0, name: Some(name) }) = reader.item()? else { panic!("one interface") };
//! assert_eq!(name, "lo");
//! let Some(Item::Packet(packet)) = reader.item()? else { panic!("one packet") };
//! assert_eq!((packet.timestamp_ns, packet.link_type, packet.bytes), (Some(42), 101, &[0x45, 0x00][..]));
//! assert!(reader.item()?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crate::packet::{Item, Packet};
use std::io::{self, Read};

use crate::window::Window;
use crate::{pcap, pcapng};

/// The file headers of gzip (RFC 1952 section 2.3.1), Zstandard (RFC 8878 section 3.1.1) and xz.
const COMPRESSED: [(&[u8], &str); 3] = [
    (&[0x1f, 0x8b], "gzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (&[0xfd, b'7', b'z', b'X'], "xz"),
];

/// The error that ends the reading of a capture.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system returned an error.
    #[error("cannot read the capture: {0}")]
    Io(#[from] io::Error),
    /// The file has no byte.
    #[error("the file is empty")]
    Empty,
    /// The file is compressed.
    #[error("the file is compressed with {program}: decompress it first")]
    Compressed {
        /// The program that decompresses it.
        program: &'static str,
    },
    /// The file is of no known format.
    #[error("not a capture: a pcap or pcapng file starts with a magic number, this one with 0x{got:08x}")]
    NotACapture {
        /// The first four bytes, as a big-endian number.
        got: u32,
    },
    /// A pcap file is damaged or cut short.
    #[error(transparent)]
    Pcap(#[from] pcap::ReadError),
    /// A pcapng file is damaged or cut short.
    #[error(transparent)]
    Pcapng(#[from] pcapng::ReadError),
}

/// The packets of a capture and what is said about them, in their order.
#[derive(Debug)]
pub struct Reader<R>(Format<R>);

#[derive(Debug)]
enum Format<R> {
    Pcap(pcap::Reader<R>),
    Pcapng(pcapng::Reader<R>),
}

impl<R: Read> Reader<R> {
    /// A reader of `source`, with a buffer of its own.
    ///
    /// # Errors
    /// The file is empty, compressed, or not a capture.
    pub fn new(source: R) -> Result<Self, ReadError> {
        let mut window = Window::new(source);
        let magic = window.peek(4)?;
        if magic.is_empty() {
            return Err(ReadError::Empty);
        }
        if let Some((_, program)) = COMPRESSED.iter().find(|(head, _)| magic.starts_with(head)) {
            return Err(ReadError::Compressed { program });
        }
        let mut first = [0; 4];
        first.iter_mut().zip(magic).for_each(|(to, from)| *to = *from);
        match u32::from_be_bytes(first) {
            pcapng::SECTION_HEADER => Ok(Self(Format::Pcapng(pcapng::Reader::of_window(window)))),
            magic if pcap::is_magic(magic) => Ok(Self(Format::Pcap(pcap::Reader::of_window(window)?))),
            got => Err(ReadError::NotACapture { got }),
        }
    }

    /// The next item; `None` at the end of the file.
    ///
    /// # Errors
    /// The file is damaged or ends inside a packet. No further packet can be read.
    pub fn item(&mut self) -> Result<Option<Item<'_>>, ReadError> {
        match &mut self.0 {
            Format::Pcap(reader) => Ok(reader.packet()?.map(Item::Packet)),
            Format::Pcapng(reader) => Ok(reader.item()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::string::ToString;

    #[test]
    fn what_is_no_capture_is_named() {
        let table: [(&[u8], &str); 4] = [
            (b"", "the file is empty"),
            (
                &[0x1f, 0x8b, 8, 0],
                "the file is compressed with gzip: decompress it first",
            ),
            (
                b"GET / HTTP/1.1",
                "not a capture: a pcap or pcapng file starts with a magic number, this one with 0x47455420",
            ),
            (
                &[0xa1, 0xb2, 0xc3, 0xd4, 0],
                "file header needs 24 bytes, the file has 5",
            ),
        ];
        for (file, text) in table {
            assert_eq!(Reader::new(file).unwrap_err().to_string(), text);
        }
    }
}
