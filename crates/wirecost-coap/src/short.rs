//! Byte strings of a few bytes, kept in place.

use core::fmt;

/// 0 to `N` bytes; `N` is at most 255.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ShortBytes<const N: usize> {
    bytes: [u8; N],
    len: u8,
}

impl<const N: usize> ShortBytes<N> {
    /// No bytes.
    pub(crate) const EMPTY: Self = Self {
        bytes: [0; N],
        len: 0,
    };

    /// These bytes, or `None` where there are more than `N`.
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let mut short = Self::EMPTY;
        short.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        short.len = bytes.len() as u8;
        Some(short)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl<const N: usize> Default for ShortBytes<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const N: usize> fmt::Debug for ShortBytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
