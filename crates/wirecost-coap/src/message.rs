//! Messages (RFC 7252 section 3): [`View`] over any bytes, and [`Repr`], which can always be emitted.

use alloc::vec::Vec;

use crate::code::{Class, Code};
use crate::option::{Numbers, OptionError, OptionsView, split_option};
use crate::token::{MAX_TOKEN_BYTES, Token};

/// Bytes of the fixed header.
pub const HEADER_BYTES: usize = 4;
/// The version of every message (RFC 7252 section 3).
pub const VERSION: u8 = 1;
/// The byte between the options and the payload.
pub(crate) const PAYLOAD_MARKER: u8 = 0xff;

wirecost_proto::named! {
    /// The type of a message (RFC 7252 section 4).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Type {
        /// CON: requires an acknowledgement.
        Confirmable => "CON",
        /// NON: requires no acknowledgement.
        NonConfirmable => "NON",
        /// ACK: a confirmable message arrived.
        Acknowledgement => "ACK",
        /// RST: a message arrived but cannot be processed.
        Reset => "RST",
    }
}

impl Type {
    /// The type of a message that answers no other one: CON or NON.
    pub(crate) const fn unsolicited(confirmable: bool) -> Self {
        match confirmable {
            true => Self::Confirmable,
            false => Self::NonConfirmable,
        }
    }

    /// The type's two bits in the header.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// The type with these low two bits.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0x03 {
            0 => Self::Confirmable,
            1 => Self::NonConfirmable,
            2 => Self::Acknowledgement,
            _ => Self::Reset,
        }
    }
}

/// Why a datagram is not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The datagram is shorter than a header.
    #[error("datagram must have at least 4 B, got {len} B")]
    TooShort {
        /// The datagram's length in bytes.
        len: usize,
    },
    /// The version is not 1.
    #[error("version must be 1, got {version}")]
    Version {
        /// The version in the header.
        version: u8,
    },
    /// A token length from 9 to 15.
    #[error("token length must be 0 to 8, got {len}")]
    TokenLength {
        /// The length in the header.
        len: u8,
    },
    /// The datagram ends within the token.
    #[error("token must have {needed} B, got {left} B")]
    TruncatedToken {
        /// The token's length in bytes.
        needed: usize,
        /// The length of the rest of the datagram, in bytes.
        left: usize,
    },
    /// The options are not well-formed.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A payload marker without a payload.
    #[error("payload marker must precede a payload, got the end of the datagram")]
    EmptyPayload,
    /// An empty message that is longer than a header.
    #[error("empty message must have 4 B, got {len} B")]
    NotEmpty {
        /// The datagram's length in bytes.
        len: usize,
    },
    /// A code of a reserved class.
    #[error("code must have class 0, 2, 4 or 5, got {code}")]
    ReservedClass {
        /// The code.
        code: Code,
    },
    /// A code that the type must not carry: a request in an ACK, any code in an RST.
    #[error("message of type {kind:?} must not carry code {code}")]
    MisplacedCode {
        /// The code.
        code: Code,
        /// The type.
        kind: Type,
    },
}

/// A view over any datagram. Its methods return `None` for a field that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    bytes: &'a [u8],
}

impl<'a> View<'a> {
    /// A view over `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The version, from the first byte.
    pub fn version(&self) -> Option<u8> {
        self.bytes.first().map(|byte| byte >> 6)
    }

    /// The type, from the first byte.
    pub fn kind(&self) -> Option<Type> {
        self.bytes.first().map(|byte| Type::from_bits(byte >> 4))
    }

    /// The token length in the header, 0 to 15.
    pub fn token_len(&self) -> Option<u8> {
        self.bytes.first().map(|byte| byte & 0x0f)
    }

    /// The code, from the second byte.
    pub fn code(&self) -> Option<Code> {
        self.bytes.get(1).copied().map(Code::from_byte)
    }

    /// The message id, from the third and fourth byte.
    pub fn message_id(&self) -> Option<u16> {
        let bytes = self.bytes.get(2..HEADER_BYTES)?;
        Some(u16::from_be_bytes(bytes.try_into().ok()?))
    }

    /// The message id for an RST, if the malformed datagram must be rejected: if it is confirmable and of version 1
    /// (RFC 7252 section 4.2). Every other one is ignored (sections 3, 4.3).
    pub(crate) fn rejectable(&self) -> Option<u16> {
        let confirmable = self.version() == Some(VERSION) && self.kind() == Some(Type::Confirmable);
        self.message_id().filter(|_| confirmable)
    }
}

/// The decoded message. It can always be emitted; an empty message is emitted as a header only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// CON, NON, ACK or RST.
    pub kind: Type,
    /// The method or the response code.
    pub code: Code,
    /// The message id, which an ACK or RST repeats.
    pub message_id: u16,
    /// The token, which a response repeats.
    pub token: Token,
    /// The options.
    pub options: OptionsView<'a>,
    /// The payload. The marker is written if the payload is not empty.
    pub payload: &'a [u8],
}

impl<'a> Repr<'a> {
    /// An empty message: a ping (CON), an acknowledgement or a reset.
    pub fn empty(kind: Type, message_id: u16) -> Self {
        Self {
            kind,
            code: Code::EMPTY,
            message_id,
            token: Token::EMPTY,
            options: OptionsView::default(),
            payload: &[],
        }
    }

    /// Decodes `datagram`.
    ///
    /// # Errors
    /// The datagram has a message format error (RFC 7252 section 3), or a code that its type must not carry.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, MessageError> {
        let len = datagram.len();
        let view = View::new(datagram);
        let (Some(version), Some(kind), Some(code), Some(message_id)) =
            (view.version(), view.kind(), view.code(), view.message_id())
        else {
            return Err(MessageError::TooShort { len });
        };
        if version != VERSION {
            return Err(MessageError::Version { version });
        }
        check_code(kind, code)?;
        if code == Code::EMPTY {
            // RFC 7252 section 4.1: the token length is 0 and nothing follows the message id.
            let empty = len == HEADER_BYTES && view.token_len() == Some(0);
            return empty
                .then_some(Self::empty(kind, message_id))
                .ok_or(MessageError::NotEmpty { len });
        }
        let (token, rest) = split_token(view, datagram)?;
        let (options, payload) = split_options(rest)?;
        Ok(Self {
            kind,
            code,
            message_id,
            token,
            options,
            payload,
        })
    }

    /// Appends the encoded message to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.emit_head(out);
        if self.code == Code::EMPTY {
            return;
        }
        out.extend_from_slice(self.options.bytes());
        if !self.payload.is_empty() {
            out.push(PAYLOAD_MARKER);
            out.extend_from_slice(self.payload);
        }
    }
}

impl Repr<'_> {
    /// Appends the header and the token.
    pub(crate) fn emit_head(&self, out: &mut Vec<u8>) {
        let token = match self.code {
            Code::EMPTY => &[],
            _ => self.token.bytes(),
        };
        out.push(VERSION << 6 | self.kind.bits() << 4 | token.len() as u8);
        out.push(self.code.byte());
        out.extend_from_slice(&self.message_id.to_be_bytes());
        out.extend_from_slice(token);
    }
}

/// Checks that the type may carry the code (RFC 7252 section 4.3, table 1).
fn check_code(kind: Type, code: Code) -> Result<(), MessageError> {
    match (code.class(), kind) {
        (Class::Reserved, _) => Err(MessageError::ReservedClass { code }),
        (Class::Request, Type::Acknowledgement) => Err(MessageError::MisplacedCode { code, kind }),
        (Class::Empty, Type::NonConfirmable) => Err(MessageError::MisplacedCode { code, kind }),
        (Class::Empty, _) => Ok(()),
        (_, Type::Reset) => Err(MessageError::MisplacedCode { code, kind }),
        _ => Ok(()),
    }
}

fn split_token<'a>(view: View<'_>, datagram: &'a [u8]) -> Result<(Token, &'a [u8]), MessageError> {
    let len = view.token_len().unwrap_or_default();
    let needed = usize::from(len);
    if needed > MAX_TOKEN_BYTES {
        return Err(MessageError::TokenLength { len });
    }
    let rest = datagram.get(HEADER_BYTES..).unwrap_or_default();
    let left = rest.len();
    let (token, rest) = rest
        .split_at_checked(needed)
        .ok_or(MessageError::TruncatedToken { needed, left })?;
    let token = Token::new(token).ok_or(MessageError::TokenLength { len })?;
    Ok((token, rest))
}

/// The options at the start of `bytes`, and the payload after their marker.
pub(crate) fn split_options(bytes: &[u8]) -> Result<(OptionsView<'_>, &[u8]), MessageError> {
    let (mut rest, mut number) = (bytes, 0);
    let mut numbers = Numbers::default();
    while let Some(&first) = rest.first() {
        if first == PAYLOAD_MARKER {
            break;
        }
        let (option, after) = split_option(rest, number)?;
        numbers.add(option.number);
        (rest, number) = (after, option.number.0);
    }
    let options = bytes.get(..bytes.len() - rest.len()).unwrap_or_default();
    match rest {
        [_] => Err(MessageError::EmptyPayload),
        [_, payload @ ..] => Ok((OptionsView::from_walked(options, numbers), payload)),
        [] => Ok((OptionsView::from_walked(options, numbers), &[])),
    }
}

#[cfg(test)]
mod tests;
