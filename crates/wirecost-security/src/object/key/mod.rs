//! Keys of participants and signers.
//!
//! - [`Participant`] and [`Secret`]: public and private key for opening parts, on X25519 or P-256
//! - [`Signer`] and [`SigningKey`]: public and private key for signing rule sets, ES256
//! - `cose`: the keys as COSE_Keys (RFC 9052 section 7), the format of key files

mod cose;
mod opening;
mod signing;

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::digest::{SHA256, digest};
use coset::iana;

use super::algorithm::number;
use super::cbor::Writer;
use crate::entropy::{Entropy, NoEntropy};

pub use cose::Usage;
pub(super) use cose::ephemeral;
pub use opening::{Participant, Secret};
pub use signing::{Signer, SigningKey};

/// Bytes of a private key, of a public key on X25519, and of a coordinate on P-256.
const SCALAR_BYTES: usize = 32;

wirecost_proto::named! {
    /// A curve for opening parts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Curve {
        /// Curve25519 (RFC 7748): 35 bytes fewer per participant than P-256.
        X25519 => "x25519",
        /// NIST's P-256.
        P256 => "p256",
    }
}

impl Curve {
    /// Writes a public key as a COSE_Key with its required parameters in bytewise order. A recipient's ephemeral key
    /// has this form (RFC 9053 section 7), and a thumbprint is computed over it (RFC 9679 section 3).
    pub(super) fn emit_public(self, public: &[u8], out: &mut Writer) {
        match self {
            Self::X25519 => emit_okp(public, out),
            Self::P256 => emit_ec2(public, out),
        }
    }

    fn key_id(self, public: &[u8]) -> KeyId {
        let mut key = Writer::default();
        self.emit_public(public, &mut key);
        KeyId::from_key(key.bytes_so_far())
    }
}

/// An octet key pair (RFC 9053 section 7.2).
fn emit_okp(x: &[u8], out: &mut Writer) {
    out.map(3);
    out.int(number(iana::KeyParameter::Kty));
    out.int(number(iana::KeyType::OKP));
    out.int(number(iana::OkpKeyParameter::Crv));
    out.int(number(iana::EllipticCurve::X25519));
    out.int(number(iana::OkpKeyParameter::X));
    out.byte_string(x);
}

/// A key of two coordinates (RFC 9053 section 7.1.1).
fn emit_ec2(point: &[u8], out: &mut Writer) {
    let (x, y) = coordinates(point);
    out.map(4);
    out.int(number(iana::KeyParameter::Kty));
    out.int(number(iana::KeyType::EC2));
    out.int(number(iana::Ec2KeyParameter::Crv));
    out.int(number(iana::EllipticCurve::P_256));
    out.int(number(iana::Ec2KeyParameter::X));
    out.byte_string(x);
    out.int(number(iana::Ec2KeyParameter::Y));
    out.byte_string(y);
}

/// Both coordinates of an uncompressed point: 0x04, x, y (SEC 1 section 2.3.3).
fn coordinates(point: &[u8]) -> (&[u8], &[u8]) {
    let (_, both) = point.split_at_checked(1).unwrap_or_default();
    both.split_at_checked(SCALAR_BYTES).unwrap_or_default()
}

/// Identifies a key: the first 8 bytes of its COSE Key Thumbprint with SHA-256 (RFC 9679).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; Self::BYTES]);

impl KeyId {
    /// Bytes of a key identifier.
    pub const BYTES: usize = 8;

    /// The identifier of these bytes.
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes, as in the `kid` of a COSE message.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    fn from_key(key: &[u8]) -> Self {
        let thumbprint = digest(&SHA256, key);
        let mut first = [0; Self::BYTES];
        for (byte, of) in first.iter_mut().zip(thumbprint.as_ref()) {
            *byte = *of;
        }
        Self(first)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not a key identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a key identifier: expected 16 hexadecimal digits")]
pub struct NotAKeyId(pub String);

impl FromStr for KeyId {
    type Err = NotAKeyId;

    fn from_str(text: &str) -> Result<Self, NotAKeyId> {
        let digits = text.len() == 2 * Self::BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = digits.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        let value = value.ok_or_else(|| NotAKeyId(text.to_owned()))?;
        Ok(Self(value.to_be_bytes()))
    }
}

/// Why a key cannot be made or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The system has no random bytes.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The bytes are not a COSE_Key.
    #[error("not a COSE_Key: {0}")]
    Malformed(String),
    /// A COSE_Key lacks a required part.
    #[error("the key has no {0}")]
    Missing(&'static str),
    /// The key has another purpose.
    #[error("the key is for {found}, expected one for {expected}")]
    Usage {
        /// The required purpose.
        expected: &'static str,
        /// The key's purpose.
        found: Usage,
    },
    /// The file holds a private key instead of a public one.
    #[error("the key is a private one, expected a public one")]
    Private,
    /// The numbers are not a key on the curve, or the public numbers do not belong to the private one.
    #[error("the numbers are not a key on {0}")]
    Numbers(&'static str),
}

/// Draws private keys until one is valid. On P-256 one in 2^32 is not.
fn draw<K>(
    entropy: &mut Entropy,
    mut make: impl FnMut(&[u8; SCALAR_BYTES]) -> Result<K, KeyError>,
) -> Result<K, KeyError> {
    let mut scalar = [0; SCALAR_BYTES];
    entropy.fill(&mut scalar)?;
    make(&scalar).or_else(|_| {
        entropy.fill(&mut scalar)?;
        make(&scalar)
    })
}
