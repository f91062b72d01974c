//! Static keys and their credentials: CWT claims sets (RFC 8392) with a COSE key (RFC 9528 section 3.5.2).

use alloc::vec::Vec;
use core::fmt;

use lakers::{Credential, CredentialTransfer, IdCred};

use super::crypto::public_key;
use super::{Failure, KEY_BYTES};

/// How an end names its credential to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// By its key identifier (`kid`).
    ByReference,
    /// The whole claims set (`kccs`).
    ByValue,
}

impl From<Transfer> for CredentialTransfer {
    fn from(transfer: Transfer) -> Self {
        match transfer {
            Transfer::ByReference => Self::ByReference,
            Transfer::ByValue => Self::ByValue,
        }
    }
}

/// What the other end knows of an identity: a claims set with subject, key identifier and public key.
#[derive(Clone, Debug, PartialEq)]
pub struct PublicCredential(Credential);

impl PublicCredential {
    /// Reads a claims set.
    ///
    /// # Errors
    /// It is no claims set with a key of P-256 and a key identifier, or is too long.
    pub fn parse(claims: &[u8]) -> Result<Self, Failure> {
        let read = || {
            let credential = Credential::parse_ccs(claims).ok()?;
            credential.kid?;
            // Two bytes stand before it where it is sent by value.
            (claims.len() + 2 <= credential.bytes.capacity()).then_some(credential)
        };
        read().map(Self).ok_or(Failure::Credential)
    }

    /// The claims set.
    pub fn claims(&self) -> &[u8] {
        self.0.bytes.as_slice()
    }

    /// This credential, if `id` names it.
    pub(super) fn named_by(&self, id: &IdCred) -> Result<Credential, Failure> {
        let own = [self.0.by_kid(), self.0.by_value()];
        let is_named = own
            .iter()
            .flatten()
            .any(|own| own.as_full_value() == id.as_full_value());
        is_named.then_some(self.0).ok_or(Failure::Credential)
    }
}

/// A static key with its credential.
#[derive(Clone)]
pub struct Identity {
    pub(super) private: [u8; KEY_BYTES],
    pub(super) credential: PublicCredential,
}

impl Identity {
    /// A private key and the claims set of its public key.
    ///
    /// # Errors
    /// It is no private key of P-256, or the claims set is not of its public key.
    pub fn new(private: [u8; KEY_BYTES], claims: &[u8]) -> Result<Self, Failure> {
        let credential = PublicCredential::parse(claims)?;
        let (x, _) = public_key(&private).ok_or(Failure::Key)?;
        match credential.0.public_key() {
            Some(of_claims) if of_claims == x => Ok(Self { private, credential }),
            _ => Err(Failure::Key),
        }
    }

    /// The identity with a claims set of its own: a subject, a key identifier of one byte, and the public key, as in RFC 9529.
    ///
    /// # Errors
    /// It is no private key of P-256, or the subject is longer than 23 B.
    pub fn with_subject(private: [u8; KEY_BYTES], subject: &str, kid: u8) -> Result<Self, Failure> {
        let (x, y) = public_key(&private).ok_or(Failure::Key)?;
        let length = u8::try_from(subject.len()).ok().filter(|length| *length < 24);
        let length = length.ok_or(Failure::Credential)?;
        let mut claims = Vec::from([0xa2, 2, 0x60 | length]);
        claims.extend_from_slice(subject.as_bytes());
        claims.extend_from_slice(&[8, 0xa1, 1, 0xa5, 1, 2, 2, 0x41, kid, 0x20, 1, 0x21, 0x58, 0x20]);
        claims.extend_from_slice(&x);
        claims.extend_from_slice(&[0x22, 0x58, 0x20]);
        claims.extend_from_slice(&y);
        Self::new(private, &claims)
    }

    /// The credential without its private key, which the other end must know.
    pub fn credential(&self) -> &PublicCredential {
        &self.credential
    }

    pub(super) fn claims(&self) -> Credential {
        self.credential.0
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.private == other.private && self.credential == other.credential
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keep the private key out of logs.
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}
