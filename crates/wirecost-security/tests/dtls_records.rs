//! Opens captured records by the key log, with a program and with code that dimpl has no part in, and holds what is in
//! them against what the layer says of its bytes.

mod dtls_world;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_128, EncryptingKey, UnboundCipherKey};
use aws_lc_rs::hmac;
use dtls_world::World;
use wirecost_coap::client::{self, Request, RequestTemplate};
use wirecost_coap::server;
use wirecost_proto::bare::Transport;
use wirecost_proto::pair::{Pair, Sent};
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Cause, Direction, Layer, Rng, Span};
use wirecost_security::dtls::{Client, Server, Version};
use wirecost_wire::{ip, pcapng, udp};

/// Bytes of a body that takes four blocks.
const BODY: usize = 4_000;

/// A handshake and two requests, one of them in four blocks.
fn exchange(world: &World, version: Version) -> Vec<Sent> {
    let coap = client::Client::new(client::Config::new(Rng::new(1)));
    let service = server::Server::new(server::Config::new(Rng::new(2)));
    let mut pair = Pair::new(
        Transport::Datagram,
        Client::new(world.client_config(version), coap),
        Server::new(world.server_config(), service),
        FixedDelay(Duration::from_millis(10)),
    );
    pair.open();
    for (message, payload) in [(1, 128), (2, BODY)] {
        let template = RequestTemplate::new(Request::put("/test", vec![7; payload])).expect("a request");
        let template = Arc::new(template);
        pair.command(client::Command::Request { message, template });
        pair.drive_for(Duration::from_secs(5));
    }
    assert_eq!(pair.unconsumed(), 0);
    pair.sent
}

/// Bytes within the records: those that are not the security layer's.
fn inner_bytes(spans: &[Span]) -> usize {
    let inner = spans.iter().filter(|span| span.layer != Layer::Security);
    inner.map(|span| span.len as usize).sum()
}

fn payload_bytes(spans: &[Span]) -> usize {
    let payload = spans.iter().filter(|span| span.layer == Layer::Payload);
    payload.map(|span| span.len as usize).sum()
}

/// The datagrams as a capture that holds its own keys.
fn capture(sent: &[Sent], key_log: &str) -> Vec<u8> {
    let capture = pcapng::Capture {
        tls_key_log: Some(key_log.as_bytes()),
        interfaces: &["link"],
        ..pcapng::Capture::default()
    };
    let mut writer = pcapng::Writer::new(Vec::new(), &capture).expect("a capture");
    let hosts = ["10.77.0.2", "10.77.0.1"].map(|host| host.parse().expect("an address"));
    for sent in sent {
        let up = sent.direction == Direction::Up;
        let (from, to) = if up { (0, 1) } else { (1, 0) };
        let ports = [40_000, 5684];
        let ports = udp::Repr {
            source_port: ports[from],
            destination_port: ports[to],
        };
        let addresses = ip::Addresses::new(hosts[from], hosts[to]).expect("one family");
        let mut packet = Vec::new();
        ip::Repr::new(addresses, ip::Protocol::Udp)
            .emit_udp(&ports, &sent.bytes, &mut packet)
            .expect("a packet");
        writer
            .packet(0, sent.at.as_nanos(), &packet, None)
            .expect("a packet");
    }
    writer.finish().expect("a capture")
}

/// What tshark reads of `fields` in the capture, a row for each packet.
fn tshark(capture: &[u8], fields: &[&str]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("dtls.pcapng");
    std::fs::write(&file, capture).expect("a file");
    let mut command = Command::new("tshark");
    command
        .args(["-T", "fields", "-E", "separator=;", "-r"])
        .arg(file);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.output().expect("tshark (Debian package tshark)");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("text");
    let row = |line: &str| line.split(';').map(str::to_owned).collect();
    text.lines().map(row).collect()
}

/// The numbers of a field that may stand several times in a packet, 0x before hexadecimal ones.
fn numbers(field: &str) -> Vec<usize> {
    let fields = field.split(',').filter(|number| !number.is_empty());
    fields.map(|number| number.parse().expect("a number")).collect()
}

#[test]
fn tshark_decrypts_dtls_1_2_and_reads_the_lengths_that_the_spans_say() {
    for (version, overhead) in [(Version::Dtls12, 8 + 16), (Version::Dtls12Psk, 8 + 8)] {
        let world = World::new();
        let sent = exchange(&world, version);
        let fields = [
            "udp.length",
            "dtls.record.content_type",
            "dtls.record.length",
            "dtls.handshake.type",
            "coap.code",
            "coap.payload_length",
        ];
        let rows = tshark(&capture(&sent, &world.key_log.text()), &fields);
        assert_eq!(rows.len(), sent.len());
        let (mut finished, mut requests, mut payloads) = (0, 0, 0);
        for (row, sent) in rows.iter().zip(&sent) {
            let [udp_length, types, lengths, messages, code, payload] = row.as_slice() else {
                panic!("six fields: {row:?}");
            };
            assert_eq!(numbers(udp_length), [8 + sent.bytes.len()]);
            finished += numbers(messages).iter().filter(|message| **message == 20).count();
            // A record of application data is alone in its datagram; its length includes nonce and tag.
            if numbers(types) == [23] {
                assert_eq!(
                    inner_bytes(&sent.spans) + overhead,
                    numbers(lengths)[0],
                    "{row:?}"
                );
                assert!(!code.is_empty(), "decrypted, it is CoAP: {row:?}");
                requests += usize::from(code != "68");
                // With the last of its blocks tshark gives the length of a whole body.
                for payload_length in numbers(payload).into_iter().filter(|length| *length != BODY) {
                    assert_eq!(payload_bytes(&sent.spans), payload_length, "{row:?}");
                    payloads += 1;
                }
            } else {
                assert_eq!(inner_bytes(&sent.spans), 0);
            }
        }
        assert_eq!(finished, 2, "{version:?}: both Finished can be read");
        assert!(
            requests >= 5 && payloads >= 1,
            "{version:?}: {requests}, {payloads}"
        );
    }
}

/// A record of DTLS 1.3, opened.
#[derive(Debug)]
struct Opened {
    epoch: u8,
    content: u8,
    plaintext: Vec<u8>,
}

/// Opens the records of DTLS 1.3 by the lines of a key log (RFC 9147 section 4).
struct Opener {
    secrets: BTreeMap<String, Vec<u8>>,
}

impl Opener {
    fn new(key_log: &str) -> Self {
        let line = |line: &str| {
            let mut words = line.split(' ');
            let (label, _, secret) = (words.next()?, words.next()?, words.next()?);
            let byte = |at: usize| u8::from_str_radix(secret.get(at..at + 2)?, 16).ok();
            let secret = (0..secret.len()).step_by(2).filter_map(byte).collect();
            Some((label.to_owned(), secret))
        };
        Self {
            secrets: key_log.lines().filter_map(line).collect(),
        }
    }

    fn open_all(&self, sent: &Sent) -> Vec<Opened> {
        let (mut rest, mut opened) = (sent.bytes.as_slice(), Vec::new());
        while let Some(first) = rest.first() {
            let record = if first >> 5 == 1 {
                let (record, bytes) = self.open(sent.direction, rest);
                opened.push(record);
                bytes
            } else {
                13 + usize::from(u16::from_be_bytes([rest[11], rest[12]]))
            };
            rest = &rest[record..];
        }
        opened
    }

    /// Opens the record at the beginning of `bytes`; returns it and its length.
    fn open(&self, direction: Direction, bytes: &[u8]) -> (Opened, usize) {
        let (flags, epoch) = (bytes[0], bytes[0] & 3);
        assert_eq!(
            flags & 0b1_1100,
            0b0_1100,
            "no connection ID, two bytes of number, a length"
        );
        let length = usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
        let secret = &self.secrets[match (direction, epoch) {
            (Direction::Up, 2) => "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            (Direction::Down, 2) => "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            (Direction::Up, _) => "CLIENT_TRAFFIC_SECRET_0",
            (Direction::Down, _) => "SERVER_TRAFFIC_SECRET_0",
        }];
        let mut ciphertext = bytes[5..5 + length].to_vec();
        // Section 4.2.3: the number is masked by the cipher over the beginning of the ciphertext.
        let mut mask: [u8; 16] = ciphertext[..16].try_into().expect("a sample");
        let key = UnboundCipherKey::new(&AES_128, &expand(secret, "sn", 16)).expect("a key");
        let key = EncryptingKey::ecb(key).expect("a key");
        key.encrypt(&mut mask).expect("a mask");
        let mut header: [u8; 5] = bytes[..5].try_into().expect("a header");
        header[1] ^= mask[0];
        header[2] ^= mask[1];
        let mut nonce: [u8; 12] = expand(secret, "iv", 12).try_into().expect("a nonce");
        nonce[10] ^= header[1];
        nonce[11] ^= header[2];
        let key = UnboundKey::new(&AES_128_GCM, &expand(secret, "key", 16)).expect("a key");
        let nonce = Nonce::assume_unique_for_key(nonce);
        let plaintext = LessSafeKey::new(key).open_in_place(nonce, Aad::from(&header), &mut ciphertext);
        let plaintext = plaintext.expect("the record opens");
        let end = plaintext.iter().rposition(|byte| *byte != 0).expect("a type");
        let record = Opened {
            epoch,
            content: plaintext[end],
            plaintext: plaintext[..end].to_vec(),
        };
        (record, 5 + length)
    }
}

/// HKDF-Expand-Label of at most one block (RFC 8446 section 7.1, with the prefix of RFC 9147 section 5.9).
fn expand(secret: &[u8], label: &str, bytes: u8) -> Vec<u8> {
    let mut info = vec![0, bytes, 6 + label.len() as u8];
    info.extend_from_slice(b"dtls13");
    info.extend_from_slice(label.as_bytes());
    info.extend_from_slice(&[0, 1]);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    hmac::sign(&key, &info).as_ref()[..usize::from(bytes)].to_vec()
}

#[test]
fn an_independent_opener_reads_dtls_1_3_and_the_lengths_that_the_spans_say() {
    let world = World::new();
    let sent = exchange(&world, Version::Dtls13);
    let opener = Opener::new(&world.key_log.text());
    let (mut messages, mut acknowledgements, mut data) = (Vec::new(), 0, 0);
    for sent in &sent {
        let opened = opener.open_all(sent);
        let of = |content: u8| opened.iter().filter(move |record| record.content == content);
        messages.extend(of(22).map(|record| (record.epoch, record.plaintext[0])));
        acknowledgements += of(26).count();
        data += of(23).count();
        let plaintext: usize = of(23).map(|record| record.plaintext.len()).sum();
        assert_eq!(plaintext, inner_bytes(&sent.spans), "{sent:?}");
        let is_ack = sent
            .spans
            .iter()
            .any(|span| span.cause == Cause::Acknowledgement && span.layer == Layer::Security);
        if of(26).count() > 0 {
            assert!(is_ack, "{sent:?}");
        }
    }
    // EncryptedExtensions, Certificate, CertificateVerify and Finished of the server, Finished of the client.
    assert_eq!(messages, [(2, 8), (2, 11), (2, 15), (2, 20), (2, 20)]);
    assert!(
        acknowledgements >= 1,
        "the server acknowledges the client's Finished"
    );
    assert!(data >= 10, "{data}");
}
