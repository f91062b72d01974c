//! Reads fields from the front of a packet.

use crate::Malformed;

/// The unread bytes of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The unread bytes.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// The next `len` bytes; `None` if fewer are left.
    pub(crate) fn try_take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(taken)
    }

    /// The next `len` bytes, which are `expected`.
    pub(crate) fn take(&mut self, len: usize, expected: &'static str) -> Result<&'a [u8], Malformed> {
        self.try_take(len).ok_or(Malformed { expected })
    }

    /// The next `N` bytes, which are `expected`.
    pub(crate) fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N], Malformed> {
        let bytes = self.take(N, expected)?;
        bytes.try_into().map_err(|_| Malformed { expected })
    }

    /// The bytes before the next zero byte, which is read too.
    pub(crate) fn until_zero(&mut self, expected: &'static str) -> Result<&'a [u8], Malformed> {
        let len = self.bytes.iter().position(|byte| *byte == 0);
        let text = self.take(len.ok_or(Malformed { expected })?, expected)?;
        self.take(1, expected)?;
        Ok(text)
    }
}
