//! The same command by a user without privileges: other devices carry the packets, and the bytes are the same.

mod common;

use std::collections::BTreeMap;

use wirecost_results::load::LoadSummary;
use wirecost_results::summary::{Cell, Section};

use common::tshark::{Body, packets};
use common::{ALL_STACKS, Run, as_nobody, need_program, need_root, open_folder, said, wirecost};

#[test]
#[ignore = "needs root and tshark"]
fn a_user_without_privileges_measures_the_same_bytes() {
    let arguments = format!("{ALL_STACKS} -s 128B,1500B,10kB -n 4 --settle 300ms");
    let privileged = Run::undisturbed(|| Run::compare(&format!("{arguments} --packet-path tun")));
    // Where /dev/net/tun is open to everyone, veth is not what a user gets without asking.
    let unprivileged =
        Run::undisturbed(|| Run::compare_as_nobody(&format!("{arguments} --packet-path veth")));
    assert_eq!(packet_path(&privileged), "tun");
    assert_eq!(packet_path(&unprivileged), "veth");
    for (cell, other) in privileged.summary.cells.iter().zip(&unprivileged.summary.cells) {
        assert!(
            cell.valid && other.valid,
            "{}: {:?} {:?}",
            cell.stack,
            cell.warnings,
            other.warnings
        );
        assert_eq!(
            figures(cell),
            figures(other),
            "{} {} B",
            cell.stack,
            cell.payload_bytes
        );
    }
    assert_eq!(census(&privileged), census(&unprivileged));
}

#[test]
#[ignore = "needs root and mosquitto"]
fn a_user_without_privileges_loads_a_real_server() {
    need_root();
    need_program("mosquitto", "mosquitto");
    let home = open_folder();
    let arguments = "load mqtt-qos1 --target mosquitto -n 50 -r 100/s --quiet --json -";
    let mut command = wirecost(home.path());
    command.args(arguments.split(' '));
    let said = said(&mut as_nobody(command, home.path()));
    assert!(
        matches!(said.code, Some(0 | 14)),
        "{:?} {}",
        said.code,
        said.stderr
    );
    let summary: LoadSummary = serde_json::from_str(&said.stdout).expect("a summary");
    let phases = summary.loads[0].phases.iter();
    assert_eq!(phases.map(|phase| phase.outcomes.acknowledged).sum::<u64>(), 50);
}

fn packet_path(run: &Run) -> String {
    let text = std::fs::read_to_string(run.file("env.json")).expect("env.json");
    let environment: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    environment["packet_path"].as_str().expect("a text").to_owned()
}

/// What two runs must agree on whatever the moment at which a pure ACK leaves: how many of them there are is the
/// kernel's choice (a delayed ACK may ride on an answer, one ACK may answer two segments), so headers are compared
/// packet by packet in [`census`] and not by their sums. Everything else is exact.
fn figures(cell: &Cell) -> Vec<(&'static str, Vec<u64>)> {
    let sections = [
        ("connect", cell.connect.as_ref()),
        ("message", cell.message.as_ref()),
        ("keep_alive", cell.keep_alive.as_ref()),
        ("close", cell.close.as_ref()),
    ];
    sections
        .into_iter()
        .map(|(name, section)| (name, section.map(content).unwrap_or_default()))
        .collect()
}

fn content(section: &Section) -> Vec<u64> {
    let of = [&section.up, &section.down].map(|bytes| {
        [
            bytes.application.min,
            bytes.application.max,
            bytes.application.sum,
            bytes.payload.min,
            bytes.payload.max,
            bytes.payload.sum,
        ]
    });
    let samples = std::iter::once(section.samples);
    samples.chain(of.into_iter().flatten()).collect()
}

/// How many packets of each kind there are, pure ACKs aside: cell and phase, direction, bytes of IP headers, of
/// transport headers, of the packet.
fn census(run: &Run) -> BTreeMap<(String, usize, u64, u64, u64), u64> {
    let mut census = BTreeMap::new();
    for packet in packets(&run.file("capture/all.pcapng")) {
        let header_bytes = match &packet.body {
            Body::Tcp(segment) if segment.content_bytes == 0 && !segment.syn && !segment.fin => continue,
            Body::Tcp(segment) => segment.header_bytes,
            Body::Udp(_) => 8,
            Body::LaterFragment => 0,
            Body::Icmp | Body::IcmpError => continue,
        };
        // Cell, phase and cause; the fate after them holds a time.
        let kind: Vec<&str> = packet.comment.split(" | ").take(3).collect();
        let key = (
            kind.join(" "),
            packet.way,
            packet.ip_bytes,
            header_bytes,
            packet.wire_bytes,
        );
        *census.entry(key).or_insert(0) += 1;
    }
    census
}
