//! MQTT 3.1.1 and 5: describes packets by their fixed header and, in PUBLISH, by the fields before the payload.
//! CONNECT determines the version. If it was not captured, the version is assumed to be 3.1.1.

use wirecost_mqtt::codec::{Frame, PacketType, Version};
use wirecost_proto::Cause;

use super::Unreadable;
use crate::span_list::{Purpose, Rest};

#[derive(Debug, Default)]
pub(crate) struct Mqtt {
    version: Option<Version>,
}

/// The fixed header of a packet (section 2.1).
struct FixedHeader<'a> {
    frame: Frame<'a>,
    header_bytes: usize,
    remaining: usize,
}

impl<'a> FixedHeader<'a> {
    /// `None` while it is incomplete.
    fn new(bytes: &'a [u8]) -> Result<Option<Self>, Unreadable> {
        let rest = bytes.get(1..).unwrap_or_default();
        let Some((remaining, length_bytes)) = variable_byte_integer(rest)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            frame: Frame::new(bytes),
            header_bytes: 1 + length_bytes,
            remaining,
        }))
    }

    fn body(&self) -> &'a [u8] {
        let body = self.frame.bytes().get(self.header_bytes..).unwrap_or_default();
        body.get(..self.remaining).unwrap_or(body)
    }

    fn packet_bytes(&self) -> usize {
        self.header_bytes + self.remaining
    }
}

impl Mqtt {
    pub(crate) const fn label(&self) -> &'static str {
        match self.version {
            Some(Version::V5) => "MQTT 5",
            Some(Version::V3_1_1) => "MQTT 3.1.1",
            None => "MQTT",
        }
    }

    /// Describes the packet at the start of `bytes`, or returns `None` if too little of it has arrived.
    pub(crate) fn packet(&mut self, bytes: &[u8]) -> Result<Option<Rest>, Unreadable> {
        let Some(header) = FixedHeader::new(bytes)? else {
            return Ok(None);
        };
        let kind = header
            .frame
            .packet_type()
            .ok_or(Unreadable("not an MQTT packet type"))?;
        let purpose = Purpose {
            phase: kind.phase(),
            cause: kind.cause(),
        };
        let whole = Rest::new([header.packet_bytes() as u64, 0, 0], purpose);
        match kind {
            PacketType::Connect => Ok(self.learn_version(&header)?.then_some(whole)),
            PacketType::Publish => self.publish(&header),
            _ => Ok(Some(whole)),
        }
    }

    /// Whether CONNECT has arrived up to its protocol level (section 3.1.2.2).
    fn learn_version(&mut self, header: &FixedHeader<'_>) -> Result<bool, Unreadable> {
        let body = header.body();
        let Some(name) = length_prefixed(body) else {
            return Ok(false);
        };
        let Some(level) = body.get(name + 2) else {
            return incomplete(header).map(|()| false);
        };
        let version = Version::ALL.into_iter().find(|version| version.level() == *level);
        // Level 3, MQTT 3.1, has the packets of 3.1.1.
        self.version = version.or(Some(Version::V3_1_1));
        Ok(true)
    }

    /// Topic name, packet identifier and properties are application (section 3.3.2). The rest is payload.
    fn publish(&self, header: &FixedHeader<'_>) -> Result<Option<Rest>, Unreadable> {
        let body = header.body();
        let flags = header.frame.flags();
        let Some(topic) = length_prefixed(body) else {
            return incomplete(header).map(|()| None);
        };
        // Section 3.3.2.2: only QoS 1 and 2 have a packet identifier.
        let mut before = 2 + topic + if flags & 0b0110 == 0 { 0 } else { 2 };
        if self.version == Some(Version::V5) {
            let properties = body.get(before..).unwrap_or_default();
            let Some((bytes, length_bytes)) = variable_byte_integer(properties)? else {
                return incomplete(header).map(|()| None);
            };
            before += length_bytes + bytes;
        }
        let payload = header
            .remaining
            .checked_sub(before)
            .ok_or(Unreadable("PUBLISH longer than its remaining length"))?;
        // Section 3.3.1.1: DUP marks a retransmission.
        let cause = if flags & 0b1000 == 0 {
            Cause::Original
        } else {
            Cause::Retransmission
        };
        let parts = [(header.header_bytes + before) as u64, payload as u64, 0];
        let phase = PacketType::Publish.phase();
        Ok(Some(Rest::new(parts, Purpose { phase, cause })))
    }
}

/// An error if the packet is complete. Otherwise more bytes are needed.
fn incomplete(header: &FixedHeader<'_>) -> Result<(), Unreadable> {
    if header.body().len() < header.remaining {
        return Ok(());
    }
    Err(Unreadable("MQTT packet longer than its remaining length"))
}

/// The value of the length field of the string or binary data at the start of `bytes` (section 1.5.4).
fn length_prefixed(bytes: &[u8]) -> Option<usize> {
    let length: &[u8; 2] = bytes.first_chunk()?;
    Some(usize::from(u16::from_be_bytes(*length)))
}

/// Value and length of a variable byte integer (section 1.5.5), or `None` while it is incomplete.
fn variable_byte_integer(bytes: &[u8]) -> Result<Option<(usize, usize)>, Unreadable> {
    let mut value = 0;
    for (index, byte) in bytes.iter().take(4).enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Ok(Some((value, index + 1)));
        }
    }
    if bytes.len() < 4 {
        return Ok(None);
    }
    Err(Unreadable("MQTT length of more than four bytes"))
}
