//! The packets with a packet identifier and a reason code: PUBACK, PUBREC, PUBREL, PUBCOMP (sections 3.4 to 3.7), and
//! those with a reason code only: DISCONNECT and AUTH (sections 3.14 and 3.15).

use alloc::vec::Vec;

use crate::codec::properties::Properties;
use crate::codec::reader::Reader;
use crate::codec::writer::put_two_byte_integer;
use crate::codec::{DecodeError, Malformed, PacketType, ProtocolError, ReasonCode, Version};
use crate::quality::PacketId;

/// PUBACK, PUBREC, PUBREL or PUBCOMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement<'a> {
    /// The packet identifier of the message.
    pub packet_id: PacketId,
    /// The reason code; always success in MQTT 3.1.1.
    pub reason: ReasonCode,
    /// MQTT 5 properties.
    pub properties: Properties<'a>,
}

impl<'a> Acknowledgement<'a> {
    /// The acknowledgement of `packet_id` without properties.
    pub const fn new(packet_id: PacketId, reason: ReasonCode) -> Self {
        Self {
            packet_id,
            reason,
            properties: Properties::EMPTY,
        }
    }

    pub(crate) fn decode(
        mut reader: Reader<'a>,
        version: Version,
        packet: PacketType,
    ) -> Result<Self, DecodeError> {
        let packet_id = reader.packet_id()?;
        let (reason, properties) = decode_reason(reader, version, packet)?;
        Ok(Self {
            packet_id,
            reason,
            properties,
        })
    }

    pub(crate) fn put(&self, version: Version, out: &mut Vec<u8>) {
        put_two_byte_integer(out, self.packet_id.get());
        put_reason(self.reason, self.properties, version, out);
    }
}

/// DISCONNECT or AUTH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason<'a> {
    /// The reason code. A DISCONNECT of MQTT 3.1.1 always has success (normal disconnection).
    pub code: ReasonCode,
    /// MQTT 5 properties. Those of AUTH are the method and its data.
    pub properties: Properties<'a>,
}

impl<'a> Reason<'a> {
    /// A reason without properties.
    pub const fn new(code: ReasonCode) -> Self {
        Self {
            code,
            properties: Properties::EMPTY,
        }
    }

    pub(crate) fn decode(
        reader: Reader<'a>,
        version: Version,
        packet: PacketType,
    ) -> Result<Self, DecodeError> {
        let (code, properties) = decode_reason(reader, version, packet)?;
        Ok(Self { code, properties })
    }

    /// Decodes AUTH. MQTT 3.1.1 does not have it.
    pub(crate) fn decode_auth(reader: Reader<'a>, version: Version) -> Result<Self, DecodeError> {
        if version == Version::V3_1_1 {
            return Err(Malformed::PacketType(PacketType::Auth as u8).into());
        }
        let auth = Self::decode(reader, version, PacketType::Auth)?;
        // Section 3.15.2.2: only success may omit the method.
        if auth.code != ReasonCode::Success && auth.properties.is_empty() {
            return Err(ProtocolError::NoMethod.into());
        }
        Ok(auth)
    }

    pub(crate) fn put(&self, version: Version, out: &mut Vec<u8>) {
        put_reason(self.code, self.properties, version, out);
    }
}

/// Reads a reason code and properties. Both, or the properties, may be missing at the end (section 3.4.2.1).
fn decode_reason<'a>(
    mut reader: Reader<'a>,
    version: Version,
    packet: PacketType,
) -> Result<(ReasonCode, Properties<'a>), DecodeError> {
    if version == Version::V3_1_1 || reader.is_empty() {
        reader.finish()?;
        return Ok((ReasonCode::Success, Properties::EMPTY));
    }
    let reason = ReasonCode::decode(reader.byte()?, packet)?;
    if reader.is_empty() {
        return Ok((reason, Properties::EMPTY));
    }
    let properties = reader.properties(version, packet)?;
    reader.finish()?;
    Ok((reason, properties))
}

/// Writes a reason code and properties in as few bytes as possible.
fn put_reason(reason: ReasonCode, properties: Properties<'_>, version: Version, out: &mut Vec<u8>) {
    if version == Version::V3_1_1 || (reason == ReasonCode::Success && properties.is_empty()) {
        return;
    }
    out.push(reason.code());
    if !properties.is_empty() {
        properties.put(version, out);
    }
}
