//! The outermost array of an object, and the signature's structure.

use coset::TaggedCborSerializable as _;
use coset::iana;
use coset::{AsCborValue as _, CoseEncrypt, CoseKey, CoseRecipient, CoseSign1, Label};

use super::algorithm::{SIGNATURE_BYTES, names, number};
use super::cbor::{Expected, Reader, Writer};
use super::key::{self, KeyId, Participant};
use super::rule::RuleSet;

/// Joins a signed rule set and sealed parts: `[rules, [+ part]]`, each inside a byte string, so that a digest covers
/// the exact bytes.
pub(super) fn emit(rules: &Writer, parts: &[Writer]) -> Writer {
    let mut out = Writer::default();
    out.array(2);
    out.nest(rules);
    out.array(parts.len());
    for part in parts {
        out.nest(part);
    }
    out
}

/// The parts of an object. Nothing is verified.
pub(super) struct Object<'a> {
    /// The bytes of each part's COSE_Encrypt.
    pub(super) parts: Vec<&'a [u8]>,
    /// Bytes of the signed rule set's COSE_Sign1.
    pub(super) rules_bytes: usize,
    /// The claimed signer.
    pub(super) signer: KeyId,
    /// The signed rules.
    pub(super) rule_set: RuleSet,
    /// The signed bytes.
    pub(super) signed: Vec<u8>,
    /// The signature.
    pub(super) signature: [u8; SIGNATURE_BYTES],
}

impl<'a> Object<'a> {
    /// Parses an object. Each object has exactly one encoding.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Expected> {
        let mut input = Reader::new(bytes);
        input.array_of(2, "an object of two items")?;
        let rules = input.byte_string()?;
        let mut parts = Vec::new();
        for _ in 0..input.array()? {
            parts.push(input.byte_string()?);
        }
        input.end()?;
        let (signer, rule_set, signed, signature) = parse_signature(rules)?;
        if parts.is_empty() || rule_set.digests.len() != parts.len() {
            return Err("a digest for each part");
        }
        Ok(Self {
            parts,
            rules_bytes: rules.len(),
            signer,
            rule_set,
            signed,
            signature,
        })
    }
}

type Signature = (KeyId, RuleSet, Vec<u8>, [u8; SIGNATURE_BYTES]);

fn parse_signature(bytes: &[u8]) -> Result<Signature, Expected> {
    let message = CoseSign1::from_tagged_slice(bytes).map_err(|_| "a COSE_Sign1")?;
    if message.clone().to_tagged_vec().ok().as_deref() != Some(bytes) {
        return Err("a COSE_Sign1 in its shortest form");
    }
    let header = &message.protected.header;
    if !names(header, iana::Algorithm::ES256) || !message.unprotected.is_empty() {
        return Err("a signature by ES256 without unprotected parameters");
    }
    let signer: [u8; KeyId::BYTES] = header
        .key_id
        .as_slice()
        .try_into()
        .map_err(|_| "a signer of 8 bytes")?;
    let signature = message.signature.as_slice().try_into();
    let rule_set = RuleSet::parse(message.payload.as_deref().unwrap_or_default())?;
    Ok((
        KeyId::new(signer),
        rule_set,
        message.tbs_data(&[]),
        signature.map_err(|_| "a signature of 64 bytes")?,
    ))
}

/// A part's message, with the algorithm of all parts.
pub(super) fn parse_part(bytes: &[u8]) -> Result<CoseEncrypt, Expected> {
    let message = CoseEncrypt::from_tagged_slice(bytes).map_err(|_| "a COSE_Encrypt")?;
    if !names(&message.protected.header, iana::Algorithm::A128GCM) || !message.unprotected.crit.is_empty() {
        return Err("a part by A128GCM");
    }
    Ok(message)
}

/// A recipient's key identifier, the ephemeral key, and the wrapped content key.
pub(super) struct Recipient<'a> {
    pub(super) participant: KeyId,
    pub(super) ephemeral: Participant,
    pub(super) wrapped: &'a [u8],
}

/// A recipient, with the algorithm of all recipients.
pub(super) fn parse_recipient(recipient: &CoseRecipient) -> Result<Recipient<'_>, Expected> {
    let header = &recipient.unprotected;
    if !names(&recipient.protected.header, iana::Algorithm::ECDH_ES_A128KW) || !header.crit.is_empty() {
        return Err("a recipient by ECDH-ES + A128KW");
    }
    let id = header.key_id.as_slice().try_into();
    let label = Label::Int(number(iana::HeaderAlgorithmParameter::EphemeralKey));
    let found = header.rest.iter().find(|(of, _)| *of == label);
    let (_, ephemeral) = found.ok_or("an ephemeral key")?;
    let ephemeral = CoseKey::from_cbor_value(ephemeral.clone()).map_err(|_| "an ephemeral key")?;
    Ok(Recipient {
        participant: KeyId::new(id.map_err(|_| "a key identifier of 8 bytes")?),
        ephemeral: key::ephemeral(&ephemeral).map_err(|_| "an ephemeral key on X25519 or P-256")?,
        wrapped: recipient.ciphertext.as_deref().unwrap_or_default(),
    })
}
