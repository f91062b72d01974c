//! A P-256 key that signs without randomness (RFC 6979).

use std::convert::Infallible;

use p256::ecdsa::signature::hazmat::RandomizedPrehashSigner;
use p256::ecdsa::signature::{self, Signer};
use p256::ecdsa::{DerSignature, SigningKey};
use p256::elliptic_curve::rand_core::{TryCryptoRng, TryRng};
use p256::pkcs8::EncodePrivateKey;
use p256::{SecretKey, elliptic_curve};

use super::{Error, SIGNATURE_BYTES};
use crate::entropy::Entropy;

/// The error of [`Key`] for a signature of another length. The caller changes the content and signs again.
pub(super) const UNUSUAL_LENGTH: rcgen::Error = rcgen::Error::RemoteKeyError;

/// A key pair on P-256.
pub(crate) struct Key {
    secret: SecretKey,
    /// Uncompressed (RFC 5480 section 2.2).
    public: Vec<u8>,
}

impl Key {
    /// A key from random bytes. One draw in 2^32 is not a valid scalar and is repeated.
    pub(crate) fn generate(entropy: &mut Entropy) -> Result<Self, Error> {
        loop {
            let mut scalar = [0; 32];
            entropy.fill(&mut scalar)?;
            if let Ok(secret) = SecretKey::from_slice(&scalar) {
                return Ok(Self::new(secret));
            }
        }
    }

    fn new(secret: SecretKey) -> Self {
        let public = elliptic_curve::sec1::ToSec1Point::to_sec1_point(&secret.public_key(), false);
        Self {
            public: public.as_bytes().to_vec(),
            secret,
        }
    }

    /// The private key in DER (RFC 5958).
    pub(crate) fn to_pkcs8(&self) -> Result<Vec<u8>, Error> {
        let document = self.secret.to_pkcs8_der();
        let document = document.map_err(|error| Error::PrivateKey(error.to_string()))?;
        Ok(document.as_bytes().to_vec())
    }
}

/// Converts a private key on P-256 from SEC 1 (RFC 5915) to PKCS #8.
pub(super) fn sec1_to_pkcs8(sec1: &[u8]) -> Result<Vec<u8>, Error> {
    let secret = SecretKey::from_sec1_der(sec1).map_err(|error| Error::PrivateKey(error.to_string()))?;
    Key::new(secret).to_pkcs8()
}

impl rcgen::PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        &self.public
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_ECDSA_P256_SHA256
    }
}

impl rcgen::SigningKey for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let key = SigningKey::from(&self.secret);
        let signature: DerSignature = key.sign(message);
        if signature.as_bytes().len() != SIGNATURE_BYTES {
            return Err(UNUSUAL_LENGTH);
        }
        Ok(signature.as_bytes().to_vec())
    }
}

/// Signs a SHA-256 digest. The nonce derives from key, digest and `added` (RFC 6979 section 3.6).
pub(crate) fn sign_digest(
    key: &SigningKey,
    digest: &[u8],
    added: [u8; 32],
) -> Result<DerSignature, signature::Error> {
    key.sign_prehash_with_rng(&mut Added(added), digest)
}

/// Additional data of a nonce. The library draws it as random bytes.
struct Added([u8; 32]);

impl TryRng for Added {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes
            .iter_mut()
            .zip(self.0)
            .for_each(|(byte, added)| *byte = added);
        Ok(())
    }
}

impl TryCryptoRng for Added {}
