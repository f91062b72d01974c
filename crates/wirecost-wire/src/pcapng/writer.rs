//! Writes captures: section, interface, secrets, packets, in this order.
//!
//! Other programs decide two things here. Programs on libpcap (tcpdump, Zeek) refuse a second interface of LINKTYPE_RAW, because they
//! compare its number with another one, so a capture has one interface, and a packet's flags say which way it went. Wireshark's
//! editcap and mergecap refuse secrets before the interface, and Wireshark decrypts with no secrets that come after the packet.

use alloc::vec::Vec;
use std::io::{self, Write};

use super::{
    BLOCK_FRAME_BYTES, BYTE_ORDER_MAGIC, LINK_TYPE_RAW, MAX_BLOCK_BYTES, SECRETS_TLS_KEY_LOG, block_type,
    option_code,
};

/// Timestamps count units of 10^-9 s.
const NANOSECONDS: u8 = 9;
/// The number of the interface.
const ONLY_INTERFACE: u32 = 0;
/// The largest data of a block: it leaves room for the other fields and for options.
const MAX_DATA_BYTES: u32 = MAX_BLOCK_BYTES - 2 * u16::MAX as u32 - BLOCK_FRAME_BYTES;

/// The part of a capture before its packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capture<'a> {
    /// The machine.
    pub hardware: Option<&'a str>,
    /// The operating system.
    pub os: Option<&'a str>,
    /// The program that writes the capture.
    pub user_application: Option<&'a str>,
    /// A comment on the whole capture.
    pub comment: Option<&'a str>,
    /// The name of the interface, which carries IP packets.
    pub interface: Option<&'a str>,
    /// A TLS key log in the format of NSS. It comes before all packets; otherwise Wireshark decrypts nothing.
    pub tls_key_log: Option<&'a [u8]>,
}

/// The way of a packet through the interface (draft-ietf-opsawg-pcapng section 4.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Not known.
    #[default]
    Unknown,
    /// To the device.
    Inbound,
    /// From the device.
    Outbound,
}

impl Way {
    /// The way in the lowest two bits of a packet's flags.
    pub(super) const fn of_flags(flags: u32) -> Self {
        match flags & 3 {
            1 => Self::Inbound,
            2 => Self::Outbound,
            _ => Self::Unknown,
        }
    }

    /// The flags of a packet that went this way.
    const fn flags(self) -> Option<u32> {
        match self {
            Self::Unknown => None,
            Self::Inbound => Some(1),
            Self::Outbound => Some(2),
        }
    }
}

/// The error that ends the writing of a capture.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file system returned an error.
    #[error("cannot write the capture: {0}")]
    Io(#[from] io::Error),
    /// A packet, or a line of a key log, above `MAX_BLOCK_BYTES`.
    #[error("block body must be at most {expected} bytes, got {got}")]
    TooLong {
        /// The largest body.
        expected: u32,
        /// The body's length.
        got: usize,
    },
}

/// Writes a capture of IP packets with timestamps in nanoseconds. Little-endian on every machine.
#[derive(Debug)]
pub struct Writer<W> {
    sink: W,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// A writer of `capture` into `sink`. Writes everything before the packets.
    ///
    /// # Errors
    /// The sink returns an error, or a line of the key log is too long.
    pub fn new(sink: W, capture: &Capture<'_>) -> Result<Self, WriteError> {
        let mut writer = Self {
            sink,
            block: Vec::new(),
        };
        writer.section(capture)?;
        writer.interface(capture.interface)?;
        if let Some(key_log) = capture.tls_key_log {
            writer.all_secrets(key_log)?;
        }
        Ok(writer)
    }

    /// Writes `bytes`, a whole IP packet captured on its `way` at `timestamp_ns` nanoseconds since 1970.
    ///
    /// # Errors
    /// The sink returns an error, or the packet is too long.
    pub fn packet(
        &mut self,
        way: Way,
        timestamp_ns: u64,
        bytes: &[u8],
        comment: Option<&str>,
    ) -> Result<(), WriteError> {
        // draft-ietf-opsawg-pcapng section 4.3: the timestamp's upper half comes first in either byte order.
        let (high, low) = ((timestamp_ns >> 32) as u32, timestamp_ns as u32);
        let length = data_length(bytes)?;
        self.begin(block_type::ENHANCED_PACKET);
        for field in [ONLY_INTERFACE, high, low, length, length] {
            self.u32(field);
        }
        self.padded(bytes);
        let flags = way.flags();
        if let Some(flags) = flags {
            self.option(option_code::PACKET_FLAGS, &flags.to_le_bytes());
        }
        self.texts(&[(option_code::COMMENT, comment)]);
        self.end_options(flags.is_some() || comment.is_some());
        self.end()
    }

    /// Flushes and returns the sink.
    ///
    /// # Errors
    /// The sink returns an error.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn section(&mut self, capture: &Capture<'_>) -> Result<(), WriteError> {
        self.begin(block_type::SECTION_HEADER);
        self.u32(BYTE_ORDER_MAGIC);
        self.u16(1);
        self.u16(0);
        // draft-ietf-opsawg-pcapng section 4.1: all ones means that the section's length is not specified.
        self.block.extend_from_slice(&u64::MAX.to_le_bytes());
        let texts = [
            (option_code::SECTION_HARDWARE, capture.hardware),
            (option_code::SECTION_OS, capture.os),
            (option_code::SECTION_USER_APPLICATION, capture.user_application),
            (option_code::COMMENT, capture.comment),
        ];
        self.texts(&texts);
        self.end_options(texts.iter().any(|(_, text)| text.is_some()));
        self.end()
    }

    /// Writes one block, or several if one would be too long. Readers use the secrets of all.
    fn all_secrets(&mut self, mut key_log: &[u8]) -> Result<(), WriteError> {
        while let Some(fitting) = key_log.get(..MAX_DATA_BYTES as usize) {
            // A line must not be split.
            let newline = fitting.iter().rposition(|byte| *byte == b'\n');
            let whole = newline.map_or(key_log.len(), |newline| newline + 1);
            let (block, rest) = key_log.split_at(whole);
            self.secrets(block)?;
            key_log = rest;
        }
        if key_log.is_empty() {
            return Ok(());
        }
        self.secrets(key_log)
    }

    fn secrets(&mut self, key_log: &[u8]) -> Result<(), WriteError> {
        let length = data_length(key_log)?;
        self.begin(block_type::DECRYPTION_SECRETS);
        self.u32(SECRETS_TLS_KEY_LOG);
        self.u32(length);
        self.padded(key_log);
        self.end()
    }

    fn interface(&mut self, name: Option<&str>) -> Result<(), WriteError> {
        self.begin(block_type::INTERFACE_DESCRIPTION);
        self.u16(LINK_TYPE_RAW);
        self.u16(0);
        // A snap length of zero: packets are never cut.
        self.u32(0);
        self.option(option_code::INTERFACE_TIMESTAMP_RESOLUTION, &[NANOSECONDS]);
        self.texts(&[(option_code::INTERFACE_NAME, name)]);
        self.end_options(true);
        self.end()
    }

    fn begin(&mut self, block_type: u32) {
        self.block.clear();
        self.u32(block_type);
        self.u32(0);
    }

    fn u16(&mut self, value: u16) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends `bytes` and zeros up to the next word of four bytes; blocks consist of such words.
    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Appends the texts that are present.
    fn texts(&mut self, texts: &[(u16, Option<&str>)]) {
        for (code, text) in texts {
            if let Some(text) = text {
                self.option(*code, cut(text).as_bytes());
            }
        }
    }

    /// Ends the options of a block that `has_some`.
    fn end_options(&mut self, has_some: bool) {
        if has_some {
            self.option(option_code::END_OF_OPTIONS, &[]);
        }
    }

    /// Appends an option. What its length field cannot say is left out.
    fn option(&mut self, code: u16, value: &[u8]) {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.u16(code);
        self.u16(length);
        self.padded(value.get(..length.into()).unwrap_or_default());
    }

    /// Fills in the total length, repeats it after the body and writes the block.
    fn end(&mut self) -> Result<(), WriteError> {
        let total = (self.block.len() as u32 + 4).to_le_bytes();
        self.block.extend_from_slice(&total);
        if let Some(field) = self.block.get_mut(4..8) {
            field.copy_from_slice(&total);
        }
        self.sink.write_all(&self.block)?;
        Ok(())
    }
}

/// The length of a block's data.
fn data_length(data: &[u8]) -> Result<u32, WriteError> {
    u32::try_from(data.len())
        .ok()
        .filter(|length| *length <= MAX_DATA_BYTES)
        .ok_or(WriteError::TooLong {
            expected: MAX_DATA_BYTES,
            got: data.len(),
        })
}

/// `text`, truncated to the range of an option's length field.
fn cut(text: &str) -> &str {
    let end = text.floor_char_boundary(usize::from(u16::MAX));
    text.get(..end).unwrap_or_default()
}
