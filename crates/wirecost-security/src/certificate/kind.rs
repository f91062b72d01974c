//! The kinds of certificates: the key that they hold and are signed with, and the chain that a server sends.

use std::fmt;
use std::str::FromStr;

/// The kind of every certificate of an authority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// The keys of the authority, of what lies between, and of the leaf.
    pub key: KeyKind,
    /// The certificates that an end sends.
    pub chain: Chain,
}

/// A key and its signatures. Both ends of a chain have the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA on P-256 with SHA-256.
    #[default]
    P256,
    /// ECDSA on P-384 with SHA-384.
    P384,
    /// RSA with a modulus of 2,048 bits; certificates are signed with PKCS #1 and SHA-256, handshakes of TLS 1.3 with PSS.
    Rsa2048,
    /// RSA with a modulus of 3,072 bits.
    Rsa3072,
    /// Ed25519 (RFC 8032).
    Ed25519,
    /// ML-DSA-44 (FIPS 204).
    MlDsa44,
    /// ML-DSA-65 (FIPS 204).
    MlDsa65,
}

impl KeyKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::P256,
        Self::P384,
        Self::Rsa2048,
        Self::Rsa3072,
        Self::Ed25519,
        Self::MlDsa44,
        Self::MlDsa65,
    ];

    /// The names of all, in the same order.
    pub const NAMES: &'static [&'static str] = &[
        "p256", "p384", "rsa2048", "rsa3072", "ed25519", "mldsa44", "mldsa65",
    ];

    /// Its name in files and flags.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether TLS 1.2 needs the cipher suites of RSA for it.
    pub const fn is_rsa(self) -> bool {
        matches!(self, Self::Rsa2048 | Self::Rsa3072)
    }

    /// Whether TLS 1.3 alone has its signatures.
    pub const fn needs_tls13(self) -> bool {
        matches!(self, Self::MlDsa44 | Self::MlDsa65)
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for KeyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(text, &Self::ALL, Self::NAMES)
    }
}

/// The certificates that an end sends. The peer has the authority's own certificate in advance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chain {
    /// The leaf alone: the authority that the peer trusts has issued it.
    #[default]
    Leaf,
    /// The leaf and the intermediate authority that has issued it.
    Intermediate,
    /// The leaf, the intermediate, and its authority's certificate by the older authority that the peer trusts.
    CrossSigned,
}

impl Chain {
    /// Every chain, by length.
    pub const ALL: [Self; 3] = [Self::Leaf, Self::Intermediate, Self::CrossSigned];

    /// The names of all, in the same order.
    pub const NAMES: &'static [&'static str] = &["leaf", "intermediate", "cross-signed"];

    /// Its name in files and flags.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Authorities between the one that the peer trusts and the leaf.
    pub(super) const fn between(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Chain {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(text, &Self::ALL, Self::NAMES)
    }
}

fn named<T: Copy>(text: &str, all: &[T], names: &[&str]) -> Result<T, String> {
    let found = all.iter().zip(names).find(|(_, name)| **name == text);
    found
        .map(|(value, _)| *value)
        .ok_or_else(|| format!("unknown value {text:?}, expected one of {}", names.join(", ")))
}
