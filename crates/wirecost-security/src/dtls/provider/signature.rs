//! Signatures of the usual length, from a seed if there is one.

use aws_lc_rs::digest::{SHA256, digest};
use dimpl::crypto::{
    Buf, HashAlgorithm, KeyProvider, SignatureAlgorithm, SigningKey as DimplKey, aws_lc_rs as plain,
};
use dimpl::{CryptoError, CryptoOperation};
use p256::ecdsa::SigningKey;
use p256::pkcs8::DecodePrivateKey;
use wirecost_proto::Rng;

use super::seeded;
use crate::certificate::{SIGNATURE_BYTES, SIGNATURE_TRIES, sign_digest};

/// Loads private keys. Keys on P-256 sign with the usual length.
#[derive(Debug)]
pub(super) struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(&self, der: &[u8]) -> Result<Box<dyn DimplKey>, CryptoError> {
        let key = plain::default_provider().key_provider.load_private_key(der)?;
        if key.hash_algorithm() != HashAlgorithm::SHA256 {
            return Ok(key);
        }
        let der = der.to_vec();
        Ok(Box::new(UsualLength { key, der }))
    }
}

/// A key on P-256 whose signatures have the usual length.
struct UsualLength {
    key: Box<dyn DimplKey>,
    /// For seeded signatures, which the wrapped key cannot make.
    der: Vec<u8>,
}

impl std::fmt::Debug for UsualLength {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UsualLength").finish_non_exhaustive()
    }
}

impl UsualLength {
    fn sign_once(&mut self, data: &[u8], hash: HashAlgorithm, out: &mut Buf) -> Result<(), CryptoError> {
        let Some(seed) = seeded() else {
            return self.key.sign(data, hash, out);
        };
        let failed = || CryptoError::OperationFailed(CryptoOperation::Sign);
        let key = SigningKey::from_pkcs8_der(&self.der).map_err(|_| failed())?;
        let mut added = [0; 32];
        Rng::new(u64::from_be_bytes(seed)).fill(&mut added);
        let signature = sign_digest(&key, digest(&SHA256, data).as_ref(), added).map_err(|_| failed())?;
        out.clear();
        out.extend_from_slice(signature.as_bytes());
        Ok(())
    }
}

impl DimplKey for UsualLength {
    fn sign(&mut self, data: &[u8], hash: HashAlgorithm, out: &mut Buf) -> Result<(), CryptoError> {
        for _ in 0..SIGNATURE_TRIES {
            self.sign_once(data, hash, out)?;
            if out.len() == SIGNATURE_BYTES {
                return Ok(());
            }
        }
        Err(CryptoError::OperationFailed(CryptoOperation::Sign))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.key.algorithm()
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        self.key.hash_algorithm()
    }

    fn supported_hash_algorithms(&self) -> &[HashAlgorithm] {
        self.key.supported_hash_algorithms()
    }
}
