//! Keys for opening parts.

use std::fmt;

use aws_lc_rs::agreement::{self, ECDH_P256, ParsedPublicKey, PrivateKey, UnparsedPublicKey, X25519};
use aws_lc_rs::encoding::{AsBigEndian as _, Curve25519SeedBin, EcPrivateKeyBin};
use aws_lc_rs::error::Unspecified;

use super::cose::{Stored, Usage};
use super::{Curve, KeyError, KeyId, draw};
use crate::entropy::Entropy;

/// A participant who may open parts, by the public key. Clones are cheap.
#[derive(Clone)]
pub struct Participant {
    curve: Curve,
    key: ParsedPublicKey,
    id: KeyId,
}

impl Participant {
    /// The participant with this public key: 32 bytes on X25519 (RFC 7748 section 5), or an uncompressed point on
    /// P-256 (SEC 1 section 2.3.3).
    ///
    /// # Errors
    /// [`KeyError::Numbers`] if it is not a key on the curve.
    pub fn new(curve: Curve, public: &[u8]) -> Result<Self, KeyError> {
        let key = parse(curve, public).ok_or(KeyError::Numbers(curve.name()))?;
        let id = curve.key_id(public);
        Ok(Self { curve, key, id })
    }

    /// The participant whose public key is in a COSE_Key.
    ///
    /// # Errors
    /// [`KeyError`] if it is not a COSE_Key, is private, or is for signing.
    pub fn from_cose_key(bytes: &[u8]) -> Result<Self, KeyError> {
        let stored = Stored::parse(bytes)?;
        let curve = stored.opens()?;
        stored.is_public()?;
        Self::new(curve, &stored.public)
    }

    /// The public key as a COSE_Key.
    pub fn to_cose_key(&self) -> Vec<u8> {
        Stored::emit(Usage::Open(self.curve), self.public(), None)
    }

    /// The key's identifier.
    pub const fn id(&self) -> KeyId {
        self.id
    }

    /// The key's curve.
    pub const fn curve(&self) -> Curve {
        self.curve
    }

    fn public(&self) -> &[u8] {
        self.key.as_ref()
    }
}

impl fmt::Debug for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Participant")
            .field(&self.curve)
            .field(&self.id)
            .finish()
    }
}

/// Parses a public key in raw form only. The library would also accept X.509 and compressed points.
fn parse(curve: Curve, public: &[u8]) -> Option<ParsedPublicKey> {
    let form = match curve {
        Curve::X25519 => public.len() == super::SCALAR_BYTES,
        Curve::P256 => public.len() == 1 + 2 * super::SCALAR_BYTES && public.first() == Some(&4),
    };
    let unparsed = form.then(|| UnparsedPublicKey::new(algorithm(curve), public));
    unparsed.and_then(|key| ParsedPublicKey::try_from(key).ok())
}

fn algorithm(curve: Curve) -> &'static agreement::Algorithm {
    match curve {
        Curve::X25519 => &X25519,
        Curve::P256 => &ECDH_P256,
    }
}

/// A participant's private key. `Debug` does not print it.
pub struct Secret {
    key: PrivateKey,
    public: Participant,
}

impl Secret {
    /// A new key.
    ///
    /// # Errors
    /// [`KeyError::Entropy`] if the system has no randomness.
    pub fn generate(curve: Curve, entropy: &mut Entropy) -> Result<Self, KeyError> {
        draw(entropy, |scalar| Self::from_bytes(curve, scalar))
    }

    /// The key with these 32 bytes: encoded as in RFC 7748 on X25519, big-endian on P-256.
    ///
    /// # Errors
    /// [`KeyError::Numbers`] if they are not a key on the curve.
    pub fn from_bytes(curve: Curve, scalar: &[u8]) -> Result<Self, KeyError> {
        let wrong = KeyError::Numbers(curve.name());
        let key = PrivateKey::from_private_key(algorithm(curve), scalar).map_err(|_| wrong.clone())?;
        let public = key.compute_public_key().map_err(|_| wrong)?;
        let public = Participant::new(curve, public.as_ref())?;
        Ok(Self { key, public })
    }

    /// The key in a COSE_Key.
    ///
    /// # Errors
    /// [`KeyError`] if it is not a COSE_Key, is public, is for signing, or its private and public key do not belong
    /// together.
    pub fn from_cose_key(bytes: &[u8]) -> Result<Self, KeyError> {
        let stored = Stored::parse(bytes)?;
        let curve = stored.opens()?;
        let secret = Self::from_bytes(curve, stored.private()?)?;
        stored.has_public(secret.public.public(), curve.name())?;
        Ok(secret)
    }

    /// The key as a COSE_Key, which is a secret.
    ///
    /// # Errors
    /// [`KeyError::Numbers`] if the library does not export the key.
    pub fn to_cose_key(&self) -> Result<Vec<u8>, KeyError> {
        let scalar = self
            .scalar()
            .map_err(|_| KeyError::Numbers(self.public.curve.name()))?;
        let usage = Usage::Open(self.public.curve);
        Ok(Stored::emit(usage, self.public.public(), Some(&scalar)))
    }

    fn scalar(&self) -> Result<Vec<u8>, Unspecified> {
        match self.public.curve {
            Curve::X25519 => {
                let scalar: Curve25519SeedBin<'_> = self.key.as_be_bytes()?;
                Ok(scalar.as_ref().to_vec())
            }
            Curve::P256 => {
                let scalar: EcPrivateKeyBin<'_> = self.key.as_be_bytes()?;
                Ok(scalar.as_ref().to_vec())
            }
        }
    }

    /// The public key.
    pub fn participant(&self) -> Participant {
        self.public.clone()
    }

    /// The key's identifier, the same as the participant's.
    pub const fn id(&self) -> KeyId {
        self.public.id
    }

    /// The bytes of the public key.
    pub(in crate::object) fn public_bytes(&self) -> &[u8] {
        self.public.public()
    }

    /// Computes the shared secret with a participant and passes it to `derive` (RFC 9053 section 6.3.1).
    pub(in crate::object) fn agree<T>(
        &self,
        with: &Participant,
        derive: impl FnOnce(&[u8]) -> Result<T, Unspecified>,
    ) -> Result<T, Unspecified> {
        agreement::agree(&self.key, with.key.clone(), Unspecified, derive)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secret").field(&self.public).finish()
    }
}
