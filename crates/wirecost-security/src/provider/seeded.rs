//! Randoms, key shares and signatures from a seed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey};
use aws_lc_rs::digest::{SHA256, digest};
use p256::pkcs8::DecodePrivateKey;
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom, SharedSecret,
    SupportedKxGroup,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, NamedGroup, PeerMisbehaved, SignatureAlgorithm, SignatureScheme};
use wirecost_proto::Rng;

use super::signing::until_usual;
use crate::certificate::sign_digest;
use crate::entropy::{Entropy, NoEntropy};

/// Like [`standard`](super::standard), with every random byte from `rng`: for tests and simulation.
///
/// The library needs static references, so each call leaks about 100 bytes.
pub fn seeded(rng: Rng) -> Arc<CryptoProvider> {
    let stream = Stream(Arc::new(Mutex::new(Entropy::seeded(rng))));
    let stream: &'static Stream = Box::leak(Box::new(stream));
    let group: &'static Group = Box::leak(Box::new(Group(stream.clone())));
    Arc::new(CryptoProvider {
        kx_groups: vec![group],
        secure_random: stream,
        key_provider: stream,
        ..super::narrow()
    })
}

/// The seed's bytes, in the order in which the endpoint draws them.
#[derive(Clone)]
struct Stream(Arc<Mutex<Entropy>>);

impl Stream {
    fn draw(&self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        let mut entropy = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entropy.fill(bytes)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

impl SecureRandom for Stream {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        self.draw(bytes).map_err(|_| GetRandomFailed)
    }
}

impl KeyProvider for Stream {
    fn load_private_key(&self, key_der: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        let unusable = |error: p256::pkcs8::Error| Error::General(format!("not a P-256 key: {error}"));
        let key = p256::ecdsa::SigningKey::from_pkcs8_der(key_der.secret_der()).map_err(unusable)?;
        Ok(Arc::new(Key {
            key,
            stream: self.clone(),
        }))
    }
}

/// A P-256 key whose nonces derive from key, message and seed (RFC 6979 section 3.6).
#[derive(Clone)]
struct Key {
    key: p256::ecdsa::SigningKey,
    stream: Stream,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl SigningKey for Key {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let offered = offered.contains(&self.scheme());
        offered.then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl Signer for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let digest = digest(&SHA256, message);
        until_usual(|| {
            let mut added = [0; 32];
            self.stream.draw(&mut added).map_err(|_| GetRandomFailed)?;
            let signature = sign_digest(&self.key, digest.as_ref(), added);
            let signature = signature.map_err(|error| Error::General(error.to_string()))?;
            Ok(signature.as_bytes().to_vec())
        })
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ECDSA_NISTP256_SHA256
    }
}

/// X25519 with private keys from the seed.
#[derive(Debug)]
struct Group(Stream);

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut seed = [0; 32];
        self.0.draw(&mut seed).map_err(|_| GetRandomFailed)?;
        let private = PrivateKey::from_private_key(&agreement::X25519, &seed);
        let private = private.map_err(|error| Error::General(error.to_string()))?;
        let public = private.compute_public_key();
        let public = public.map_err(|error| Error::General(error.to_string()))?;
        Ok(Box::new(Exchange {
            private,
            public: public.as_ref().to_vec(),
        }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct Exchange {
    private: PrivateKey,
    public: Vec<u8>,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = UnparsedPublicKey::new(&agreement::X25519, peer);
        let invalid = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        agreement::agree(&self.private, peer, invalid, |secret| {
            Ok(SharedSecret::from(secret))
        })
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}
