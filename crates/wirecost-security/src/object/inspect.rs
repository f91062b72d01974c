//! The contents of an object that are readable without a key.

use super::algorithm::TAG_BYTES;
use super::frame::{Object, parse_part, parse_recipient};
use super::key::{Curve, KeyId};
use super::open::Refusal;
use super::rule::Rule;

/// Everything that anybody can read in an object: its structure, but not its content. Nothing is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Bytes of the object.
    pub bytes: usize,
    /// Bytes of the signed rule set, without the head of its byte string.
    pub rules_bytes: usize,
    /// The claimed signer.
    pub signer: KeyId,
    /// Its parts, in order.
    pub parts: Vec<InspectedPart>,
    /// Who may open which part, and when.
    pub rules: Vec<Rule>,
}

/// Everything that anybody can read about a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedPart {
    /// Bytes of the part's message, without the head of its byte string.
    pub bytes: usize,
    /// Bytes of its plaintext: the ciphertext without the tag.
    pub payload_bytes: usize,
    /// The participants for whom its content key is wrapped.
    pub recipients: Vec<Recipient>,
}

/// A participant for whom a part's content key is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// Identifier of the participant's key.
    pub participant: KeyId,
    /// Its curve.
    pub curve: Curve,
}

impl Inspection {
    /// Bytes of payload in all parts.
    pub fn payload_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.payload_bytes).sum()
    }

    /// Bytes other than payload.
    pub fn security_bytes(&self) -> usize {
        self.bytes.saturating_sub(self.payload_bytes())
    }
}

/// Reads the unencrypted contents of an object. [`verify`](super::verify) checks the signature.
///
/// # Errors
/// [`Refusal::Malformed`] if the bytes are not an object.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, Refusal> {
    let malformed = |expected| Refusal::Malformed { expected };
    let object = Object::parse(bytes).map_err(malformed)?;
    let parts = object.parts.iter().map(|part| inspect_part(part));
    Ok(Inspection {
        bytes: bytes.len(),
        rules_bytes: object.rules_bytes,
        signer: object.signer,
        parts: parts.collect::<Result<_, _>>().map_err(malformed)?,
        rules: object.rule_set.rules,
    })
}

fn inspect_part(bytes: &[u8]) -> Result<InspectedPart, &'static str> {
    let message = parse_part(bytes)?;
    let ciphertext = message.ciphertext.as_ref().map_or(0, Vec::len);
    let recipients = message.recipients.iter().map(|recipient| {
        let recipient = parse_recipient(recipient)?;
        Ok(Recipient {
            participant: recipient.participant,
            curve: recipient.ephemeral.curve(),
        })
    });
    Ok(InspectedPart {
        bytes: bytes.len(),
        payload_bytes: ciphertext
            .checked_sub(TAG_BYTES)
            .ok_or("a ciphertext with its tag")?,
        recipients: recipients.collect::<Result<_, &'static str>>()?,
    })
}
