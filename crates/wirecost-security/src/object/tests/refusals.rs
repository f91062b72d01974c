//! Everything that an opener refuses, and objects that it must not refuse.

use super::*;

#[test]
fn participants_open_the_parts_that_their_rules_name() {
    let cast = Cast::new();
    let object = cast.object();
    assert_eq!(cast.alice.open(&object, 0, day(15)).as_deref(), Ok(FIRST));
    assert_eq!(cast.alice.open(&object, 1, day(15)).as_deref(), Ok(SECOND));
    assert_eq!(cast.bob.open(&object, 0, day(15)).as_deref(), Ok(FIRST));
}

#[test]
fn an_outsider_opens_nothing() {
    let cast = Cast::new();
    for part in 0..2 {
        let refused = cast.eve.open(&cast.object(), part, day(15));
        assert_eq!(refused, Err(Refusal::Outsider(cast.ids[2])));
    }
}

#[test]
fn a_participant_cannot_open_another_participants_part() {
    let cast = Cast::new();
    let refused = cast.bob.open(&cast.object(), 1, day(15)).expect_err("a refusal");
    let expected = Refusal::NotHisPart {
        key: cast.ids[1],
        part: 1,
        has: [0].into(),
    };
    assert_eq!(refused, expected);
    let says = format!("key {} may not open part 1: its rules cover part 0", cast.ids[1]);
    assert_eq!(refused.to_string(), says);
}

#[test]
fn a_part_stays_closed_to_an_opener_that_ignores_the_rules() {
    let cast = Cast::new();
    let inspection = inspect(&cast.object()).expect("an object");
    let recipients = |part: usize| -> Vec<KeyId> {
        let recipients = inspection.parts[part].recipients.iter();
        recipients.map(|recipient| recipient.participant).collect()
    };
    assert_eq!(recipients(0), cast.ids[..2]);
    assert_eq!(recipients(1), cast.ids[..1]);
}

#[test]
fn a_rule_holds_from_its_first_to_its_last_second() {
    let cast = Cast::new();
    let object = cast.object();
    let open = |at: UnixTime| cast.alice.open(&object, 1, at);
    let (key, part) = (cast.ids[0], 1);
    let not_yet = Refusal::NotYet {
        key,
        part,
        from: day(10),
    };
    let expired = Refusal::Expired {
        key,
        part,
        until: day(20),
    };
    assert_eq!(open(UnixTime(day(10).0 - 1)), Err(not_yet));
    assert!(open(day(10)).is_ok());
    assert!(open(day(20)).is_ok());
    assert_eq!(open(UnixTime(day(20).0 + 1)), Err(expired));
}

#[test]
fn between_two_windows_the_refusal_names_the_next() {
    let mut entropy = entropy(3);
    let key = SigningKey::generate(&mut entropy).expect("a key");
    let secret = Secret::generate(Curve::X25519, &mut entropy).expect("a key");
    let id = secret.id();
    let from_to = |from, to| Rule {
        not_before: day(from),
        not_after: day(to),
        ..Rule::always(id, 0)
    };
    let signer = key.signer();
    let rules = vec![from_to(30, 40), from_to(1, 2), from_to(10, 11)];
    let sealer = Sealer::new(key, vec![secret.participant()], rules).expect("a sealer");
    let object = sealer.seal(&[b"x"], &mut entropy).expect("an object").bytes;
    let opener = Opener::new(secret, vec![signer]);
    let from = |from| {
        Err(Refusal::NotYet {
            key: id,
            part: 0,
            from: day(from),
        })
    };
    assert_eq!(opener.open(&object, 0, day(5)), from(10));
    assert_eq!(opener.open(&object, 0, day(20)), from(30));
    assert_eq!(opener.open(&object, 0, day(35)).as_deref(), Ok(&b"x"[..]));
}

#[test]
fn an_unknown_signer_is_refused() {
    let cast = Cast::new();
    let other = SigningKey::generate(&mut entropy(9)).expect("a key").signer();
    let secret = Secret::generate(Curve::X25519, &mut entropy(9)).expect("a key");
    let opener = Opener::new(secret, vec![other.clone()]);
    let refused = Refusal::UnknownSigner(cast.signer.id());
    assert_eq!(opener.open(&cast.object(), 0, day(15)), Err(refused.clone()));
    assert_eq!(verify(&cast.object(), &[other]), Err(refused));
    assert_eq!(verify(&cast.object(), &[cast.signer]), Ok(()));
}

#[test]
fn a_missing_part_is_named_in_the_refusal() {
    let cast = Cast::new();
    let refused = cast.alice.open(&cast.object(), 2, day(15));
    assert_eq!(refused, Err(Refusal::NoSuchPart { part: 2, parts: 2 }));
}

#[test]
fn a_part_of_another_object_is_refused() {
    let cast = Cast::new();
    let (one, other) = (cast.object(), cast.seal(&[b"temperature 99.9 C", SECOND]));
    let (one, mut forged) = (one.as_slice(), other);
    assert_eq!(one.len(), forged.len());
    // Everything after the rules belongs to the other object.
    let parts = one.len()
        - frame::Object::parse(one)
            .expect("an object")
            .parts
            .iter()
            .map(|part| part.len() + 3)
            .sum::<usize>();
    forged[..parts].copy_from_slice(&one[..parts]);
    let refused = cast.alice.open(&forged, 0, day(15));
    assert_eq!(refused, Err(Refusal::Tampered(Evidence::Digest(0))));
}

#[test]
fn a_flipped_bit_anywhere_is_refused() {
    let cast = Cast::new();
    let object = cast.object();
    let mut changed = object.clone();
    for (index, bit) in (0..object.len()).flat_map(|index| (0..8).map(move |bit| (index, bit))) {
        changed[index] ^= 1 << bit;
        let refused = cast.alice.open(&changed, 1, day(15)).expect_err("a refusal");
        let expected = matches!(
            refused,
            Refusal::Tampered(_) | Refusal::Malformed { .. } | Refusal::UnknownSigner(_)
        );
        assert!(expected, "byte {index}, bit {bit}: {refused:?}");
        changed[index] = object[index];
    }
}

#[test]
fn a_truncated_or_extended_object_is_refused() {
    let cast = Cast::new();
    let mut object = cast.object();
    for len in 0..object.len() {
        let refused = cast.alice.open(&object[..len], 0, day(15));
        assert!(
            matches!(refused, Err(Refusal::Malformed { .. })),
            "{len}: {refused:?}"
        );
    }
    object.push(0);
    let refused = cast.alice.open(&object, 0, day(15));
    let expected = "nothing behind the last item";
    assert_eq!(refused, Err(Refusal::Malformed { expected }));
}

#[test]
fn a_longer_form_of_the_same_object_is_refused() {
    let cast = Cast::new();
    let object = cast.object();
    // The outermost array with its length in a second byte. The digests and the signature would still match.
    let longer = [&[0x98, 2], &object[1..]].concat();
    let refused = cast.alice.open(&longer, 0, day(15));
    assert_eq!(refused, Err(Refusal::Malformed { expected: "an array" }));
}

#[test]
fn a_failed_seal_says_why() {
    let mut entropy = entropy(4);
    let mut key = || SigningKey::generate(&mut entropy).expect("a key");
    let secret = Secret::generate(Curve::P256, &mut super::entropy(5)).expect("a key");
    let (id, participant) = (secret.id(), || secret.participant());
    let always = |part| Rule::always(id, part);
    let new = |key, participants, rules| Sealer::new(key, participants, rules).map(drop);
    assert_eq!(
        new(key(), vec![participant(), participant()], vec![]),
        Err(SealError::Repeated(id))
    );
    assert_eq!(
        new(key(), vec![], vec![always(0)]),
        Err(SealError::UnknownParticipant(id))
    );
    let backwards = Rule {
        not_after: day(1),
        not_before: day(2),
        ..always(0)
    };
    let empty = SealError::EmptyWindow {
        participant: id,
        part: 0,
    };
    assert_eq!(new(key(), vec![participant()], vec![backwards]), Err(empty));
    let sealer = Sealer::new(key(), vec![participant()], vec![always(1)]).expect("a sealer");
    let mut seal = |parts: &[&[u8]]| sealer.seal(parts, &mut entropy).map(drop);
    assert_eq!(seal(&[]), Err(SealError::NoParts));
    assert_eq!(seal(&[b"a"]), Err(SealError::NoSuchPart { part: 1, parts: 1 }));
    assert_eq!(seal(&[b"a", b"b"]), Err(SealError::NobodyMayOpen(0)));
}
