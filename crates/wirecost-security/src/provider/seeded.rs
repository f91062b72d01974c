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

use super::Choice;
use super::signing::{UsualLength, until_usual};
use crate::certificate::{SIGNATURE_BYTES, sign_digest};
use crate::entropy::{Entropy, NoEntropy};

/// Like `chosen`, with every random byte from `rng`: for tests and simulation. ML-KEM, and signatures other than those on P-256,
/// take their randomness from the library: their lengths follow from the seed, their bytes do not.
///
/// The library needs static references, so each call leaks about 100 bytes.
pub fn seeded(choice: Choice, rng: Rng) -> Arc<CryptoProvider> {
    let stream = Stream(Arc::new(Mutex::new(Entropy::seeded(rng))));
    let stream: &'static Stream = Box::leak(Box::new(stream));
    let group = |group: super::Group| -> &'static dyn SupportedKxGroup {
        match curve_of(group) {
            Some(curve) => Box::leak(Box::new(Group {
                curve,
                name: group.of_library().name(),
                stream: stream.clone(),
            })),
            None => group.of_library(),
        }
    };
    let CryptoProvider {
        cipher_suites,
        kx_groups: _,
        signature_verification_algorithms,
        secure_random: _,
        key_provider: _,
    } = Arc::unwrap_or_clone(super::chosen(choice));
    Arc::new(CryptoProvider {
        cipher_suites,
        kx_groups: choice.groups.iter().map(group).collect(),
        signature_verification_algorithms,
        secure_random: stream,
        key_provider: stream,
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
        let Ok(key) = p256::ecdsa::SigningKey::from_pkcs8_der(key_der.secret_der()) else {
            return UsualLength.load_private_key(key_der);
        };
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
        until_usual(SIGNATURE_BYTES, || {
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

/// A curve whose private keys may be given.
type Curve = &'static agreement::Algorithm;

/// The curve of a group; `None` for ML-KEM, whose keys the library draws itself.
fn curve_of(group: super::Group) -> Option<Curve> {
    match group {
        super::Group::X25519 => Some(&agreement::X25519),
        super::Group::P256 => Some(&agreement::ECDH_P256),
        super::Group::P384 => Some(&agreement::ECDH_P384),
        super::Group::X25519MlKem768 | super::Group::MlKem768 | super::Group::MlKem1024 => None,
    }
}

/// A group with private keys from the seed.
#[derive(Debug)]
struct Group {
    curve: Curve,
    name: NamedGroup,
    stream: Stream,
}

/// Attempts at a private key. One draw in 2^32 is not a valid scalar of P-256.
const KEY_TRIES: usize = 8;

impl Group {
    fn private(&self) -> Result<PrivateKey, Error> {
        let mut seed = [0; 48];
        let seed = match self.name {
            NamedGroup::secp384r1 => &mut seed[..],
            _ => &mut seed[..32],
        };
        let mut fault = String::new();
        for _ in 0..KEY_TRIES {
            self.stream.draw(seed).map_err(|_| GetRandomFailed)?;
            match PrivateKey::from_private_key(self.curve, seed) {
                Ok(private) => return Ok(private),
                Err(error) => fault = error.to_string(),
            }
        }
        Err(Error::General(fault))
    }
}

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let private = self.private()?;
        let public = private.compute_public_key();
        let public = public.map_err(|error| Error::General(error.to_string()))?;
        Ok(Box::new(Exchange {
            private,
            public: public.as_ref().to_vec(),
            curve: self.curve,
            name: self.name,
        }))
    }

    fn name(&self) -> NamedGroup {
        self.name
    }
}

struct Exchange {
    private: PrivateKey,
    public: Vec<u8>,
    curve: Curve,
    name: NamedGroup,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = UnparsedPublicKey::new(self.curve, peer);
        let invalid = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        agreement::agree(&self.private, peer, invalid, |secret| {
            Ok(SharedSecret::from(secret))
        })
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        self.name
    }
}
