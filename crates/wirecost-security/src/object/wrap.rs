//! Wraps content keys for participants: ECDH-ES with a key wrap (RFC 9053 section 6.4).

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use aws_lc_rs::key_wrap::{AES_128, AesKek, KeyWrap as _};

use super::algorithm::{KDF_CONTEXT, KEY_BYTES, WRAPPED_BYTES};
use super::key::{KeyError, Participant, Secret};
use crate::entropy::Entropy;

/// A content key.
pub(super) type ContentKey = [u8; KEY_BYTES];

/// Wraps a content key for a participant. Returns the ephemeral key, whose public key is sent, and the wrapped key.
///
/// # Errors
/// [`KeyError`] if the system has no randomness.
pub(super) fn wrap(
    content_key: &ContentKey,
    participant: &Participant,
    entropy: &mut Entropy,
) -> Result<(Secret, [u8; WRAPPED_BYTES]), KeyError> {
    // The key pair serves this message and participant only (RFC 9053 section 6.3.1).
    let ephemeral = Secret::generate(participant.curve(), entropy)?;
    let wrapped = key_encryption_key(&ephemeral, participant).and_then(|kek| {
        let mut wrapped = [0; WRAPPED_BYTES];
        AesKek::new(&AES_128, &kek)?.wrap(content_key, &mut wrapped)?;
        Ok(wrapped)
    });
    // Only a public key of low order fails, because it shares no secret (RFC 7748 section 6.1).
    let wrapped = wrapped.map_err(|_| KeyError::Numbers(participant.curve().name()))?;
    Ok((ephemeral, wrapped))
}

/// Unwraps a content key.
///
/// # Errors
/// [`Unspecified`] if it was not wrapped for this secret, or was changed.
pub(super) fn unwrap(
    wrapped: &[u8],
    secret: &Secret,
    ephemeral: &Participant,
) -> Result<ContentKey, Unspecified> {
    let kek = key_encryption_key(secret, ephemeral)?;
    // Eight bytes more than the key. The library checks the integrity of the wrapped key with them (RFC 3394 section
    // 2.2.3).
    let mut key = [0; WRAPPED_BYTES];
    if wrapped.len() != WRAPPED_BYTES {
        return Err(Unspecified);
    }
    let key = AesKek::new(&AES_128, &kek)?.unwrap(wrapped, &mut key)?;
    (&*key).try_into().map_err(|_| Unspecified)
}

/// The key that both sides derive from their shared secret.
fn key_encryption_key(secret: &Secret, with: &Participant) -> Result<[u8; KEY_BYTES], Unspecified> {
    secret.agree(with, |shared| derive(shared, &KDF_CONTEXT))
}

/// HKDF with SHA-256 and without a salt (RFC 9053 section 5.1).
fn derive(shared: &[u8], context: &[u8]) -> Result<[u8; KEY_BYTES], Unspecified> {
    let mut key = [0; KEY_BYTES];
    let extracted = Salt::new(HKDF_SHA256, &[]).extract(shared);
    extracted.expand(&[context], KeyLength)?.fill(&mut key)?;
    Ok(key)
}

/// The length of a key, for the library.
struct KeyLength;

impl KeyType for KeyLength {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}

#[cfg(test)]
mod tests;
