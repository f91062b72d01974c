//! `wirecost pcap` on captures of `wirecost compare`: whoever reads the packets afterwards must find what the makers of
//! their bytes said.

#[path = "../common/mod.rs"]
mod common;

use std::path::Path;

use common::{Run, said, wirecost};
use serde_json::Value;
use wirecost_lab::results::Section;

/// What `wirecost pcap` says of a capture.
fn pcap(capture: &Path) -> Value {
    let mut command = wirecost(Path::new("."));
    command.arg("pcap").arg(capture).args(["--json", "-"]);
    let said = said(&mut command);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    serde_json::from_str(&said.stdout).expect("JSON")
}

/// Bytes by layer of a section of the summary, up and down.
fn layers(section: &Section) -> [[u64; 7]; 2] {
    let sums = |bytes: &wirecost_lab::results::summary::Bytes| {
        [
            bytes.packets.sum,
            bytes.ip.sum,
            bytes.transport.sum,
            bytes.security.sum,
            bytes.application.sum,
            bytes.payload.sum,
            bytes.wire.sum,
        ]
    };
    [sums(&section.up), sums(&section.down)]
}

/// The same of a section of the table.
fn layers_of(section: &Value) -> [[u64; 7]; 2] {
    let names = [
        "packets",
        "ip",
        "transport",
        "security",
        "application",
        "payload",
        "wire",
    ];
    ["up", "down"].map(|way| names.map(|name| section[way][name].as_u64().expect("a number")))
}

/// Packets by phase and direction as the comments in the capture have them.
fn packets_by_comment(capture: &Path, phase: &str) -> [u64; 2] {
    let rows = common::tshark::fields(capture, "ip or ipv6", &["frame.interface_id", "frame.comment"]);
    let count = |way: &str| {
        let of_phase = |row: &&Vec<String>| row[0] == way && row[1].split(" | ").nth(1) == Some(phase);
        rows.iter().filter(of_phase).count() as u64
    };
    [count("0"), count("1")]
}

/// Checks that the table of the capture is that of the comparison, which leaves out the warm-up message.
fn assert_same_table(stack: &str, protocol: &str) {
    let run = Run::compare(&format!("--size 128B,3kB -n 2 --settle 150ms --rtt 20ms {stack}"));
    let capture = run.file("capture/all.pcapng");
    let table = pcap(&capture);
    assert_eq!(table["groups"][0]["protocol"], protocol, "{stack}");
    for (name, phase) in [
        ("connect", "connect"),
        ("close", "close"),
        ("keep_alive", "keep_alive"),
    ] {
        let mut expected = [[0; 7]; 2];
        for cell in &run.summary.cells {
            let section = match name {
                "connect" => &cell.connect,
                "close" => &cell.close,
                _ => &cell.keep_alive,
            };
            let sums = section.as_ref().map(layers).unwrap_or_default();
            let pairs = expected.iter_mut().flatten().zip(sums.iter().flatten());
            pairs.for_each(|(sum, more)| *sum += more);
        }
        assert_eq!(layers_of(&table["total"][name]), expected, "{stack} {phase}");
    }
    assert_same_packets(&table, &capture, stack);
    assert_payload(&table["total"]["message"], stack);
}

/// Checks that the payload is what two devices of each size send, a warm-up and a message, once; and what a machine that
/// was held up sent again is in the table as that.
fn assert_payload(messages: &Value, stack: &str) {
    const ONCE: u64 = 2 * 2 * (128 + 3_000);
    let sum = |name: &str| -> u64 {
        let ways = ["up", "down"].map(|way| messages[way][name].as_u64().expect("a number"));
        ways.into_iter().sum()
    };
    let (payload, again) = (sum("payload"), sum("retransmission"));
    assert!(
        (ONCE..=ONCE + again).contains(&payload),
        "{stack}: {payload} B, of which {again} B again with their headers"
    );
}

/// Checks that each phase has as many packets as the comments say, and that nothing was left out.
fn assert_same_packets(table: &Value, capture: &Path, what: &str) {
    for phase in ["connect", "message", "close"] {
        let packets = layers_of(&table["total"][phase]).map(|way| way[0]);
        assert_eq!(packets, packets_by_comment(capture, phase), "{what} {phase}");
    }
    let left_out: Vec<&Value> = table["unattributed"].as_array().expect("a list").iter().collect();
    // The echoes of the link check belong to no flow.
    assert!(
        left_out.iter().all(|entry| entry["what"] == "ICMP"),
        "{what}: {left_out:?}"
    );
}

#[test]
fn plain_stacks() {
    let stacks = [
        ("tcp", "bare"),
        ("udp", "bare"),
        ("mqtt-qos2", "MQTT 3.1.1"),
        ("mqtt5-qos1", "MQTT 5"),
        ("coap-con", "CoAP"),
        ("coap-non", "CoAP"),
        ("http1", "HTTP/1.1"),
        ("amqp-unsettled", "AMQP 1.0"),
    ];
    stacks
        .iter()
        .for_each(|(stack, protocol)| assert_same_table(stack, protocol));
}

#[test]
fn secure_stacks() {
    let stacks = [
        ("tcp+tls1.3", "bare over TLS 1.3"),
        ("mqtt-qos1+tls1.2", "MQTT 3.1.1 over TLS 1.2"),
        ("http1+tls1.3", "HTTP/1.1 over TLS 1.3"),
        ("udp+dtls1.2", "bare over DTLS 1.2"),
        ("coap-con+dtls1.2-psk", "CoAP over DTLS 1.2"),
    ];
    stacks
        .iter()
        .for_each(|(stack, protocol)| assert_same_table(stack, protocol));
}

#[test]
fn resumed_early_and_lossy_connections() {
    // The connection that fetches a ticket is in the capture and not in the summary; so is what loss did to warm-ups.
    let cases = [
        "--start resumed mqtt-qos1+tls1.3",
        "--start 0rtt mqtt-qos1+tls1.3,http1+tls1.3",
        "--loss 5% mqtt-qos1+tls1.2,coap-con+dtls1.2,mqtt-qos2,coap-con",
        "--ipv6 tcp+tls1.3,coap-con,mqtt5-qos1",
    ];
    for arguments in cases {
        let run = Run::compare(&format!(
            "--size 128B,3kB -n 4 --settle 150ms --rtt 20ms {arguments}"
        ));
        let capture = run.file("capture/all.pcapng");
        assert_same_packets(&pcap(&capture), &capture, arguments);
    }
}

#[test]
fn a_file_that_is_no_capture_is_refused_in_a_sentence() {
    let folder = common::open_folder();
    let cases: [(&[u8], &str); 3] = [
        (b"", "the file is empty"),
        (
            b"GET / HTTP/1.1",
            "not a capture: a pcap or pcapng file starts with a magic number, this one with 0x47455420",
        ),
        (
            &[0x1f, 0x8b, 8, 0],
            "the file is compressed with gzip, not a capture as it stands",
        ),
    ];
    for (bytes, text) in cases {
        std::fs::write(folder.path().join("file"), bytes).expect("a file");
        let said = said(wirecost(folder.path()).args(["pcap", "file"]));
        assert_eq!((said.code, said.line("error: file: ")), (Some(2), Some(text)));
    }
    let said = said(wirecost(folder.path()).args(["pcap", "nowhere"]));
    assert_eq!(said.code, Some(2));
}
