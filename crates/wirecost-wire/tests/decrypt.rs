//! Lets tshark decrypt a capture by the key log that is in it, and by nothing else.

use std::fs::File;
use std::path::{Path, PathBuf};

use wirecost_wire::ip::{self, Addresses, Protocol};
use wirecost_wire::pcapng::{Capture, Way, Writer};
use wirecost_wire::tcp::{self, Flags};

use common::fields;

mod common;

/// Flights and key log of a TLS 1.3 connection that was made for this test.
const EXCHANGE: &str = include_str!("data/tls13_http.txt");

#[test]
#[ignore = "needs tshark"]
fn tshark_decrypts_with_the_embedded_key_log() {
    let with_keys = write_capture("with-keys.pcapng", Some(key_log().as_bytes()));
    assert_eq!(http(&with_keys), ["/test|", "|204"]);
    let without_keys = write_capture("without-keys.pcapng", None);
    assert_eq!(http(&without_keys), Vec::<String>::new());
}

/// Path and status of the HTTP messages that tshark finds.
fn http(file: &Path) -> Vec<String> {
    let rows = fields(file, &["http.request.uri", "http.response.code"]);
    rows.into_iter().filter(|row| row != "|").collect()
}

fn key_log() -> String {
    let keys = EXCHANGE.lines().filter_map(|line| line.strip_prefix("key "));
    keys.map(|key| format!("{key}\n")).collect()
}

fn write_capture(name: &str, tls_key_log: Option<&[u8]>) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let capture = Capture {
        tls_key_log,
        interface: Some("link"),
        ..Capture::default()
    };
    let mut connection = Connection {
        writer: Writer::new(File::create(&file).unwrap(), &capture).unwrap(),
        timestamp_ns: 0,
        next: [0, 0],
    };
    connection.segment(0, Flags::SYN, &[]);
    connection.segment(1, Flags::SYN | Flags::ACK, &[]);
    connection.segment(0, Flags::ACK, &[]);
    for line in EXCHANGE.lines() {
        match line.split_once(' ') {
            Some(("up", flight)) => connection.segment(0, Flags::ACK | Flags::PSH, &hex(flight)),
            Some(("down", flight)) => connection.segment(1, Flags::ACK | Flags::PSH, &hex(flight)),
            _ => {}
        }
    }
    connection.writer.finish().unwrap();
    file
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().map(|digit| digit.to_digit(16).unwrap()).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

/// A TCP connection to port 443, seen from outside.
struct Connection {
    writer: Writer<File>,
    timestamp_ns: u64,
    /// The next sequence number of each side: device, server.
    next: [u32; 2],
}

impl Connection {
    /// Writes a segment of side `from`.
    fn segment(&mut self, from: usize, flags: Flags, payload: &[u8]) {
        let hosts = ["10.0.0.1", "10.0.0.2"].map(|host| host.parse().unwrap());
        let ports = [49_152, 443];
        let segment = tcp::Repr {
            source_port: ports[from],
            destination_port: ports[1 - from],
            sequence_number: self.next[from],
            acknowledgment_number: self.next[1 - from],
            flags,
            window: u16::MAX,
            ..tcp::Repr::default()
        };
        let addresses = Addresses::new(hosts[from], hosts[1 - from]).unwrap();
        let mut bytes = Vec::new();
        let ip = ip::Repr::new(addresses, Protocol::Tcp);
        ip.emit_tcp(&segment, payload, &mut bytes).unwrap();
        self.writer
            .packet(
                [Way::Outbound, Way::Inbound][from],
                self.timestamp_ns,
                &bytes,
                None,
            )
            .unwrap();
        self.timestamp_ns += 1_000_000;
        self.next[from] += tcp::Segment::new(&bytes[20..]).unwrap().sequence_length();
    }
}
