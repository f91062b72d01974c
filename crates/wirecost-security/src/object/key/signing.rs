//! Keys for signing rule sets.

use std::fmt;

use aws_lc_rs::encoding::{AsBigEndian as _, EcPrivateKeyBin};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING};
use aws_lc_rs::signature::{EcdsaKeyPair, ParsedPublicKey};
use p256::ecdsa::signature::Signer as _;

use super::cose::{Stored, Usage};
use super::{Curve, KeyError, KeyId, draw};
use crate::entropy::Entropy;
use crate::object::algorithm::SIGNATURE_BYTES;

const NAME: &str = Curve::P256.name();

/// A trusted signer of rule sets, by the public key.
#[derive(Clone)]
pub struct Signer {
    key: ParsedPublicKey,
    point: Vec<u8>,
    id: KeyId,
}

impl Signer {
    /// The signer with this public key: an uncompressed point on P-256 (SEC 1 section 2.3.3).
    ///
    /// # Errors
    /// [`KeyError::Numbers`] if it is not a point on the curve.
    pub fn new(point: &[u8]) -> Result<Self, KeyError> {
        let key = ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        Ok(Self {
            key: key.map_err(|_| KeyError::Numbers(NAME))?,
            point: point.to_vec(),
            id: Curve::P256.key_id(point),
        })
    }

    /// The signer whose public key is in a COSE_Key.
    ///
    /// # Errors
    /// [`KeyError`] if it is not a COSE_Key, is private, or is for opening.
    pub fn from_cose_key(bytes: &[u8]) -> Result<Self, KeyError> {
        let stored = Stored::parse(bytes)?;
        stored.signs()?;
        stored.is_public()?;
        Self::new(&stored.public)
    }

    /// The public key as a COSE_Key.
    pub fn to_cose_key(&self) -> Vec<u8> {
        Stored::emit(Usage::Sign, &self.point, None)
    }

    /// The key's identifier.
    pub const fn id(&self) -> KeyId {
        self.id
    }

    /// Whether the signature is this signer's signature over these bytes.
    pub(in crate::object) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        self.key.verify_sig(message, signature).is_ok()
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signer").field(&self.id).finish()
    }
}

/// A private key for signing rule sets: ECDSA with SHA-256 on P-256, ES256 (RFC 9053 section 2.1). `Debug` does not
/// print it.
pub struct SigningKey {
    method: Method,
    signer: Signer,
}

/// The source of a signature's nonce.
enum Method {
    /// The system's randomness.
    Random(EcdsaKeyPair),
    /// The key and the message (RFC 6979).
    Deterministic(p256::ecdsa::SigningKey),
}

impl SigningKey {
    /// A new key.
    ///
    /// # Errors
    /// [`KeyError::Entropy`] if the system has no randomness.
    pub fn generate(entropy: &mut Entropy) -> Result<Self, KeyError> {
        draw(entropy, |scalar| Self::from_bytes(scalar))
    }

    /// The key with this number: 32 bytes, big-endian.
    ///
    /// # Errors
    /// [`KeyError::Numbers`] if it is not a key on the curve.
    pub fn from_bytes(scalar: &[u8]) -> Result<Self, KeyError> {
        // The library's only constructor from a plain number also needs the public key.
        let wrong = || KeyError::Numbers(NAME);
        let point = super::Secret::from_bytes(Curve::P256, scalar)?;
        let point = point.public_bytes();
        let pair =
            EcdsaKeyPair::from_private_key_and_public_key(&ECDSA_P256_SHA256_FIXED_SIGNING, scalar, point);
        Ok(Self {
            method: Method::Random(pair.map_err(|_| wrong())?),
            signer: Signer::new(point)?,
        })
    }

    /// The same key with deterministic signatures (RFC 6979), which take more time.
    ///
    /// # Errors
    /// [`KeyError::Numbers`] if the library does not export the key.
    pub fn deterministic(self) -> Result<Self, KeyError> {
        let key = p256::ecdsa::SigningKey::from_slice(&self.scalar()?);
        Ok(Self {
            method: Method::Deterministic(key.map_err(|_| KeyError::Numbers(NAME))?),
            signer: self.signer,
        })
    }

    /// The key in a COSE_Key.
    ///
    /// # Errors
    /// [`KeyError`] if it is not a COSE_Key, is public, is for opening, or its private and public key do not belong
    /// together.
    pub fn from_cose_key(bytes: &[u8]) -> Result<Self, KeyError> {
        let stored = Stored::parse(bytes)?;
        stored.signs()?;
        let key = Self::from_bytes(stored.private()?)?;
        stored.has_public(&key.signer.point, NAME)?;
        Ok(key)
    }

    /// The key as a COSE_Key, which is a secret.
    ///
    /// # Errors
    /// [`KeyError::Numbers`] if the library does not export the key.
    pub fn to_cose_key(&self) -> Result<Vec<u8>, KeyError> {
        let scalar = self.scalar()?;
        Ok(Stored::emit(Usage::Sign, &self.signer.point, Some(&scalar)))
    }

    fn scalar(&self) -> Result<Vec<u8>, KeyError> {
        match &self.method {
            Method::Random(pair) => {
                let scalar: Result<EcPrivateKeyBin<'_>, _> = pair.private_key().as_be_bytes();
                let scalar = scalar.map_err(|_| KeyError::Numbers(NAME))?;
                Ok(scalar.as_ref().to_vec())
            }
            Method::Deterministic(key) => Ok(key.to_bytes().to_vec()),
        }
    }

    /// The public key.
    pub fn signer(&self) -> Signer {
        self.signer.clone()
    }

    /// The key's identifier, the same as the signer's.
    pub const fn id(&self) -> KeyId {
        self.signer.id
    }

    /// The signature over these bytes: r and s at full width (RFC 9053 section 2.1). `None` if the library fails.
    pub(in crate::object) fn sign(&self, message: &[u8]) -> Option<[u8; SIGNATURE_BYTES]> {
        match &self.method {
            Method::Random(pair) => {
                let signature = pair.sign(&SystemRandom::new(), message).ok()?;
                signature.as_ref().try_into().ok()
            }
            Method::Deterministic(key) => {
                let signature: p256::ecdsa::Signature = key.try_sign(message).ok()?;
                Some(signature.to_bytes().into())
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.signer.id).finish()
    }
}
