//! CONNECT (section 3.1) and CONNACK (section 3.2).

use alloc::vec::Vec;

use crate::codec::properties::{Properties, PropertiesBuf, WILL};
use crate::codec::reader::Reader;
use crate::codec::text::{OwnedBinary, OwnedText};
use crate::codec::writer::{put_binary, put_text, put_two_byte_integer};
use crate::codec::{Binary, DecodeError, Frame, Malformed, PacketType, ReasonCode, Text, Version, v3_1_1};
use crate::quality::QoS;
use crate::topic;

const PROTOCOL_NAME: &str = "MQTT";

// Section 3.1.2.3: the connect flags.
const RESERVED: u8 = 1;
const CLEAN_START: u8 = 1 << 1;
const WILL_FLAG: u8 = 1 << 2;
const WILL_QOS_SHIFT: u8 = 3;
const WILL_RETAIN: u8 = 1 << 5;
const PASSWORD: u8 = 1 << 6;
const USER_NAME: u8 = 1 << 7;

/// The message that the server publishes after the client is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Will<'a> {
    /// Topic name.
    pub topic: Text<'a>,
    /// Payload.
    pub payload: Binary<'a>,
    /// Quality of service.
    pub qos: QoS,
    /// Whether it is retained.
    pub retain: bool,
    /// MQTT 5 will properties.
    pub properties: Properties<'a>,
}

/// A will that owns its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedWill {
    /// Topic name.
    pub topic: OwnedText,
    /// Payload.
    pub payload: OwnedBinary,
    /// Quality of service.
    pub qos: QoS,
    /// Whether it is retained.
    pub retain: bool,
    /// MQTT 5 will properties.
    pub properties: PropertiesBuf,
}

impl OwnedWill {
    pub(crate) fn as_will(&self) -> Will<'_> {
        Will {
            topic: self.topic.as_text(),
            payload: self.payload.as_binary(),
            qos: self.qos,
            retain: self.retain,
            properties: self.properties.as_properties(),
        }
    }
}

impl From<Will<'_>> for OwnedWill {
    fn from(will: Will<'_>) -> Self {
        Self {
            topic: will.topic.into(),
            payload: will.payload.into(),
            qos: will.qos,
            retain: will.retain,
            properties: will.properties.into(),
        }
    }
}

/// The first packet of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect<'a> {
    /// The protocol version of the client.
    pub version: Version,
    /// Clean start (MQTT 5) or clean session (3.1.1).
    pub clean_start: bool,
    /// The keep-alive in seconds; 0 turns it off.
    pub keep_alive: u16,
    /// MQTT 5 properties.
    pub properties: Properties<'a>,
    /// The client identifier. If empty, the server assigns one.
    pub client_id: Text<'a>,
    /// Will message.
    pub will: Option<Will<'a>>,
    /// User name.
    pub username: Option<Text<'a>>,
    /// Password.
    pub password: Option<Binary<'a>>,
}

impl<'a> Connect<'a> {
    pub(crate) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let version = decode_version(&mut reader)?;
        let flags = reader.byte()?;
        check_flags(flags, version)?;
        let connect = Self {
            version,
            clean_start: flags & CLEAN_START != 0,
            keep_alive: reader.two_byte_integer()?,
            properties: reader.properties(version, PacketType::Connect)?,
            client_id: reader.text()?,
            will: present(flags & WILL_FLAG, || Will::decode(&mut reader, flags, version))?,
            username: present(flags & USER_NAME, || Ok(reader.text()?))?,
            password: present(flags & PASSWORD, || Ok(reader.binary()?))?,
        };
        reader.finish()?;
        Ok(connect)
    }

    fn flags(&self) -> u8 {
        let flag = |set, bit| if set { bit } else { 0 };
        let will = self.will.map_or(0, |will| {
            WILL_FLAG | will.qos.bits() << WILL_QOS_SHIFT | flag(will.retain, WILL_RETAIN)
        });
        flag(self.clean_start, CLEAN_START)
            | will
            | flag(self.password.is_some(), PASSWORD)
            | flag(self.username.is_some(), USER_NAME)
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_two_byte_integer(out, 4);
        out.extend_from_slice(PROTOCOL_NAME.as_bytes());
        out.push(self.version.level());
        out.push(self.flags());
        put_two_byte_integer(out, self.keep_alive);
        self.properties.put(self.version, out);
        put_text(out, self.client_id);
        if let Some(will) = self.will {
            will.properties.put(self.version, out);
            put_text(out, will.topic);
            put_binary(out, will.payload);
        }
        if let Some(username) = self.username {
            put_text(out, username);
        }
        if let Some(password) = self.password {
            put_binary(out, password);
        }
    }
}

fn decode_version(reader: &mut Reader<'_>) -> Result<Version, DecodeError> {
    // [MQTT-3.1.2-1]
    if reader.text()?.as_str() != PROTOCOL_NAME {
        return Err(Malformed::ProtocolName.into());
    }
    let level = reader.byte()?;
    let version = Version::ALL.into_iter().find(|version| version.level() == level);
    version.ok_or(DecodeError::UnsupportedVersion(level))
}

/// The protocol level in a CONNECT, even if the rest is malformed.
pub(crate) fn offered_version(frame: Frame<'_>) -> Option<u8> {
    if frame.packet_type() != Some(PacketType::Connect) {
        return None;
    }
    let mut reader = Reader::new(frame.body());
    reader.text().ok().filter(|name| name.as_str() == PROTOCOL_NAME)?;
    reader.byte().ok()
}

fn check_flags(flags: u8, version: Version) -> Result<(), Malformed> {
    // [MQTT-3.1.2-3]
    let reserved = flags & RESERVED != 0;
    // [MQTT-3.1.2-11], [MQTT-3.1.2-13]: without a will, its QoS and retain flag must be 0.
    let orphaned_will = flags & WILL_FLAG == 0 && flags & (0b11 << WILL_QOS_SHIFT | WILL_RETAIN) != 0;
    // [MQTT-3.1.2-22] of 3.1.1; MQTT 5 allows a password alone (section 3.1.2.9).
    let orphaned_password = version == Version::V3_1_1 && flags & (PASSWORD | USER_NAME) == PASSWORD;
    if reserved || orphaned_will || orphaned_password {
        return Err(Malformed::ReservedBits(flags));
    }
    Ok(())
}

fn present<T>(flag: u8, decode: impl FnOnce() -> Result<T, DecodeError>) -> Result<Option<T>, DecodeError> {
    if flag == 0 { Ok(None) } else { decode().map(Some) }
}

impl<'a> Will<'a> {
    fn decode(reader: &mut Reader<'a>, flags: u8, version: Version) -> Result<Self, DecodeError> {
        let properties = Properties::decode(reader, version, WILL)?;
        let topic = reader.text()?;
        if topic.is_empty() || topic::has_wildcard(&topic) {
            return Err(Malformed::TopicName.into());
        }
        Ok(Self {
            topic,
            payload: reader.binary()?,
            qos: QoS::from_bits(flags >> WILL_QOS_SHIFT & 0b11).ok_or(Malformed::QoS)?,
            retain: flags & WILL_RETAIN != 0,
            properties,
        })
    }
}

/// The server's answer to CONNECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connack<'a> {
    /// Whether the server resumed the client's session.
    pub session_present: bool,
    /// Success, or the reason of the refusal. MQTT 3.1.1 return codes are translated.
    pub reason: ReasonCode,
    /// MQTT 5 properties.
    pub properties: Properties<'a>,
}

impl<'a> Connack<'a> {
    pub(crate) fn decode(mut reader: Reader<'a>, version: Version) -> Result<Self, DecodeError> {
        let flags = reader.byte()?;
        // [MQTT-3.2.2-1]
        if flags & !1 != 0 {
            return Err(Malformed::ReservedBits(flags).into());
        }
        let code = reader.byte()?;
        let reason = match version {
            Version::V3_1_1 => v3_1_1::reason_of_return_code(code)?,
            Version::V5 => ReasonCode::decode(code, PacketType::Connack)?,
        };
        let properties = reader.properties(version, PacketType::Connack)?;
        reader.finish()?;
        Ok(Self {
            session_present: flags != 0,
            reason,
            properties,
        })
    }

    pub(crate) fn put(&self, version: Version, out: &mut Vec<u8>) {
        out.push(u8::from(self.session_present));
        out.push(match version {
            Version::V3_1_1 => v3_1_1::return_code_of(self.reason),
            Version::V5 => self.reason.code(),
        });
        self.properties.put(version, out);
    }
}
