//! The flight of a server beside that of Go and of OpenSSL: every cell of witness/handshakes/sizes.csv.

use std::collections::BTreeMap;

use super::choices::ends_of;
use super::*;
use crate::certificate::{Chain, KeyKind, Kind};
use crate::provider::Groups;

const FACTS: &str = include_str!("../../../../../witness/handshakes/sizes.csv");

/// How far the messages may be from those of another library, beyond certificates: a signature's DER form varies by 3 B.
const TOLERANCE: u64 = 3;

/// Bytes of EncryptedExtensions: its header, and an answer to the name of the server (RFC 6066 section 3). OpenSSL leaves that out.
const ENCRYPTED_EXTENSIONS: u64 = 10;

/// Bytes of ServerHello in TLS 1.2: 44, a session id of 32 (RFC 5246 section 7.4.1.3), and answers to the name of the server, on
/// renegotiation and to the extended master secret. Go (67 B) and OpenSSL (65 B) have a ticket in place of the id.
const SERVER_HELLO_12: u64 = 44 + 32 + 4 + 5 + 4;

/// Bytes of ServerHelloDone (RFC 5246 section 7.4.5).
const SERVER_HELLO_DONE: u64 = 4;

/// One line of the facts.
struct Fact {
    line: &'static str,
    kind: Kind,
    versions: Versions,
    is_quic: bool,
    group: Groups,
    /// ServerHello, Certificate, CertificateVerify and Finished, or Certificate and ServerKeyExchange, without certificates.
    bytes: u64,
}

fn facts() -> Vec<Fact> {
    let lines = FACTS.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(fact).collect()
}

fn fact(line: &'static str) -> Fact {
    let [
        _,
        key,
        between,
        version,
        group,
        hello,
        certificate,
        proof,
        finished,
    ] = line.split(',').collect::<Vec<_>>()[..]
    else {
        panic!("{line}");
    };
    let number = |text: &str| text.parse::<u64>().expect(line);
    let certificates = number(between) + 1;
    let chain = Chain::OWN[number(between) as usize];
    let (versions, framing, others) = match version {
        "1.3" | "quic" => (
            Versions::Tls13,
            8 + 5 * certificates,
            number(hello) + number(finished),
        ),
        // Finished is encrypted there, and has one length (RFC 5246 section 7.4.9).
        _ => (Versions::Tls12, 7 + 3 * certificates, 0),
    };
    assert!(number(certificate) > framing, "{line}");
    Fact {
        line,
        kind: Kind {
            key: key.parse::<KeyKind>().expect(line),
            chain,
        },
        versions,
        is_quic: version == "quic",
        group: group.parse().expect(line),
        bytes: framing + number(proof) + others,
    }
}

/// Bytes of the messages of the server's first flight, without records and certificates.
fn flight(fact: &Fact, (authority, identity): &(Authority, Identity)) -> u64 {
    let certificates = (authority, identity.clone());
    let ends = ends_of(fact.kind.key, certificates, [fact.group; 2], fact.versions);
    let mut pair = bare_pair(ends.client, ends.server);
    pair.open();
    settle(&mut pair);
    let down = || pair.sent.iter().filter(|sent| sent.direction == Direction::Down);
    let first = down().map(|sent| sent.at).min().expect("a flight");
    let flight: Vec<u8> = down()
        .filter(|sent| sent.at == first)
        .flat_map(|sent| sent.bytes.clone())
        .collect();
    messages(&flight) - ends.certificates
}

/// The same in QUIC, whose messages have no records: ServerHello, Certificate, CertificateVerify and Finished.
fn quic_flight(fact: &Fact, (authority, identity): &(Authority, Identity)) -> u64 {
    const MEASURED: [u8; 4] = [2, 11, 15, 20];
    let certificates = (authority, identity.clone());
    let ends = ends_of(fact.kind.key, certificates, [fact.group; 2], fact.versions);
    let client =
        QuicClient::new(&ClientConfig::new(ends.client).expect("a client"), b"h3").expect("a client");
    let server =
        QuicServer::new(&ServerConfig::new(ends.server).expect("a server"), b"h3").expect("a server");
    let name = "server".try_into().expect("a name");
    let version = rustls::quic::Version::V1;
    let mut client =
        rustls::quic::ClientConnection::new(client.library, version, name, Vec::new()).expect("a connection");
    let mut server =
        rustls::quic::ServerConnection::new(server.library, version, Vec::new()).expect("a connection");
    let mut hello = Vec::new();
    client.write_hs(&mut hello);
    server.read_hs(&hello).expect("a ClientHello");
    let mut flight = Vec::new();
    // It ends at each change of keys.
    while server.write_hs(&mut flight).is_some() {}
    let mut rest = &flight[..];
    let mut sum = 0;
    while let Some((&[kind, high, middle, low], _)) = rest.split_first_chunk() {
        let len = 4 + u32::from_be_bytes([0, high, middle, low]) as usize;
        sum += if MEASURED.contains(&kind) { len as u64 } else { 0 };
        rest = &rest[len..];
    }
    sum - ends.certificates
}

/// Bytes of the handshake messages in records, of which the encrypted ones have one byte of type and 16 of tag (RFC 8446 section 5.2).
fn messages(mut records: &[u8]) -> u64 {
    let mut sum = 0;
    while let Some((&[kind, _, _, high, low], rest)) = records.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes([high, low]));
        sum += match kind {
            22 => len as u64,
            23 => len as u64 - 17,
            _ => 0,
        };
        records = &rest[len..];
    }
    sum
}

#[test]
fn a_servers_flight_is_as_long_as_that_of_go_and_openssl() {
    let mut ours: BTreeMap<String, u64> = BTreeMap::new();
    let mut authorities: BTreeMap<String, (Authority, Identity)> = BTreeMap::new();
    let facts = facts();
    assert_eq!(facts.len(), 293);
    for fact in &facts {
        let cell = fact.line.split_once(',').expect(fact.line).1;
        let cell: Vec<&str> = cell.split(',').take(4).collect();
        let certificates = authorities.entry(cell[..2].join(",")).or_insert_with(|| {
            let authority = Authority::of_kind(fact.kind, Entropy::system()).expect("an authority");
            let identity = Identity::generate(&authority).expect("a server");
            (authority, identity)
        });
        let own = *ours.entry(cell.join(",")).or_insert_with(|| match fact.is_quic {
            true => quic_flight(fact, certificates),
            false => flight(fact, certificates),
        });
        let own = match fact.versions {
            _ if fact.is_quic => own,
            Versions::Tls12 => own - SERVER_HELLO_12 - SERVER_HELLO_DONE,
            Versions::Tls13 | Versions::Both => own - ENCRYPTED_EXTENSIONS,
        };
        let difference = own.abs_diff(fact.bytes);
        assert!(difference <= TOLERANCE, "{}: ours {own} B", fact.line);
    }
}
