//! Wireshark with the key log finds the same bytes of records, MQTT and payload as the layers.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{self as mqtt, PublishTemplate};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::bare::Transport;
use wirecost_proto::pair::{FIRST_FLOW, Pair, Sent};
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Direction, FlowId, Layer, ResetReason};
use wirecost_security::certificate::{Authority, Identity, VALID_FROM};
use wirecost_security::tls::{
    Client, ClientConfig, ClientOptions, Server, ServerConfig, ServerOptions, Trust, Versions,
};
use wirecost_security::{Epoch, KeyLog, Start};
use wirecost_wire::pcapng::{Capture, Way, Writer};
use wirecost_wire::{ip, tcp};

const CLIENT_PORT: u16 = 49_152;
const SERVER_PORT: u16 = 8_883;
/// Bytes of a segment.
const SEGMENT: usize = 1_400;
const PAYLOAD: usize = 128;

type MqttPair = Pair<Client<mqtt::Client>, Server<Broker>, FixedDelay>;

#[test]
#[ignore = "needs tshark"]
fn tshark_sees_the_same_bytes() {
    let cases = [
        (Versions::Tls13, Start::Cold),
        (Versions::Tls13, Start::Resumed),
        (Versions::Tls13, Start::ZeroRtt),
        (Versions::Tls12, Start::Cold),
        (Versions::Tls12, Start::Resumed),
    ];
    for (versions, start) in cases {
        let keys = KeyLog::new();
        let mut pair = pair(versions, start, &keys);
        // Capture both connections: tshark needs the secrets of the ticket's connection to decrypt the resumed one.
        pair.open();
        publish(&mut pair);
        pair.reset(FIRST_FLOW, ResetReason::ByPeer);
        pair.open_flow(FlowId(1));
        publish(&mut pair);

        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("tls.pcapng");
        std::fs::write(&file, capture(&pair.sent, &keys.text())).expect("a file");
        let seen = Seen::from_file(&file);
        let of = |layers: &[Layer]| -> usize {
            let spans = pair.sent.iter().flat_map(|sent| &sent.spans);
            let these = spans.filter(|span| layers.contains(&span.layer));
            these.map(|span| span.len as usize).sum()
        };
        let context = format!("{versions:?} {start}");
        let all = [Layer::Security, Layer::Application, Layer::Payload];
        assert_eq!(seen.records, of(&all), "{context}");
        assert_eq!(seen.mqtt, of(&all[1..]), "{context}");
        assert_eq!(seen.payload, of(&all[2..]), "{context}");
        assert_eq!(seen.payload, 2 * PAYLOAD, "{context}");
    }
}

#[allow(clippy::disallowed_methods, reason = "any instant does")]
fn pair(versions: Versions, start: Start, keys: &KeyLog) -> MqttPair {
    let authority = Authority::generate().expect("an authority");
    let epoch = Epoch {
        monotonic: std::time::Instant::now(),
        unix: VALID_FROM,
    };
    let trust = Trust::Authorities(vec![authority.certificate().to_vec()]);
    let client = ClientOptions {
        versions,
        start,
        key_log: keys.clone(),
        ..ClientOptions::new(epoch, trust, "server")
    };
    let server = ServerOptions {
        accept_early_data: true,
        ..ServerOptions::new(epoch, Identity::generate(&authority).expect("a server"))
    };
    let client = ClientConfig::new(client).expect("a client");
    let server = ServerConfig::new(server).expect("a server");
    Pair::new(
        Transport::Stream,
        Client::new(client, mqtt::Client::new(mqtt::Config::default())),
        Server::new(&server, Broker::new(broker::Config::default())),
        FixedDelay(Duration::from_millis(5)),
    )
}

fn publish(pair: &mut MqttPair) {
    pair.drive_for(Duration::from_secs(1));
    let template = PublishTemplate::new("test", QoS::AtLeastOnce, [7u8; PAYLOAD]).expect("a message");
    pair.command(mqtt::Command::Publish(Arc::new(template)));
    pair.drive_for(Duration::from_secs(1));
}

/// A capture with the secrets, then the transmissions as TCP segments, one connection per flow.
fn capture(sent: &[Sent], keys: &str) -> Vec<u8> {
    let capture = Capture {
        interface: Some("link"),
        tls_key_log: Some(keys.as_bytes()),
        ..Capture::default()
    };
    let mut writer = Writer::new(Vec::new(), &capture).expect("a capture");
    let mut next: BTreeMap<(FlowId, Direction), u32> = BTreeMap::new();
    for sent in sent {
        for chunk in sent.bytes.chunks(SEGMENT) {
            let back = (sent.flow, sent.direction.reverse());
            let acknowledgment_number = next.get(&back).copied().unwrap_or(1);
            let number = next.entry((sent.flow, sent.direction)).or_insert(1);
            let packet = packet(sent, *number, acknowledgment_number, chunk);
            *number += chunk.len() as u32;
            writer
                .packet(Way::Unknown, sent.at.as_nanos(), &packet, None)
                .expect("a packet");
        }
    }
    writer.finish().expect("a capture")
}

fn packet(sent: &Sent, sequence_number: u32, acknowledgment_number: u32, payload: &[u8]) -> Vec<u8> {
    let client = (
        "10.77.0.2".parse().expect("an address"),
        CLIENT_PORT + sent.flow.0 as u16,
    );
    let server = ("10.78.0.1".parse().expect("an address"), SERVER_PORT);
    let ((source, source_port), (destination, destination_port)) = match sent.direction {
        Direction::Up => (client, server),
        Direction::Down => (server, client),
    };
    let segment = tcp::Repr {
        source_port,
        destination_port,
        sequence_number,
        acknowledgment_number,
        flags: tcp::Flags::ACK | tcp::Flags::PSH,
        window: 65_535,
        ..tcp::Repr::default()
    };
    let addresses = ip::Addresses::new(source, destination).expect("one version");
    let mut packet = Vec::new();
    ip::Repr::new(addresses, ip::Protocol::Tcp)
        .emit_tcp(&segment, payload, &mut packet)
        .expect("a packet");
    packet
}

/// Bytes as tshark counts them.
struct Seen {
    records: usize,
    mqtt: usize,
    payload: usize,
}

impl Seen {
    fn from_file(file: &Path) -> Self {
        let file = file.to_str().expect("a readable path");
        let fields = ["tls.record.length", "mqtt.len", "mqtt.msg"];
        let mut arguments = vec!["-r", file, "-T", "fields", "-E", "separator=|"];
        arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
        let output = Command::new("tshark").args(&arguments).output();
        let output = output.expect("tshark is installed: scripts/test does that");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        let mut seen = Self {
            records: 0,
            mqtt: 0,
            payload: 0,
        };
        for line in text.lines() {
            let columns: Vec<&str> = line.split('|').collect();
            let [records, mqtt, payload] = columns[..] else {
                panic!("three fields: {line}");
            };
            seen.records += numbers(records).map(|len| 5 + len).sum::<usize>();
            // Fixed header: MQTT 3.1.1 section 2.2.3, one byte of length for every seven bits.
            let headed = |len: usize| if len < 128 { 2 + len } else { 3 + len };
            seen.mqtt += numbers(mqtt).map(headed).sum::<usize>();
            let payloads = payload.split(',').filter(|hex| !hex.is_empty());
            seen.payload += payloads.map(|hex| hex.replace(':', "").len() / 2).sum::<usize>();
        }
        seen
    }
}

fn numbers(field: &str) -> impl Iterator<Item = usize> {
    field
        .split(',')
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().expect("a number"))
}
