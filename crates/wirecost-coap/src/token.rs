//! Tokens: what ties a response to its request (RFC 7252 section 5.3.1).

use core::fmt;

use crate::short::ShortBytes;

/// The longest token in bytes (RFC 7252 section 3; RFC 8974's longer ones are not used).
pub(crate) const MAX_TOKEN_BYTES: usize = 8;

/// 0 to 8 bytes that a client chose and a server echoes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(ShortBytes<MAX_TOKEN_BYTES>);

impl Token {
    /// The token without bytes.
    pub const EMPTY: Self = Self(ShortBytes::EMPTY);

    /// The token of these bytes, or `None` where there are more than 8.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        ShortBytes::new(bytes).map(Self)
    }

    /// The token of the low `len` bytes of `number`, big-endian; at most 8.
    pub(crate) fn from_number(number: u64, len: usize) -> Self {
        let bytes = number.to_be_bytes();
        let start = bytes.len().saturating_sub(len);
        bytes.get(start..).and_then(Self::new).unwrap_or_default()
    }

    /// The token's bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_at_most_8_bytes() {
        assert_eq!(Token::new(&[1; 8]).map(|token| token.bytes().len()), Some(8));
        assert_eq!(Token::new(&[1; 9]), None);
        assert_eq!(Token::new(&[]), Some(Token::EMPTY));
    }

    #[test]
    fn a_number_gives_its_low_bytes() {
        assert_eq!(Token::from_number(0x0102_0304, 2).bytes(), [3, 4]);
        assert_eq!(Token::from_number(7, 0), Token::EMPTY);
        assert_eq!(Token::from_number(7, 99).bytes().len(), 8);
    }
}
