//! Authenticated decryption in place.

use aes::{Aes128, Aes256};
use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use ccm::Ccm;
use ccm::aead::{AeadInOut as _, KeyInit as _};
use ccm::consts::{U8, U12, U16};

use super::suite::Cipher;

/// Bytes of a nonce (RFC 5116 section 5).
pub(crate) const NONCE_BYTES: usize = 12;

/// A key that decrypts.
pub(crate) enum Key {
    AwsLc(LessSafeKey),
    Aes128Ccm(Box<Ccm<Aes128, U16, U12>>),
    Aes256Ccm(Box<Ccm<Aes256, U16, U12>>),
    Aes128Ccm8(Box<Ccm<Aes128, U8, U12>>),
    Aes256Ccm8(Box<Ccm<Aes256, U8, U12>>),
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// The key for `cipher`, or `None` if `key` has the wrong length.
    pub(crate) fn new(cipher: Cipher, key: &[u8]) -> Option<Self> {
        let of = |algorithm| UnboundKey::new(algorithm, key).ok().map(LessSafeKey::new);
        match cipher {
            Cipher::Aes128Gcm => of(&aead::AES_128_GCM).map(Self::AwsLc),
            Cipher::Aes256Gcm => of(&aead::AES_256_GCM).map(Self::AwsLc),
            Cipher::Chacha20Poly1305 => of(&aead::CHACHA20_POLY1305).map(Self::AwsLc),
            Cipher::Aes128Ccm => Ccm::new_from_slice(key).ok().map(Box::new).map(Self::Aes128Ccm),
            Cipher::Aes256Ccm => Ccm::new_from_slice(key).ok().map(Box::new).map(Self::Aes256Ccm),
            Cipher::Aes128Ccm8 => Ccm::new_from_slice(key).ok().map(Box::new).map(Self::Aes128Ccm8),
            Cipher::Aes256Ccm8 => Ccm::new_from_slice(key).ok().map(Box::new).map(Self::Aes256Ccm8),
        }
    }

    /// Decrypts `sealed` (ciphertext, then tag) in place. Returns the length of the plaintext at its start, or `None`
    /// if the tag does not verify.
    pub(crate) fn open(&self, nonce: [u8; NONCE_BYTES], aad: &[u8], sealed: &mut [u8]) -> Option<usize> {
        macro_rules! open_ccm {
            ($ccm:expr, $tag_bytes:expr) => {{
                let plain = sealed.len().checked_sub($tag_bytes)?;
                let (bytes, tag) = sealed.split_at_mut_checked(plain)?;
                let tag = (&*tag).try_into().ok()?;
                let opened = $ccm.decrypt_inout_detached(&nonce.into(), aad, bytes.into(), tag);
                opened.ok().map(|()| plain)
            }};
        }
        match self {
            Self::AwsLc(key) => {
                let nonce = Nonce::assume_unique_for_key(nonce);
                let plain = key.open_in_place(nonce, Aad::from(aad), sealed).ok()?;
                Some(plain.len())
            }
            Self::Aes128Ccm(ccm) => open_ccm!(ccm, 16),
            Self::Aes256Ccm(ccm) => open_ccm!(ccm, 16),
            Self::Aes128Ccm8(ccm) => open_ccm!(ccm, 8),
            Self::Aes256Ccm8(ccm) => open_ccm!(ccm, 8),
        }
    }
}

/// The nonce of a record: the IV, with the sequence number XORed into its last bytes (RFC 8446 section 5.3).
pub(crate) fn nonce(iv: [u8; NONCE_BYTES], sequence: u64) -> [u8; NONCE_BYTES] {
    let mut nonce = iv;
    let end = nonce.iter_mut().rev();
    end.zip(sequence.to_be_bytes().iter().rev())
        .for_each(|(byte, other)| *byte ^= other);
    nonce
}
