//! Makes an object from parts.

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::error::Unspecified;
use coset::iana;
use coset::{CoseEncrypt, CoseSign1Builder, HeaderBuilder, TaggedCborSerializable as _};
use wirecost_proto::content::Part;
use wirecost_proto::{Content, Layer};

use super::algorithm::{
    CONTENT_HEADER, DIGEST_BYTES, ENC_STRUCTURE, KEY_BYTES, NONCE_BYTES, RECIPIENT_HEADER, TAG_BYTES, number,
};
use super::cbor::Writer;
use super::key::{KeyError, KeyId, Participant, SigningKey};
use super::rule::{Rule, RuleSet};
use super::{frame, wrap};
use crate::entropy::{Entropy, NoEntropy};

/// Why an object cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// There are no parts.
    #[error("an object has at least one part, got none")]
    NoParts,
    /// A participant occurs twice.
    #[error("participant {0} is named twice")]
    Repeated(KeyId),
    /// A rule names a participant without a key.
    #[error("a rule names participant {0}, whose key is missing")]
    UnknownParticipant(KeyId),
    /// A rule names a part that does not exist.
    #[error("a rule covers part {part}, but the object has {parts} parts, counted from 0")]
    NoSuchPart {
        /// The part, counted from 0.
        part: usize,
        /// The number of parts.
        parts: usize,
    },
    /// No rule covers a part, so nobody could open it.
    #[error("no rule covers part {0}, so nobody could open it")]
    NobodyMayOpen(usize),
    /// A rule ends before it begins.
    #[error("the rule of participant {participant} for part {part} ends before it begins")]
    EmptyWindow {
        /// The rule's participant.
        participant: KeyId,
        /// The part, counted from 0.
        part: usize,
    },
    /// The system has no random bytes.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// A key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The cryptographic library failed.
    #[error("the cryptographic library failed to {0}")]
    Library(&'static str),
}

/// An object and the layout of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The object.
    pub bytes: Vec<u8>,
    /// Consecutive runs of one layer. The ciphertext, which is as long as the payload, is payload. All other bytes
    /// are security.
    pub layout: Vec<Part>,
}

impl From<Sealed> for Content {
    fn from(sealed: Sealed) -> Self {
        Self::protected(sealed.bytes, &sealed.layout)
    }
}

/// Makes objects for fixed participants under fixed rules.
#[derive(Debug)]
pub struct Sealer {
    key: SigningKey,
    participants: Vec<Participant>,
    rules: Vec<Rule>,
}

impl Sealer {
    /// A sealer that signs with `key`. It wraps a part's content key for the participants with a rule for the part.
    ///
    /// # Errors
    /// [`SealError`] if a participant occurs twice, or a rule names no participant or has an empty time window.
    pub fn new(key: SigningKey, participants: Vec<Participant>, rules: Vec<Rule>) -> Result<Self, SealError> {
        for (index, participant) in participants.iter().enumerate() {
            let id = participant.id();
            if participants[..index].iter().any(|other| other.id() == id) {
                return Err(SealError::Repeated(id));
            }
        }
        for rule in &rules {
            let id = rule.participant;
            if !participants.iter().any(|participant| participant.id() == id) {
                return Err(SealError::UnknownParticipant(id));
            }
            if rule.not_after < rule.not_before {
                return Err(SealError::EmptyWindow {
                    participant: id,
                    part: rule.part,
                });
            }
        }
        Ok(Self {
            key,
            participants,
            rules,
        })
    }

    /// Seals the parts of a payload. The object's length depends on the parts' lengths, the participants' curves and
    /// the number of rules, never on chance or the date.
    ///
    /// # Errors
    /// [`SealError`] if a rule names a part that does not exist, or a part has no rule.
    pub fn seal(&self, parts: &[&[u8]], entropy: &mut Entropy) -> Result<Sealed, SealError> {
        self.check_parts(parts.len())?;
        let sealed: Result<Vec<Writer>, SealError> = parts
            .iter()
            .enumerate()
            .map(|(index, plaintext)| self.seal_part(index, plaintext, entropy))
            .collect();
        let parts = sealed?;
        let rules = self.sign(&parts)?;
        let (bytes, layout) = frame::emit(&rules, &parts).into_parts();
        Ok(Sealed { bytes, layout })
    }

    fn check_parts(&self, parts: usize) -> Result<(), SealError> {
        if parts == 0 {
            return Err(SealError::NoParts);
        }
        if let Some(rule) = self.rules.iter().find(|rule| rule.part >= parts) {
            return Err(SealError::NoSuchPart {
                part: rule.part,
                parts,
            });
        }
        let without_rule = (0..parts).find(|part| self.rules.iter().all(|rule| rule.part != *part));
        match without_rule {
            Some(part) => Err(SealError::NobodyMayOpen(part)),
            None => Ok(()),
        }
    }

    /// A COSE_Encrypt (RFC 9052 section 5.1). It is written by hand, so that the layers of its bytes are known.
    fn seal_part(&self, part: usize, plaintext: &[u8], entropy: &mut Entropy) -> Result<Writer, SealError> {
        let mut key = [0; KEY_BYTES];
        entropy.fill(&mut key)?;
        let mut nonce = [0; NONCE_BYTES];
        entropy.fill(&mut nonce)?;
        let ciphertext = encrypt(plaintext, &key, nonce).map_err(|_| SealError::Library("encrypt"))?;
        let (same_length, tag) = ciphertext.split_at(plaintext.len());
        let mut out = Writer::default();
        out.tag(CoseEncrypt::TAG);
        out.array(4);
        out.byte_string(&CONTENT_HEADER);
        out.map(1);
        out.int(number(iana::HeaderParameter::Iv));
        out.byte_string(&nonce);
        out.byte_string_head(ciphertext.len());
        out.put(same_length, Layer::Payload);
        out.put(tag, Layer::Security);
        self.emit_recipients(part, &key, &mut out, entropy)?;
        Ok(out)
    }

    /// A COSE_recipient (RFC 9052 section 5.1) for each participant with a rule for the part.
    fn emit_recipients(
        &self,
        part: usize,
        key: &wrap::ContentKey,
        out: &mut Writer,
        entropy: &mut Entropy,
    ) -> Result<(), SealError> {
        let may_open = |participant: &&Participant| {
            let id = participant.id();
            self.rules
                .iter()
                .any(|rule| rule.part == part && rule.participant == id)
        };
        let recipients: Vec<&Participant> = self.participants.iter().filter(may_open).collect();
        out.array(recipients.len());
        for participant in recipients {
            let (ephemeral, wrapped) = wrap::wrap(key, participant, entropy)?;
            out.array(3);
            out.byte_string(&RECIPIENT_HEADER);
            out.map(2);
            out.int(number(iana::HeaderParameter::Kid));
            out.byte_string(participant.id().as_bytes());
            out.int(number(iana::HeaderAlgorithmParameter::EphemeralKey));
            participant.curve().emit_public(ephemeral.public_bytes(), out);
            out.byte_string(&wrapped);
        }
        Ok(())
    }

    /// A COSE_Sign1 (RFC 9052 section 4.2) over the rules and the digests of the parts.
    fn sign(&self, parts: &[Writer]) -> Result<Writer, SealError> {
        let digests = parts.iter().map(|part| digest_of(part.bytes_so_far()));
        let rule_set = RuleSet {
            digests: digests.collect(),
            rules: self.rules.clone(),
        };
        // Alg ES256 and the signer's key. The signature covers the key identifier, so that nobody can redirect a reader to
        // another key.
        let protected = HeaderBuilder::new()
            .algorithm(iana::Algorithm::ES256)
            .key_id(self.key.id().as_bytes().to_vec())
            .build();
        let failed = || SealError::Library("sign");
        let sign = |signed: &[u8]| self.key.sign(signed).map(Vec::from).ok_or_else(failed);
        let message = CoseSign1Builder::new()
            .protected(protected)
            .payload(rule_set.to_bytes())
            .try_create_signature(&[], sign)?
            .build();
        let mut out = Writer::default();
        out.put(&message.to_tagged_vec().map_err(|_| failed())?, Layer::Security);
        Ok(out)
    }
}

/// The ciphertext of AES-GCM, as long as the plaintext, followed by its tag (RFC 9053 section 4.1).
fn encrypt(
    plaintext: &[u8],
    key: &wrap::ContentKey,
    nonce: [u8; NONCE_BYTES],
) -> Result<Vec<u8>, Unspecified> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, key)?);
    let mut bytes = Vec::with_capacity(plaintext.len() + TAG_BYTES);
    bytes.extend_from_slice(plaintext);
    let nonce = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce, Aad::from(ENC_STRUCTURE), &mut bytes)?;
    Ok(bytes)
}

/// The digest of a part in the rule set.
pub(super) fn digest_of(part: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut bytes = [0; DIGEST_BYTES];
    bytes.copy_from_slice(digest(&SHA256, part).as_ref());
    bytes
}
