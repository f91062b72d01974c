//! The OSCORE option (RFC 8613 section 6.1): a compressed COSE_Encrypt0 header.
//!
//! | bytes | meaning |
//! |---|---|
//! | 1 | flag bits: 0x07 length of the Partial IV, 0x08 a kid is present, 0x10 a kid context is present |
//! | 0 to 5 | Partial IV |
//! | 1, and as many as its value | kid context |
//! | the rest | kid |
//!
//! If no flag is set, the option is empty.

use alloc::vec::Vec;

use super::nonce::{MAX_PARTIAL_IV_BYTES, PartialIv};

/// The flag bits with the length of the Partial IV.
const PARTIAL_IV_SIZE: u8 = 0x07;
/// The flag bit k: a kid is present.
const KID: u8 = 0x08;
/// The flag bit h: a kid context is present.
const KID_CONTEXT: u8 = 0x10;
/// The reserved flag bits (RFC 8613 section 6.1).
const RESERVED: u8 = 0xe0;

/// A decoded OSCORE option.
///
/// ```
/// use wirecost_coap::oscore::PartialIv;
/// use wirecost_coap::oscore::option::OscoreOption;
///
/// let option = OscoreOption::parse(&[0x09, 0x14, 0x01]).unwrap();
/// assert_eq!(option.partial_iv, PartialIv::new(20));
/// assert_eq!(option.kid, Some([1].as_slice()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OscoreOption<'a> {
    /// The sender's sequence number. A response that uses the nonce of its request has none.
    pub partial_iv: Option<PartialIv>,
    /// The ID context, at most 255 bytes.
    pub kid_context: Option<&'a [u8]>,
    /// The sender's id.
    pub kid: Option<&'a [u8]>,
}

/// Why a value is not an OSCORE option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OscoreOptionError {
    /// A flag bit of 0x20, 0x40 or 0x80.
    #[error("OSCORE flags must be at most 0x1f, got 0x{flags:02x}")]
    ReservedFlags {
        /// The flag bits.
        flags: u8,
    },
    /// A flag byte of zero, which must be left out.
    #[error("OSCORE option without flags must be empty, got flags 0x00")]
    NoFlags,
    /// A Partial IV of 6 or 7 bytes.
    #[error("Partial IV must have at most {MAX_PARTIAL_IV_BYTES} B, got {len} B")]
    PartialIvLength {
        /// The length in bytes.
        len: usize,
    },
    /// A Partial IV with leading zeros.
    #[error("Partial IV must have as few bytes as possible, got {len} B with a leading zero")]
    PaddedPartialIv {
        /// The length in bytes.
        len: usize,
    },
    /// The value ends within one of its parts.
    #[error("OSCORE option must have {needed} more bytes, got {left}")]
    Truncated {
        /// Bytes that the part needs.
        needed: usize,
        /// The length of the rest, in bytes.
        left: usize,
    },
    /// Bytes after the last part, without the flag of a kid.
    #[error("OSCORE option must end after its last part, got {len} B more")]
    Trailing {
        /// The number of bytes.
        len: usize,
    },
}

/// The most bytes of a kid context, whose length is one byte (RFC 8613 section 6.1).
const MAX_KID_CONTEXT_BYTES: usize = 255;

impl<'a> OscoreOption<'a> {
    /// Decodes the value of an OSCORE option.
    ///
    /// # Errors
    /// A reserved bit or length is used, or the value is shorter or longer than its flags state.
    pub fn parse(value: &'a [u8]) -> Result<Self, OscoreOptionError> {
        let Some((&flags, rest)) = value.split_first() else {
            return Ok(Self::default());
        };
        match flags {
            // RFC 8613 section 6.1: if all flags are zero, the option is empty.
            0 => return Err(OscoreOptionError::NoFlags),
            _ if flags & RESERVED != 0 => return Err(OscoreOptionError::ReservedFlags { flags }),
            _ => {}
        }
        let (partial_iv, rest) = split_partial_iv(usize::from(flags & PARTIAL_IV_SIZE), rest)?;
        let (kid_context, rest) = match flags & KID_CONTEXT {
            0 => (None, rest),
            _ => split_kid_context(rest)?,
        };
        let len = rest.len();
        let kid = (flags & KID != 0).then_some(rest);
        if kid.is_none() && len > 0 {
            return Err(OscoreOptionError::Trailing { len });
        }
        Ok(Self {
            partial_iv,
            kid_context,
            kid,
        })
    }

    /// The length of the value in bytes.
    pub fn emitted_len(&self) -> usize {
        if *self == Self::default() {
            return 0;
        }
        let partial_iv = self.partial_iv.map_or(0, |number| number.bytes().bytes().len());
        let kid_context = self
            .kid_context
            .map_or(0, |context| 1 + context.len().min(MAX_KID_CONTEXT_BYTES));
        1 + partial_iv + kid_context + self.kid.map_or(0, <[u8]>::len)
    }

    /// Appends the value to `out`. A kid context is cut off after 255 bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        if *self == Self::default() {
            return;
        }
        let partial_iv = self.partial_iv.map(PartialIv::bytes);
        let partial_iv = partial_iv.as_ref().map_or(&[][..], |bytes| bytes.bytes());
        let flag = |is_there, flag| if is_there { flag } else { 0 };
        let flags = flag(self.kid.is_some(), KID) | flag(self.kid_context.is_some(), KID_CONTEXT);
        out.push(flags | partial_iv.len() as u8);
        out.extend_from_slice(partial_iv);
        if let Some(context) = self.kid_context {
            let context = context.get(..MAX_KID_CONTEXT_BYTES).unwrap_or(context);
            out.push(context.len() as u8);
            out.extend_from_slice(context);
        }
        out.extend_from_slice(self.kid.unwrap_or_default());
    }
}

fn split_partial_iv(len: usize, rest: &[u8]) -> Result<(Option<PartialIv>, &[u8]), OscoreOptionError> {
    if len > MAX_PARTIAL_IV_BYTES {
        return Err(OscoreOptionError::PartialIvLength { len });
    }
    if len == 0 {
        return Ok((None, rest));
    }
    let (bytes, rest) = split(len, rest)?;
    let partial_iv = PartialIv::from_bytes(bytes).ok_or(OscoreOptionError::PaddedPartialIv { len })?;
    Ok((Some(partial_iv), rest))
}

fn split_kid_context(rest: &[u8]) -> Result<(Option<&[u8]>, &[u8]), OscoreOptionError> {
    let (len, rest) = split(1, rest)?;
    let len = len.first().copied().map_or(0, usize::from);
    let (context, rest) = split(len, rest)?;
    Ok((Some(context), rest))
}

fn split(needed: usize, rest: &[u8]) -> Result<(&[u8], &[u8]), OscoreOptionError> {
    let left = rest.len();
    rest.split_at_checked(needed)
        .ok_or(OscoreOptionError::Truncated { needed, left })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use proptest::prelude::*;

    #[test]
    fn the_value_is_flags_partial_iv_context_and_kid() {
        let (context, kid) = (hex("44 61 6c 65 6b"), hex("25"));
        for (text, number, has_context, has_kid) in [
            // RFC 8613 section 6.3, the examples.
            ("", None, false, false),
            ("09 05 25", Some(5), false, true),
            ("19 05 05 44 61 6c 65 6b 25", Some(5), true, true),
            ("01 07", Some(7), false, false),
            ("01 00", Some(0), false, false),
            ("05 ff ff ff ff ff", Some((1 << 40) - 1), false, false),
            ("08 25", None, false, true),
        ] {
            let value = hex(text);
            let expected = OscoreOption {
                partial_iv: number.and_then(PartialIv::new),
                kid_context: has_context.then_some(&context),
                kid: has_kid.then_some(&kid),
            };
            assert_eq!(OscoreOption::parse(&value), Ok(expected), "{text}");
            let mut emitted = Vec::new();
            expected.emit(&mut emitted);
            assert_eq!((emitted.len(), &emitted), (expected.emitted_len(), &value));
        }
    }

    #[test]
    fn invalid_options_are_refused_with_their_reason() {
        use OscoreOptionError as E;
        for (text, error) in [
            ("00", E::NoFlags),
            ("20", E::ReservedFlags { flags: 0x20 }),
            ("89 05 25", E::ReservedFlags { flags: 0x89 }),
            ("06 01 02 03 04 05 06", E::PartialIvLength { len: 6 }),
            ("07", E::PartialIvLength { len: 7 }),
            ("02 00 05", E::PaddedPartialIv { len: 2 }),
            ("02 05", E::Truncated { needed: 2, left: 1 }),
            ("10", E::Truncated { needed: 1, left: 0 }),
            ("10 02 61", E::Truncated { needed: 2, left: 1 }),
            ("01 05 25", E::Trailing { len: 1 }),
        ] {
            assert_eq!(OscoreOption::parse(&hex(text)), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_option_survives_emission(
            number in proptest::option::of(0..1u64 << 40),
            context in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..100)),
            kid in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..8)),
        ) {
            let option = OscoreOption {
                partial_iv: number.and_then(PartialIv::new),
                kid_context: context.as_deref(),
                kid: kid.as_deref(),
            };
            let mut value = Vec::new();
            option.emit(&mut value);
            prop_assert_eq!(value.len(), option.emitted_len());
            prop_assert_eq!(OscoreOption::parse(&value), Ok(option));
        }

        #[test]
        fn parsed_options_are_emitted_as_the_same_bytes(value in proptest::collection::vec(any::<u8>(), 0..20)) {
            if let Ok(option) = OscoreOption::parse(&value) {
                let mut emitted = Vec::new();
                option.emit(&mut emitted);
                prop_assert_eq!(emitted, value);
            }
        }
    }
}
