//! A P-256 key that signs without randomness (RFC 6979).

use p256::ecdsa::signature::Signer;
use p256::ecdsa::{DerSignature, SigningKey};
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
