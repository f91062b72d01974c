//! tshark decrypts the datagrams of our endpoints, and its lengths agree with our spans.

use std::fs;
use std::path::Path;
use std::process::Command;

use wirecost_coap::client::Request;
use wirecost_coap::message::Repr;
use wirecost_coap::oscore::Role;
use wirecost_proto::pair::Sent;
use wirecost_proto::{Direction, Layer};

use super::common::{CoapPair, Lossy, client_config, exchange, pair_with, pattern, request, server_config};
use super::{DEVICE, SECRET, context};

/// Addresses and ports of the two ends in the capture.
const CLIENT: ([u8; 4], u16) = ([10, 77, 0, 2], 40_000);
const SERVER: ([u8; 4], u16) = ([10, 77, 0, 1], 5_683);

/// A capture of raw IP packets, one per datagram (libpcap's format, link type 101).
fn pcap(sent: &[Sent]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    for (number, datagram) in sent.iter().enumerate() {
        let packet = packet(datagram);
        for word in [number as u32, 0, packet.len() as u32, packet.len() as u32] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        file.extend_from_slice(&packet);
    }
    file
}

/// An IPv4 packet with a UDP datagram, checksums left out.
fn packet(sent: &Sent) -> Vec<u8> {
    let (from, to) = match sent.direction {
        Direction::Up => (CLIENT, SERVER),
        Direction::Down => (SERVER, CLIENT),
    };
    let udp = (8 + sent.bytes.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&(20 + udp).to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet.extend_from_slice(&from.0);
    packet.extend_from_slice(&to.0);
    for half in [from.1, to.1, udp, 0] {
        packet.extend_from_slice(&half.to_be_bytes());
    }
    packet.extend_from_slice(&sent.bytes);
    packet
}

/// The fields that tshark finds in each packet, decrypted.
fn fields(capture: &Path, names: &[&str]) -> Vec<Vec<String>> {
    let secret: String = SECRET.iter().map(|byte| format!("{byte:02x}")).collect();
    // Sender id, recipient id, master secret, master salt, ID context, algorithm.
    let context = format!(
        "uat:oscore_contexts:\"{DEVICE:04x}\",\"01\",\"{secret}\",\"\",\"\",\"AES-CCM-16-64-128 (CCM*)\""
    );
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(capture)
        .args(["-o", &context, "-T", "fields", "-E", "separator=|"]);
    names.iter().for_each(|name| {
        command.args(["-e", name]);
    });
    let output = command
        .output()
        .expect("this test needs tshark (scripts/test installs it)");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("text");
    let row = |line: &str| line.split('|').map(String::from).collect();
    text.lines().map(row).collect()
}

/// PUTs of both types and a GET, whole and block by block.
fn exchanges() -> CoapPair {
    let client = client_config().with_oscore(context(Role::Client));
    let server = server_config().with_oscore([context(Role::Server)], true);
    let mut pair = pair_with(Lossy::default(), client, server);
    for size in [1, 128, 2_500] {
        exchange(&mut pair, Request::put("/test", pattern(size)));
        exchange(&mut pair, Request::get("/test"));
    }
    pair.command(request(Request::put_without_response("/test", pattern(77))));
    pair.drive_for(std::time::Duration::from_secs(5));
    pair
}

#[test]
#[ignore = "needs tshark"]
fn tshark_decrypts_every_datagram_and_agrees_on_every_length() {
    let pair = exchanges();
    let folder = std::env::temp_dir().join(format!("wirecost-oscore-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let capture = folder.join("oscore.pcap");
    fs::write(&capture, pcap(&pair.sent)).expect("a capture");
    let rows = fields(&capture, &PartLengths::FIELDS);
    fs::remove_dir_all(&folder).expect("the folder goes");
    let from_tshark: Vec<_> = rows.iter().map(|row| PartLengths::of_row(row)).collect();
    let from_spans: Vec<_> = pair.sent.iter().map(PartLengths::of_spans).collect();
    assert_eq!(from_tshark, from_spans);
}

/// The lengths of the parts of a datagram, in bytes.
#[derive(Debug, PartialEq, Eq)]
struct PartLengths {
    len: usize,
    /// Option and tag.
    security: usize,
    /// Decrypted.
    payload: usize,
    /// Inner code and options and the tag.
    ciphertext_without_payload: usize,
}

impl PartLengths {
    const FIELDS: [&str; 5] = [
        "udp.length",
        "coap.opt.length",
        "coap.payload_length",
        "oscore.payload_length",
        "oscore.code",
    ];

    fn of_row(row: &[String]) -> Self {
        let number = |text: &str| text.parse().unwrap_or(0);
        assert_ne!(row[4], "", "decrypted: {row:?}");
        // The options of the datagram. The first one is OSCORE; its header has one byte.
        let option: usize = number(row[1].split(',').next().unwrap_or_default());
        let payload = number(&row[3]);
        Self {
            len: number(&row[0]) - 8,
            security: 1 + option + 8,
            payload,
            ciphertext_without_payload: number(&row[2]) - payload,
        }
    }

    fn of_spans(sent: &Sent) -> Self {
        let of = |layer| {
            let spans = sent.spans.iter().filter(|span| span.layer == layer);
            spans.map(|span| span.len as usize).sum()
        };
        let outer = Repr::parse(&sent.bytes).expect("a message");
        let payload = of(Layer::Payload);
        Self {
            len: sent.bytes.len(),
            security: of(Layer::Security),
            payload,
            ciphertext_without_payload: outer.payload.len() - payload,
        }
    }
}
