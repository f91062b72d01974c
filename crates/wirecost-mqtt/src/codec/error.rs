//! What can be wrong with a packet: malformed or a protocol error (section 1.2 of MQTT 5), and the reason code
//! that MQTT 5 answers with (section 4.13).

use crate::codec::{PacketType, ReasonCode};

/// Bytes that cannot be parsed according to the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A field reaches beyond the packet's end.
    #[error("field of {needed} B where {left} B are left")]
    Truncated {
        /// Bytes that the field needs.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// The packet has bytes after its last field.
    #[error("{0} B after the last field")]
    TrailingBytes(usize),
    /// A variable byte integer has more than four bytes or more bytes than needed [MQTT-1.5.5-1].
    #[error("variable byte integer is longer than 4 B or than it needs to be")]
    VariableByteInteger,
    /// Packet type 0 is reserved, 15 (AUTH) exists in MQTT 5 only (section 2.1.2).
    #[error("packet type {0} does not exist in this version")]
    PacketType(u8),
    /// The flags of the fixed header are not those reserved for this type [MQTT-2.1.3-1].
    #[error("{packet:?} has flags {flags:#06b}")]
    Flags {
        /// The packet's type.
        packet: PacketType,
        /// The four flag bits.
        flags: u8,
    },
    /// Text is not UTF-8, or it has a surrogate [MQTT-1.5.4-1].
    #[error("text is not well-formed UTF-8")]
    Utf8,
    /// Text has U+0000 [MQTT-1.5.4-2].
    #[error("text contains U+0000")]
    NullCharacter,
    /// Quality of service 3 [MQTT-3.3.1-4].
    #[error("quality of service must be 0, 1 or 2, got 3")]
    QoS,
    /// DUP on a message of QoS 0 [MQTT-3.3.1-2].
    #[error("dup is set on a message of QoS 0")]
    DupOnQos0,
    /// A reserved bit is set, or flags contradict each other (CONNECT flags, subscription options).
    #[error("reserved or contradicting flags in {0:#010b}")]
    ReservedBits(u8),
    /// The protocol name is not "MQTT" [MQTT-3.1.2-1].
    #[error("protocol name is not \"MQTT\"")]
    ProtocolName,
    /// A topic name has a wildcard [MQTT-3.3.2-2].
    #[error("topic name contains a wildcard")]
    TopicName,
    /// A topic filter is ill-formed [MQTT-4.7.1-1].
    #[error("topic filter is ill-formed")]
    TopicFilter,
    /// The reason code is unknown or not one of this packet.
    #[error("reason code {code:#04x} is not one of {packet:?}")]
    ReasonCode {
        /// The packet's type.
        packet: PacketType,
        /// The code.
        code: u8,
    },
    /// A property identifier that does not exist (section 2.2.2.2).
    #[error("property {0:#04x} does not exist")]
    PropertyId(u32),
}

/// A packet that can be parsed and yet must not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A packet identifier of 0 [MQTT-2.2.1-3].
    #[error("packet identifier must not be 0")]
    PacketId,
    /// A property that this packet must not have.
    #[error("property {0:#04x} does not belong in this packet")]
    PropertyNotAllowed(u8),
    /// A property that may be there once.
    #[error("property {0:#04x} is there more than once")]
    PropertyRepeated(u8),
    /// A property whose value is outside its range.
    #[error("property {0:#04x} has a value outside its range")]
    PropertyValue(u8),
    /// A topic alias of 0 [MQTT-3.3.2-8] or above the maximum [MQTT-3.3.2-9].
    #[error("topic alias is 0 or above the maximum")]
    TopicAlias,
    /// SUBSCRIBE or UNSUBSCRIBE without a filter [MQTT-3.8.3-2], [MQTT-3.10.3-2].
    #[error("at least one topic filter is needed")]
    NoFilter,
    /// A topic name or filter of no characters [MQTT-4.7.3-1].
    #[error("topic has no characters and no alias")]
    EmptyTopic,
    /// Retain handling 3 (section 3.8.3.1).
    #[error("retain handling must be 0, 1 or 2, got 3")]
    RetainHandling,
    /// No local on a shared subscription [MQTT-3.8.3-4].
    #[error("no local on a shared subscription")]
    NoLocalOnShared,
    /// AUTH that continues without naming its method (section 3.15.2.2.2), or data of no method (section 3.1.2.11.10).
    #[error("authentication goes on without a method")]
    NoMethod,
    /// More unreleased messages than the receive maximum [MQTT-3.3.4-7], [MQTT-3.3.4-9].
    #[error("more messages at once than the receive maximum of {0}")]
    ReceiveMaximum(u16),
    /// A packet that the other side must not send now.
    #[error("{} must not be sent by this side now", .0.name())]
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
    /// The packet is larger than the receiver said it takes [MQTT-3.1.2-24].
    #[error("packet of {bytes} B is above the limit of {limit} B")]
    TooLarge {
        /// Bytes of the whole packet.
        bytes: u64,
        /// The receiver's limit in bytes.
        limit: u32,
    },
    /// A protocol level other than 4 (3.1.1) and 5 [MQTT-3.1.2-2].
    #[error("protocol level must be 4 or 5, got {0}")]
    UnsupportedVersion(u8),
}

impl DecodeError {
    /// The reason code that MQTT 5 answers with (section 4.13.1).
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

    /// The reason code of a DISCONNECT in answer. A CONNECT that is not the first packet is a protocol error,
    /// whatever version it asks for [MQTT-3.1.0-2].
    pub(crate) const fn disconnect_reason(&self) -> ReasonCode {
        match self {
            Self::UnsupportedVersion(_) => ReasonCode::ProtocolError,
            other => other.reason_code(),
        }
    }
}
