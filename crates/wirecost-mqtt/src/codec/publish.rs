//! PUBLISH (section 3.3).

use alloc::vec::Vec;

use crate::codec::framing::packet_bytes;
use crate::codec::properties::{Properties, Property};
use crate::codec::reader::Reader;
use crate::codec::writer::{check_len, put_text, put_two_byte_integer, put_variable_byte_integer};
use crate::codec::{DecodeError, Malformed, PacketType, ProtocolError, Text, TooLong, Version};
use crate::quality::{Delivery, QoS};
use crate::topic;

const DUP: u8 = 0b1000;
const RETAIN: u8 = 0b0001;

/// A PUBLISH packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publish<'a> {
    /// Whether it may be a retransmission.
    pub dup: bool,
    /// Quality of service and packet identifier.
    pub delivery: Delivery,
    /// Whether the server is to retain it, or it is a retained message.
    pub retain: bool,
    /// The topic name; empty if a topic alias replaces it.
    pub topic: Text<'a>,
    /// MQTT 5 properties.
    pub properties: Properties<'a>,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> Publish<'a> {
    pub(crate) fn decode(flags: u8, mut reader: Reader<'a>, version: Version) -> Result<Self, DecodeError> {
        let qos = QoS::from_bits(flags >> 1 & 0b11).ok_or(Malformed::QoS)?;
        let dup = flags & DUP != 0;
        // [MQTT-3.3.1-2]
        if dup && qos == QoS::AtMostOnce {
            return Err(Malformed::DupOnQos0.into());
        }
        let topic = reader.text()?;
        let delivery = match qos {
            QoS::AtMostOnce => Delivery::AtMostOnce,
            _ => Delivery::new(qos, reader.packet_id()?),
        };
        let publish = Self {
            dup,
            delivery,
            retain: flags & RETAIN != 0,
            topic,
            properties: reader.properties(version, PacketType::Publish)?,
            payload: reader.rest(),
        };
        publish.check_topic()?;
        Ok(publish)
    }

    fn check_topic(&self) -> Result<(), DecodeError> {
        // [MQTT-3.3.2-2]
        if topic::has_wildcard(&self.topic) {
            return Err(Malformed::TopicName.into());
        }
        // Section 3.3.2.3.4: an empty topic needs a topic alias.
        if self.topic.is_empty() && self.topic_alias().is_none() {
            return Err(ProtocolError::EmptyTopic.into());
        }
        Ok(())
    }

    /// The topic alias, if there is one.
    pub fn topic_alias(&self) -> Option<u16> {
        self.properties.iter().find_map(|property| match property {
            Property::TopicAlias(alias) => Some(alias),
            _ => None,
        })
    }

    /// The length of the whole packet in `version`, in bytes.
    pub fn packet_bytes(&self, version: Version) -> usize {
        packet_bytes(self.remaining_bytes(version))
    }

    /// The number of bytes after the fixed header.
    fn remaining_bytes(&self, version: Version) -> usize {
        let packet_id = if self.delivery.packet_id().is_some() { 2 } else { 0 };
        let properties = self.properties.written_bytes_in(version);
        2 + self.topic.len() + packet_id + properties + self.payload.len()
    }

    const fn flags(&self) -> u8 {
        let dup = if self.dup { DUP } else { 0 };
        let retain = if self.retain { RETAIN } else { 0 };
        dup | self.delivery.qos().bits() << 1 | retain
    }

    /// Writes the fixed header and the variable header. The payload follows.
    ///
    /// # Errors
    /// The packet is longer than its remaining length can say. Nothing is written.
    pub(crate) fn put_head(&self, version: Version, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let remaining = check_len(self.remaining_bytes(version))?;
        out.push(PacketType::Publish.first_byte() | self.flags());
        put_variable_byte_integer(out, remaining);
        put_text(out, self.topic);
        if let Some(id) = self.delivery.packet_id() {
            put_two_byte_integer(out, id.get());
        }
        self.properties.put(version, out);
        Ok(())
    }
}
