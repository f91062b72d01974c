//! Properties that hold for any payload and any bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn permitted_participants_open_a_sealed_part(
        // The lengths at which the head of a byte string grows (RFC 8949 section 3) are among them.
        parts in vec(prop_oneof![
            4 => vec(any::<u8>(), 0..300),
            1 => (65_500usize..65_600).prop_map(vec_of),
        ], 1..4),
        owners in vec(0..3_usize, 4),
        seed: u64,
    ) {
        let mut entropy = entropy(seed);
        let key = SigningKey::generate(&mut entropy).expect("a key");
        let signer = key.signer();
        let curves = [Curve::X25519, Curve::P256, Curve::X25519];
        let secrets = curves.map(|curve| Secret::generate(curve, &mut entropy).expect("a key"));
        let rules = (0..parts.len()).map(|part| Rule::always(secrets[owners[part]].id(), part)).collect();
        let participants = secrets.iter().map(Secret::participant).collect();
        let sealer = Sealer::new(key, participants, rules).expect("a sealer");
        let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let object = sealer.seal(&slices, &mut entropy).expect("an object").bytes;
        for (index, secret) in secrets.into_iter().enumerate() {
            let opener = Opener::new(secret, vec![signer.clone()]);
            for (part, plaintext) in parts.iter().enumerate() {
                let opened = opener.open(&object, part, day(1));
                match owners[part] == index {
                    true => prop_assert_eq!(opened.as_ref(), Ok(plaintext)),
                    false => prop_assert!(opened.is_err()),
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn parsing_any_bytes_does_not_panic(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(inspect(&bytes).is_err());
        prop_assert!(verify(&bytes, &[]).is_err());
        prop_assert!(Participant::from_cose_key(&bytes).is_err());
        prop_assert!(SigningKey::from_cose_key(&bytes).is_err());
    }

    #[test]
    fn inspecting_a_changed_object_does_not_panic(changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut object = hex(OBJECT);
        for (index, value) in changes {
            let index = index.index(object.len());
            object[index] = value;
        }
        let _ = inspect(&object);
        let _ = verify(&object, &[]);
    }
}

/// The preset's object for `21.5 C` and the seed 8.
const OBJECT: &str = include_str!("object.hex");

#[test]
fn objects_of_earlier_versions_still_open() {
    let mut entropy = entropy(8);
    let preset = Preset::deterministic(&mut entropy).expect("a preset");
    let content = preset.seal(b"21.5 C", &mut entropy).expect("an object");
    let digits: String = content.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        digits, OBJECT,
        "the format has changed: give the rule set another version"
    );
    assert_eq!(preset.open(&hex(OBJECT), day(1)).as_deref(), Ok(&b"21.5 C"[..]));
}

fn vec_of(len: usize) -> Vec<u8> {
    (0..len).map(|place| place as u8).collect()
}
