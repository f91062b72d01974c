//! The control packets (section 3): types, decoding and encoding.

use alloc::vec::Vec;

use wirecost_proto::{Buffer, Cause, Layer};

use crate::codec::acknowledge::{Acknowledgement, Reason};
use crate::codec::connect::{Connack, Connect};
use crate::codec::framing::Frame;
use crate::codec::publish::Publish;
use crate::codec::reader::Reader;
use crate::codec::subscribe::{Outcomes, Subscribe, Unsubscribe};
use crate::codec::writer::put_framed;
use crate::codec::{DecodeError, Malformed, TooLong, Version};

/// The type of a control packet (section 2.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PacketType {
    /// The client requests a connection.
    Connect = 1,
    /// Server answers CONNECT.
    Connack = 2,
    /// A message.
    Publish = 3,
    /// The answer to a QoS 1 message.
    Puback = 4,
    /// The first answer to a QoS 2 message.
    Pubrec = 5,
    /// The sender releases a QoS 2 message.
    Pubrel = 6,
    /// The last answer to a QoS 2 message.
    Pubcomp = 7,
    /// The client subscribes.
    Subscribe = 8,
    /// The server answers SUBSCRIBE.
    Suback = 9,
    /// The client unsubscribes.
    Unsubscribe = 10,
    /// The server answers UNSUBSCRIBE.
    Unsuback = 11,
    /// The client shows that it is alive.
    Pingreq = 12,
    /// The server answers PINGREQ.
    Pingresp = 13,
    /// The last packet of a connection.
    Disconnect = 14,
    /// Enhanced authentication, MQTT 5 only.
    Auth = 15,
}

impl PacketType {
    /// Every type, in the order of its number.
    pub const ALL: [Self; 15] = [
        Self::Connect,
        Self::Connack,
        Self::Publish,
        Self::Puback,
        Self::Pubrec,
        Self::Pubrel,
        Self::Pubcomp,
        Self::Subscribe,
        Self::Suback,
        Self::Unsubscribe,
        Self::Unsuback,
        Self::Pingreq,
        Self::Pingresp,
        Self::Disconnect,
        Self::Auth,
    ];

    /// The name in the standard.
    pub const fn name(self) -> &'static str {
        const NAMES: [&str; 15] = [
            "CONNECT",
            "CONNACK",
            "PUBLISH",
            "PUBACK",
            "PUBREC",
            "PUBREL",
            "PUBCOMP",
            "SUBSCRIBE",
            "SUBACK",
            "UNSUBSCRIBE",
            "UNSUBACK",
            "PINGREQ",
            "PINGRESP",
            "DISCONNECT",
            "AUTH",
        ];
        NAMES[self as usize - 1]
    }

    /// The type with this number; `None` for 0 and above 15.
    pub fn from_bits(bits: u8) -> Option<Self> {
        Self::ALL.get(usize::from(bits).checked_sub(1)?).copied()
    }

    /// One bit per type, for sets of types.
    pub(crate) const fn bit(self) -> u16 {
        1 << self as u8
    }

    /// The reserved flags of this type (section 2.1.3). PUBLISH has its own flags.
    const fn reserved_flags(self) -> u8 {
        match self {
            Self::Pubrel | Self::Subscribe | Self::Unsubscribe => 0b0010,
            _ => 0,
        }
    }

    pub(crate) const fn first_byte(self) -> u8 {
        (self as u8) << 4 | self.reserved_flags()
    }
}

/// A decoded control packet, borrowed from its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants are the packet types, documented there")]
pub enum Packet<'a> {
    Connect(Connect<'a>),
    Connack(Connack<'a>),
    Publish(Publish<'a>),
    Puback(Acknowledgement<'a>),
    Pubrec(Acknowledgement<'a>),
    Pubrel(Acknowledgement<'a>),
    Pubcomp(Acknowledgement<'a>),
    Subscribe(Subscribe<'a>),
    Suback(Outcomes<'a>),
    Unsubscribe(Unsubscribe<'a>),
    Unsuback(Outcomes<'a>),
    Pingreq,
    Pingresp,
    Disconnect(Reason<'a>),
    Auth(Reason<'a>),
}

impl<'a> Packet<'a> {
    /// Decodes `frame` in `version`. CONNECT states its own version.
    ///
    /// # Errors
    /// The packet is malformed or a protocol error.
    pub fn decode(frame: Frame<'a>, version: Version) -> Result<Self, DecodeError> {
        let number = frame.first_byte().unwrap_or(0) >> 4;
        let packet = frame.packet_type().ok_or(Malformed::PacketType(number))?;
        let flags = frame.flags();
        if packet != PacketType::Publish && flags != packet.reserved_flags() {
            return Err(Malformed::Flags { packet, flags }.into());
        }
        let reader = Reader::new(frame.body());
        match packet {
            PacketType::Connect => Connect::decode(reader).map(Self::Connect),
            PacketType::Connack => Connack::decode(reader, version).map(Self::Connack),
            PacketType::Publish => Publish::decode(flags, reader, version).map(Self::Publish),
            PacketType::Puback => Acknowledgement::decode(reader, version, packet).map(Self::Puback),
            PacketType::Pubrec => Acknowledgement::decode(reader, version, packet).map(Self::Pubrec),
            PacketType::Pubrel => Acknowledgement::decode(reader, version, packet).map(Self::Pubrel),
            PacketType::Pubcomp => Acknowledgement::decode(reader, version, packet).map(Self::Pubcomp),
            PacketType::Subscribe => Subscribe::decode(reader, version).map(Self::Subscribe),
            PacketType::Suback => Outcomes::decode(reader, version, packet).map(Self::Suback),
            PacketType::Unsubscribe => Unsubscribe::decode(reader, version).map(Self::Unsubscribe),
            PacketType::Unsuback => Outcomes::decode(reader, version, packet).map(Self::Unsuback),
            PacketType::Pingreq => empty(reader, Self::Pingreq),
            PacketType::Pingresp => empty(reader, Self::Pingresp),
            PacketType::Disconnect => Reason::decode(reader, version, packet).map(Self::Disconnect),
            PacketType::Auth => Reason::decode_auth(reader, version).map(Self::Auth),
        }
    }

    /// The packet's type.
    pub const fn packet_type(&self) -> PacketType {
        match self {
            Self::Connect(_) => PacketType::Connect,
            Self::Connack(_) => PacketType::Connack,
            Self::Publish(_) => PacketType::Publish,
            Self::Puback(_) => PacketType::Puback,
            Self::Pubrec(_) => PacketType::Pubrec,
            Self::Pubrel(_) => PacketType::Pubrel,
            Self::Pubcomp(_) => PacketType::Pubcomp,
            Self::Subscribe(_) => PacketType::Subscribe,
            Self::Suback(_) => PacketType::Suback,
            Self::Unsubscribe(_) => PacketType::Unsubscribe,
            Self::Unsuback(_) => PacketType::Unsuback,
            Self::Pingreq => PacketType::Pingreq,
            Self::Pingresp => PacketType::Pingresp,
            Self::Disconnect(_) => PacketType::Disconnect,
            Self::Auth(_) => PacketType::Auth,
        }
    }

    /// Appends the packet in `version` with its spans.
    ///
    /// # Errors
    /// The packet is longer than MQTT can frame. Nothing is appended.
    pub fn emit(&self, version: Version, out: &mut Buffer) -> Result<(), TooLong> {
        let resent = matches!(self, Self::Publish(publish) if publish.dup);
        let cause = if resent {
            Cause::Retransmission
        } else {
            self.packet_type().cause()
        };
        self.emit_as(version, cause, out)
    }

    /// Appends the packet in `version` with its spans. The caller knows the cause.
    pub(crate) fn emit_as(&self, version: Version, cause: Cause, out: &mut Buffer) -> Result<(), TooLong> {
        let phase = self.packet_type().phase();
        let mut outcome = Ok(());
        out.push_with(Layer::Application, phase, cause, |bytes| {
            outcome = self.put_head(version, bytes);
        });
        outcome?;
        if let Self::Publish(publish) = self {
            out.push(publish.payload, Layer::Payload, phase, cause);
        }
        Ok(())
    }

    /// Writes everything except the payload of a PUBLISH.
    fn put_head(&self, version: Version, out: &mut Vec<u8>) -> Result<(), TooLong> {
        if let Self::Publish(publish) = self {
            return publish.put_head(version, out);
        }
        put_framed(out, self.packet_type().first_byte(), |body| {
            self.put_body(version, body);
        })
    }

    fn put_body(&self, version: Version, out: &mut Vec<u8>) {
        match self {
            Self::Connect(connect) => connect.put(out),
            Self::Connack(connack) => connack.put(version, out),
            Self::Puback(acknowledgement)
            | Self::Pubrec(acknowledgement)
            | Self::Pubrel(acknowledgement)
            | Self::Pubcomp(acknowledgement) => acknowledgement.put(version, out),
            Self::Subscribe(subscribe) => subscribe.put(version, out),
            Self::Unsubscribe(unsubscribe) => unsubscribe.put(version, out),
            Self::Suback(outcomes) => outcomes.put(version, out),
            Self::Unsuback(outcomes) => outcomes.put_unsuback(version, out),
            // `put_head` writes a PUBLISH; the others have no body.
            Self::Publish(_) | Self::Pingreq | Self::Pingresp => {}
            Self::Disconnect(reason) => reason.put(version, out),
            // MQTT 3.1.1 does not have AUTH.
            Self::Auth(reason) => reason.put(Version::V5, out),
        }
    }
}

fn empty<'a>(reader: Reader<'_>, packet: Packet<'a>) -> Result<Packet<'a>, DecodeError> {
    reader.finish()?;
    Ok(packet)
}
