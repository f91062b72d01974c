//! What an object shows without a key.

use super::algorithm::TAG_BYTES;
use super::frame::{Object, parse_part, parse_recipient};
use super::key::{Curve, KeyId};
use super::open::Refusal;
use super::rule::Rule;

/// What everybody can read of an object: its form, not its content, and nothing that is proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Bytes of the object.
    pub bytes: usize,
    /// Bytes of the signed rule set, without the byte string's head around it.
    pub rules_bytes: usize,
    /// Who says to have signed it.
    pub signer: KeyId,
    /// Its parts, in order.
    pub parts: Vec<InspectedPart>,
    /// Who may open which part, from when until when.
    pub rules: Vec<Rule>,
}

/// What everybody can read of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectedPart {
    /// Bytes of the part's message, without the byte string's head around it.
    pub bytes: usize,
    /// Bytes of its ciphertext, and so of its plaintext.
    pub payload_bytes: usize,
    /// Whom its content key is wrapped for.
    pub recipients: Vec<Recipient>,
}

/// A participant that a part's content key is wrapped for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// Whose key.
    pub participant: KeyId,
    /// Its curve.
    pub curve: Curve,
}

impl Inspection {
    /// Bytes of payload in all parts.
    pub fn payload_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.payload_bytes).sum()
    }

    /// Bytes that are not payload.
    pub fn security_bytes(&self) -> usize {
        self.bytes.saturating_sub(self.payload_bytes())
    }
}

/// Reads what everybody can read of an object. [`verify`](super::verify) tells whether it is as it was signed.
///
/// # Errors
/// [`Refusal::Malformed`] where the bytes are not an object.
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
