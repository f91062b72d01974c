//! Keys in files, and their identifiers.

use super::*;

#[test]
fn a_thumbprint_matches_rfc_9679() {
    // RFC 9679 section 6: the key on P-256 has the thumbprint 496bd8afadf307e5...
    let x = hex("65eda5a12577c2bae829437fe338701a10aaa375e1bb5b5de108de439c08551d");
    let y = hex("1e52ed75701163f7f9e40ddf9f341b3dc9ba860af7e0ca7ca7e9eecd0084d19c");
    let participant = Participant::new(Curve::P256, &[&[4], x.as_slice(), &y].concat());
    let id = participant.expect("a key").id();
    assert_eq!(id.to_string(), "496bd8afadf307e5");
    assert_eq!("496bd8afadf307e5".parse(), Ok(id));
}

#[test]
fn keys_survive_their_files() {
    let mut entropy = entropy(1);
    for curve in Curve::ALL {
        let secret = Secret::generate(curve, &mut entropy).expect("a key");
        let file = secret.to_cose_key().expect("a file");
        let again = Secret::from_cose_key(&file).expect("a key");
        assert_eq!((again.id(), again.participant().curve()), (secret.id(), curve));
        assert_eq!(again.to_cose_key(), Ok(file));
        let public = secret.participant().to_cose_key();
        assert_eq!(
            Participant::from_cose_key(&public).map(|key| key.id()),
            Ok(secret.id())
        );
    }
    let key = SigningKey::generate(&mut entropy).expect("a key");
    let file = key.to_cose_key().expect("a file");
    let again = SigningKey::from_cose_key(&file).expect("a key");
    assert_eq!(again.id(), key.id());
    assert_eq!(again.deterministic().and_then(|key| key.to_cose_key()), Ok(file));
    let public = key.signer().to_cose_key();
    assert_eq!(Signer::from_cose_key(&public).map(|key| key.id()), Ok(key.id()));
}

#[test]
fn a_key_for_another_purpose_is_refused() {
    let mut entropy = entropy(1);
    let secret = Secret::generate(Curve::P256, &mut entropy).expect("a key");
    let opens = secret.to_cose_key().expect("a file");
    let key = SigningKey::generate(&mut entropy).expect("a key");
    let signs = key.to_cose_key().expect("a file");
    let says = |error: KeyError| error.to_string();
    let wrong = SigningKey::from_cose_key(&opens).map(drop).map_err(says);
    assert_eq!(
        wrong,
        Err("the key is for opening, expected one for signing".to_owned())
    );
    let wrong = Secret::from_cose_key(&signs).map(drop).map_err(says);
    assert_eq!(
        wrong,
        Err("the key is for signing, expected one for opening".to_owned())
    );
    let wrong = Secret::from_cose_key(&secret.participant().to_cose_key()).map(drop);
    assert_eq!(wrong, Err(KeyError::Missing("private half")));
    assert_eq!(
        Participant::from_cose_key(&opens).map(drop),
        Err(KeyError::Private)
    );
    assert_eq!(Signer::from_cose_key(&signs).map(drop), Err(KeyError::Private));
    assert!(matches!(
        Signer::from_cose_key(b"PEM?").map(drop),
        Err(KeyError::Malformed(_))
    ));
}

#[test]
fn a_mismatched_key_pair_is_refused() {
    let mut entropy = entropy(1);
    for curve in Curve::ALL {
        let secret = Secret::generate(curve, &mut entropy).expect("a key");
        let mut file = secret.to_cose_key().expect("a file");
        // The private key is at the end.
        *file.last_mut().expect("a byte") ^= if curve == Curve::X25519 { 0x20 } else { 1 };
        assert_eq!(
            Secret::from_cose_key(&file).map(drop),
            Err(KeyError::Numbers(curve.name()))
        );
    }
}

#[test]
fn numbers_off_the_curve_are_refused() {
    let point = [&[4][..], &[1; 64]].concat();
    let wrong = Err(KeyError::Numbers("p256"));
    assert_eq!(Participant::new(Curve::P256, &point).map(drop), wrong);
    assert_eq!(Signer::new(&point).map(drop), wrong);
    assert_eq!(Secret::from_bytes(Curve::P256, &[0; 32]).map(drop), wrong);
    assert_eq!(SigningKey::from_bytes(&[0xff; 32]).map(drop), wrong);
    let short = Participant::new(Curve::X25519, &[9; 31]).map(drop);
    assert_eq!(short, Err(KeyError::Numbers("x25519")));
}

#[test]
fn secrets_do_not_show_in_debug_output() {
    let secret = Secret::generate(Curve::X25519, &mut entropy(1)).expect("a key");
    let shown = format!("{secret:?}");
    assert_eq!(shown, format!("Secret(Participant(X25519, {}))", secret.id()));
}
