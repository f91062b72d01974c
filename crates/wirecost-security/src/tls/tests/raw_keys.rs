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
fn a_connection_resumes_without_the_key() {
    let (key, start) = (raw(1), Start::Resumed);
    let (client, server) = ends(&key, &key);
    let mut pair = with_ticket(start, client, server);
    pair.open_flow(FlowId(1));
    settle(&mut pair);
    assert_eq!(client_starts(&pair), [start]);
    assert_eq!(server_starts(&pair), [start]);
}

#[test]
fn both_ends_can_have_one() {
    let (key, others) = (raw(1), raw(2));
    let (client, server) = ends(&key, &key);
    let with_key = |authority: &Authority| ClientOptions {
        identity: Some(Identity::client(authority, "device").expect("a client")),
        ..client.clone()
    };
    let server = ServerOptions {
        client_authorities: vec![others.certificate().to_vec()],
        ..server
    };
    let mut pair = bare_pair(with_key(&others), server.clone());
    pair.open();
    settle(&mut pair);
    assert_eq!(server_starts(&pair), [Start::Cold]);
    let mut strange = bare_pair(with_key(&raw(3)), server);
    strange.open();
    strange.drive_for(Duration::from_secs(1));
    assert_eq!(
        server_faults(&strange),
        [Fault::Certificate(
            "its raw public key is not one that is trusted".into()
        )]
    );
}

#[test]
fn another_key_is_not_trusted() {
    let (client, server) = ends(&raw(1), &raw(2));
    let mut pair = bare_pair(client, server);
    pair.open();
    pair.drive_for(Duration::from_secs(1));
    assert!(client_starts(&pair).is_empty());
    assert_eq!(
        client_faults(&pair),
        [Fault::Certificate(
            "its raw public key is not one that is trusted".into()
        )]
    );
}

#[test]
fn an_end_with_certificates_and_one_with_a_key_do_not_meet() {
    let (raw_client, raw_server) = ends(&raw(1), &raw(1));
    for (client, server) in [
        (raw_client, server_options()),
        (client_options(Versions::Tls13), raw_server),
    ] {
        let mut pair = bare_pair(client, server);
        pair.open();
        pair.drive_for(Duration::from_secs(1));
        let faults = [client_faults(&pair), server_faults(&pair)].concat();
        let said = faults.iter().map(ToString::to_string).collect::<String>();
        assert!(
            said.contains("one end has raw public keys (RFC 7250) and the other has certificates"),
            "{said}"
        );
    }
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
