//! Keys as COSE_Keys (RFC 9052 section 7, RFC 9053 section 7).

use std::fmt;

use coset::cbor::Value;
use coset::iana::{self, EnumI64};
use coset::{CborSerializable as _, CoseKey, CoseKeyBuilder, KeyType, Label};

use super::{Curve, KeyError, Participant, coordinates};
use crate::object::algorithm::number;

/// The purpose of a key: the parameter `alg` (RFC 9052 section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Opening parts: ECDH-ES + A128KW.
    Open(Curve),
    /// Signing rule sets: ES256.
    Sign,
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open(_) => "opening",
            Self::Sign => "signing",
        })
    }
}

/// The parameters of a COSE_Key.
pub(super) struct Stored {
    usage: Usage,
    pub(super) public: Vec<u8>,
    private: Option<Vec<u8>>,
}

impl Stored {
    /// The bytes of a COSE_Key.
    pub(super) fn emit(usage: Usage, public: &[u8], private: Option<&[u8]>) -> Vec<u8> {
        let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
        let mut key = match usage {
            Usage::Open(Curve::X25519) => CoseKeyBuilder::new_okp_key()
                .param(
                    number(iana::OkpKeyParameter::Crv),
                    Value::from(number(iana::EllipticCurve::X25519)),
                )
                .param(number(iana::OkpKeyParameter::X), bytes(public)),
            Usage::Open(Curve::P256) | Usage::Sign => {
                let (x, y) = coordinates(public);
                CoseKeyBuilder::new_ec2_pub_key(iana::EllipticCurve::P_256, x.to_vec(), y.to_vec())
            }
        };
        key = key.algorithm(algorithm(usage));
        if let Some(private) = private {
            // The parameter d has one label in both key types (RFC 9053 sections 7.1.1 and 7.2).
            key = key.param(number(iana::Ec2KeyParameter::D), bytes(private));
        }
        // Only duplicate labels make the encoder fail, and there are none.
        key.build().to_vec().unwrap_or_default()
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, KeyError> {
        let key = CoseKey::from_slice(bytes).map_err(|error| KeyError::Malformed(error.to_string()))?;
        let usage = usage(&key)?;
        let public = public_of(&key, curve_of(usage))?;
        let private = param(&key, iana::Ec2KeyParameter::D, "private key d").ok();
        Ok(Self {
            usage,
            public,
            private: private.map(<[u8]>::to_vec),
        })
    }

    /// The curve of an opening key.
    pub(super) fn opens(&self) -> Result<Curve, KeyError> {
        match self.usage {
            Usage::Open(curve) => Ok(curve),
            found => Err(KeyError::Usage {
                expected: "opening",
                found,
            }),
        }
    }

    /// Checks that the key is for signing.
    pub(super) fn signs(&self) -> Result<(), KeyError> {
        match self.usage {
            Usage::Sign => Ok(()),
            found => Err(KeyError::Usage {
                expected: "signing",
                found,
            }),
        }
    }

    /// The private key.
    pub(super) fn private(&self) -> Result<&[u8], KeyError> {
        self.private.as_deref().ok_or(KeyError::Missing("private half"))
    }

    /// Checks that there is no private key, so that nobody hands out a file with one as a public key.
    pub(super) fn is_public(&self) -> Result<(), KeyError> {
        match self.private {
            None => Ok(()),
            Some(_) => Err(KeyError::Private),
        }
    }

    /// Checks that the public key belongs to the private key.
    pub(super) fn has_public(&self, public: &[u8], curve: &'static str) -> Result<(), KeyError> {
        (self.public == public)
            .then_some(())
            .ok_or(KeyError::Numbers(curve))
    }
}

const fn algorithm(usage: Usage) -> iana::Algorithm {
    match usage {
        Usage::Open(_) => iana::Algorithm::ECDH_ES_A128KW,
        Usage::Sign => iana::Algorithm::ES256,
    }
}

fn usage(key: &CoseKey) -> Result<Usage, KeyError> {
    let all = [Usage::Open(Curve::X25519), Usage::Open(Curve::P256), Usage::Sign];
    let fits = |usage: &Usage| {
        let asked = coset::Algorithm::Assigned(algorithm(*usage));
        key.alg.as_ref() == Some(&asked) && is_on(key, curve_of(*usage))
    };
    let usage = all.into_iter().find(fits);
    usage.ok_or_else(|| {
        let expected = "expected X25519 or P-256 with alg ECDH-ES + A128KW, or P-256 with alg ES256";
        KeyError::Malformed(expected.to_owned())
    })
}

const fn curve_of(usage: Usage) -> Curve {
    match usage {
        Usage::Open(curve) => curve,
        Usage::Sign => Curve::P256,
    }
}

fn is_on(key: &CoseKey, curve: Curve) -> bool {
    let (kind, number_of_curve) = match curve {
        Curve::X25519 => (iana::KeyType::OKP, number(iana::EllipticCurve::X25519)),
        Curve::P256 => (iana::KeyType::EC2, number(iana::EllipticCurve::P_256)),
    };
    // crv has the same label in both key types.
    let found = find(key, iana::Ec2KeyParameter::Crv);
    key.kty == KeyType::Assigned(kind) && found == Some(&Value::from(number_of_curve))
}

/// The public key in an ephemeral key, which names no algorithm (RFC 9053 section 6.3.1).
pub(in crate::object) fn ephemeral(key: &CoseKey) -> Result<Participant, KeyError> {
    let curve = Curve::ALL.into_iter().find(|curve| is_on(key, *curve));
    let curve = curve.ok_or(KeyError::Missing("curve that is known here"))?;
    Participant::new(curve, &public_of(key, curve)?)
}

fn public_of(key: &CoseKey, curve: Curve) -> Result<Vec<u8>, KeyError> {
    // x has the same label in both key types (RFC 9053 sections 7.1.1 and 7.2).
    let x = param(key, iana::Ec2KeyParameter::X, "coordinate x")?;
    match curve {
        Curve::X25519 => Ok(x.to_vec()),
        Curve::P256 => {
            let y = param(key, iana::Ec2KeyParameter::Y, "coordinate y")?;
            Ok([&[4], x, y].concat())
        }
    }
}

/// The bytes of a parameter.
fn param<'a>(key: &'a CoseKey, label: impl EnumI64, name: &'static str) -> Result<&'a [u8], KeyError> {
    let bytes = find(key, label).and_then(Value::as_bytes);
    bytes.map(Vec::as_slice).ok_or(KeyError::Missing(name))
}

fn find(key: &CoseKey, label: impl EnumI64) -> Option<&Value> {
    let label = Label::Int(number(label));
    let found = key.params.iter().find(|(of, _)| *of == label);
    found.map(|(_, value)| value)
}
