//! Raw public keys in place of certificates (RFC 7250).

use super::*;
use crate::certificate::{Chain, Kind};

fn raw(seed: u64) -> Authority {
    let kind = Kind {
        chain: Chain::RawPublicKey,
        ..Kind::default()
    };
    Authority::of_kind(kind, Entropy::seeded(Rng::new(seed))).expect("a key")
}

fn trusting(authority: &Authority) -> Trust {
    Trust::Authorities(vec![authority.certificate().to_vec()])
}

/// Both ends, the client trusting one key and the server having another or the same.
fn ends(trusted: &Authority, own: &Authority) -> (ClientOptions, ServerOptions) {
    let identity = Identity::generate(own).expect("a server");
    (
        ClientOptions::new(epoch(), trusting(trusted), "elsewhere"),
        ServerOptions::new(epoch(), identity),
    )
}

#[test]
fn tls_1_2_has_none() {
    let (client, server) = ends(&raw(1), &raw(1));
    let client = ClientConfig::new(ClientOptions {
        versions: Versions::Tls12,
        ..client
    });
    let server = ServerConfig::new(ServerOptions {
        versions: Versions::Tls12,
        ..server
    });
    for error in [client.err(), server.err()] {
        let said = error.expect("it is refused").to_string();
        assert!(said.contains("raw public keys in TLS 1.3 alone"), "{said}");
    }
}

#[test]
fn a_key_in_pem_is_read_again_and_must_be_its_own() {
    let [one, other] = [1, 2].map(|seed| Identity::generate(&raw(seed)).expect("a server"));
    let public = one.certificates_to_pem().expect("a text");
    assert!(public.starts_with("-----BEGIN PUBLIC KEY-----"));
    let private = |identity: &Identity| identity.private_key_to_pem().expect("a text");
    let again = Identity::from_pem(&public, &private(&one)).expect("the same");
    assert_eq!(again, one);
    let mixed = Identity::from_pem(&public, &private(&other)).expect("two texts");
    let refused = ServerConfig::new(ServerOptions::new(epoch(), mixed)).expect_err("another key");
    assert!(
        refused.to_string().contains("is not that of the public key"),
        "{refused}"
    );
}
