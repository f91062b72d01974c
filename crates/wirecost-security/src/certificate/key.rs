//! Keys that sign certificates: P-256 without randomness (RFC 6979), and the kinds that the library generates.

use std::convert::Infallible;

use p256::ecdsa::signature::hazmat::RandomizedPrehashSigner;
use p256::ecdsa::signature::{self, Signer};
use p256::ecdsa::{DerSignature, SigningKey};
use p256::elliptic_curve::rand_core::{TryCryptoRng, TryRng};
use p256::pkcs8::EncodePrivateKey;
use p256::{SecretKey, elliptic_curve};

use super::{Error, KeyKind, P384_SIGNATURE_BYTES, SIGNATURE_BYTES};
use crate::entropy::Entropy;

/// The error of [`Key`] for a signature of another length. The caller changes the content and signs again.
pub(super) const UNUSUAL_LENGTH: rcgen::Error = rcgen::Error::RemoteKeyError;

/// A key pair of any kind.
pub(super) enum Key {
    /// On P-256, from a seed if need be.
    P256(P256),
    /// From the library's own randomness: its keys and signatures differ with each run, their lengths do not.
    Library(Box<rcgen::KeyPair>, KeyKind),
}

impl Key {
    pub(super) fn generate(kind: KeyKind, entropy: &mut Entropy) -> Result<Self, Error> {
        let algorithm = match kind {
            KeyKind::P256 => return P256::generate(entropy).map(Self::P256),
            KeyKind::P384 => &rcgen::PKCS_ECDSA_P384_SHA384,
            KeyKind::Rsa2048 => return rsa(kind, rcgen::RsaKeySize::_2048),
            KeyKind::Rsa3072 => return rsa(kind, rcgen::RsaKeySize::_3072),
            KeyKind::Ed25519 => &rcgen::PKCS_ED25519,
            KeyKind::MlDsa44 => &rcgen::PKCS_ML_DSA_44,
            KeyKind::MlDsa65 => &rcgen::PKCS_ML_DSA_65,
        };
        library(kind, rcgen::KeyPair::generate_for(algorithm))
    }

    /// The private key in DER (RFC 5958).
    pub(super) fn to_pkcs8(&self) -> Result<Vec<u8>, Error> {
        match self {
            Self::P256(key) => key.to_pkcs8(),
            Self::Library(key, _) => Ok(key.serialize_der()),
        }
    }
}

fn rsa(kind: KeyKind, size: rcgen::RsaKeySize) -> Result<Key, Error> {
    library(
        kind,
        rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size),
    )
}

fn library(kind: KeyKind, key: Result<rcgen::KeyPair, rcgen::Error>) -> Result<Key, Error> {
    let key = key.map_err(|error| Error::Generate(error.to_string()))?;
    Ok(Key::Library(Box::new(key), kind))
}

impl rcgen::PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        match self {
            Self::P256(key) => &key.public,
            Self::Library(key, _) => key.der_bytes(),
        }
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        match self {
            Self::P256(_) => &rcgen::PKCS_ECDSA_P256_SHA256,
            Self::Library(key, _) => rcgen::PublicKeyData::algorithm(&**key),
        }
    }
}

impl rcgen::SigningKey for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        match self {
            Self::P256(key) => key.sign(message),
            Self::Library(key, kind) => {
                let signature = key.sign(message)?;
                let is_unusual = *kind == KeyKind::P384 && signature.len() != P384_SIGNATURE_BYTES;
                if is_unusual {
                    return Err(UNUSUAL_LENGTH);
                }
                Ok(signature)
            }
        }
    }
}

/// A key pair on P-256.
pub(super) struct P256 {
    secret: SecretKey,
    /// Uncompressed (RFC 5480 section 2.2).
    public: Vec<u8>,
}

impl P256 {
    /// A key from random bytes. One draw in 2^32 is not a valid scalar and is repeated.
    fn generate(entropy: &mut Entropy) -> Result<Self, Error> {
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

    fn to_pkcs8(&self) -> Result<Vec<u8>, Error> {
        let document = self.secret.to_pkcs8_der();
        let document = document.map_err(|error| Error::PrivateKey(error.to_string()))?;
        Ok(document.as_bytes().to_vec())
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let key = SigningKey::from(&self.secret);
        let signature: DerSignature = key.sign(message);
        if signature.as_bytes().len() != SIGNATURE_BYTES {
            return Err(UNUSUAL_LENGTH);
        }
        Ok(signature.as_bytes().to_vec())
    }
}

/// Converts a private key on P-256 from SEC 1 (RFC 5915) to PKCS #8.
pub(super) fn sec1_to_pkcs8(sec1: &[u8]) -> Result<Vec<u8>, Error> {
    let secret = SecretKey::from_sec1_der(sec1).map_err(|error| Error::PrivateKey(error.to_string()))?;
    P256::new(secret).to_pkcs8()
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
