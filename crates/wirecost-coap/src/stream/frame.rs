//! The framing of messages on a stream (RFC 8323 section 3.2).

use alloc::vec::Vec;

use crate::code::{Class, Code};
use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::{MessageError, PAYLOAD_MARKER, Repr, Type, split_options};
use crate::option::{OptionNumber, OptionsView, UintBytes};
use crate::oscore::ProtectError;
use crate::token::{MAX_TOKEN_BYTES, Token};

/// The longest header in bytes: lengths, extension, code.
const MAX_HEADER_BYTES: usize = 6;
/// The least Len with an extension of 1, 2 and 4 bytes.
const EXTENDED: [usize; 3] = [13, 269, 65_805];

/// Why a connection must be aborted (RFC 8323 section 5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A message format error.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// A message above the own Max-Message-Size.
    #[error("message must have at most {limit} B, got {bytes} B")]
    TooLarge {
        /// The message's length in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u32,
    },
    /// The first message is not a CSM (section 5.3).
    #[error("first message must be a CSM (7.01), got {code}")]
    NoCsm {
        /// The code of the first message.
        code: Code,
    },
    /// A signaling message with an unknown critical option (section 5.2).
    #[error("signaling message {code} must have known critical options, got option {}", number.0)]
    CriticalOption {
        /// The code of the message.
        code: Code,
        /// The option.
        number: OptionNumber,
    },
    /// An option of a CSM with a value of wrong length (section 5.6).
    #[error("option {} of a CSM must have at most {max} B, got {len} B", number.0)]
    CsmOption {
        /// The option.
        number: OptionNumber,
        /// The value's length in bytes.
        len: usize,
        /// The longest allowed length in bytes.
        max: usize,
    },
}

/// The header of a message: everything before its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) token: usize,
    /// Bytes after the token.
    rest: u64,
    /// Bytes before the token.
    pub(super) len: usize,
    pub(super) code: Code,
}

impl Header {
    /// The header at the start of `bytes`, or `None` if it is incomplete.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, Fault> {
        let Some((&first, after)) = bytes.split_first() else {
            return Ok(None);
        };
        let token = first & 0x0f;
        if usize::from(token) > MAX_TOKEN_BYTES {
            return Err(MessageError::TokenLength { len: token }.into());
        }
        let (width, base) = match first >> 4 {
            short @ 0..=12 => (0, u64::from(short)),
            13 => (1, 13),
            14 => (2, 269),
            _ => (4, 65_805),
        };
        let (Some(extension), Some(code)) = (after.get(..width), after.get(width)) else {
            return Ok(None);
        };
        let extension = extension.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        Ok(Some(Self {
            token: usize::from(token),
            rest: base + extension,
            len: 2 + width,
            code: Code::from_byte(*code),
        }))
    }

    pub(super) const fn message_bytes(self) -> u64 {
        (self.len + self.token) as u64 + self.rest
    }
}

/// The length of the message at the start of `bytes`, or `None` if its header is incomplete.
///
/// # Errors
/// The token length is reserved, or the message is larger than `limit` bytes.
pub fn message_len(bytes: &[u8], limit: u32) -> Result<Option<usize>, Fault> {
    let Some(header) = Header::parse(bytes)? else {
        return Ok(None);
    };
    let bytes = header.message_bytes();
    if bytes > u64::from(limit) {
        return Err(Fault::TooLarge { bytes, limit });
    }
    Ok(usize::try_from(bytes).ok())
}

/// The code of the message at the start of `bytes`, if its header is complete.
pub fn code(bytes: &[u8]) -> Option<Code> {
    Header::parse(bytes).ok().flatten().map(|header| header.code)
}

/// The phase and cause of an encoded message with this layout.
pub(crate) fn kind_of(message: &[u8], layout: Layout) -> Kind {
    let header = Header::parse(message).ok().flatten();
    header.map_or(Kind::ORIGINAL, |header| {
        Kind::of_code(header.code, layout.payload)
    })
}

impl<'a> Repr<'a> {
    /// Decodes one whole message of a stream. Its type is NON and its message id 0.
    ///
    /// # Errors
    /// The message has a message format error.
    pub fn parse_stream(message: &'a [u8]) -> Result<Self, MessageError> {
        let header = match Header::parse(message) {
            Ok(Some(header)) => header,
            Err(Fault::Message(error)) => return Err(error),
            _ => return Err(MessageError::TooShort { len: message.len() }),
        };
        let code = header.code;
        if code.class() == Class::Reserved && !code.is_signal() {
            return Err(MessageError::ReservedClass { code });
        }
        let rest = message.get(header.len..).unwrap_or_default();
        let (needed, left) = (header.token, rest.len());
        let (token, rest) = rest
            .split_at_checked(needed)
            .ok_or(MessageError::TruncatedToken { needed, left })?;
        let len = header.token as u8;
        let token = Token::new(token).ok_or(MessageError::TokenLength { len })?;
        let (options, payload) = split_options(rest)?;
        Ok(Self::on_stream(code, token, options, payload))
    }

    /// A message of a stream.
    pub(crate) const fn on_stream(
        code: Code,
        token: Token,
        options: OptionsView<'a>,
        payload: &'a [u8],
    ) -> Self {
        Self {
            kind: Type::NonConfirmable,
            code,
            message_id: 0,
            token,
            options,
            payload,
        }
    }

    /// Appends the message as on a stream, without type and message id.
    ///
    /// # Errors
    /// [`ProtectError::Frame`]: its length cannot be said. Nothing is appended.
    pub fn emit_stream(&self, out: &mut Vec<u8>) -> Result<(), ProtectError> {
        let token = self.token.bytes();
        let marker = usize::from(!self.payload.is_empty());
        let rest = self.options.bytes().len() + marker + self.payload.len();
        let (nibble, extension) = length(rest).ok_or(ProtectError::Frame { len: rest })?;
        out.push(nibble << 4 | token.len() as u8);
        out.extend_from_slice(extension.bytes());
        out.push(self.code.byte());
        out.extend_from_slice(token);
        out.extend_from_slice(self.options.bytes());
        if marker == 1 {
            out.push(PAYLOAD_MARKER);
            out.extend_from_slice(self.payload);
        }
        Ok(())
    }
}

/// The nibble and the extension of Len; `None` if the length is too large for both.
fn length(rest: usize) -> Option<(u8, UintBytes)> {
    let [one, two, four] = EXTENDED;
    let extension = |above: usize, width| UintBytes::fixed((rest - above) as u64, width);
    Some(if rest < one {
        (rest as u8, UintBytes::fixed(0, 0))
    } else if rest < two {
        (13, extension(one, 1))
    } else if rest < four {
        (14, extension(two, 2))
    } else {
        u32::try_from(rest - four).ok()?;
        (15, extension(four, 4))
    })
}

/// Splits a stream into messages. It copies a message only if the message arrives in several pieces.
///
/// ```
/// use wirecost_coap::stream::Framer;
///
/// let mut framer = Framer::new(1_152);
/// let mut received: &[u8] = &[0x01, 0xe2];
/// assert_eq!(framer.next(&mut received), Ok(None));
/// let mut received: &[u8] = &[0x42, 0x00, 0x00];
/// assert_eq!(framer.next(&mut received), Ok(Some(&[0x01, 0xe2, 0x42][..])));
/// assert_eq!(framer.next(&mut received), Ok(Some(&[0x00, 0x00][..])));
/// assert_eq!(framer.next(&mut received), Ok(None));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Framer {
    limit: u32,
    held: Vec<u8>,
    /// Whether `held` is a whole message that was given out.
    given: bool,
}

impl Framer {
    /// A framer for messages of at most `limit` bytes. It never stores more than one message.
    pub const fn new(limit: u32) -> Self {
        Self {
            limit,
            held: Vec::new(),
            given: false,
        }
    }

    /// The number of stored bytes of an incomplete message.
    pub const fn held(&self) -> usize {
        if self.given { 0 } else { self.held.len() }
    }

    /// The memory of an incomplete message, in bytes.
    pub const fn memory(&self) -> usize {
        if self.given {
            0
        } else {
            wirecost_proto::kept::memory(&self.held)
        }
    }

    /// Takes the next whole message from `bytes`. Returns `None` when all bytes are taken.
    ///
    /// # Errors
    /// As [`message_len`]. The rest of the stream cannot be read.
    pub fn next<'a, 'b: 'a>(&'a mut self, bytes: &mut &'b [u8]) -> Result<Option<&'a [u8]>, Fault> {
        if core::mem::take(&mut self.given) {
            wirecost_proto::kept::empty(&mut self.held);
        }
        if !self.held.is_empty() {
            return self.complete(bytes);
        }
        if let Some(len) = message_len(bytes, self.limit)?
            && let Some((message, rest)) = bytes.split_at_checked(len)
        {
            *bytes = rest;
            return Ok(Some(message));
        }
        wirecost_proto::kept::append(&mut self.held, bytes);
        *bytes = &[];
        Ok(None)
    }

    /// Hands the messages of `bytes` to `take`, one after the other, until `take` returns `false`. Returns the number of bytes
    /// that belong to no message that was taken, and why reading ended early. After a fault nothing is stored.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<bool, Fault>,
    ) -> (usize, Result<(), Fault>) {
        let mut rest = bytes;
        loop {
            let before = self.held() + rest.len();
            match self.next(&mut rest) {
                Ok(None) => return (rest.len(), Ok(())),
                Ok(Some(message)) => match take(message) {
                    Ok(true) => {}
                    taken => return (rest.len(), taken.map(drop)),
                },
                Err(fault) => {
                    *self = Self::default();
                    return (before, Err(fault));
                }
            }
        }
    }

    /// Continues a message that is partly stored.
    fn complete<'a>(&'a mut self, bytes: &mut &[u8]) -> Result<Option<&'a [u8]>, Fault> {
        let len = loop {
            if let Some(len) = message_len(&self.held, self.limit)? {
                break len;
            }
            debug_assert!(self.held.len() < MAX_HEADER_BYTES, "a header has at most 6 B");
            let Some((first, rest)) = bytes.split_first() else {
                return Ok(None);
            };
            self.held.push(*first);
            *bytes = rest;
        };
        let missing = len.saturating_sub(self.held.len());
        let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
        wirecost_proto::kept::append(&mut self.held, taken);
        *bytes = rest;
        self.given = self.held.len() == len;
        Ok(self.given.then_some(&self.held))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::option::Options;

    const MOST: usize = 65_805 + u32::MAX as usize;

    proptest! {
        #[test]
        fn a_length_is_said_or_refused(
            rest in prop_oneof![0usize..300, 65_700usize..66_000, MOST - 20..MOST + 20, any::<usize>()],
        ) {
            let Some((nibble, extension)) = length(rest) else {
                prop_assert!(rest > MOST);
                return Ok(());
            };
            prop_assert!(rest <= MOST);
            // The code follows, of a message without a token.
            let header = [&[nibble << 4], extension.bytes(), &[0x02]].concat();
            let header = Header::parse(&header).unwrap().unwrap();
            prop_assert_eq!(header.message_bytes(), (header.len + rest) as u64);
        }

        #[test]
        fn a_message_is_framed_as_long_as_it_is(
            payload in prop_oneof![0usize..300, 65_700usize..66_000, Just(200_000)],
            value in prop_oneof![0usize..300, 65_700usize..66_000],
            number in prop_oneof![0u16..300, 65_000u16..],
        ) {
            let payload = alloc::vec![7; payload];
            let mut options = Options::new();
            // A number that is in no registry, so that its value may have any length.
            let number = OptionNumber(number | 0xf000);
            let inserted = options.insert(number, &alloc::vec![1; value]);
            prop_assert_eq!(inserted.is_ok(), value <= 65_804);
            let message = Repr::on_stream(Code::CONTENT, Token::EMPTY, options.view(), &payload);
            let mut out = Vec::new();
            message.emit_stream(&mut out).unwrap();
            prop_assert_eq!(message_len(&out, u32::MAX).unwrap(), Some(out.len()));
            prop_assert_eq!(Repr::parse_stream(&out), Ok(message));
            let mut datagram = Vec::new();
            message.emit(&mut datagram);
            prop_assert_eq!(Repr::parse(&datagram), Ok(message));
        }
    }
}
