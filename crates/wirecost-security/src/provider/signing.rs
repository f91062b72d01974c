//! Signatures of the usual length.

use std::sync::Arc;

use rustls::crypto::KeyProvider;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

use crate::certificate::{P384_SIGNATURE_BYTES, SIGNATURE_BYTES, SIGNATURE_TRIES};

/// Loads keys whose ECDSA signatures have their usual length.
#[derive(Debug)]
pub(super) struct UsualLength;

impl KeyProvider for UsualLength {
    fn load_private_key(&self, key_der: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Ok(Arc::new(Key(any_supported_type(&key_der)?)))
    }
}

#[derive(Debug)]
struct Key(Arc<dyn SigningKey>);

impl SigningKey for Key {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let signer = self.0.choose_scheme(offered)?;
        Some(match signer.scheme() {
            SignatureScheme::ECDSA_NISTP256_SHA256 => Box::new(Retry(signer, SIGNATURE_BYTES)),
            SignatureScheme::ECDSA_NISTP384_SHA384 => Box::new(Retry(signer, P384_SIGNATURE_BYTES)),
            _ => signer,
        })
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        self.0.public_key()
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm()
    }
}

#[derive(Debug)]
struct Retry(Box<dyn Signer>, usize);

impl Signer for Retry {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        until_usual(self.1, || self.0.sign(message))
    }

    fn scheme(&self) -> SignatureScheme {
        self.0.scheme()
    }
}

/// The first signature of the usual length that `sign` makes, or the last one if none has it.
pub(super) fn until_usual(usual: usize, sign: impl Fn() -> Result<Vec<u8>, Error>) -> Result<Vec<u8>, Error> {
    let mut signature = sign()?;
    for _ in 1..SIGNATURE_TRIES {
        if signature.len() == usual {
            break;
        }
        signature = sign()?;
    }
    Ok(signature)
}
