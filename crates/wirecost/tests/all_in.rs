//! All-in bytes against the capture: what tshark sums over all packets of a stack's devices, divided by the messages.
//!
//! The scenarios have neither warm-up messages nor tickets, so that every packet of a device counts. The sums use the
//! lengths in the IP headers alone. A packet's comment names its stack; its phase is not read.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use wirecost_results::{Cell, Summary};

use common::tshark::{WAY, fields};
use common::{open_folder, said, wirecost};

/// Plain and secured stacks over TCP, UDP and QUIC, with and without answers and keep-alive.
const STACKS: &str =
    "mqtt-qos1, mqtt-qos0, mqtt-qos1+tls1.3, coap-con, coap-con+dtls1.3, amqp-unsettled, http1+tls1.3, http3";
const SAMPLES: u64 = 3;

#[test]
#[ignore = "needs root and tshark"]
fn all_in_is_what_tshark_sums_for_kept_connections() {
    let summary = hold("live", 4, "interval: 1500ms\nkeep_alive: 1s\nsettle: 300ms");
    for cell in &summary.cells {
        let pings = cell.keep_alive.is_some();
        assert_eq!(pings, cell.stack.starts_with("mqtt"), "{}", cell.stack);
    }
}

#[test]
#[ignore = "needs root and tshark"]
fn all_in_is_what_tshark_sums_for_a_connection_per_message() {
    hold("live", 1, "settle: 300ms");
}

#[test]
#[ignore = "needs tshark"]
fn simulated_all_in_is_what_tshark_sums_for_kept_connections() {
    // http3 is silent for longer than its server waits.
    hold("sim", 4, "interval: 90s\nlink: {rtt: 2s, rate: 60kbit}");
}

#[test]
#[ignore = "needs tshark"]
fn simulated_all_in_is_what_tshark_sums_per_message() {
    hold("sim", 1, "interval: 90s");
}

/// Runs a scenario and holds the all-in bytes of each cell against its capture.
fn hold(engine: &str, messages: u64, more: &str) -> Summary {
    let home = open_folder();
    let scenario = format!(
        "wirecost: 1\nengine: {engine}\ncount: {SAMPLES}\nstack: [{STACKS}]\nmessages_per_connection: {messages}\n\
         warm_up: false\n{more}\n"
    );
    std::fs::write(home.path().join("a.yaml"), scenario).expect("a file");
    let said = said(wirecost(home.path()).args(["run", "a.yaml", "--out", "run", "-q"]));
    let summary = common::compared(&said, &home.path().join("run"));
    let capture = match engine {
        "sim" => "run/capture/sim.pcapng",
        _ => "run/capture/all.pcapng",
    };
    let sums = sums(&home.path().join(capture));
    for cell in &summary.cells {
        assert!(
            cell.not_run.is_none() && cell.valid,
            "{}: {:?}",
            cell.stack,
            cell.warnings
        );
        hold_cell(cell, sums[&cell.stack]);
    }
    summary
}

fn hold_cell(cell: &Cell, [up, down]: [u64; 2]) {
    let sent = cell.outcomes.offered - cell.outcomes.failed;
    let all_in = cell.all_in.expect("the summary holds all-in bytes");
    assert_eq!(all_in.messages, sent, "messages of {}", cell.stack);
    let expected = [up, down].map(|bytes| bytes as f64 / sent as f64);
    assert_eq!(
        [all_in.up, all_in.down],
        expected,
        "up and down of {}",
        cell.stack
    );
}

/// The IP bytes of each stack in the capture, up and down.
fn sums(capture: &Path) -> BTreeMap<String, [u64; 2]> {
    let mut sums: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for row in fields(capture, "not icmp", &[WAY, "frame.comment", "ip.len"]) {
        let [way, comment, bytes] = &row[..] else {
            panic!("three fields, not {row:?}");
        };
        let stack = comment.split(' ').next().expect("a stack").to_owned();
        let way: usize = way.parse().expect("a way");
        let bytes: u64 = bytes.parse().expect("a length");
        sums.entry(stack).or_default()[way] += bytes;
    }
    sums
}

#[test]
fn frames_are_the_packets_of_a_session_with_the_headers_of_their_link_layer() {
    let home = open_folder();
    let compare = |words: &[&str]| {
        let mut command = wirecost(home.path());
        let fixed = [
            "compare",
            "mqtt-qos1",
            "http1",
            "--engine",
            "sim",
            "-n",
            "2",
            "--messages-per-connection",
            "1",
            "--json",
            "-",
        ];
        said(command.args(fixed).args(words))
    };
    let plain = compare(&["-o", "plain"]);
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    let plain: Summary = serde_json::from_str(&plain.stdout).expect("a summary");
    assert!(
        plain.cells.iter().all(|cell| cell.frames.is_none()),
        "nobody asked"
    );
    for (framing, header) in [("ethernet", 14.0), ("wifi", 50.0)] {
        let demand = "frame_bytes_up{stack=http1}: mean<10kB";
        let framed = compare(&["--framing", framing, "--threshold", demand, "-o", framing]);
        assert_eq!(framed.code, Some(0), "{}", framed.stderr);
        let framed: Summary = serde_json::from_str(&framed.stdout).expect("a summary");
        for (cell, plain) in framed.cells.iter().zip(&plain.cells) {
            let frames = cell.frames.clone().expect("frames");
            let sections = || {
                [&plain.connect, &plain.message, &plain.close]
                    .into_iter()
                    .flatten()
            };
            let up: f64 = sections()
                .map(|section| section.up.wire.mean + header * section.up.packets.mean)
                .sum();
            let down: f64 = sections()
                .map(|section| section.down.wire.mean + header * section.down.packets.mean)
                .sum();
            assert_eq!((frames.up, frames.down), (Some(up), Some(down)), "{}", cell.stack);
            assert_eq!(
                Cell {
                    frames: None,
                    key: plain.key.clone(),
                    ..cell.clone()
                },
                *plain,
                "no other figure moves"
            );
        }
        let table = std::fs::read_to_string(home.path().join(framing).join("summary.csv")).expect("a table");
        assert!(table.contains(",frame_up_bytes,"), "{table}");
    }
    let refused = compare(&["--threshold", "frame_bytes: mean<1kB"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("hint: add --framing ethernet"),
        "{}",
        refused.stderr
    );
    let refused = compare(&["--framing", "token-ring"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("none, ethernet, wifi"),
        "{}",
        refused.stderr
    );
}
