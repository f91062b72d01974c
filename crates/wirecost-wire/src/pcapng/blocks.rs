//! The blocks of a capture.

use super::fields::{Fields, text};
use super::option_code;
use super::reader::ReadError;
use super::writer::Way;
use crate::packet::{self, ByteOrder, Secrets};
use alloc::string::String;
use alloc::vec::Vec;

/// A block of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A section starts. Its interfaces are numbered from 0 again.
    Section(Section),
    /// An interface is described.
    Interface(Interface),
    /// A packet was seen.
    Packet(Packet),
    /// Secrets for decryption.
    Secrets(Secrets),
    /// What was counted on an interface.
    Statistics(Statistics),
    /// A block of another type, without its content.
    Other {
        /// The block's type.
        block_type: u32,
        /// Bytes of its body.
        body_bytes: usize,
    },
}

/// The origin of a section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The machine.
    pub hardware: Option<String>,
    /// The operating system.
    pub os: Option<String>,
    /// The program.
    pub user_application: Option<String>,
    /// The writer's comment on the whole section.
    pub comment: Option<String>,
}

/// An interface of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The type of its packets' first header, in the registry "LINKTYPE values"; 101 is a bare IP packet.
    pub link_type: u16,
    /// The most bytes kept of a packet; 0 for no limit.
    pub snap_bytes: u32,
    /// Its name.
    pub name: Option<String>,
    clock: Clock,
}

/// Counts of an interface since the capture began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The interface's position in the section.
    pub interface: u32,
    /// Packets that the interface dropped because it lacked resources.
    pub dropped_by_interface: u64,
    /// Packets that the operating system dropped.
    pub dropped_by_system: u64,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The interface's position in the section.
    pub interface: u32,
    /// Its way through the interface.
    pub way: Way,
    /// When it was captured, in nanoseconds since 1970; `None` in blocks without a timestamp.
    pub timestamp_ns: Option<u64>,
    /// Its bytes, perhaps cut to the snap length.
    pub bytes: Vec<u8>,
    /// Its length on the link, in bytes.
    pub original_bytes: u32,
    /// The first comment on it.
    pub comment: Option<String>,
}

impl Section {
    /// Reads the options after major version, minor version and section length.
    pub(super) fn new(mut fields: Fields<'_>) -> Result<Self, ReadError> {
        fields.padded(12)?;
        let mut section = Self::default();
        while let Some((code, value)) = fields.option()? {
            let slot = match code {
                option_code::SECTION_HARDWARE => &mut section.hardware,
                option_code::SECTION_OS => &mut section.os,
                option_code::SECTION_USER_APPLICATION => &mut section.user_application,
                option_code::COMMENT => &mut section.comment,
                _ => continue,
            };
            slot.get_or_insert_with(|| text(value));
        }
        Ok(section)
    }
}

impl Interface {
    pub(super) fn new(mut fields: Fields<'_>, order: ByteOrder) -> Result<Self, ReadError> {
        let link_type = fields.u16()?;
        fields.u16()?;
        let mut interface = Self {
            link_type,
            snap_bytes: fields.u32()?,
            name: None,
            clock: Clock::default(),
        };
        while let Some((code, value)) = fields.option()? {
            match (code, value) {
                (option_code::INTERFACE_NAME, name) => interface.name = Some(text(name)),
                (option_code::INTERFACE_TIMESTAMP_RESOLUTION, [resolution]) => {
                    interface.clock.resolution = Resolution::from_wire(*resolution);
                }
                (option_code::INTERFACE_TIMESTAMP_OFFSET, offset) => {
                    let seconds = offset.first_chunk().map_or(0, |bytes| order.i64(*bytes));
                    interface.clock.offset_seconds = seconds;
                }
                _ => {}
            }
        }
        Ok(interface)
    }

    /// The properties that the interface's packets are read with.
    pub(super) const fn decoding(&self) -> Decoding {
        Decoding {
            link_type: self.link_type,
            snap_bytes: self.snap_bytes,
            clock: self.clock,
        }
    }
}

impl Statistics {
    /// Reads interface, time and options (draft-ietf-opsawg-pcapng section 4.6). Damaged ones count nothing: no packet depends
    /// on them.
    pub(super) fn new(mut fields: Fields<'_>, order: ByteOrder) -> Self {
        let mut statistics = Self {
            interface: fields.u32().unwrap_or(u32::MAX),
            ..Self::default()
        };
        let mut options = fields.padded(8).ok().map(|_| fields);
        while let Some(Ok(Some((code, value)))) = options.as_mut().map(Fields::option) {
            let slot = match code {
                option_code::STATISTICS_INTERFACE_DROPS => &mut statistics.dropped_by_interface,
                option_code::STATISTICS_SYSTEM_DROPS => &mut statistics.dropped_by_system,
                _ => continue,
            };
            *slot = value.first_chunk().map_or(0, |bytes| order.u64(*bytes));
        }
        statistics
    }

    /// Packets that the capture lacks.
    pub const fn dropped(&self) -> u64 {
        self.dropped_by_interface.saturating_add(self.dropped_by_system)
    }
}

/// A packet in its block, borrowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketView<'a> {
    interface: u32,
    link_type: u16,
    timestamp_ns: Option<u64>,
    bytes: &'a [u8],
    original_bytes: u32,
    options: Option<Fields<'a>>,
    /// Packets lost before it, if its block has a field for them.
    lost: Option<u16>,
}

impl<'a> PacketView<'a> {
    /// The packet of an Enhanced Packet Block (draft-ietf-opsawg-pcapng section 4.3).
    pub(super) fn enhanced(mut fields: Fields<'a>, interfaces: &[Decoding]) -> Result<Self, ReadError> {
        let interface = fields.u32()?;
        Self::timed(fields, interfaces, interface, None)
    }

    /// The packet of an obsolete Packet Block (draft-ietf-opsawg-pcapng appendix A).
    pub(super) fn obsolete(mut fields: Fields<'a>, interfaces: &[Decoding]) -> Result<Self, ReadError> {
        let interface = u32::from(fields.u16()?);
        let lost = fields.u16()?;
        // All ones say that the number is not known.
        Self::timed(
            fields,
            interfaces,
            interface,
            Some(lost).filter(|lost| *lost != u16::MAX),
        )
    }

    /// The rest of both, which is alike: time, lengths, bytes and options.
    fn timed(
        mut fields: Fields<'a>,
        interfaces: &[Decoding],
        interface: u32,
        lost: Option<u16>,
    ) -> Result<Self, ReadError> {
        let decoding = decoding(interfaces, interface)?;
        let units = u64::from(fields.u32()?) << 32 | u64::from(fields.u32()?);
        let captured = fields.u32()? as usize;
        let original_bytes = fields.u32()?;
        Ok(Self {
            interface,
            link_type: decoding.link_type,
            timestamp_ns: Some(decoding.clock.nanoseconds(units)),
            bytes: fields.padded(captured)?,
            original_bytes,
            options: Some(fields),
            lost,
        })
    }

    /// The packet of a Simple Packet Block: on the first interface, without time (section 4.4).
    pub(super) fn simple(mut fields: Fields<'a>, interfaces: &[Decoding]) -> Result<Self, ReadError> {
        let decoding = decoding(interfaces, 0)?;
        let original_bytes = fields.u32()?;
        let captured = match decoding.snap_bytes {
            0 => original_bytes,
            limit => original_bytes.min(limit),
        };
        Ok(Self {
            interface: 0,
            link_type: decoding.link_type,
            timestamp_ns: None,
            bytes: fields.padded(captured as usize)?,
            original_bytes,
            options: None,
            lost: None,
        })
    }

    /// The packet without its comments, of a section after `interfaces_before` interfaces of others.
    pub(super) fn captured(&self, interfaces_before: u32, order: ByteOrder) -> packet::Packet<'a> {
        let option = || self.options.and_then(|options| drop_count(options, order));
        packet::Packet {
            timestamp_ns: self.timestamp_ns,
            link_type: self.link_type,
            bytes: self.bytes,
            original_bytes: self.original_bytes,
            interface: interfaces_before.saturating_add(self.interface),
            lost_before: self.lost.map(u64::from).or_else(option).unwrap_or(0),
        }
    }

    /// The packet with its comment, owned.
    pub(super) fn into_packet(self) -> Result<Packet, ReadError> {
        let (way, comment) = self
            .options
            .map(flags_and_comment)
            .transpose()?
            .unwrap_or_default();
        Ok(Packet {
            interface: self.interface,
            way,
            timestamp_ns: self.timestamp_ns,
            bytes: self.bytes.to_vec(),
            original_bytes: self.original_bytes,
            comment,
        })
    }
}

/// The number of packets lost before a packet (section 4.3, epb_dropcount). Options that are damaged end the search.
fn drop_count(mut options: Fields<'_>, order: ByteOrder) -> Option<u64> {
    while let Ok(Some((code, value))) = options.option() {
        if code == option_code::PACKET_DROP_COUNT {
            return value.first_chunk().map(|bytes| order.u64(*bytes));
        }
    }
    None
}

/// The way in the flags, and the first comment, among `options`.
fn flags_and_comment(mut options: Fields<'_>) -> Result<(Way, Option<String>), ReadError> {
    let (mut way, mut comment) = (Way::Unknown, None);
    while let Some((code, value)) = options.option()? {
        match code {
            option_code::COMMENT => drop(comment.get_or_insert_with(|| text(value))),
            option_code::PACKET_FLAGS => way = options.with(value).u32().map_or(way, Way::of_flags),
            _ => {}
        }
    }
    Ok((way, comment))
}

impl Secrets {
    pub(super) fn new(mut fields: Fields<'_>) -> Result<Self, ReadError> {
        let secrets_type = fields.u32()?;
        let length = fields.u32()? as usize;
        Ok(Self {
            secrets_type,
            data: fields.padded(length)?.to_vec(),
        })
    }
}

fn decoding(interfaces: &[Decoding], interface: u32) -> Result<Decoding, ReadError> {
    let decoding = usize::try_from(interface)
        .ok()
        .and_then(|index| interfaces.get(index));
    decoding.copied().ok_or(ReadError::UnknownInterface {
        expected: interfaces.len(),
        got: interface,
    })
}

/// The properties of an interface that its packets are read with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoding {
    link_type: u16,
    snap_bytes: u32,
    clock: Clock,
}

/// The clock of an interface (draft-ietf-opsawg-pcapng section 4.2, if_tsresol and if_tsoffset).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    resolution: Resolution,
    offset_seconds: i64,
}

/// A clock's unit: a negative power of ten or of two of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    PowerOfTen(u8),
    PowerOfTwo(u8),
}

impl Default for Clock {
    /// Microseconds since 1970, the default of an interface.
    fn default() -> Self {
        Self {
            resolution: Resolution::PowerOfTen(6),
            offset_seconds: 0,
        }
    }
}

impl Resolution {
    const fn from_wire(value: u8) -> Self {
        match value {
            0..=0x7f => Self::PowerOfTen(value),
            0x80.. => Self::PowerOfTwo(value & 0x7f),
        }
    }

    /// `units` units in nanoseconds, rounded down. 64 bits of units times 10^9 are below 2^94.
    fn nanoseconds(self, units: u64) -> u128 {
        let scaled = u128::from(units) * 1_000_000_000;
        match self {
            Self::PowerOfTen(exponent) => {
                let divisor = 10u128.checked_pow(u32::from(exponent));
                divisor.map_or(0, |divisor| scaled / divisor)
            }
            Self::PowerOfTwo(exponent) => scaled >> exponent,
        }
    }
}

impl Clock {
    /// `units` units as nanoseconds since 1970, saturated to 64 bits.
    fn nanoseconds(self, units: u64) -> u64 {
        let offset = i128::from(self.offset_seconds) * 1_000_000_000;
        let nanoseconds = self.resolution.nanoseconds(units).cast_signed() + offset;
        u64::try_from(nanoseconds.max(0)).unwrap_or(u64::MAX)
    }
}
