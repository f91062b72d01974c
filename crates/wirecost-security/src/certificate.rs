//! Certificates of constant size: an authority, and the identities that it issues.
//!
//! Every key is P-256 and every signature ECDSA with SHA-256, unless the authority is of another [`Kind`]. A signature's DER form
//! has 70 to 72 bytes by chance (102 to 104 on P-384). So a certificate is signed again under another serial number until the
//! signature has the length that half of them have. The length of a certificate then depends only on its kind and the names in
//! it. A chain does not include the authority's certificate: clients get it in advance and trust it.
//!
//! ```
//! use wirecost_security::certificate::{Authority, Identity};
//!
//! let authority = Authority::generate()?;
//! let server = Identity::generate(&authority)?;
//! let again = Identity::from_pem(&server.certificates_to_pem()?, &server.private_key_to_pem()?)?;
//! assert_eq!(again.chain(), server.chain());
//! # Ok::<(), wirecost_security::certificate::Error>(())
//! ```

mod key;
mod kind;
mod pem;
pub mod sent;
mod sized;
pub mod x509;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose,
    PublicKeyData as _,
};

use self::key::Key;
pub(crate) use self::key::sign_digest;
pub use self::kind::{Chain, KeyKind, Kind, Sizes};
use self::sized::{sign, sign_sized};
use crate::entropy::{Entropy, NoEntropy};

/// Bytes of an ECDSA signature over P-256 in DER. Half of all signatures have this length (RFC 3279 section 2.2.3:
/// two integers, one of which needs a leading zero).
pub(crate) const SIGNATURE_BYTES: usize = 71;

/// The same over P-384.
pub(crate) const P384_SIGNATURE_BYTES: usize = 103;

/// When generated certificates become valid, since 1970-01-01 00:00 UTC: 2026-01-01.
pub const VALID_FROM: Duration = Duration::from_secs(1_767_225_600);

/// When generated certificates expire, since 1970-01-01 00:00 UTC: 2036-01-01.
pub const VALID_UNTIL: Duration = Duration::from_secs(2_082_758_400);

/// The names in a generated server certificate.
pub const SERVER_NAMES: [&str; 6] = ["localhost", "server", "10.78.0.1", "fd78::1", "127.0.0.1", "::1"];

/// Attempts at a signature of the usual length. Half of all signatures have it.
pub(crate) const SIGNATURE_TRIES: usize = 256;

/// Why a certificate or a key cannot be made or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The system has no random bytes.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The certificate cannot be written.
    #[error("cannot make a certificate: {0}")]
    Generate(String),
    /// A name is neither a host name nor an IP address.
    #[error("cannot issue a certificate for {names:?}: {reason}; expected host names and IP addresses")]
    Names {
        /// The names that were requested.
        names: Vec<String>,
        /// What is wrong with them.
        reason: String,
    },
    /// No certificate has the size that was asked for.
    #[error("no certificate of {bytes} B can be made: with this key and these names it has {least} B")]
    Size {
        /// The bytes asked for.
        bytes: usize,
        /// The bytes that it has without a comment.
        least: usize,
    },
    /// No signature had the usual length.
    #[error("no signature of the usual length in {SIGNATURE_TRIES} attempts")]
    SignatureLength,
    /// A PEM text contains no certificate.
    #[error("no certificate in the PEM text; expected \"-----BEGIN CERTIFICATE-----\"")]
    NoCertificate,
    /// A PEM text cannot be read.
    #[error("cannot read the {what} as PEM: {reason}")]
    Pem {
        /// `certificates`, `private key`.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A private key is of an unsupported kind.
    #[error("cannot use the private key: {0}; expected PKCS #8, or SEC 1 on P-256")]
    PrivateKey(String),
}

/// The purpose of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Servers (RFC 5280 section 4.2.1.12, id-kp-serverAuth).
    Server,
    /// Clients (id-kp-clientAuth).
    Client,
}

/// Issues certificates. Peers trust it by its own certificate.
#[derive(Clone)]
pub struct Authority {
    key: Arc<Key>,
    kind: Kind,
    entropy: Entropy,
    certificate: Arc<[u8]>,
    /// What issues leaves: the authority itself, or the last authority below it.
    issuer: CertificateParams,
    /// The certificates of the authorities below it, the last one first.
    between: Vec<Vec<u8>>,
}

impl Authority {
    /// A new authority with a key of its own.
    ///
    /// # Errors
    /// [`Error`] if the system has no randomness.
    pub fn generate() -> Result<Self, Error> {
        Self::from_entropy(Entropy::system())
    }

    /// An authority whose key and certificates all derive from `entropy`.
    ///
    /// # Errors
    /// [`Error`] if the system has no randomness.
    pub fn from_entropy(entropy: Entropy) -> Result<Self, Error> {
        Self::of_kind(Kind::default(), entropy)
    }

    /// An authority of a kind. On P-256 its key and certificates all derive from `entropy`; the keys of other kinds are the
    /// library's, of the same length each time.
    ///
    /// # Errors
    /// As [`Authority::from_entropy`].
    pub fn of_kind(kind: Kind, mut entropy: Entropy) -> Result<Self, Error> {
        let below = kind.chain.between();
        let mut key = Key::generate(kind.key, &mut entropy)?;
        let mut issuer = authority_params(AUTHORITY.to_owned(), below);
        let mut params = issuer.clone();
        let certificate = match kind.chain {
            Chain::RawPublicKey => key.subject_public_key_info(),
            Chain::Leaf | Chain::Intermediate | Chain::CrossSigned | Chain::Sized(_) => {
                sign(&mut params, &mut entropy, &key, (&issuer, &key))?
            }
        };
        let mut between = Vec::new();
        for left in (0..below).rev() {
            let mut entropy = entropy.derive(&format!("authority {left}"));
            let subject = Key::generate(kind.key, &mut entropy)?;
            let of_subject = authority_params(format!("{AUTHORITY} {left}"), left);
            let params = of_subject.clone();
            let bytes = kind.chain.bytes_of(left + 1);
            between.insert(
                0,
                sign_sized(params, &mut entropy, &subject, (&issuer, &key), bytes)?,
            );
            (key, issuer) = (subject, of_subject);
        }
        Ok(Self {
            key: Arc::new(key),
            kind,
            entropy,
            certificate: certificate.into(),
            issuer,
            between,
        })
    }

    /// The authority's own certificate in DER: the trust anchor. Without certificates it is the raw public key of all identities.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// The authority's own certificate in PEM: the file that other programs trust.
    ///
    /// # Errors
    /// [`Error::Pem`] if the encoder fails.
    pub fn to_pem(&self) -> Result<String, Error> {
        pem::certificates([self.certificate()])
    }

    /// A certificate and key for `names` (host names or IP addresses). The first name is also the common name.
    ///
    /// Two calls return two different identities. A seeded authority returns the same identity for the same usage and
    /// names. Without certificates nothing can vouch for a key: every identity is the authority's own key.
    ///
    /// # Errors
    /// [`Error::Names`] if a name is neither a host name nor an IP address.
    pub fn issue(&self, usage: Usage, names: &[&str]) -> Result<Identity, Error> {
        let params = leaf_params(usage, names)?;
        if self.kind.chain == Chain::RawPublicKey {
            return Ok(Identity {
                chain: [self.certificate.to_vec()].into(),
                private_key: self.key.to_pkcs8()?.into(),
            });
        }
        let mut entropy = self.entropy.derive(&format!("{usage:?} {names:?}"));
        let key = Key::generate(self.kind.key, &mut entropy)?;
        let bytes = self.kind.chain.bytes_of(0);
        let leaf = sign_sized(params, &mut entropy, &key, (&self.issuer, &self.key), bytes)?;
        Ok(Identity {
            chain: [leaf].into_iter().chain(self.between.iter().cloned()).collect(),
            private_key: key.to_pkcs8()?.into(),
        })
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// A certificate chain and the private key of its first certificate, or in place of the chain a raw public key. Clones share them.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    chain: Arc<[Vec<u8>]>,
    private_key: Arc<[u8]>,
}

impl Identity {
    /// A server's identity for [`SERVER_NAMES`].
    ///
    /// # Errors
    /// As [`Authority::issue`].
    pub fn generate(authority: &Authority) -> Result<Self, Error> {
        authority.issue(Usage::Server, &SERVER_NAMES)
    }

    /// A client's identity. `name` is its common name and its alternative name.
    ///
    /// # Errors
    /// As [`Authority::issue`].
    pub fn client(authority: &Authority, name: &str) -> Result<Self, Error> {
        authority.issue(Usage::Client, &[name])
    }

    /// An identity from two PEM texts: certificates, the leaf first, or a raw public key; and a private key (PKCS #8, or SEC 1 on P-256).
    ///
    /// # Errors
    /// [`Error`] says which text cannot be used.
    pub fn from_pem(certificates: &str, private_key: &str) -> Result<Self, Error> {
        Ok(Self {
            chain: pem::read_trusted(certificates)?.into(),
            private_key: pem::read_private_key(private_key)?.into(),
        })
    }

    /// The certificates in DER, the leaf first.
    pub fn chain(&self) -> &[Vec<u8>] {
        &self.chain
    }

    /// The leaf certificate in DER, or an empty slice if the chain is empty.
    pub fn certificate(&self) -> &[u8] {
        self.chain.first().map_or(&[], Vec::as_slice)
    }

    /// Whether it is a raw public key (RFC 7250).
    pub fn is_raw_public_key(&self) -> bool {
        is_raw_public_key(self.certificate())
    }

    /// The private key in DER (PKCS #8).
    pub fn private_key(&self) -> &[u8] {
        &self.private_key
    }

    /// The certificates in PEM.
    ///
    /// # Errors
    /// [`Error::Pem`] if the encoder fails.
    pub fn certificates_to_pem(&self) -> Result<String, Error> {
        pem::certificates(self.chain.iter().map(Vec::as_slice))
    }

    /// The private key in PEM. It is a secret: store it in a file of mode 0600.
    ///
    /// # Errors
    /// [`Error::Pem`] if the encoder fails.
    pub fn private_key_to_pem(&self) -> Result<String, Error> {
        pem::encode("PRIVATE KEY", &self.private_key)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("certificates", &self.chain.len())
            .finish_non_exhaustive()
    }
}

/// Whether DER is a public key (SubjectPublicKeyInfo) of a kind that we know, and no certificate.
pub fn is_raw_public_key(der: &[u8]) -> bool {
    KeyKind::of_public(der).is_some()
}

/// The certificates of a PEM text in DER, or else its raw public keys, at least one: what to trust.
///
/// # Errors
/// [`Error`] if there is none, or one cannot be read.
pub fn authorities_from_pem(text: &str) -> Result<Vec<Vec<u8>>, Error> {
    pem::read_trusted(text)
}

/// The certificates of a PEM text in DER, at least one.
///
/// # Errors
/// [`Error`] if there is none, or one cannot be read.
pub fn certificates_from_pem(text: &str) -> Result<Vec<Vec<u8>>, Error> {
    pem::read_certificates(text)
}

/// Certificates in PEM, one after another.
///
/// # Errors
/// [`Error::Pem`] if the encoder fails.
pub fn certificates_to_pem(chain: &[Vec<u8>]) -> Result<String, Error> {
    pem::certificates(chain.iter().map(Vec::as_slice))
}

/// The name of an authority.
const AUTHORITY: &str = "wirecost test CA";

/// An authority with at most `below` others on the way to a leaf (RFC 5280 section 4.2.1.9).
fn authority_params(name: String, below: u8) -> CertificateParams {
    let mut params = dated(CertificateParams::default());
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(below));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
}

fn leaf_params(usage: Usage, names: &[&str]) -> Result<CertificateParams, Error> {
    let owned: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let params = CertificateParams::new(owned.clone()).map_err(|error| Error::Names {
        names: owned,
        reason: error.to_string(),
    })?;
    let mut params = dated(params);
    if let Some(name) = names.first() {
        params.distinguished_name.push(DnType::CommonName, *name);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![match usage {
        Usage::Server => ExtendedKeyUsagePurpose::ServerAuth,
        Usage::Client => ExtendedKeyUsagePurpose::ClientAuth,
    }];
    Ok(params)
}

/// Sets the fixed validity and removes the library's own common name.
fn dated(mut params: CertificateParams) -> CertificateParams {
    params.not_before = rcgen::date_time_ymd(2026, 1, 1);
    params.not_after = rcgen::date_time_ymd(2036, 1, 1);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
}

#[cfg(test)]
mod tests;
