//! Decrypts a part of an object, or says why not.

use std::collections::BTreeSet;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::error::Unspecified;
use coset::CoseEncrypt;

use super::frame::{Object, parse_part, parse_recipient};
use super::key::{KeyId, Secret, Signer};
use super::rule::Rule;
use super::seal::digest_of;
use super::time::UnixTime;
use super::wrap;

/// Why a part is not decrypted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The bytes are not an object.
    #[error("not a protected object: expected {expected}")]
    Malformed {
        /// What was expected instead.
        expected: &'static str,
    },
    /// The signer of the object is not trusted.
    #[error("signer {0} is not trusted")]
    UnknownSigner(KeyId),
    /// The object differs from the signed one.
    #[error("the object was changed: {0}")]
    Tampered(Evidence),
    /// No rule names the key.
    #[error("key {0} is not a participant of this object")]
    Outsider(KeyId),
    /// The object has no such part.
    #[error("the object has no part {part}: it has {parts}, counted from 0")]
    NoSuchPart {
        /// The part, counted from 0.
        part: usize,
        /// How many parts there are.
        parts: usize,
    },
    /// The key's rules cover other parts only.
    #[error("key {key} may not open part {part}: its rules cover {}", list(.has))]
    NotHisPart {
        /// The key.
        key: KeyId,
        /// The part, counted from 0.
        part: usize,
        /// The parts that it may open.
        has: BTreeSet<usize>,
    },
    /// The rule's time window has not begun.
    #[error("key {key} may open part {part} from {from} on")]
    NotYet {
        /// The key.
        key: KeyId,
        /// The part, counted from 0.
        part: usize,
        /// The start of the window.
        from: UnixTime,
    },
    /// The rule's time window is over.
    #[error("key {key} was allowed to open part {part} until {until}")]
    Expired {
        /// The key.
        key: KeyId,
        /// The part, counted from 0.
        part: usize,
        /// The end of the window.
        until: UnixTime,
    },
}

impl Refusal {
    /// The refusal's machine-readable name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "malformed",
            Self::UnknownSigner(_) => "unknown-signer",
            Self::Tampered(_) => "tampered",
            Self::Outsider(_) => "outsider",
            Self::NoSuchPart { .. } => "no-such-part",
            Self::NotHisPart { .. } => "not-his-part",
            Self::NotYet { .. } => "not-yet",
            Self::Expired { .. } => "expired",
        }
    }
}

/// Evidence of a change to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Evidence {
    /// The signature does not cover these rules.
    #[error("the signature does not hold")]
    Signature,
    /// A part differs from the signed one.
    #[error("the digest of part {0} does not hold")]
    Digest(usize),
    /// The participant's key does not unwrap the content key.
    #[error("the content key of part {0} does not unwrap")]
    Key(usize),
    /// The ciphertext does not match its tag.
    #[error("the tag of part {0} does not hold")]
    Tag(usize),
}

fn list(parts: &BTreeSet<usize>) -> String {
    let parts: Vec<String> = parts.iter().map(|part| format!("part {part}")).collect();
    parts.join(", ")
}

const fn malformed(expected: &'static str) -> Refusal {
    Refusal::Malformed { expected }
}

/// Decrypts parts with one participant's key.
#[derive(Debug)]
pub struct Opener {
    secret: Secret,
    signers: Vec<Signer>,
}

impl Opener {
    /// An opener with this key that trusts these signers.
    pub const fn new(secret: Secret, signers: Vec<Signer>) -> Self {
        Self { secret, signers }
    }

    /// Returns the plaintext of a part. Checks in this order: the object's form, its signer, its signature, every
    /// part's digest, and the rules at the time `now`. Then it unwraps the content key and decrypts the part.
    ///
    /// # Errors
    /// [`Refusal`] says which check failed. No plaintext is returned before the last check.
    pub fn open(&self, bytes: &[u8], part: usize, now: UnixTime) -> Result<Vec<u8>, Refusal> {
        let object = verified(bytes, &self.signers)?;
        let parts = object.parts.len();
        let Some(message) = object.parts.get(part) else {
            return Err(Refusal::NoSuchPart { part, parts });
        };
        may_open(&object.rule_set.rules, self.secret.id(), part, now)?;
        self.decrypt(&parse_part(message).map_err(malformed)?, part)
    }

    fn decrypt(&self, message: &CoseEncrypt, part: usize) -> Result<Vec<u8>, Refusal> {
        let recipients = message.recipients.iter().map(parse_recipient);
        let mut recipients = recipients.filter_map(Result::ok);
        let mine = recipients.find(|recipient| recipient.participant == self.secret.id());
        let mine = mine.ok_or(malformed("a wrapped key for each participant with a rule"))?;
        let key = wrap::unwrap(mine.wrapped, &self.secret, &mine.ephemeral)
            .map_err(|_| Refusal::Tampered(Evidence::Key(part)))?;
        let missing = || malformed("a part with its ciphertext");
        message.decrypt_ciphertext(&[], missing, |ciphertext, enc_structure| {
            decrypt(ciphertext, &key, &message.unprotected.iv, enc_structure)
                .map_err(|_| Refusal::Tampered(Evidence::Tag(part)))
        })
    }
}

/// Checks that one of these signers signed the object and all its parts.
///
/// # Errors
/// [`Refusal`] says which check failed.
pub fn verify(bytes: &[u8], signers: &[Signer]) -> Result<(), Refusal> {
    verified(bytes, signers).map(drop)
}

fn verified<'a>(bytes: &'a [u8], signers: &[Signer]) -> Result<Object<'a>, Refusal> {
    let object = Object::parse(bytes).map_err(malformed)?;
    let signer = signers.iter().find(|signer| signer.id() == object.signer);
    let signer = signer.ok_or(Refusal::UnknownSigner(object.signer))?;
    if !signer.has_signed(&object.signed, &object.signature) {
        return Err(Refusal::Tampered(Evidence::Signature));
    }
    let mut parts = object.parts.iter().zip(&object.rule_set.digests);
    match parts.position(|(part, digest)| digest_of(part) != *digest) {
        Some(part) => Err(Refusal::Tampered(Evidence::Digest(part))),
        None => Ok(object),
    }
}

/// Whether a rule lets this key open this part now. Only this function keeps a participant from opening a permitted
/// part at the wrong time.
fn may_open(rules: &[Rule], key: KeyId, part: usize, now: UnixTime) -> Result<(), Refusal> {
    let own: Vec<&Rule> = rules.iter().filter(|rule| rule.participant == key).collect();
    if own.is_empty() {
        return Err(Refusal::Outsider(key));
    }
    let about: Vec<&&Rule> = own.iter().filter(|rule| rule.part == part).collect();
    if about.iter().any(|rule| rule.holds_at(now)) {
        return Ok(());
    }
    let begins = about.iter().map(|rule| rule.not_before);
    let next = begins.filter(|begin| *begin > now).min();
    let last = about.iter().map(|rule| rule.not_after).max();
    match (next, last) {
        (Some(from), _) => Err(Refusal::NotYet { key, part, from }),
        (None, Some(until)) => Err(Refusal::Expired { key, part, until }),
        (None, None) => Err(Refusal::NotHisPart {
            key,
            part,
            has: BTreeSet::from_iter(own.iter().map(|rule| rule.part)),
        }),
    }
}

/// The plaintext of AES-GCM (RFC 9053 section 4.1).
pub(super) fn decrypt(
    ciphertext: &[u8],
    key: &wrap::ContentKey,
    nonce: &[u8],
    enc_structure: &[u8],
) -> Result<Vec<u8>, Unspecified> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, key)?);
    let nonce = Nonce::try_assume_unique_for_key(nonce)?;
    let mut bytes = ciphertext.to_vec();
    let plaintext = key
        .open_in_place(nonce, Aad::from(enc_structure), &mut bytes)?
        .len();
    bytes.truncate(plaintext);
    Ok(bytes)
}
