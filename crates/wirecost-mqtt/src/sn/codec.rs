//! Messages of MQTT-SN on borrowed bytes (section 5). A datagram is one message.

mod kind;

use alloc::vec::Vec;

pub use kind::MessageType;

/// Why a datagram is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The datagram ends within the message, or goes on after it.
    #[error("the length field says {said} B, the datagram has {is} B")]
    Length {
        /// The length field.
        said: usize,
        /// The datagram's bytes.
        is: usize,
    },
    /// A field is missing or has bytes too many.
    #[error("{0} has the wrong length")]
    Fields(&'static str),
    /// The type is reserved.
    #[error("message type {0:#04x} is reserved")]
    Type(u8),
    /// A text is not UTF-8.
    #[error("{0} has a text that is not UTF-8")]
    Text(&'static str),
    /// The flags have the reserved topic id type.
    #[error("topic id type 3 is reserved")]
    TopicIdType,
}

/// A message that is longer than its length field can say (section 5.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message must have at most 65535 B, got {0} B")]
pub struct TooLong(pub usize);

/// The quality of service of a message (section 5.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quality {
    /// QoS -1: no connection, no registration, no answer.
    Connectionless,
    /// QoS 0: not acknowledged.
    AtMostOnce,
    /// QoS 1: acknowledged by PUBACK.
    AtLeastOnce,
    /// QoS 2: acknowledged by PUBREC, PUBREL, PUBCOMP.
    ExactlyOnce,
}

impl Quality {
    const BY_BITS: [Self; 4] = [
        Self::AtMostOnce,
        Self::AtLeastOnce,
        Self::ExactlyOnce,
        Self::Connectionless,
    ];

    /// The quality with this number, -1 to 2.
    pub fn from_number(number: i8) -> Option<Self> {
        Self::BY_BITS
            .into_iter()
            .find(|quality| quality.number() == number)
    }

    /// The number, -1 to 2.
    pub const fn number(self) -> i8 {
        match self {
            Self::Connectionless => -1,
            Self::AtMostOnce => 0,
            Self::AtLeastOnce => 1,
            Self::ExactlyOnce => 2,
        }
    }

    /// The two bits of the flags; QoS -1 is 0b11.
    const fn bits(self) -> u8 {
        (self.number() & 0b11) as u8
    }
}

/// The topic of a message (section 5.3.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// An identifier that REGACK or SUBACK gave.
    Registered(u16),
    /// An identifier that both sides know from their configuration.
    Predefined(u16),
    /// A topic name of two bytes, in place of an identifier.
    Short([u8; 2]),
}

impl Topic {
    /// The topic with this topic id type and these two bytes.
    fn decode(kind: u8, field: [u8; 2]) -> Result<Self, DecodeError> {
        match kind {
            0 => Ok(Self::Registered(u16::from_be_bytes(field))),
            1 => Ok(Self::Predefined(u16::from_be_bytes(field))),
            2 => Ok(Self::Short(field)),
            _ => Err(DecodeError::TopicIdType),
        }
    }

    /// The topic of a message that is sent without a registration: a name of two bytes is a short topic name, a number a
    /// predefined topic id, and the predefined topic id 1 replaces any other name.
    pub fn without_registration(name: &str) -> Self {
        let short = name.as_bytes().try_into().map(Self::Short);
        let number = || name.parse().ok().filter(|id| *id != 0).unwrap_or(1);
        short.unwrap_or_else(|_| Self::Predefined(number()))
    }

    const fn kind(self) -> u8 {
        match self {
            Self::Registered(_) => 0,
            Self::Predefined(_) => 1,
            Self::Short(_) => 2,
        }
    }

    /// The two bytes of the topic id field.
    pub const fn field(self) -> [u8; 2] {
        match self {
            Self::Registered(id) | Self::Predefined(id) => id.to_be_bytes(),
            Self::Short(name) => name,
        }
    }
}

/// A return code (section 5.3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReturnCode(pub u8);

impl ReturnCode {
    /// Accepted.
    pub const ACCEPTED: Self = Self(0);
    /// Rejected: congestion.
    pub const CONGESTION: Self = Self(1);
    /// Rejected: invalid topic id.
    pub const INVALID_TOPIC_ID: Self = Self(2);
    /// Rejected: not supported.
    pub const NOT_SUPPORTED: Self = Self(3);

    /// Whether the code is a refusal.
    pub const fn is_refusal(self) -> bool {
        self.0 != 0
    }
}

impl core::fmt::Display for ReturnCode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match *self {
            Self::ACCEPTED => "accepted",
            Self::CONGESTION => "congestion",
            Self::INVALID_TOPIC_ID => "invalid topic id",
            Self::NOT_SUPPORTED => "not supported",
            Self(code) => return write!(f, "return code {code:#04x}"),
        })
    }
}

/// A CONNECT (section 5.4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect<'a> {
    /// Whether the gateway asks for a will.
    pub will: bool,
    /// Whether a new session starts.
    pub clean_session: bool,
    /// The keep-alive in seconds; 0 turns it off.
    pub duration: u16,
    /// The client identifier.
    pub client_id: &'a str,
}

/// A PUBLISH (section 5.4.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publish<'a> {
    /// Whether it was sent before.
    pub dup: bool,
    /// Quality of service.
    pub quality: Quality,
    /// Whether the server retains it.
    pub retain: bool,
    /// The topic.
    pub topic: Topic,
    /// The message id; 0 at QoS 0 and -1.
    pub message_id: u16,
    /// The payload.
    pub payload: &'a [u8],
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// CONNECT.
    Connect(Connect<'a>),
    /// CONNACK.
    Connack(ReturnCode),
    /// REGISTER: a topic name; from a client its topic id is 0.
    Register {
        /// Topic id.
        topic_id: u16,
        /// Message id.
        message_id: u16,
        /// Topic name.
        name: &'a str,
    },
    /// REGACK.
    Regack {
        /// Topic id.
        topic_id: u16,
        /// Message id of the REGISTER.
        message_id: u16,
        /// Accepted, or why the topic is not registered.
        code: ReturnCode,
    },
    /// PUBLISH.
    Publish(Publish<'a>),
    /// PUBACK.
    Puback {
        /// The topic id field of the PUBLISH.
        topic: [u8; 2],
        /// Message id of the PUBLISH.
        message_id: u16,
        /// Accepted, or why the message is refused.
        code: ReturnCode,
    },
    /// PUBREC, PUBREL, PUBCOMP or UNSUBACK, which have nothing but a message id.
    Numbered(MessageType, u16),
    /// PINGREQ of this client; empty where a client that is awake asks.
    Pingreq(&'a str),
    /// PINGRESP.
    Pingresp,
    /// DISCONNECT; with a duration in seconds the client goes to sleep.
    Disconnect(Option<u16>),
    /// Any other message: its type and its fields.
    Other(MessageType, &'a [u8]),
}

/// The flags of CONNECT and PUBLISH (section 5.3.4).
const DUP: u8 = 0x80;
const RETAIN: u8 = 0x10;
const WILL: u8 = 0x08;
const CLEAN_SESSION: u8 = 0x04;

/// The protocol identifier of CONNECT (section 5.3.8).
const PROTOCOL_ID: u8 = 0x01;

/// The first byte of a length field of three bytes (section 5.2.1).
const LONG: u8 = 0x01;

impl<'a> Message<'a> {
    /// Reads the message that a datagram is.
    ///
    /// # Errors
    /// The datagram is not one message.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, DecodeError> {
        let (kind, fields) = split(datagram)?;
        let bad = DecodeError::Fields(kind.name());
        let text = |bytes| core::str::from_utf8(bytes).map_err(|_| DecodeError::Text(kind.name()));
        Ok(match (kind, fields) {
            (MessageType::Connect, [flags, _, high, low, client_id @ ..]) => Self::Connect(Connect {
                will: flags & WILL != 0,
                clean_session: flags & CLEAN_SESSION != 0,
                duration: u16::from_be_bytes([*high, *low]),
                client_id: text(client_id)?,
            }),
            (MessageType::Connack, [code]) => Self::Connack(ReturnCode(*code)),
            (MessageType::Register, [a, b, c, d, name @ ..]) => Self::Register {
                topic_id: u16::from_be_bytes([*a, *b]),
                message_id: u16::from_be_bytes([*c, *d]),
                name: text(name)?,
            },
            (MessageType::Regack, [a, b, c, d, code]) => Self::Regack {
                topic_id: u16::from_be_bytes([*a, *b]),
                message_id: u16::from_be_bytes([*c, *d]),
                code: ReturnCode(*code),
            },
            (MessageType::Publish, [flags, a, b, c, d, payload @ ..]) => Self::Publish(Publish {
                dup: flags & DUP != 0,
                quality: Quality::BY_BITS[usize::from(flags >> 5 & 0b11)],
                retain: flags & RETAIN != 0,
                topic: Topic::decode(flags & 0b11, [*a, *b])?,
                message_id: u16::from_be_bytes([*c, *d]),
                payload,
            }),
            (MessageType::Puback, [a, b, c, d, code]) => Self::Puback {
                topic: [*a, *b],
                message_id: u16::from_be_bytes([*c, *d]),
                code: ReturnCode(*code),
            },
            (
                MessageType::Pubrec | MessageType::Pubrel | MessageType::Pubcomp | MessageType::Unsuback,
                [high, low],
            ) => Self::Numbered(kind, u16::from_be_bytes([*high, *low])),
            (MessageType::Pingreq, client_id) => Self::Pingreq(text(client_id)?),
            (MessageType::Pingresp, []) => Self::Pingresp,
            (MessageType::Disconnect, []) => Self::Disconnect(None),
            (MessageType::Disconnect, [high, low]) => {
                Self::Disconnect(Some(u16::from_be_bytes([*high, *low])))
            }
            (kind, fields) if is_opaque(kind) => Self::Other(kind, fields),
            _ => return Err(bad),
        })
    }

    /// The type.
    pub const fn kind(&self) -> MessageType {
        match self {
            Self::Connect(_) => MessageType::Connect,
            Self::Connack(_) => MessageType::Connack,
            Self::Register { .. } => MessageType::Register,
            Self::Regack { .. } => MessageType::Regack,
            Self::Publish(_) => MessageType::Publish,
            Self::Puback { .. } => MessageType::Puback,
            Self::Pingreq(_) => MessageType::Pingreq,
            Self::Pingresp => MessageType::Pingresp,
            Self::Disconnect(_) => MessageType::Disconnect,
            Self::Numbered(kind, _) | Self::Other(kind, _) => *kind,
        }
    }

    /// The payload of a PUBLISH; nothing of any other message.
    pub const fn payload(&self) -> &'a [u8] {
        match self {
            Self::Publish(publish) => publish.payload,
            _ => &[],
        }
    }

    /// The bytes of the message with its length field.
    pub fn size(&self) -> usize {
        let fields = match self {
            Self::Connect(connect) => 4 + connect.client_id.len(),
            Self::Connack(_) => 1,
            Self::Register { name, .. } => 4 + name.len(),
            Self::Regack { .. } | Self::Puback { .. } => 5,
            Self::Publish(publish) => 5 + publish.payload.len(),
            Self::Numbered(..) | Self::Disconnect(Some(_)) => 2,
            Self::Pingreq(client_id) => client_id.len(),
            Self::Pingresp | Self::Disconnect(None) => 0,
            Self::Other(_, fields) => fields.len(),
        };
        match fields {
            ..=253 => 2 + fields,
            _ => 4 + fields,
        }
    }

    /// Whether the length field can say its size.
    pub fn is_short_enough(&self) -> bool {
        u16::try_from(self.size()).is_ok()
    }

    /// Appends the message.
    ///
    /// # Errors
    /// The message is longer than its length field can say. Nothing is appended.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        self.emit_header(out)?;
        out.extend_from_slice(self.payload());
        Ok(())
    }

    /// Appends the message without the payload of a PUBLISH.
    ///
    /// # Errors
    /// The message is longer than its length field can say. Nothing is appended.
    pub fn emit_header(&self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        emit_length(self.size(), out)?;
        out.push(self.kind() as u8);
        match *self {
            Self::Connect(connect) => {
                let will = if connect.will { WILL } else { 0 };
                let clean = if connect.clean_session { CLEAN_SESSION } else { 0 };
                out.extend_from_slice(&[will | clean, PROTOCOL_ID]);
                out.extend_from_slice(&connect.duration.to_be_bytes());
                out.extend_from_slice(connect.client_id.as_bytes());
            }
            Self::Connack(code) => out.push(code.0),
            Self::Register {
                topic_id,
                message_id,
                name,
            } => {
                emit_ids(topic_id.to_be_bytes(), message_id, out);
                out.extend_from_slice(name.as_bytes());
            }
            Self::Regack {
                topic_id,
                message_id,
                code,
            } => {
                emit_ids(topic_id.to_be_bytes(), message_id, out);
                out.push(code.0);
            }
            Self::Publish(publish) => {
                let dup = if publish.dup { DUP } else { 0 };
                let retain = if publish.retain { RETAIN } else { 0 };
                out.push(dup | publish.quality.bits() << 5 | retain | publish.topic.kind());
                emit_ids(publish.topic.field(), publish.message_id, out);
            }
            Self::Puback {
                topic,
                message_id,
                code,
            } => {
                emit_ids(topic, message_id, out);
                out.push(code.0);
            }
            Self::Numbered(_, id) | Self::Disconnect(Some(id)) => out.extend_from_slice(&id.to_be_bytes()),
            Self::Pingreq(client_id) => out.extend_from_slice(client_id.as_bytes()),
            Self::Pingresp | Self::Disconnect(None) => {}
            Self::Other(_, fields) => out.extend_from_slice(fields),
        }
        Ok(())
    }
}

/// Whether messages of this type are decoded as [`Message::Other`].
const fn is_opaque(kind: MessageType) -> bool {
    use MessageType as T;
    matches!(
        kind,
        T::Advertise
            | T::SearchGw
            | T::GwInfo
            | T::WillTopicReq
            | T::WillTopic
            | T::WillMsgReq
            | T::WillMsg
            | T::Subscribe
            | T::Suback
            | T::Unsubscribe
            | T::WillTopicUpd
            | T::WillTopicResp
            | T::WillMsgUpd
            | T::WillMsgResp
    )
}

/// The type and the fields of a message (section 5.2).
fn split(datagram: &[u8]) -> Result<(MessageType, &[u8]), DecodeError> {
    let (said, rest) = match datagram {
        [LONG, high, low, rest @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        [LONG, rest @ ..] => (usize::from(LONG), rest),
        [short, rest @ ..] => (usize::from(*short), rest),
        [] => (0, datagram),
    };
    let is = datagram.len();
    match rest {
        [kind, fields @ ..] if said == is => {
            let kind = MessageType::from_number(*kind).ok_or(DecodeError::Type(*kind))?;
            Ok((kind, fields))
        }
        _ => Err(DecodeError::Length { said, is }),
    }
}

fn emit_length(len: usize, out: &mut Vec<u8>) -> Result<(), TooLong> {
    match (u8::try_from(len), u16::try_from(len)) {
        (Ok(short), _) => out.push(short),
        (Err(_), Ok(long)) => {
            let [high, low] = long.to_be_bytes();
            out.extend_from_slice(&[LONG, high, low]);
        }
        (Err(_), Err(_)) => return Err(TooLong(len)),
    }
    Ok(())
}

fn emit_ids(topic: [u8; 2], message_id: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&topic);
    out.extend_from_slice(&message_id.to_be_bytes());
}

#[cfg(test)]
mod tests;
