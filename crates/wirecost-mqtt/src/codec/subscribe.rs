//! SUBSCRIBE, SUBACK, UNSUBSCRIBE and UNSUBACK (sections 3.8 to 3.11).

use alloc::vec::Vec;

use crate::codec::properties::Properties;
use crate::codec::reader::Reader;
use crate::codec::writer::{put_text, put_two_byte_integer};
use crate::codec::{DecodeError, Malformed, PacketType, ProtocolError, ReasonCode, Text, Version, v3_1_1};
use crate::quality::{PacketId, QoS};
use crate::topic;

/// When the server sends retained messages for a subscription (section 3.8.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RetainHandling {
    /// At every SUBSCRIBE.
    #[default]
    AtSubscribe,
    /// At a SUBSCRIBE that creates a subscription.
    IfNew,
    /// Never.
    Never,
}

/// The options of a subscription. MQTT 3.1.1 has only the QoS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionOptions {
    /// The highest QoS of messages for the subscription.
    pub qos: QoS,
    /// Whether to exclude messages that the subscriber published itself.
    pub no_local: bool,
    /// Whether to keep the retain flag of the publisher.
    pub retain_as_published: bool,
    /// When the server sends retained messages.
    pub retain_handling: RetainHandling,
}

const NO_LOCAL: u8 = 1 << 2;
const RETAIN_AS_PUBLISHED: u8 = 1 << 3;
const RETAIN_HANDLING_SHIFT: u8 = 4;

impl SubscriptionOptions {
    /// The options of a subscription in MQTT 3.1.1.
    pub const fn of_qos(qos: QoS) -> Self {
        Self {
            qos,
            no_local: false,
            retain_as_published: false,
            retain_handling: RetainHandling::AtSubscribe,
        }
    }

    fn decode(bits: u8, version: Version) -> Result<Self, DecodeError> {
        let reserved = match version {
            // [MQTT-3.8.3-4] of 3.1.1
            Version::V3_1_1 => 0b1111_1100,
            // [MQTT-3.8.3-5]
            Version::V5 => 0b1100_0000,
        };
        if bits & reserved != 0 {
            return Err(Malformed::ReservedBits(bits).into());
        }
        let retain_handling = match bits >> RETAIN_HANDLING_SHIFT {
            0 => RetainHandling::AtSubscribe,
            1 => RetainHandling::IfNew,
            2 => RetainHandling::Never,
            _ => return Err(ProtocolError::RetainHandling.into()),
        };
        Ok(Self {
            qos: QoS::from_bits(bits & 0b11).ok_or(Malformed::QoS)?,
            no_local: bits & NO_LOCAL != 0,
            retain_as_published: bits & RETAIN_AS_PUBLISHED != 0,
            retain_handling,
        })
    }

    const fn bits(self) -> u8 {
        let no_local = if self.no_local { NO_LOCAL } else { 0 };
        let as_published = if self.retain_as_published {
            RETAIN_AS_PUBLISHED
        } else {
            0
        };
        self.qos.bits() | no_local | as_published | (self.retain_handling as u8) << RETAIN_HANDLING_SHIFT
    }
}

/// The topic filters of a SUBSCRIBE with their options, in the packet's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filters<'a> {
    bytes: &'a [u8],
}

impl<'a> Filters<'a> {
    fn decode(reader: Reader<'a>, version: Version) -> Result<Self, DecodeError> {
        // [MQTT-3.8.3-2]
        if reader.is_empty() {
            return Err(ProtocolError::NoFilter.into());
        }
        let mut left = reader;
        while !left.is_empty() {
            let (filter, options) = Self::entry(&mut left, version)?;
            // [MQTT-3.8.3-4]
            if options.no_local && topic::split_shared(&filter).is_some() {
                return Err(ProtocolError::NoLocalOnShared.into());
            }
        }
        Ok(Self { bytes: reader.rest() })
    }

    fn entry(
        reader: &mut Reader<'a>,
        version: Version,
    ) -> Result<(Text<'a>, SubscriptionOptions), DecodeError> {
        let filter = decode_filter(reader)?;
        Ok((filter, SubscriptionOptions::decode(reader.byte()?, version)?))
    }

    /// The filters with their options, in the order of the packet.
    pub fn iter(&self) -> impl Iterator<Item = (Text<'a>, SubscriptionOptions)> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        // The options of MQTT 5 include those of 3.1.1. The bytes were checked for their version.
        core::iter::from_fn(move || Self::entry(&mut reader, Version::V5).ok())
    }
}

/// Topic filters with options, to be sent in a SUBSCRIBE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FiltersBuf {
    bytes: Vec<u8>,
}

impl FiltersBuf {
    /// Appends a filter.
    ///
    /// # Errors
    /// The filter breaks the rules of section 4.7.1.
    pub fn push(&mut self, filter: Text<'_>, options: SubscriptionOptions) -> Result<(), Malformed> {
        if !topic::is_filter(&filter) {
            return Err(Malformed::TopicFilter);
        }
        put_text(&mut self.bytes, filter);
        self.bytes.push(options.bits());
        Ok(())
    }

    /// The filters in the encoding of a packet.
    pub fn as_filters(&self) -> Filters<'_> {
        Filters { bytes: &self.bytes }
    }
}

fn decode_filter<'a>(reader: &mut Reader<'a>) -> Result<Text<'a>, DecodeError> {
    let filter = reader.text()?;
    // [MQTT-4.7.3-1]
    if filter.is_empty() {
        return Err(ProtocolError::EmptyTopic.into());
    }
    if !topic::is_filter(&filter) {
        return Err(Malformed::TopicFilter.into());
    }
    Ok(filter)
}

/// SUBSCRIBE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscribe<'a> {
    /// The packet identifier, which SUBACK repeats.
    pub packet_id: PacketId,
    /// MQTT 5 properties: subscription identifier, user properties.
    pub properties: Properties<'a>,
    /// The topic filters.
    pub filters: Filters<'a>,
}

impl<'a> Subscribe<'a> {
    pub(crate) fn decode(mut reader: Reader<'a>, version: Version) -> Result<Self, DecodeError> {
        Ok(Self {
            packet_id: reader.packet_id()?,
            properties: reader.properties(version, PacketType::Subscribe)?,
            filters: Filters::decode(reader, version)?,
        })
    }

    pub(crate) fn put(&self, version: Version, out: &mut Vec<u8>) {
        put_two_byte_integer(out, self.packet_id.get());
        self.properties.put(version, out);
        for (filter, options) in self.filters.iter() {
            put_text(out, filter);
            out.push(match version {
                Version::V3_1_1 => options.qos.bits(),
                Version::V5 => options.bits(),
            });
        }
    }
}

/// The topic filters of an UNSUBSCRIBE, in the packet's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topics<'a> {
    bytes: &'a [u8],
}

impl<'a> Topics<'a> {
    fn decode(reader: Reader<'a>) -> Result<Self, DecodeError> {
        // [MQTT-3.10.3-2]
        if reader.is_empty() {
            return Err(ProtocolError::NoFilter.into());
        }
        let mut left = reader;
        while !left.is_empty() {
            decode_filter(&mut left)?;
        }
        Ok(Self { bytes: reader.rest() })
    }

    /// The filters, in the order of the packet.
    pub fn iter(&self) -> impl Iterator<Item = Text<'a>> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        core::iter::from_fn(move || reader.text().ok())
    }
}

/// Topic filters to be sent in an UNSUBSCRIBE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicsBuf {
    bytes: Vec<u8>,
}

impl TopicsBuf {
    /// Appends a filter.
    ///
    /// # Errors
    /// The filter breaks the rules of section 4.7.1.
    pub fn push(&mut self, filter: Text<'_>) -> Result<(), Malformed> {
        if !topic::is_filter(&filter) {
            return Err(Malformed::TopicFilter);
        }
        put_text(&mut self.bytes, filter);
        Ok(())
    }

    /// The filters in the encoding of a packet.
    pub fn as_topics(&self) -> Topics<'_> {
        Topics { bytes: &self.bytes }
    }
}

/// UNSUBSCRIBE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsubscribe<'a> {
    /// The packet identifier, which UNSUBACK repeats.
    pub packet_id: PacketId,
    /// MQTT 5 properties: user properties.
    pub properties: Properties<'a>,
    /// The topic filters.
    pub topics: Topics<'a>,
}

impl<'a> Unsubscribe<'a> {
    pub(crate) fn decode(mut reader: Reader<'a>, version: Version) -> Result<Self, DecodeError> {
        Ok(Self {
            packet_id: reader.packet_id()?,
            properties: reader.properties(version, PacketType::Unsubscribe)?,
            topics: Topics::decode(reader)?,
        })
    }

    pub(crate) fn put(&self, version: Version, out: &mut Vec<u8>) {
        put_two_byte_integer(out, self.packet_id.get());
        self.properties.put(version, out);
        out.extend_from_slice(self.topics.bytes);
    }
}

/// SUBACK or UNSUBACK: one reason code per filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcomes<'a> {
    /// The packet identifier of the SUBSCRIBE or UNSUBSCRIBE.
    pub packet_id: PacketId,
    /// MQTT 5 properties.
    pub properties: Properties<'a>,
    /// One reason code per filter; none in a 3.1.1 UNSUBACK.
    pub codes: &'a [u8],
}

impl<'a> Outcomes<'a> {
    pub(crate) fn decode(
        mut reader: Reader<'a>,
        version: Version,
        packet: PacketType,
    ) -> Result<Self, DecodeError> {
        let outcomes = Self {
            packet_id: reader.packet_id()?,
            properties: reader.properties(version, packet)?,
            codes: reader.rest(),
        };
        if version == Version::V3_1_1 && packet == PacketType::Unsuback {
            reader.finish()?;
        } else {
            // Sections 3.9.3 and 3.11.3: one code per filter, and so at least one.
            reader.take(1)?;
        }
        for code in outcomes.codes {
            let reason = ReasonCode::decode(*code, packet)?;
            // [MQTT-3.9.3-2] of 3.1.1: 0x80 is the only failure.
            if version == Version::V3_1_1 && v3_1_1::subscribe_return_code_of(reason) != *code {
                return Err(Malformed::ReasonCode { packet, code: *code }.into());
            }
        }
        Ok(outcomes)
    }

    /// The reason codes, in the order of the filters.
    pub fn reasons(&self) -> impl Iterator<Item = ReasonCode> + use<'a> {
        self.codes.iter().filter_map(|code| ReasonCode::from_code(*code))
    }

    pub(crate) fn put(&self, version: Version, out: &mut Vec<u8>) {
        put_two_byte_integer(out, self.packet_id.get());
        self.properties.put(version, out);
        out.extend(self.reasons().map(|reason| match version {
            Version::V3_1_1 => v3_1_1::subscribe_return_code_of(reason),
            Version::V5 => reason.code(),
        }));
    }

    /// Writes an UNSUBACK. It has no codes in MQTT 3.1.1 (section 3.11.3 there).
    pub(crate) fn put_unsuback(&self, version: Version, out: &mut Vec<u8>) {
        let codes = match version {
            Version::V3_1_1 => &[],
            Version::V5 => self.codes,
        };
        Self { codes, ..*self }.put(version, out);
    }
}
