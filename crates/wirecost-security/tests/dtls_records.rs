//! Decrypts captured records with the key log, by a program and by code that are independent of dimpl, and compares
//! their content with the spans of the layer.

mod dtls_opener;
mod dtls_world;

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use dtls_opener::Opener;
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

/// Bytes inside the records, without those of the security layer.
fn inner_bytes(spans: &[Span]) -> usize {
    let inner = spans.iter().filter(|span| span.layer != Layer::Security);
    inner.map(|span| span.len as usize).sum()
}

fn payload_bytes(spans: &[Span]) -> usize {
    let payload = spans.iter().filter(|span| span.layer == Layer::Payload);
    payload.map(|span| span.len as usize).sum()
}

/// The datagrams as a capture that includes its keys.
fn capture(sent: &[Sent], key_log: &str) -> Vec<u8> {
    let capture = pcapng::Capture {
        tls_key_log: Some(key_log.as_bytes()),
        interface: Some("link"),
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
            .packet(pcapng::Way::Unknown, sent.at.as_nanos(), &packet, None)
            .expect("a packet");
    }
    writer.finish().expect("a capture")
}

/// The values of `fields` by tshark, one row per packet.
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

/// The numbers of a field that may occur several times in a packet. Hexadecimal ones start with 0x.
fn numbers(field: &str) -> Vec<usize> {
    let fields = field.split(',').filter(|number| !number.is_empty());
    fields.map(|number| number.parse().expect("a number")).collect()
}

#[test]
#[ignore = "needs tshark"]
fn tshark_agrees_with_the_spans_of_dtls_1_2() {
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
            // Every application data record has its own datagram. Its length includes nonce and tag.
            if numbers(types) == [23] {
                assert_eq!(
                    inner_bytes(&sent.spans) + overhead,
                    numbers(lengths)[0],
                    "{row:?}"
                );
                assert!(!code.is_empty(), "decrypted, it is CoAP: {row:?}");
                requests += usize::from(code != "68");
                // tshark reports the length of a whole body with its last block.
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

#[test]
fn an_independent_opener_agrees_with_the_spans_of_dtls_1_3() {
    let world = World::new();
    let sent = exchange(&world, Version::Dtls13);
    let opener = Opener::new(&world.key_log.text());
    let (mut messages, mut acknowledgements, mut data) = (Vec::new(), 0, 0);
    for sent in &sent {
        let opened = opener.open_all(sent.direction, &sent.bytes);
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
