//! UTF-8 encoded strings and binary data, with a two-byte length (sections 1.5.4 and 1.5.6).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

use crate::codec::Malformed;

/// The longest string or binary data in bytes.
pub(crate) const MAXIMUM_FIELD_BYTES: usize = 65_535;

/// A text or data that does not fit into a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The field is longer than `MAXIMUM_FIELD_BYTES`.
    #[error("field must be at most 65535 B, got {0} B")]
    TooLong(usize),
    /// U+0000 in text [MQTT-1.5.4-2].
    #[error("text must not contain U+0000")]
    NullCharacter,
}

/// A valid UTF-8 encoded string.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// The empty text.
    pub const EMPTY: Self = Self("");

    /// Checks `text`.
    ///
    /// # Errors
    /// The text has U+0000 or more than 65,535 bytes.
    pub fn new(text: &'a str) -> Result<Self, FieldError> {
        if text.len() > MAXIMUM_FIELD_BYTES {
            return Err(FieldError::TooLong(text.len()));
        }
        if text.bytes().any(|byte| byte == 0) {
            return Err(FieldError::NullCharacter);
        }
        Ok(Self(text))
    }

    /// The text in `bytes`, which are not longer than a field.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        // A Rust string has no surrogates [MQTT-1.5.4-1].
        let text = core::str::from_utf8(bytes).map_err(|_| Malformed::Utf8)?;
        Self::new(text).map_err(|_| Malformed::NullCharacter)
    }

    /// The text as a string slice.
    pub const fn as_str(self) -> &'a str {
        self.0
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Valid binary data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Binary<'a>(&'a [u8]);

impl<'a> Binary<'a> {
    /// Checks `bytes`.
    ///
    /// # Errors
    /// There are more than 65,535 bytes.
    pub const fn new(bytes: &'a [u8]) -> Result<Self, FieldError> {
        if bytes.len() > MAXIMUM_FIELD_BYTES {
            return Err(FieldError::TooLong(bytes.len()));
        }
        Ok(Self(bytes))
    }

    /// The data in `bytes`, which are not longer than a field.
    pub(crate) const fn decode(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// An owned UTF-8 encoded string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnedText(String);

impl OwnedText {
    /// The text, borrowed.
    pub(crate) fn as_text(&self) -> Text<'_> {
        Text(&self.0)
    }

    /// Replaces the text. It reuses the memory if possible.
    pub(crate) fn set(&mut self, text: Text<'_>) {
        self.0.clear();
        self.0.push_str(text.as_str());
    }
}

impl FromStr for OwnedText {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<Self, FieldError> {
        Text::new(text).map(Self::from)
    }
}

impl From<Text<'_>> for OwnedText {
    fn from(text: Text<'_>) -> Self {
        Self(text.0.into())
    }
}

/// Owned binary data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedBinary(Vec<u8>);

impl OwnedBinary {
    /// The bytes, borrowed.
    pub(crate) fn as_binary(&self) -> Binary<'_> {
        Binary(&self.0)
    }
}

impl TryFrom<&[u8]> for OwnedBinary {
    type Error = FieldError;

    fn try_from(bytes: &[u8]) -> Result<Self, FieldError> {
        Binary::new(bytes).map(Self::from)
    }
}

impl From<Binary<'_>> for OwnedBinary {
    fn from(data: Binary<'_>) -> Self {
        Self(data.0.into())
    }
}
