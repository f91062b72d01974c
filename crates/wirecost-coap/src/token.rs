//! Tokens: what ties a response to its request (RFC 7252 section 5.3.1).

use core::fmt;

/// The longest token in bytes (RFC 7252 section 3; RFC 8974's longer ones are not used).
pub const MAX_TOKEN_BYTES: usize = 8;

/// 0 to 8 bytes that a client chose and a server echoes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    bytes: [u8; MAX_TOKEN_BYTES],
    len: u8,
}

impl Token {
    /// The token without bytes.
    pub const EMPTY: Self = Self {
        bytes: [0; MAX_TOKEN_BYTES],
        len: 0,
    };

    /// The token of these bytes, or `None` where there are more than 8.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut token = Self::EMPTY;
        token.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        token.len = bytes.len() as u8;
        Some(token)
    }

    /// The token of the low `len` bytes of `number`, big-endian; at most 8.
    pub fn from_number(number: u64, len: usize) -> Self {
        let bytes = number.to_be_bytes();
        let start = bytes.len().saturating_sub(len);
        bytes.get(start..).and_then(Self::new).unwrap_or_default()
    }

    /// The token's bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
