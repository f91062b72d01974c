use wirecost_proto::Rng;

use super::*;

#[test]
fn every_generated_certificate_has_the_same_length() {
    let lengths: std::collections::BTreeSet<(usize, usize, usize)> = (0..20)
        .map(|_| {
            let authority = Authority::generate().expect("an authority");
            let server = Identity::generate(&authority).expect("a server");
            let client = Identity::client(&authority, "wc-00001").expect("a client");
            (
                authority.certificate().len(),
                server.certificate().len(),
                client.certificate().len(),
            )
        })
        .collect();
    assert_eq!(lengths.len(), 1, "{lengths:?}");
}

#[test]
fn a_seed_determines_every_byte() {
    let identity = |seed| {
        let authority = Authority::from_entropy(Entropy::seeded(Rng::new(seed))).expect("an authority");
        Identity::generate(&authority).expect("a server")
    };
    assert_eq!(identity(1), identity(1));
    assert_ne!(identity(1).private_key(), identity(2).private_key());
}

#[test]
fn a_seeded_authority_gives_every_name_its_own_key() {
    let authority = Authority::from_entropy(Entropy::seeded(Rng::new(1))).expect("an authority");
    let keys = ["a", "b"].map(|name| Identity::client(&authority, name).expect("a client"));
    assert_ne!(keys[0].private_key(), keys[1].private_key());
}

#[test]
fn a_chain_does_not_include_the_authority() {
    let authority = Authority::generate().expect("an authority");
    let server = Identity::generate(&authority).expect("a server");
    assert_eq!(server.chain().len(), 1);
    assert_ne!(server.certificate(), authority.certificate());
}

#[test]
fn the_fixed_dates_are_the_constants() {
    let seconds = |at: Duration| i64::try_from(at.as_secs()).expect("a date of this century");
    let params = authority_params(AUTHORITY.to_owned(), 0);
    assert_eq!(params.not_before.unix_timestamp(), seconds(VALID_FROM));
    assert_eq!(params.not_after.unix_timestamp(), seconds(VALID_UNTIL));
}

#[test]
fn pem_survives_writing_and_reading() {
    let authority = Authority::generate().expect("an authority");
    let server = Identity::generate(&authority).expect("a server");
    let certificates = server.certificates_to_pem().expect("certificates");
    let private_key = server.private_key_to_pem().expect("a key");
    assert_eq!(Identity::from_pem(&certificates, &private_key), Ok(server));
    let chain = certificates + &authority.to_pem().expect("an authority");
    let both = Identity::from_pem(&chain, &private_key).expect("an identity");
    assert_eq!(both.chain().len(), 2);
}

#[test]
fn refuses_texts_without_certificate_or_key() {
    assert_eq!(Identity::from_pem("", ""), Err(Error::NoCertificate));
    let authority = Authority::generate().expect("an authority");
    let certificates = authority.to_pem().expect("certificates");
    let refused = Identity::from_pem(&certificates, "no key").expect_err("no key");
    assert!(
        refused
            .to_string()
            .starts_with("cannot read the private key as PEM"),
        "{refused}"
    );
    let name = authority
        .issue(Usage::Server, &["no\u{fc}"])
        .expect_err("no name");
    assert!(name.to_string().contains("expected host names"), "{name}");
}

#[test]
fn a_certificate_of_any_kind_has_one_length_and_its_chain_all_but_the_authority() {
    for key in KeyKind::ALL {
        for (chain, sent) in Chain::OWN.into_iter().zip(1..) {
            let lengths = || {
                let kind = Kind { key, chain };
                let authority = Authority::of_kind(kind, Entropy::system()).expect("an authority");
                let server = Identity::generate(&authority).expect("a server");
                server.chain().iter().map(Vec::len).collect::<Vec<_>>()
            };
            let first = lengths();
            assert_eq!((first.len(), &first), (sent, &lengths()), "{key} {chain}");
        }
    }
}

#[test]
fn a_kind_is_read_by_the_name_it_is_shown_by() {
    for key in KeyKind::ALL {
        assert_eq!(key.to_string().parse(), Ok(key));
    }
    for chain in Chain::OWN {
        assert_eq!(chain.to_string().parse(), Ok(chain));
    }
    let refused = "rsa1024".parse::<KeyKind>().expect_err("an unknown key");
    assert!(
        refused.contains("expected one of p256, p384, rsa2048"),
        "{refused}"
    );
}

#[test]
fn a_certificate_of_every_size_can_be_made_from_the_least_on() {
    for key in KeyKind::ALL {
        let above = if key.is_rsa() { 14 } else { 40 };
        for more in (0..above).step_by(if key == KeyKind::P256 { 1 } else { 13 }) {
            let sizes = [key.least_bytes() + more, key.least_between() + more];
            let kind = Kind::from(Chain::Sized(Sizes::new(key, &sizes).expect("sizes")));
            let authority = Authority::of_kind(kind, Entropy::seeded(Rng::new(1))).expect("an authority");
            let made = Identity::generate(&authority).expect("a server");
            let made: Vec<usize> = made.chain().iter().map(Vec::len).collect();
            assert_eq!(made, sizes, "{key}");
            let client = Identity::client(&authority, "wc-00001").expect("a client");
            assert_eq!(client.certificate().len(), sizes[0], "{key}");
        }
    }
}

#[test]
fn sizes_survive_writing_and_reading() {
    for text in [
        "p256:1000+699",
        "mldsa44:9000",
        "leaf",
        "intermediate",
        "cross-signed",
    ] {
        assert_eq!(text.parse::<Chain>().expect(text).to_string(), text);
    }
    for (text, said) in [
        ("p256:100", "at least 450 B, and certificate 1 has 100 B"),
        ("p256:1000+x", "not a key and sizes"),
        ("p521:1000", "unknown value \"p521\""),
        ("p256:", "not a key and sizes"),
        ("other", "unknown value \"other\""),
    ] {
        let error = text.parse::<Chain>().expect_err(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}
