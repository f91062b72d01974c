//! Keys and objects that the tests of objects share.

mod keys;
mod properties;
mod refusals;
mod sizes;

use wirecost_proto::Rng;

use super::*;
use crate::entropy::Entropy;

/// Bytes of hexadecimal digits.
pub(super) fn hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    let pairs = pairs.map(|pair| std::str::from_utf8(pair).expect("digits"));
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).expect("digits"))
        .collect()
}

/// Randomness from a numeric seed.
pub(super) fn entropy(seed: u64) -> Entropy {
    Entropy::seeded(Rng::new(seed))
}

/// A time on the n-th day since 1970.
pub(super) const fn day(n: u64) -> UnixTime {
    UnixTime(n * 86_400)
}

pub(super) const FIRST: &[u8] = b"temperature 21.5 C";
pub(super) const SECOND: &[u8] = b"key of the door: 4711";

/// A sealer with two participants: Alice may open both parts, part 1 from day 10 to day 20 only; Bob part 0.
pub(super) struct Cast {
    pub(super) sealer: Sealer,
    pub(super) signer: Signer,
    pub(super) alice: Opener,
    pub(super) bob: Opener,
    pub(super) eve: Opener,
    pub(super) ids: [KeyId; 3],
}

impl Cast {
    pub(super) fn new() -> Self {
        let mut entropy = entropy(1);
        let key = SigningKey::generate(&mut entropy).expect("a key");
        let signer = key.signer();
        let mut secret = |curve| Secret::generate(curve, &mut entropy).expect("a key");
        let [alice, bob, eve] = [secret(Curve::X25519), secret(Curve::P256), secret(Curve::X25519)];
        let ids = [alice.id(), bob.id(), eve.id()];
        let rules = vec![
            Rule::always(ids[0], 0),
            Rule {
                not_before: day(10),
                not_after: day(20),
                ..Rule::always(ids[0], 1)
            },
            Rule::always(ids[1], 0),
        ];
        let participants = vec![alice.participant(), bob.participant()];
        let opener = |secret| Opener::new(secret, vec![signer.clone()]);
        Self {
            sealer: Sealer::new(key, participants, rules).expect("a sealer"),
            alice: opener(alice),
            bob: opener(bob),
            eve: opener(eve),
            signer,
            ids,
        }
    }

    pub(super) fn object(&self) -> Vec<u8> {
        self.seal(&[FIRST, SECOND])
    }

    pub(super) fn seal(&self, parts: &[&[u8]]) -> Vec<u8> {
        self.sealer.seal(parts, &mut entropy(2)).expect("an object").bytes
    }
}
