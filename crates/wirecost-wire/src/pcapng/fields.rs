//! Fields and options in the byte order of a section.

use super::option_code;
use super::reader::ReadError;
use crate::packet::ByteOrder;
use alloc::string::String;

/// A block's body, read from front to back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    order: ByteOrder,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) const fn new(order: ByteOrder, body: &'a [u8]) -> Self {
        Self { order, rest: body }
    }

    pub(super) fn u16(&mut self) -> Result<u16, ReadError> {
        let order = self.order;
        self.array().map(|bytes| order.u16(bytes))
    }

    /// Other bytes in the same byte order.
    pub(super) const fn with(&self, rest: &'a [u8]) -> Self {
        Self::new(self.order, rest)
    }

    pub(super) fn u32(&mut self) -> Result<u32, ReadError> {
        let order = self.order;
        self.array().map(|bytes| order.u32(bytes))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(ReadError::BodyTooShort {
            expected: N,
            got: self.rest.len(),
        })?;
        self.rest = rest;
        Ok(*bytes)
    }

    /// The next `count` bytes, without the padding that follows them.
    pub(super) fn padded(&mut self, count: usize) -> Result<&'a [u8], ReadError> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(ReadError::BodyTooShort {
            expected: count,
            got: self.rest.len(),
        })?;
        let padding = count.next_multiple_of(4) - count;
        self.rest = rest.get(padding..).unwrap_or_default();
        Ok(bytes)
    }

    /// The next option; `None` at the end of the options or of the body.
    pub(super) fn option(&mut self) -> Result<Option<(u16, &'a [u8])>, ReadError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (code, length) = (self.u16()?, self.u16()?);
        if code == option_code::END_OF_OPTIONS {
            return Ok(None);
        }
        Ok(Some((code, self.padded(usize::from(length))?)))
    }
}

/// The text of an option; replaces bytes that are not UTF-8.
pub(super) fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}
