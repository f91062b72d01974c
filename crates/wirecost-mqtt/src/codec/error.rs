//! Errors in packets: malformed packets and protocol errors (section 1.2 of MQTT 5), and the MQTT 5 reason code for
//! each (section 4.13).

use crate::codec::framing::LARGEST_PACKET;
use crate::codec::{PacketType, ReasonCode};

/// Bytes that do not follow the standard's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A field that exceeds the packet.
    #[error("field must have {needed} B, got {left} B")]
    Truncated {
        /// The length of the field in bytes.
        needed: usize,
        /// The length of the rest of the packet in bytes.
        left: usize,
    },
    /// Bytes after the last field.
    #[error("packet must end after its last field, got {0} B more")]
    TrailingBytes(usize),
    /// A variable byte integer with more than four bytes, or with more bytes than needed [MQTT-1.5.5-1].
    #[error("variable byte integer must have at most 4 B and no unnecessary byte")]
    VariableByteInteger,
    /// Packet type 0 is reserved. 15 (AUTH) exists only in MQTT 5 (section 2.1.2).
    #[error("packet type must exist in this version, got {0}")]
    PacketType(u8),
    /// The flags in the fixed header are not those of this type [MQTT-2.1.3-1].
    #[error("{packet:?} must not have flags {flags:#06b}")]
    Flags {
        /// The packet's type.
        packet: PacketType,
        /// The four flag bits.
        flags: u8,
    },
    /// Text that is not UTF-8, or that has a surrogate [MQTT-1.5.4-1].
    #[error("text must be UTF-8")]
    Utf8,
    /// Text with U+0000 [MQTT-1.5.4-2].
    #[error("text must not contain U+0000")]
    NullCharacter,
    /// Text with a control character or a code point that is no character (section 1.5.4), where the receiver refuses them.
    #[error("text must not contain control characters or code points that are no characters")]
    CodePoint,
    /// Quality of service 3 [MQTT-3.3.1-4].
    #[error("quality of service must be 0, 1 or 2, got 3")]
    QoS,
    /// The DUP flag on a QoS 0 message [MQTT-3.3.1-2].
    #[error("message of QoS 0 must not have the dup flag")]
    DupOnQos0,
    /// A reserved bit is set, or flags contradict each other (CONNECT flags, subscription options).
    #[error("flags must not be reserved or contradict each other, got {0:#010b}")]
    ReservedBits(u8),
    /// The protocol name is not "MQTT" [MQTT-3.1.2-1].
    #[error("protocol name must be \"MQTT\"")]
    ProtocolName,
    /// A topic name with a wildcard [MQTT-3.3.2-2].
    #[error("topic name must not contain a wildcard")]
    TopicName,
    /// An invalid topic filter [MQTT-4.7.1-1].
    #[error("topic filter must have wildcards only as whole levels, and # only at the end")]
    TopicFilter,
    /// A reason code that is unknown, or not allowed in this packet.
    #[error("reason code must be one of {packet:?}, got {code:#04x}")]
    ReasonCode {
        /// The packet's type.
        packet: PacketType,
        /// The code.
        code: u8,
    },
    /// A property identifier that is not defined (section 2.2.2.2).
    #[error("property must exist, got {0:#04x}")]
    PropertyId(u32),
}

/// A well-formed packet that must not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A packet identifier of 0 [MQTT-2.2.1-3].
    #[error("packet identifier must not be 0")]
    PacketId,
    /// A property that is not allowed in this packet.
    #[error("property {0:#04x} must not be in this packet")]
    PropertyNotAllowed(u8),
    /// A property that is repeated although it must not be.
    #[error("property {0:#04x} must not be repeated")]
    PropertyRepeated(u8),
    /// A property whose value is outside its range.
    #[error("property {0:#04x} must have a value within its range")]
    PropertyValue(u8),
    /// A topic alias of 0 [MQTT-3.3.2-8] or above the maximum [MQTT-3.3.2-9].
    #[error("topic alias must be 1 to the maximum")]
    TopicAlias,
    /// SUBSCRIBE or UNSUBSCRIBE without a filter [MQTT-3.8.3-2], [MQTT-3.10.3-2].
    #[error("packet must have a topic filter")]
    NoFilter,
    /// An empty topic name or filter [MQTT-4.7.3-1].
    #[error("topic must have a character or an alias")]
    EmptyTopic,
    /// Retain handling 3 (section 3.8.3.1).
    #[error("retain handling must be 0, 1 or 2, got 3")]
    RetainHandling,
    /// No local on a shared subscription [MQTT-3.8.3-4].
    #[error("shared subscription must not have the no local flag")]
    NoLocalOnShared,
    /// AUTH that continues without a method (section 3.15.2.2.2), or data without a method (section 3.1.2.11.10).
    #[error("authentication must name its method")]
    NoMethod,
    /// More unreleased messages than the receive maximum [MQTT-3.3.4-7], [MQTT-3.3.4-9].
    #[error("at most {0} messages may be in flight (receive maximum)")]
    ReceiveMaximum(u16),
    /// A packet that the other side must not send now.
    #[error("peer must not send {} now", .0.name())]
    Unexpected(PacketType),
}

/// Why a packet was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes cannot be parsed.
    #[error("malformed packet: {0}")]
    Malformed(#[from] Malformed),
    /// The packet must not be sent.
    #[error("protocol error: {0}")]
    Protocol(#[from] ProtocolError),
    /// The packet is larger than the receiver's maximum packet size [MQTT-3.1.2-24].
    #[error("packet must have at most {limit} B, got {bytes} B")]
    TooLarge {
        /// The length of the whole packet in bytes.
        bytes: u64,
        /// The receiver's maximum packet size in bytes.
        limit: u32,
    },
    /// A protocol level other than 4 (3.1.1) and 5 [MQTT-3.1.2-2].
    #[error("protocol level must be 4 or 5, got {0}")]
    UnsupportedVersion(u8),
}

/// A packet that is longer than its remaining length can say (section 2.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("packet must have at most 268435455 B after its fixed header, got {0} B")]
pub struct TooLong(pub usize);

impl From<TooLong> for DecodeError {
    fn from(TooLong(remaining): TooLong) -> Self {
        Self::TooLarge {
            bytes: remaining as u64 + 5,
            limit: LARGEST_PACKET,
        }
    }
}

impl DecodeError {
    /// The MQTT 5 reason code for this error (section 4.13.1).
    pub const fn reason_code(&self) -> ReasonCode {
        match self {
            Self::Malformed(_) => ReasonCode::MalformedPacket,
            Self::Protocol(ProtocolError::TopicAlias) => ReasonCode::TopicAliasInvalid,
            Self::Protocol(ProtocolError::ReceiveMaximum(_)) => ReasonCode::ReceiveMaximumExceeded,
            Self::Protocol(_) => ReasonCode::ProtocolError,
            Self::TooLarge { .. } => ReasonCode::PacketTooLarge,
            Self::UnsupportedVersion(_) => ReasonCode::UnsupportedProtocolVersion,
        }
    }

    /// The reason code of a DISCONNECT for this error. A CONNECT that is not the first packet is a protocol error,
    /// whatever its version [MQTT-3.1.0-2].
    pub(crate) const fn disconnect_reason(&self) -> ReasonCode {
        match self {
            Self::UnsupportedVersion(_) => ReasonCode::ProtocolError,
            other => other.reason_code(),
        }
    }
}
