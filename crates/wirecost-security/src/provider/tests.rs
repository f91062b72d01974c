use rustls::SignatureScheme;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::time_provider::TimeProvider;
use wirecost_proto::{Instant, Rng};

use super::*;
use crate::Epoch;
use crate::certificate::{Authority, Identity, SIGNATURE_BYTES};

fn signatures(provider: &CryptoProvider) -> Vec<Vec<u8>> {
    let authority =
        Authority::from_entropy(crate::entropy::Entropy::seeded(Rng::new(1))).expect("an authority");
    let identity = Identity::generate(&authority).expect("a server");
    let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(identity.private_key().to_vec()));
    let key = provider.key_provider.load_private_key(der).expect("a key");
    let offered = [SignatureScheme::ECDSA_NISTP256_SHA256];
    let signer = key.choose_scheme(&offered).expect("a signer");
    (0..20u8)
        .map(|n| signer.sign(&[n]).expect("a signature"))
        .collect()
}

#[test]
fn every_signature_has_the_usual_length() {
    for provider in [standard(), wide(), seeded(Choice::default(), Rng::new(1))] {
        assert!(
            signatures(&provider)
                .iter()
                .all(|signature| signature.len() == SIGNATURE_BYTES)
        );
    }
}

#[test]
fn a_seed_determines_signatures_randoms_and_key_shares() {
    let drawn = |seed| {
        let provider = seeded(Choice::default(), Rng::new(seed));
        let mut random = [0; 32];
        provider.secure_random.fill(&mut random).expect("random bytes");
        let share = provider.kx_groups[0].start().expect("a key share");
        (random, share.pub_key().to_vec(), signatures(&provider))
    };
    assert_eq!(drawn(1), drawn(1));
    let ((random, share, signed), (other_random, other_share, other_signed)) = (drawn(1), drawn(2));
    assert!(random != other_random && share != other_share && signed != other_signed);
}

#[test]
fn a_seeded_key_share_agrees_with_a_random_one() {
    for group in [Group::X25519, Group::P256, Group::P384] {
        let choice = Choice {
            groups: Groups::one(group),
            ..Choice::default()
        };
        let (ours, theirs) = (seeded(choice, Rng::new(1)), chosen(choice));
        let one = ours.kx_groups[0].start().expect("a key share");
        let other = theirs.kx_groups[0].start().expect("a key share");
        let (public, other_public) = (one.pub_key().to_vec(), other.pub_key().to_vec());
        let secret = one.complete(&other_public).expect("a secret");
        let other_secret = other.complete(&public).expect("a secret");
        assert_eq!(secret.secret_bytes(), other_secret.secret_bytes(), "{group:?}");
    }
}

#[test]
fn a_clock_shows_the_time_of_the_last_input() {
    let epoch = Epoch {
        monotonic: epoch_instant(),
        unix: crate::certificate::VALID_FROM,
    };
    let clock = Clock::new(epoch);
    clock.clone().set(Instant::from_millis(2_000));
    let seconds = clock.current_time().expect("a time").as_secs();
    assert_eq!(seconds, crate::certificate::VALID_FROM.as_secs() + 2);
}

/// Any instant will do.
#[allow(clippy::disallowed_methods)]
fn epoch_instant() -> std::time::Instant {
    std::time::Instant::now()
}
