//! One signer, one participant, one part: what a stack with `+cose` sends.

use wirecost_proto::Content;

use super::algorithm::TAG_BYTES;
use super::key::{Curve, Secret, SigningKey};
use super::open::{Opener, Refusal};
use super::rule::Rule;
use super::seal::{SealError, Sealer};
use super::time::UnixTime;
use crate::entropy::Entropy;

/// A device that seals each message for one participant on X25519, under one rule without limits in time, and that
/// participant.
#[derive(Debug)]
pub struct Preset {
    sealer: Sealer,
    opener: Opener,
}

impl Preset {
    /// Both, with new keys.
    ///
    /// # Errors
    /// [`SealError`] where the system gives no randomness.
    pub fn new(entropy: &mut Entropy) -> Result<Self, SealError> {
        let key = SigningKey::generate(entropy)?;
        Self::with(key, entropy)
    }

    /// Both, with signatures that follow from key and content alone (RFC 6979), which take more time: from a seeded
    /// `entropy` come the same objects, byte for byte.
    ///
    /// # Errors
    /// [`SealError`] where the system gives no randomness.
    pub fn deterministic(entropy: &mut Entropy) -> Result<Self, SealError> {
        let key = SigningKey::generate(entropy)?.deterministic()?;
        Self::with(key, entropy)
    }

    fn with(key: SigningKey, entropy: &mut Entropy) -> Result<Self, SealError> {
        let secret = Secret::generate(Curve::X25519, entropy)?;
        let signer = key.signer();
        let rules = vec![Rule::always(secret.id(), 0)];
        Ok(Self {
            sealer: Sealer::new(key, vec![secret.participant()], rules)?,
            opener: Opener::new(secret, vec![signer]),
        })
    }

    /// The object around a payload, [`overhead`](Self::overhead) bytes longer.
    ///
    /// # Errors
    /// [`SealError`] where the system gives no randomness.
    pub fn seal(&self, payload: &[u8], entropy: &mut Entropy) -> Result<Content, SealError> {
        Ok(self.sealer.seal(&[payload], entropy)?.into())
    }

    /// The payload in an object.
    ///
    /// # Errors
    /// [`Refusal`] says which check failed.
    pub fn open(&self, object: &[u8], now: UnixTime) -> Result<Vec<u8>, Refusal> {
        self.opener.open(object, 0, now)
    }

    /// How many bytes an object is longer than a payload of `payload` bytes: 281 up to 7 bytes of payload, 287 from 65,520
    /// on, as the two byte strings around the payload need longer heads.
    pub const fn overhead(payload: usize) -> usize {
        /// Everything but the payload and the heads of the byte strings around it, the tag included.
        const FIXED: usize = 278;
        /// The part's message without payload and without the head of its ciphertext.
        const MESSAGE: usize = 123;
        let ciphertext = head(payload + TAG_BYTES);
        FIXED + ciphertext + head(MESSAGE + ciphertext + payload)
    }
}

/// Bytes of the head of a byte string (RFC 8949 section 3).
const fn head(len: usize) -> usize {
    match len {
        0..24 => 1,
        24..0x100 => 2,
        0x100..0x1_0000 => 3,
        0x1_0000..0x1_0000_0000 => 5,
        _ => 9,
    }
}
