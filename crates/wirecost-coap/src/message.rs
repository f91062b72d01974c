//! Messages (RFC 7252 section 3): [`View`] over any bytes, [`Repr`] that can always be emitted.

use alloc::vec::Vec;

use crate::code::{Class, Code};
use crate::option::{Numbers, OptionError, OptionsView, split_option};
use crate::token::{MAX_TOKEN_BYTES, Token};

/// Bytes of the fixed header.
pub const HEADER_BYTES: usize = 4;
/// The version of every message (RFC 7252 section 3).
pub const VERSION: u8 = 1;
/// What is between the options and the payload.
pub(crate) const PAYLOAD_MARKER: u8 = 0xff;

/// The type of a message (RFC 7252 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// CON: asks for an acknowledgement.
    Confirmable,
    /// NON: asks for none.
    NonConfirmable,
    /// ACK: a confirmable message arrived.
    Acknowledgement,
    /// RST: a message arrived but cannot be processed.
    Reset,
}

impl Type {
    /// The type's two bits in the header.
    pub const fn bits(self) -> u8 {
        match self {
            Self::Confirmable => 0,
            Self::NonConfirmable => 1,
            Self::Acknowledgement => 2,
            Self::Reset => 3,
        }
    }

    /// The type's abbreviation in RFC 7252.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirmable => "CON",
            Self::NonConfirmable => "NON",
            Self::Acknowledgement => "ACK",
            Self::Reset => "RST",
        }
    }

    /// The type of the low two bits.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0x03 {
            0 => Self::Confirmable,
            1 => Self::NonConfirmable,
            2 => Self::Acknowledgement,
            _ => Self::Reset,
        }
    }
}

/// Why a datagram is not a message, or not one that may be processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Less than a header.
    #[error("datagram of {len} B is shorter than the header of 4 B")]
    TooShort {
        /// The datagram's length in bytes.
        len: usize,
    },
    /// Not version 1.
    #[error("version {version} is unknown, expected 1")]
    Version {
        /// The version in the header.
        version: u8,
    },
    /// A token length from 9 to 15.
    #[error("token length {len} is reserved, expected 0 to 8")]
    TokenLength {
        /// The length in the header.
        len: u8,
    },
    /// The datagram ends within the token.
    #[error("token needs {needed} B, {left} are left")]
    TruncatedToken {
        /// The token's length in bytes.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// The options are not well-formed.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A payload marker without a payload.
    #[error("payload marker is followed by no payload")]
    EmptyPayload,
    /// An empty message with more than a header.
    #[error("empty message has {len} B, expected 4")]
    NotEmpty {
        /// The datagram's length in bytes.
        len: usize,
    },
    /// A code of a reserved class.
    #[error("code {code} has a reserved class")]
    ReservedClass {
        /// The code.
        code: Code,
    },
    /// A type that the code must not have: a request in an ACK, anything in an RST.
    #[error("code {code} must not be carried by a message of type {kind:?}")]
    MisplacedCode {
        /// The code.
        code: Code,
        /// The type.
        kind: Type,
    },
}

/// A datagram as it is: accepts any bytes, knows what can be known of them.
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

    /// The token's length as written, 0 to 15.
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

    /// The token, where it is whole and of at most 8 bytes.
    pub fn token(&self) -> Option<Token> {
        let end = HEADER_BYTES + usize::from(self.token_len()?);
        Token::new(self.bytes.get(HEADER_BYTES..end)?)
    }

    /// The message id to answer with an RST, where the datagram is confirmable and of version 1, so that what
    /// is wrong with it must be rejected (RFC 7252 section 4.2). Everything else is ignored (sections 3, 4.3).
    pub(crate) fn rejectable(&self) -> Option<u16> {
        let confirmable = self.version() == Some(VERSION) && self.kind() == Some(Type::Confirmable);
        self.message_id().filter(|_| confirmable)
    }
}

/// The meaning of a message. Emission never fails; an empty message is emitted as its header alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// CON, NON, ACK or RST.
    pub kind: Type,
    /// Method or response code.
    pub code: Code,
    /// What an ACK or RST refers to.
    pub message_id: u16,
    /// What ties a response to its request.
    pub token: Token,
    /// The options.
    pub options: OptionsView<'a>,
    /// The content; its marker is written where it is not empty.
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

    /// The meaning of `datagram`.
    ///
    /// # Errors
    /// The datagram has a message format error (RFC 7252 section 3) or a code that its type must not carry.
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

/// Which codes a type may carry (RFC 7252 section 4.3, table 1).
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

/// The options at the start of `bytes`, and the payload behind their marker.
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
