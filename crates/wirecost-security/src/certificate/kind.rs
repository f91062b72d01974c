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

impl From<Chain> for Kind {
    /// The kind of a chain whose sizes are given, and otherwise on P-256.
    fn from(chain: Chain) -> Self {
        Self {
            key: chain.sizes().map_or(KeyKind::P256, Sizes::key),
            chain,
        }
    }
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

    /// The kind of a public key, in the form of its certificate (SubjectPublicKeyInfo, RFC 5280 section 4.1).
    pub(crate) fn of_public(der: &[u8]) -> Option<Self> {
        // Bytes of the whole, and the identifiers of algorithm and curve: RFC 5480, RFC 8017, RFC 8410, RFC 9881.
        let forms: [(usize, &[u8], Self); 7] = [
            (91, &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7], Self::P256),
            (120, &[0x2b, 0x81, 4, 0, 0x22], Self::P384),
            (294, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1], Self::Rsa2048),
            (422, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1], Self::Rsa3072),
            (44, &[0x2b, 0x65, 0x70], Self::Ed25519),
            (1_334, &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 0x11], Self::MlDsa44),
            (1_974, &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 0x12], Self::MlDsa65),
        ];
        let has = |identifier: &[u8]| {
            der.windows(identifier.len())
                .take(30)
                .any(|bytes| bytes == identifier)
        };
        let found = forms
            .iter()
            .find(|(bytes, identifier, _)| der.len() == *bytes && has(identifier));
        found.map(|(.., kind)| *kind)
    }

    /// Its name in files and flags.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The least bytes of a leaf with it that can have any size above: its own, and room for a comment.
    pub const fn least_bytes(self) -> usize {
        match self {
            Self::P256 => 450,
            Self::P384 => 520,
            Self::Rsa2048 => 870,
            Self::Rsa3072 => 1_130,
            Self::Ed25519 => 400,
            Self::MlDsa44 => 4_120,
            Self::MlDsa65 => 5_650,
        }
    }

    /// The same of an authority.
    pub const fn least_between(self) -> usize {
        // It has no alternative names.
        self.least_bytes() - 20
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
    /// Certificates of the sizes of others: a public server's, or those of a file.
    Sized(Sizes),
    /// No certificate, but the public key alone, which the peer has in advance (RFC 7250). The library has it in TLS 1.3.
    RawPublicKey,
}

impl Chain {
    /// The chains whose sizes follow from their keys, by length.
    pub const OWN: [Self; 3] = [Self::Leaf, Self::Intermediate, Self::CrossSigned];

    /// The chains that have a name, whatever the kind of their keys.
    pub const NAMED: [Self; 4] = [
        Self::Leaf,
        Self::Intermediate,
        Self::CrossSigned,
        Self::RawPublicKey,
    ];

    /// Authorities between the one that the peer trusts and the leaf.
    pub(super) fn between(self) -> u8 {
        match self {
            Self::Leaf | Self::RawPublicKey => 0,
            Self::Intermediate => 1,
            Self::CrossSigned => 2,
            Self::Sized(sizes) => sizes.count - 1,
        }
    }

    /// Bytes of a certificate, the leaf being number 0; `None` where they follow from its kind.
    pub(super) fn bytes_of(self, number: u8) -> Option<usize> {
        match self {
            Self::Leaf | Self::Intermediate | Self::CrossSigned | Self::RawPublicKey => None,
            Self::Sized(sizes) => sizes.certificates().nth(number.into()),
        }
    }

    /// The sizes that are given, if they are.
    pub const fn sizes(self) -> Option<Sizes> {
        match self {
            Self::Leaf | Self::Intermediate | Self::CrossSigned | Self::RawPublicKey => None,
            Self::Sized(sizes) => Some(sizes),
        }
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaf => f.pad("leaf"),
            Self::Intermediate => f.pad("intermediate"),
            Self::CrossSigned => f.pad("cross-signed"),
            Self::Sized(sizes) => f.pad(&sizes.to_string()),
            Self::RawPublicKey => f.pad("raw-public-key"),
        }
    }
}

impl FromStr for Chain {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(found) = Self::NAMED.into_iter().find(|chain| chain.to_string() == text) {
            return Ok(found);
        }
        match text.contains(':') {
            true => text.parse().map(Self::Sized),
            false => Err(format!(
                "unknown value {text:?}, expected leaf, intermediate, cross-signed, raw-public-key, or sizes as in p256:1000+699"
            )),
        }
    }
}

/// Sizes of certificates: the key of the leaf, and the bytes of each in DER, the leaf first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    key: KeyKind,
    bytes: [u16; Sizes::MOST],
    count: u8,
    /// What the sizes are known as.
    name: Option<&'static str>,
}

impl Sizes {
    /// The most certificates of a chain.
    pub const MOST: usize = 8;

    /// The most bytes of a chain: what a message of a handshake may have in the library, but for its own header and those of the
    /// certificates.
    pub const MOST_BYTES: usize = 0xffff - 64;

    /// The sizes of a chain whose leaf has this key.
    ///
    /// # Errors
    /// There is none or are too many of them, they are too long together, or the leaf has no room for its key.
    pub fn new(key: KeyKind, sizes: &[usize]) -> Result<Self, String> {
        let total = sizes
            .iter()
            .fold(0_usize, |total, bytes| total.saturating_add(*bytes));
        if sizes.is_empty() || sizes.len() > Self::MOST {
            let most = Self::MOST;
            return Err(format!(
                "a chain has 1 to {most} certificates, not {}",
                sizes.len()
            ));
        }
        if total > Self::MOST_BYTES {
            let most = Self::MOST_BYTES;
            return Err(format!(
                "its {total} B of certificates are more than the {most} B that a handshake can carry"
            ));
        }
        for (number, bytes) in sizes.iter().enumerate() {
            let least = if number == 0 {
                key.least_bytes()
            } else {
                key.least_between()
            };
            if *bytes < least {
                return Err(format!(
                    "a certificate with {key} has at least {least} B, and certificate {} has {bytes} B",
                    number + 1
                ));
            }
        }
        let mut bytes = [0; Self::MOST];
        for (place, size) in bytes.iter_mut().zip(sizes) {
            *place = u16::try_from(*size).map_err(|error| error.to_string())?;
        }
        let count = u8::try_from(sizes.len()).map_err(|error| error.to_string())?;
        Ok(Self {
            key,
            bytes,
            count,
            name: None,
        })
    }

    /// The same, known by a name.
    #[must_use]
    pub const fn called(self, name: &'static str) -> Self {
        Self {
            name: Some(name),
            ..self
        }
    }

    /// The key of the leaf.
    pub const fn key(self) -> KeyKind {
        self.key
    }

    /// Bytes of each certificate, the leaf first.
    pub fn certificates(self) -> impl Iterator<Item = usize> {
        self.bytes.into_iter().take(self.count.into()).map(usize::from)
    }
}

impl fmt::Debug for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name {
            return f.write_str(name);
        }
        let bytes: Vec<String> = self.certificates().map(|bytes| bytes.to_string()).collect();
        write!(f, "{}:{}", self.key, bytes.join("+"))
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("{text:?} is not a key and sizes as in p256:1000+699");
        let (key, bytes) = text.split_once(':').ok_or_else(form)?;
        let sizes: Result<Vec<usize>, _> = bytes.split('+').map(|bytes| bytes.trim().parse()).collect();
        Self::new(key.trim().parse()?, &sizes.map_err(|_| form())?)
    }
}

fn named<T: Copy>(text: &str, all: &[T], names: &[&str]) -> Result<T, String> {
    let found = all.iter().zip(names).find(|(_, name)| **name == text);
    found
        .map(|(value, _)| *value)
        .ok_or_else(|| format!("unknown value {text:?}, expected one of {}", names.join(", ")))
}
