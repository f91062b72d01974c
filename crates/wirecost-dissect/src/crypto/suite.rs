//! Cipher suites by their number in IANA's registry "TLS Cipher Suites".

use aws_lc_rs::hmac;

/// An authenticated cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    Chacha20Poly1305,
    Aes128Ccm,
    Aes256Ccm,
    Aes128Ccm8,
    Aes256Ccm8,
}

/// A cipher suite that this crate can decrypt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    pub(crate) cipher: Cipher,
    /// The hash of its key derivation.
    pub(crate) hash: hmac::Algorithm,
}

impl Cipher {
    pub(crate) const fn key_bytes(self) -> usize {
        match self {
            Self::Aes128Gcm | Self::Aes128Ccm | Self::Aes128Ccm8 => 16,
            Self::Aes256Gcm | Self::Aes256Ccm | Self::Aes256Ccm8 | Self::Chacha20Poly1305 => 32,
        }
    }

    pub(crate) const fn tag_bytes(self) -> usize {
        match self {
            Self::Aes128Ccm8 | Self::Aes256Ccm8 => 8,
            _ => 16,
        }
    }

    /// Bytes of the nonce that TLS 1.2 derives. The record carries the others (RFC 5288 section 3, RFC 6655 section
    /// 3, RFC 7905 section 2).
    pub(crate) const fn fixed_iv_bytes(self) -> usize {
        match self {
            Self::Chacha20Poly1305 => 12,
            _ => 4,
        }
    }
}

impl Suite {
    /// The suite with this number, or `None` if it is unknown or has no authenticated encryption.
    pub(crate) const fn new(number: u16) -> Option<Self> {
        use Cipher::{Aes128Ccm, Aes128Ccm8, Aes128Gcm, Aes256Ccm, Aes256Ccm8, Aes256Gcm, Chacha20Poly1305};
        let cipher = match number {
            // RFC 8446 appendix B.4; RFC 5288, RFC 5289, RFC 5487, RFC 8442.
            0x1301 | 0x009c | 0x009e | 0x00a8 | 0x00aa | 0x00ac | 0xc02b | 0xc02f | 0xd001 => Aes128Gcm,
            0x1302 | 0x009d | 0x009f | 0x00a9 | 0x00ab | 0x00ad | 0xc02c | 0xc030 | 0xd002 => Aes256Gcm,
            // RFC 7905.
            0x1303 | 0xcca8..=0xccae => Chacha20Poly1305,
            // RFC 6655, RFC 7251, RFC 8442.
            0x1304 | 0xc09c | 0xc09e | 0xc0a4 | 0xc0a6 | 0xc0ac | 0xd005 => Aes128Ccm,
            0x1305 | 0xc0a0 | 0xc0a2 | 0xc0a8 | 0xc0aa | 0xc0ae | 0xd003 => Aes128Ccm8,
            0xc09d | 0xc09f | 0xc0a5 | 0xc0a7 | 0xc0ad => Aes256Ccm,
            0xc0a1 | 0xc0a3 | 0xc0a9 | 0xc0ab | 0xc0af => Aes256Ccm8,
            _ => return None,
        };
        let hash = match cipher {
            Aes256Gcm => hmac::HMAC_SHA384,
            _ => hmac::HMAC_SHA256,
        };
        Some(Self { cipher, hash })
    }
}
