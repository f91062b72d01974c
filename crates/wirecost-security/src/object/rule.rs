//! Who may open which part, and when.

use super::algorithm::DIGEST_BYTES;
use super::cbor::{Expected, Reader, Writer};
use super::{KeyId, UnixTime};

/// The version of the rule set format.
const VERSION: u64 = 1;

/// Permits one participant to open one part during one time window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Identifier of the participant's key.
    pub participant: KeyId,
    /// Which part, counted from 0.
    pub part: usize,
    /// The first second of the time window.
    pub not_before: UnixTime,
    /// The last second of the time window.
    pub not_after: UnixTime,
}

impl Rule {
    /// A rule without a time limit.
    pub const fn always(participant: KeyId, part: usize) -> Self {
        Self {
            participant,
            part,
            not_before: UnixTime::MIN,
            not_after: UnixTime::MAX,
        }
    }

    /// Whether `now` is in the rule's time window, both ends included.
    pub(crate) fn holds_at(&self, now: UnixTime) -> bool {
        (self.not_before..=self.not_after).contains(&now)
    }

    fn emit(&self, out: &mut Writer) {
        out.array(3);
        out.byte_string(self.participant.as_bytes());
        out.unsigned(self.part as u64);
        out.byte_string(&self.window());
    }

    /// Both times at full width, so that an object's size does not depend on the date.
    fn window(&self) -> [u8; 16] {
        let mut window = [0; 16];
        window[..8].copy_from_slice(&self.not_before.0.to_be_bytes());
        window[8..].copy_from_slice(&self.not_after.0.to_be_bytes());
        window
    }

    fn parse(input: &mut Reader<'_>) -> Result<Self, Expected> {
        input.array_of(3, "a rule of three items")?;
        let participant = KeyId::new(input.byte_array("a key identifier of 8 bytes")?);
        let part = usize::try_from(input.unsigned()?).map_err(|_| "a part number")?;
        let window = u128::from_be_bytes(input.byte_array("a time window of 16 bytes")?);
        Ok(Self {
            participant,
            part,
            not_before: UnixTime((window >> 64) as u64),
            not_after: UnixTime(window as u64),
        })
    }
}

/// The signed content: the rules and the parts' digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RuleSet {
    /// The digest of each part.
    pub(super) digests: Vec<[u8; DIGEST_BYTES]>,
    /// Who may open which part.
    pub(super) rules: Vec<Rule>,
}

impl RuleSet {
    /// The rule set's bytes: the payload of the COSE_Sign1.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.array(3);
        out.unsigned(VERSION);
        out.array(self.digests.len());
        for digest in &self.digests {
            out.byte_string(digest);
        }
        out.array(self.rules.len());
        for rule in &self.rules {
            rule.emit(&mut out);
        }
        out.into_parts().0
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Expected> {
        let mut input = Reader::new(bytes);
        input.array_of(3, "a rule set of three items")?;
        if input.unsigned()? != VERSION {
            return Err("a rule set of version 1");
        }
        let mut digests = Vec::new();
        for _ in 0..input.array()? {
            digests.push(input.byte_array("a digest of 32 bytes")?);
        }
        let mut rules = Vec::new();
        for _ in 0..input.array()? {
            rules.push(Rule::parse(&mut input)?);
        }
        input.end()?;
        Ok(Self { digests, rules })
    }
}
