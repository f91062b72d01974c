//! Handshakes with other certificates and groups, against the sizes that other libraries send.

use super::*;
use crate::certificate::{Chain, KeyKind, Kind};
use crate::provider::{Choice, Group, Groups};

/// Bytes of the record with the ServerHello of TLS 1.3 by group, in Go 1.26.8 and OpenSSL 3.5.8 alike (pure ML-KEM: OpenSSL alone).
const SERVER_HELLO: [(Group, u64); 6] = [
    (Group::X25519, 127),
    (Group::P256, 160),
    (Group::P384, 192),
    (Group::X25519MlKem768, 1_215),
    (Group::MlKem768, 1_183),
    (Group::MlKem1024, 1_663),
];

/// Bytes of the record with CertificateVerify by key, in OpenSSL 3.5.8 (classical keys: in Go 1.26.8 too). ECDSA varies by 2 B.
const CERTIFICATE_VERIFY: [(KeyKind, u64); 7] = [
    (KeyKind::P256, 101),
    (KeyKind::P384, 133),
    (KeyKind::Rsa2048, 286),
    (KeyKind::Rsa3072, 414),
    (KeyKind::Ed25519, 94),
    (KeyKind::MlDsa44, 2_450),
    (KeyKind::MlDsa65, 3_339),
];

/// Bytes of the record with ServerKeyExchange of TLS 1.2 on X25519 by key, in OpenSSL 3.5.8 and Go 1.26.8.
const SERVER_KEY_EXCHANGE: [(KeyKind, u64); 4] = [
    (KeyKind::P256, 121),
    (KeyKind::P384, 152),
    (KeyKind::Rsa2048, 305),
    (KeyKind::Ed25519, 113),
];

/// How far a size may be from that of another library: a signature's DER form varies by 2 B.
const TOLERANCE: u64 = 3;

pub(super) struct Ends {
    pub(super) client: ClientOptions,
    pub(super) server: ServerOptions,
    /// Bytes of the server's chain in a Certificate message.
    chain_bytes: u64,
    /// Bytes of its certificates alone.
    pub(super) certificates: u64,
}

fn ends(kind: Kind, groups: [Groups; 2], versions: Versions) -> Ends {
    let authority = Authority::of_kind(kind, Entropy::seeded(Rng::new(3))).expect("an authority");
    let identity = Identity::generate(&authority).expect("a server");
    ends_of(kind.key, (&authority, identity), groups, versions)
}

/// Both ends with the certificates of an authority, whose keys take their time.
pub(super) fn ends_of(
    key: KeyKind,
    (authority, identity): (&Authority, Identity),
    [client, server]: [Groups; 2],
    versions: Versions,
) -> Ends {
    let choice = |groups| {
        Suites::Chosen(Choice {
            groups,
            key,
            ..Choice::default()
        })
    };
    // RFC 8446 section 4.4.2: three bytes of length, and two of extensions, which TLS 1.2 lacks.
    let entry = if versions == Versions::Tls12 { 3 } else { 5 };
    let certificates: u64 = identity.chain().iter().map(|der| der.len() as u64).sum();
    let chain_bytes = certificates + entry * identity.chain().len() as u64;
    let trust = Trust::Authorities(vec![authority.certificate().to_vec()]);
    Ends {
        client: ClientOptions {
            versions,
            suites: choice(client),
            ..ClientOptions::new(epoch(), trust, "server")
        },
        server: ServerOptions {
            suites: choice(server),
            ..ServerOptions::new(epoch(), identity)
        },
        chain_bytes,
        certificates,
    }
}

/// Bytes that each end sends until nothing is left to say, the chain of the server not counted.
fn handshake(kind: Kind, groups: [Groups; 2], versions: Versions) -> [u64; 2] {
    let ends = ends(kind, groups, versions);
    let mut pair = bare_pair(ends.client, ends.server);
    pair.open();
    settle(&mut pair);
    assert_eq!(
        client_starts(&pair),
        [Start::Cold],
        "{kind:?} {groups:?} {versions:?}"
    );
    let sent = |way| {
        let sent = pair.sent.iter().filter(|sent| sent.direction == way);
        sent.map(|sent| sent.bytes.len() as u64).sum::<u64>()
    };
    [sent(Direction::Up), sent(Direction::Down) - ends.chain_bytes]
}

fn cold(key: KeyKind, group: Group, versions: Versions) -> [u64; 2] {
    let kind = Kind {
        key,
        chain: Chain::Leaf,
    };
    handshake(kind, [Groups::one(group); 2], versions)
}

#[test]
fn every_group_costs_what_it_costs_other_libraries() {
    let [up, down] = cold(KeyKind::P256, Group::X25519, Versions::Tls13);
    // Bytes of the key share beyond the 32 of X25519: RFC 8446 section 4.2.8.2, draft-ietf-tls-ecdhe-mlkem section 3.
    let shares = [0, 33, 65, 1_184, 1_152, 1_536];
    for ((group, hello), share) in SERVER_HELLO.into_iter().zip(shares) {
        let [other_up, other_down] = cold(KeyKind::P256, group, Versions::Tls13);
        assert_eq!(other_up - up, share, "{group:?}");
        assert_eq!(other_down - down, hello - SERVER_HELLO[0].1, "{group:?}");
    }
}

#[test]
fn every_key_costs_what_it_costs_other_libraries() {
    for (versions, table) in [
        (Versions::Tls13, &CERTIFICATE_VERIFY[..]),
        (Versions::Tls12, &SERVER_KEY_EXCHANGE[..]),
    ] {
        let [_, down] = cold(KeyKind::P256, Group::X25519, versions);
        for (key, expected) in table {
            let [_, other] = cold(*key, Group::X25519, versions);
            let difference = (other + table[0].1).abs_diff(down + expected);
            assert!(difference <= TOLERANCE, "{key} {versions:?}: {difference} B");
        }
    }
}

#[test]
fn a_chain_costs_the_bytes_of_its_certificates() {
    let groups = [Groups::default(); 2];
    for key in [KeyKind::P256, KeyKind::Rsa2048, KeyKind::MlDsa65] {
        let of = |chain| handshake(Kind { key, chain }, groups, Versions::Tls13);
        assert_eq!(of(Chain::Leaf), of(Chain::Intermediate), "{key}");
    }
    let of = |chain| {
        let kind = Kind {
            key: KeyKind::Rsa2048,
            chain,
        };
        handshake(kind, groups, Versions::Tls12)
    };
    assert_eq!(of(Chain::Leaf), of(Chain::CrossSigned));
}

/// RFC 7250 section 3: the extension has a list of one type in ClientHello, and one type in EncryptedExtensions.
#[test]
fn a_raw_public_key_costs_its_bytes_and_two_extensions() {
    let groups = [Groups::default(); 2];
    for key in [
        KeyKind::P256,
        KeyKind::Rsa2048,
        KeyKind::Ed25519,
        KeyKind::MlDsa65,
    ] {
        let of = |chain| handshake(Kind { key, chain }, groups, Versions::Tls13);
        let [up, down] = of(Chain::Leaf);
        assert_eq!(of(Chain::RawPublicKey), [up + 6, down + 5], "{key}");
    }
}

#[test]
fn a_group_that_the_server_lacks_costs_a_round_trip() {
    let established = |client: &str, server: &str| {
        let groups = [client, server].map(|text| text.parse::<Groups>().expect(text));
        let ends = ends(Kind::default(), groups, Versions::Tls13);
        let mut pair = bare_pair(ends.client, ends.server);
        pair.open();
        settle(&mut pair);
        let events = pair.client_events.iter();
        let mut times =
            events.filter_map(|(at, event)| matches!(event, Event::Established { .. }).then_some(*at));
        times.next().expect("a handshake")
    };
    let once = established("p256,x25519", "p256");
    assert_eq!(
        established("p256,x25519", "x25519").saturating_since(once),
        DELAY * 2
    );
    // The library sends the share of X25519 that it has drawn for the hybrid as a share of its own too.
    assert_eq!(established("x25519mlkem768,x25519", "x25519"), once);
}

#[test]
fn ends_without_a_common_group_fail() {
    let groups = [Group::P256, Group::X25519].map(Groups::one);
    for versions in [Versions::Tls13, Versions::Tls12] {
        let ends = ends(Kind::default(), groups, versions);
        let mut pair = bare_pair(ends.client, ends.server);
        pair.open();
        pair.drive_for(Duration::from_secs(1));
        assert!(client_starts(&pair).is_empty(), "{versions:?}");
        assert!(!client_faults(&pair).is_empty(), "{versions:?}");
    }
}

#[test]
fn in_virtual_time_every_kind_has_the_lengths_of_kernel_sockets() {
    let groups = [Groups::one(Group::X25519MlKem768); 2];
    let keys = [KeyKind::P256, KeyKind::P384, KeyKind::Rsa2048, KeyKind::MlDsa44];
    let certified = keys.map(|key| (key, Chain::Intermediate));
    let raw = [KeyKind::P256, KeyKind::MlDsa44].map(|key| (key, Chain::RawPublicKey));
    for (key, chain) in certified.into_iter().chain(raw) {
        let kind = Kind { key, chain };
        let ends = ends(kind, groups, Versions::Tls13);
        let client = ClientConfig::new(ends.client).expect("a client");
        let server = ServerConfig::new(ends.server).expect("a server");
        let client = client.with_seed(Rng::new(1).host(1)).expect("a client");
        let server = server.with_seed(Rng::new(1).host(2)).expect("a server");
        let mut pair = Pair::new(
            Transport::Stream,
            Client::new(client, bare::Client::new(Transport::Stream)),
            Server::new(&server, bare::Server::new(Transport::Stream)),
            FixedDelay(DELAY),
        );
        pair.open();
        settle(&mut pair);
        let sent: u64 = pair.sent.iter().map(|sent| sent.bytes.len() as u64).sum();
        let [up, down] = handshake(kind, groups, Versions::Tls13);
        assert_eq!(sent, up + down + ends.chain_bytes, "{key}");
    }
}
