//! `compare --target`: our clients against Mosquitto and libcoap's server, over the emulated link; and loads of servers
//! that are not ours.

#[path = "../common/mod.rs"]
mod common;
mod load;

use std::path::Path;

use wirecost_results::Environment;
use wirecost_results::summary::{Bytes, Cell, Section};

use common::{Run, alone_with, need_program};

const MQTT: &str = "mqtt-qos0,mqtt-qos1,mqtt-qos2,mqtt5-qos0,mqtt5-qos1,mqtt5-qos2";
const COAP: &str = "coap-non,coap-con";
const SIZES: [u64; 2] = [128, 10_000];
const SAMPLES: u64 = 5;

#[test]
#[ignore = "needs root and mosquitto"]
fn mosquitto_takes_every_message_of_our_clients() {
    let run = Run::undisturbed(|| mosquitto(""));
    check_lossless(&run, "mosquitto", 12);
    check_mqtt_answers(&run);
}

#[test]
#[ignore = "needs root and mosquitto"]
fn mosquitto_takes_every_message_of_our_clients_over_ipv6() {
    let run = Run::undisturbed(|| mosquitto(" --ipv6"));
    check_lossless(&run, "mosquitto", 12);
    check_mqtt_answers(&run);
}

/// TCP repeats what is lost, so that all of it arrives in the end.
#[test]
#[ignore = "needs root and mosquitto"]
fn mosquitto_takes_every_message_under_loss() {
    let run = mosquitto(" --loss 5%");
    check(&run, "mosquitto", 12);
    run.summary.cells.iter().for_each(check_all_arrived);
    check_repeated(&run);
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn libcoap_takes_every_message_of_our_clients() {
    let run = Run::undisturbed(|| libcoap(""));
    check_lossless(&run, "libcoap", 4);
    check_coap_answers(&run);
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn libcoap_takes_every_message_of_our_clients_over_ipv6() {
    let run = Run::undisturbed(|| libcoap(" --ipv6"));
    check_lossless(&run, "libcoap", 4);
    check_coap_answers(&run);
}

/// A response has its header of 2 B and the token of 2 B (RFC 8323 section 3.2), the CSM of libcoap its options.
#[test]
#[ignore = "needs root and libcoap3-bin"]
fn libcoap_takes_every_message_over_tcp() {
    need_program("coap-server-openssl", "libcoap3-bin");
    let run = Run::undisturbed(|| run("libcoap", "coap-tcp", ""));
    check_lossless(&run, "libcoap", 2);
    for cell in &run.summary.cells {
        let down = &message(cell).down;
        assert_eq!(
            (down.application.min, down.application.max),
            (4, 4),
            "{}",
            name(cell)
        );
        let connect = cell.connect.as_ref().expect("a connect");
        assert!(connect.down.application.min >= 2, "a CSM to {}", name(cell));
        no_payload(cell, down);
    }
}

/// CON is repeated until it is acknowledged.
#[test]
#[ignore = "needs root and libcoap3-bin"]
fn libcoap_takes_every_confirmable_message_under_loss() {
    need_program("coap-server-notls", "libcoap3-bin");
    let run = run("libcoap", "coap-con", " --loss 5%");
    check(&run, "libcoap", 2);
    run.summary.cells.iter().for_each(check_all_arrived);
    check_repeated(&run);
}

/// NON may be lost: the device waits for twice the time-out.
#[test]
#[ignore = "needs root and libcoap3-bin"]
fn each_other_message_to_libcoap_has_one_outcome_under_loss() {
    need_program("coap-server-notls", "libcoap3-bin");
    let run = run("libcoap", "coap-non", " --loss 5% --timeout 5s");
    check(&run, "libcoap", 2);
}

fn mosquitto(more: &str) -> Run {
    need_program("mosquitto", "mosquitto");
    run("mosquitto", MQTT, more)
}

fn libcoap(more: &str) -> Run {
    need_program("coap-server-notls", "libcoap3-bin");
    run("libcoap", COAP, more)
}

fn run(target: &str, stacks: &str, more: &str) -> Run {
    let _alone = alone_with(target);
    Run::compare(&format!(
        "--target {target} {stacks} -n {SAMPLES} -s 128B,10kB --settle 300ms{more}"
    ))
}

fn check_lossless(run: &Run, target: &str, cells: usize) {
    check(run, target, cells);
    check_log(run, target);
    for cell in &run.summary.cells {
        check_all_arrived(cell);
        let message = message(cell);
        let sent = message.up.payload;
        assert_eq!(
            (sent.min, sent.max),
            (cell.payload_bytes, cell.payload_bytes),
            "payload of {}",
            name(cell)
        );
        assert!(
            message
                .by_cause
                .get("retransmission")
                .is_none_or(|bytes| bytes.up == 0.0),
            "{} repeats",
            name(cell)
        );
    }
}

/// What holds for every run.
fn check(run: &Run, target: &str, cells: usize) {
    assert_eq!(run.summary.cells.len(), cells);
    for cell in &run.summary.cells {
        check_cell(cell, target);
    }
    let text = std::fs::read_to_string(run.file("env.json")).expect("env.json");
    let environment: Environment = serde_json::from_str(&text).expect("an environment");
    assert_eq!(environment.unattributed_packets, 0);
    let log = run.file(&format!("{target}.log"));
    assert!(log.is_file(), "the server's log is not in the results folder");
    assert_eq!(holders(&log), [0; 0], "a process still writes the server's log");
}

/// A server that had to refuse or mend something says so in its log.
fn check_log(run: &Run, target: &str) {
    let log = std::fs::read_to_string(run.file(&format!("{target}.log"))).expect("the server's log");
    let of_root = "Warning: Mosquitto should not be run as root/administrator.";
    let complaints: Vec<&str> = log.lines().filter(|line| !line.ends_with(of_root)).collect();
    assert!(complaints.is_empty(), "{target} complains: {complaints:#?}");
}

fn check_cell(cell: &Cell, target: &str) {
    assert_eq!(cell.target, target);
    assert!(SIZES.contains(&cell.payload_bytes), "{} B", cell.payload_bytes);
    assert!(cell.valid, "{} is not valid: {:?}", name(cell), cell.warnings);
    assert_eq!(cell.not_run, None, "{}", name(cell));
    let unattributed = cell
        .warnings
        .iter()
        .any(|warning| warning.kind.name() == "unattributed-bytes");
    assert!(!unattributed, "{}: {:?}", name(cell), cell.warnings);
    assert_eq!(cell.outcomes.offered, SAMPLES, "{}", name(cell));
    assert!(cell.outcomes.add_up(), "{}: {:?}", name(cell), cell.outcomes);
    let sections = [&cell.connect, &cell.message, &cell.close];
    sections
        .into_iter()
        .flatten()
        .for_each(|section| check_sums(cell, section));
}

/// The layers of each direction sum to the packets' bytes, the foreign server's too.
fn check_sums(cell: &Cell, section: &Section) {
    for bytes in [&section.up, &section.down] {
        let layers = [
            bytes.ip,
            bytes.transport,
            bytes.security,
            bytes.application,
            bytes.payload,
        ];
        let sum: u64 = layers.iter().map(|layer| layer.sum).sum();
        assert_eq!(sum, bytes.wire.sum, "layers of {}", name(cell));
    }
}

fn check_all_arrived(cell: &Cell) {
    assert!(cell.all_arrived(), "{}: {:?}", name(cell), cell.outcomes);
    assert_eq!(message(cell).samples, SAMPLES, "{}", name(cell));
}

/// The broker's CONNACK and acknowledgements are application bytes, not payload and not unknown.
fn check_mqtt_answers(run: &Run) {
    for cell in &run.summary.cells {
        // MQTT 3.1.1 sections 3.2, 3.4, 3.5 and 3.7: 4 B each; MQTT 5 may add a reason code and properties.
        let (version_5, quality) = cell.stack.split_once("-qos").map(mqtt).expect("an MQTT stack");
        let connack = cell.connect.as_ref().expect("a connect").down.application;
        check_application(cell, "CONNACK", version_5, 4, connack.min, connack.max);
        let acknowledgements = message(cell).down.application;
        let expected = [0, 4, 8][quality];
        check_application(
            cell,
            "acknowledgements",
            version_5,
            expected,
            acknowledgements.min,
            acknowledgements.max,
        );
        no_payload(cell, &message(cell).down);
    }
}

fn mqtt((version, quality): (&str, &str)) -> (bool, usize) {
    (version == "mqtt5", quality.parse().expect("a QoS"))
}

fn check_application(cell: &Cell, what: &str, version_5: bool, expected: u64, min: u64, max: u64) {
    let limit = if version_5 { expected * 4 } else { expected };
    assert!(
        min >= expected && max <= limit,
        "{what} of {}: {min} to {max} B, expected {expected} to {limit} B",
        name(cell)
    );
}

/// An acknowledgement per block for both kinds, but for a NON message that fits into one datagram.
fn check_coap_answers(run: &Run) {
    for cell in &run.summary.cells {
        let down = &message(cell).down;
        let blocks = cell.payload_bytes.div_ceil(1024);
        let expected = match (cell.stack.as_str(), blocks) {
            ("coap-non", 1) => 0,
            _ => blocks,
        };
        assert_eq!(down.packets.min, expected, "packets to {}", name(cell));
        assert_eq!(down.packets.max, expected, "packets to {}", name(cell));
        // RFC 7252 section 3: the header alone is 4 B.
        assert!(down.application.min >= 4 * expected, "answers to {}", name(cell));
        no_payload(cell, down);
    }
}

fn no_payload(cell: &Cell, down: &Bytes) {
    assert_eq!(down.payload.max, 0, "payload to {}", name(cell));
}

/// Five percent of some hundred packets: something was lost, and the books say that it was sent again.
fn check_repeated(run: &Run) {
    let repeated = |cell: &Cell| {
        let causes = &message(cell).by_cause;
        causes
            .get("retransmission")
            .map_or(0.0, |bytes| bytes.up + bytes.down)
    };
    let total: f64 = run.summary.cells.iter().map(repeated).sum();
    assert!(total > 0.0, "nothing was repeated under loss");
}

fn message(cell: &Cell) -> &Section {
    cell.message.as_ref().expect("a measured message")
}

fn name(cell: &Cell) -> String {
    format!("{} {} B", cell.stack, cell.payload_bytes)
}

/// The processes that have a file open.
fn holders(file: &Path) -> Vec<u32> {
    let file = file.canonicalize().expect("the file is there");
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has_open = |id: &u32| {
        let descriptors = std::fs::read_dir(format!("/proc/{id}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        descriptors
            .filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok())
            .any(|target| target == file)
    };
    ids.filter(has_open).collect()
}
