//! MQTT-SN of other makers: a Python client against `wirecost serve mqttsn`, and tshark against the bytes of a comparison.
//! `witness/mqttsn-paho` lets our client talk to the gateway of Eclipse Paho.

#[path = "../common/mod.rs"]
mod common;
#[path = "../peers/mod.rs"]
mod peers;

use common::Run;
use common::tshark::{WAY, fields};
use peers::{Server, python_with};
use wirecost_results::summary::{Bytes, Section};

/// Publishes at a quality to a topic, and returns what the server said of it.
fn served(quality: &str, to: [&str; 2]) -> String {
    let server = Server::builtin("mqttsn");
    python_with("interop_sn/publish.py", &server, &[quality, to[0], to[1]]);
    server.wait(|server| server.log().contains("Published"));
    let log = server.log();
    let line = log.lines().find(|line| line.contains("Published"));
    line.expect("a message").to_owned()
}

#[test]
#[ignore = "needs the Python packages"]
fn a_foreign_client_publishes_at_every_quality() {
    for (quality, to, name) in [
        ("-1", ["-T", "7"], "Connectionless"),
        ("-1", ["-t", "ab"], "Connectionless"),
        ("0", ["-t", "test"], "AtMostOnce"),
        ("1", ["-t", "test"], "AtLeastOnce"),
        ("2", ["-t", "a/topic"], "ExactlyOnce"),
    ] {
        let line = served(quality, to);
        let expected = format!("payload_bytes: 5, front: 5 B, quality: {name}, dup: false");
        assert!(line.contains(&expected), "{quality} {to:?}: {line}");
    }
}

/// Bytes of MQTT-SN in a section, headers and payload.
fn counted(section: Option<&Section>) -> [u64; 2] {
    let of = |bytes: &Bytes| bytes.application.sum + bytes.payload.sum;
    section.map_or([0; 2], |section| [of(&section.up), of(&section.down)])
}

#[test]
#[ignore = "needs root and tshark"]
fn tshark_sees_every_byte_of_mqtt_sn_that_is_counted() {
    for stack in ["mqttsn-qos-1", "mqttsn-qos0", "mqttsn-qos1", "mqttsn-qos2"] {
        let run = Run::undisturbed(|| {
            Run::compare(&format!("{stack} -s 0B,128B,248B,249B,1000B -n 3 --settle 150ms"))
        });
        let names = [WAY, "frame.comment", "udp.length", "mqttsn.msg.len"];
        let rows = fields(&run.file("capture/all.pcapng"), "udp.port == 1883", &names);
        let mut seen = [[0; 2]; 3];
        for row in &rows {
            let len: u64 = row[3].parse().unwrap_or_else(|_| panic!("no MQTT-SN: {row:?}"));
            assert_eq!(row[2].parse(), Ok(len + 8), "{row:?}");
            let phase = row[1].split(" | ").nth(1).unwrap_or_default();
            let way = usize::from(row[0] == "1");
            let phases = ["connect", "message", "close"];
            if let Some(at) = phases.iter().position(|name| *name == phase) {
                seen[at][way] += len;
            }
        }
        let sum = |section: fn(&wirecost_results::summary::Cell) -> Option<&Section>| {
            let cells = run.summary.cells.iter().map(|cell| counted(section(cell)));
            cells.fold([0; 2], |sum, cell| [sum[0] + cell[0], sum[1] + cell[1]])
        };
        let ours = [
            sum(|cell| cell.connect.as_ref()),
            sum(|cell| cell.message.as_ref()),
            sum(|cell| cell.close.as_ref()),
        ];
        assert_eq!(ours, seen, "{stack}: connect, message and close, up and down");
    }
}
