//! One signer, one participant, one part, as stacks with `+cose` use them.

use wirecost_proto::Content;

use super::key::{Curve, Secret, SigningKey};
use super::open::{Opener, Refusal};
use super::rule::Rule;
use super::seal::{SealError, Sealer};
use super::time::UnixTime;
use crate::entropy::Entropy;

/// A device that seals each message for one participant on X25519 under one rule without a time limit, and that
/// participant.
#[derive(Debug)]
pub struct Preset {
    sealer: Sealer,
    opener: Opener,
}

impl Preset {
    /// A preset with new keys.
    ///
    /// # Errors
    /// [`SealError`] if the system has no randomness.
    pub fn new(entropy: &mut Entropy) -> Result<Self, SealError> {
        let key = SigningKey::generate(entropy)?;
        Self::with(key, entropy)
    }

    /// A preset with deterministic signatures (RFC 6979), which take more time. A seeded `entropy` makes the objects
    /// identical byte for byte.
    ///
    /// # Errors
    /// [`SealError`] if the system has no randomness.
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

    /// The object around a payload, 281 to 288 bytes longer.
    ///
    /// # Errors
    /// [`SealError`] if the system has no randomness.
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
}
