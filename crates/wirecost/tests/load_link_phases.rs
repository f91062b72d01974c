//! What the phases of a load say that its emulated link carried is what the capture holds of it, packet by packet.

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use common::capture::{Packet, packets};
use common::{Said, ended, need_root, open_folder, said, signal, wirecost};

/// What a link has carried: packets and bytes up, packets and bytes down.
type Carried = [u64; 4];

/// A recorded load of words that are separated by blanks.
fn load(home: &Path, arguments: &str) -> Command {
    need_root();
    let mut command = wirecost(home);
    command.arg("load").args(arguments.split(' '));
    command.args(["--capture", "--json", "-", "--out", "run"]);
    command
}

/// The one load of a run that ended with one of these codes, and the packets of its capture.
fn recorded(home: &Path, said: &Said, codes: &[i32]) -> (Value, Vec<Packet>) {
    let is_told = said.code.is_some_and(|code| codes.contains(&code));
    assert!(is_told, "{:?} {}", said.code, said.stderr);
    let mut summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    let load = summary["loads"][0].take();
    let capture = load["capture"].as_str().expect("the name of a capture");
    let packets = packets(&home.join("run").join(capture));
    (load, packets)
}

/// A load that came to its end; a busy machine spoils its times and no counts.
fn finished(arguments: &str) -> (Value, Vec<Packet>) {
    let home = open_folder();
    let said = said(load(home.path(), arguments).arg("--quiet"));
    recorded(home.path(), &said, &[0, 14])
}

fn carried_in_phases(load: &Value) -> Carried {
    let mut sum = [0; 4];
    for phase in load["phases"].as_array().expect("phases") {
        let figures = [
            ("up", "packets"),
            ("up", "bytes"),
            ("down", "packets"),
            ("down", "bytes"),
        ];
        for (sum, (way, figure)) in sum.iter_mut().zip(figures) {
            let figure = &phase["link"][way][figure];
            *sum += figure
                .as_u64()
                .unwrap_or_else(|| panic!("{way} {figure} of {phase}"));
        }
    }
    sum
}

fn carried_in(packets: &[Packet]) -> Carried {
    let mut sum = [0; 4];
    for packet in packets {
        sum[packet.way * 2] += 1;
        sum[packet.way * 2 + 1] += packet.bytes;
    }
    sum
}

#[test]
#[ignore = "needs root"]
fn every_packet_belongs_to_a_phase() {
    // Where nothing answers, acknowledgements of TCP are on their way when a phase is over.
    for stack in ["tcp", "mqtt-qos0", "mqtt-qos1", "coap-con", "http3"] {
        let (load, packets) = finished(&format!("{stack} -c 10 -n 50 -r 100/s --rtt 100ms"));
        assert!(packets.len() >= 100, "{stack}: {load}");
        assert_eq!(carried_in_phases(&load), carried_in(&packets), "{stack}: {load}");
    }
}

#[test]
#[ignore = "needs root"]
fn packets_left_on_the_link_belong_to_the_last_phase() {
    let home = open_folder();
    let mut command = load(home.path(), "tcp -c 10 -r 100/s -d 60s --rtt 200ms");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut told = BufReader::new(child.stderr.take().expect("stderr"));
    let mut line = String::new();
    while !line.contains("publish") {
        line.clear();
        let read = told.read_line(&mut line).expect("text");
        assert!(read > 0, "it ended before it sent anything");
    }
    signal(child.id(), "INT");
    drop(told.read_to_string(&mut line));
    let (load, packets) = recorded(home.path(), &ended(child), &[130]);
    assert_eq!(carried_in_phases(&load), carried_in(&packets), "{load}");
}

#[test]
#[ignore = "needs root"]
fn the_warm_up_is_in_no_figure_of_the_link() {
    // Nothing is exchanged for the connects and the closes: what is measured is the end of the capture.
    let (load, packets) = finished("coap-con -c 50 -r 100/s --warmup 1s -d 2s --rtt 100ms");
    let measured = carried_in_phases(&load);
    let ends = (0..packets.len()).map(|first| carried_in(&packets[first..]));
    assert!(ends.clone().any(|end| end == measured), "{measured:?}: {load}");
    // 100 messages were warm-up and 100 were not; some of a machine that is late may be sent again.
    assert!((100..150).contains(&measured[0]), "{measured:?}: {load}");
}
