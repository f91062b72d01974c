//! MQTT-SN of other makers: a Python client against `wirecost serve mqttsn`, the gateway of Eclipse Paho with Mosquitto behind
//! it against our client, and tshark against the bytes of a comparison.

#[path = "../common/mod.rs"]
mod common;
#[path = "../peers/mod.rs"]
mod peers;

use std::fs;
use std::process::Command;

use common::Run;
use common::tshark::fields;
use peers::{Server, client, free_port, python_with};
use tempfile::TempDir;
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

/// The gateway of Eclipse Paho in front of `broker`.
fn paho_gateway(broker: &Server) -> Server {
    let (port, folder) = (free_port(), TempDir::new().expect("a temporary folder"));
    let file = folder.path().join("gateway.conf");
    let text = format!(
        "GatewayID=1\nGatewayName=Gateway\nKeepAlive=60\nBrokerName=127.0.0.1\nBrokerPortNo={}\nBrokerSecurePortNo={}\n\
         AggregatingGateway=NO\nQoS-1=NO\nForwarder=NO\nPredefinedTopic=NO\nClientAuthentication=NO\nGatewayPortNo={port}\n\
         MulticastPortNo={}\nMulticastIP=225.1.1.1\nMulticastTTL=0\nShearedMemory=NO\n",
        broker.port,
        free_port(),
        free_port(),
    );
    fs::write(&file, text).expect("a configuration");
    common::need_program(
        "MQTT-SNGateway",
        "the MQTT-SN gateway of Eclipse Paho (scripts/test)",
    );
    let mut command = Command::new("MQTT-SNGateway");
    command.arg("-f").arg(file);
    Server::start_in(folder, command, port)
}

#[test]
#[ignore = "needs mosquitto, mosquitto-clients and MQTT-SNGateway"]
fn a_foreign_gateway_acknowledges_what_wirecost_sends() {
    let broker = Server::mosquitto();
    let gateway = paho_gateway(&broker);
    for quality in ["0", "1", "2"] {
        let url = format!("mqttsn://127.0.0.1:{}/a/topic{quality}", gateway.port);
        // The gateway may not listen yet.
        gateway.wait(|_| {
            let probe = Command::new(common::WIRECOST)
                .args(["probe", &url, "--qos", quality, "--timeout", "2s"])
                .output();
            probe.expect("wirecost starts").status.success()
        });
    }
    let topics = format!("-p {} -t a/+ -v -C 4 -W 20", broker.port);
    let topics: Vec<String> = topics.split(' ').map(str::to_owned).collect();
    let listening = std::thread::spawn(move || client("mosquitto_sub", "mosquitto-clients", &topics));
    broker.wait(|broker| broker.log().matches("New client connected").count() >= 4);
    let url = format!("mqttsn://127.0.0.1:{}/a/loaded", gateway.port);
    let load = [
        "load",
        &url,
        "--clients",
        "2",
        "--rate",
        "20/s",
        "--count",
        "4",
        "--qos",
        "1",
        "-s",
        "10B",
        "-o",
    ];
    let folder = TempDir::new().expect("a temporary folder");
    let load = Command::new(common::WIRECOST)
        .args(load)
        .arg(folder.path().join("run"))
        .output();
    let load = load.expect("wirecost starts");
    let said = String::from_utf8_lossy(&load.stdout).into_owned();
    assert!(said.contains("4 offered: 4 acknowledged"), "{said}");
    let heard = listening.join().expect("a listener").stdout;
    let heard = String::from_utf8_lossy(&heard).matches("a/loaded ").count();
    assert_eq!(heard, 4);
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
        let names = [
            "frame.interface_id",
            "frame.comment",
            "udp.length",
            "mqttsn.msg.len",
        ];
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
