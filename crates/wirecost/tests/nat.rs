//! An address translator that forgets mappings, on the emulated link.

mod common;

use std::path::Path;

use common::tshark::{fields, fields_with};
use common::{Run, open_folder, said, wirecost};
use serde_json::Value;
use tempfile::TempDir;

const BEHIND_NAT: &str = "-n 3 --size 48B --rtt 100ms --interval 3s --messages-per-connection 5 --settle 500ms \
                          --keep-alive 0s --nat-timeout udp=1500ms,tcp=1500ms --engine auto";

#[test]
#[ignore = "needs root and tshark"]
fn both_engines_reconnect_behind_a_nat_alike_and_captures_show_it() {
    let run = Run::compare(&format!(
        "mqtt-qos1,coap-con,http1,http3,amqp-unsettled {BEHIND_NAT}"
    ));
    for cell in &run.summary.cells {
        let told = (&cell.stack, &cell.engine, &cell.outcomes, &cell.warnings);
        assert!(cell.valid && cell.outcomes.add_up(), "{told:?}");
        assert_eq!(cell.outcomes.failed, 0, "{told:?}");
        let agreement = cell.agreement.as_ref();
        // The first request leaves with the end of the handshake. Which ACK of QUIC is in its datagram follows from when threads wake.
        let is_exact = cell.stack != "http3";
        assert!(
            !is_exact || agreement.is_none_or(|agreement| agreement.equal),
            "{told:?} {agreement:?}"
        );
        let connects = cell.connect.as_ref().map(|connect| connect.samples);
        let expected = match cell.stack.as_str() {
            "coap-con" => None,
            "http3" => Some(3),
            // Each later request meets the RST, and is sent again on a new connection.
            "http1" => Some(15),
            _ => Some(9),
        };
        assert_eq!(connects, expected, "{told:?}");
    }
    check_ports_and_checksums(&run.file("capture/all.pcapng"));
}

/// The capture shows the devices' ports and right checksums.
fn check_ports_and_checksums(capture: &Path) {
    // Each device of MQTT meets two resets: after its first and its third measured message.
    let of_mqtt = "tcp.flags.reset == 1 && tcp.port == 1883";
    let resets = fields(capture, of_mqtt, &["tcp.srcport", "tcp.dstport"]);
    assert_eq!(resets.len(), 6, "{resets:?}");
    for reset in &resets {
        assert_eq!(reset[0], "1883");
        let own: u16 = reset[1].parse().expect("a port");
        assert!(own < 61_000, "the port that the server sees: {own}");
    }
    let checks = ["tcp.check_checksum:TRUE".to_owned()];
    let wrong = fields_with(capture, "tcp.checksum.status != 1", &["frame.number"], &checks);
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
#[ignore = "needs root"]
fn both_engines_live_alike_behind_a_nat_that_gives_another_port() {
    let stacks =
        "coap-con,coap-con+oscore,coap-con+dtls1.2-cid,coap-con+dtls1.2-psk,coap-con+dtls1.3,mqttsn-qos1";
    let run = Run::compare(&format!("{stacks} {BEHIND_NAT} --nat new-port"));
    for cell in &run.summary.cells {
        let told = (&cell.stack, &cell.engine, &cell.outcomes, &cell.warnings);
        assert!(cell.valid && cell.outcomes.add_up(), "{told:?}");
        assert_eq!(cell.outcomes.acknowledged, 15, "{told:?}");
        let agreement = cell.agreement.as_ref();
        assert!(
            agreement.is_none_or(|agreement| agreement.equal),
            "{told:?} {agreement:?}"
        );
        // With a connection ID (that of QUIC too), or without a session, the device goes on from the other port.
        let connects = cell.connect.as_ref().map_or(3, |connect| connect.samples);
        let is_known_by_port = matches!(
            cell.stack.as_str(),
            "coap-con+dtls1.2-psk" | "coap-con+dtls1.3" | "mqttsn-qos1"
        );
        assert_eq!(connects, if is_known_by_port { 15 } else { 3 }, "{told:?}");
    }
}

/// A load of three devices that send every 3 s in turn behind a NAT that forgets after 1.5 s: its publishing phase, and its folder.
fn load(stack: &str, engine: &str, more: &str) -> (Value, TempDir) {
    let home = open_folder();
    let line = format!(
        "load {stack} --engine {engine} -c 3 --rate 1/s --duration 15s --rtt 100ms --nat-timeout udp=1500ms,tcp=1500ms \
         --keep-alive 0s --timeout 10s -q --json - --out run {more}"
    );
    let said = said(wirecost(home.path()).args(line.split_whitespace()));
    // A message without an answer is 13; a busy machine may have held the generator up, which counts do not feel.
    assert!(matches!(said.code, Some(0 | 13 | 14)), "{line}: {}", said.stderr);
    let mut summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    let phases = summary["loads"][0]["phases"].as_array_mut().expect("phases");
    let publish = phases.iter_mut().find(|phase| phase["name"] == "publish");
    (publish.expect("messages").take(), home)
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Checks cases beside one another: a load waits for most of its time.
fn at_once<T: Send>(cases: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    let check = &check;
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || check(case));
        }
    });
}

fn told_of_sessions_made_anew(engine: &str) {
    let cases = [
        ("coap-con+dtls1.2", true),
        ("coap-con+dtls1.2-cid", false),
        ("mqttsn-qos1", true),
    ];
    at_once(cases, |(stack, makes_sessions)| {
        let (publish, _) = load(stack, engine, "--nat new-port");
        let told = format!("{stack} {engine}: {publish:#}");
        let outcomes = &publish["outcomes"];
        assert_eq!(count(&outcomes["acknowledged"]), 15, "{told}");
        let (made, reasons) = (count(&publish["connects"]["established"]), &publish["reasons"]);
        let anew = "made a new session: the NAT had forgotten the old one's port";
        assert_eq!(count(&reasons[anew]), made, "{told}");
        // The first messages of the devices follow their connects.
        let expected = if makes_sessions { 12..=15 } else { 0..=0 };
        assert!(expected.contains(&made), "{told}");
        assert_eq!(count(&publish["connects"]["lost"]), 0, "{told}");
    });
}

#[test]
fn a_simulated_load_makes_the_sessions_anew_that_its_nat_forgot() {
    told_of_sessions_made_anew("sim");
}

#[test]
#[ignore = "needs root"]
fn a_live_load_makes_the_sessions_anew_that_its_nat_forgot() {
    told_of_sessions_made_anew("live");
}

fn told_of_messages_that_met_a_reset(engine: &str) {
    at_once(["mqtt-qos1", "mqtt5-qos1"], |stack| {
        let (publish, home) = load(stack, engine, "--session-expiry 60s --capture");
        let told = format!("{stack} {engine}: {publish:#}");
        let lost = count(&publish["connects"]["lost"]);
        assert!((12..=15).contains(&lost), "{told}");
        // Each is acknowledged once, by the PUBACK to the one that was sent again.
        assert_eq!(count(&publish["outcomes"]["acknowledged"]), 15, "{told}");
        assert_eq!(count(&publish["sent"]), 15, "{told}");
        let deliveries = &publish["deliveries"];
        let arrived = ["arrived", "duplicates"].map(|name| count(&deliveries[name]));
        assert_eq!(arrived, [15, 0], "{told}");
        let captures = home.path().join("run/capture");
        let capture = std::fs::read_dir(&captures).expect("captures").next();
        let capture = capture.expect("a capture").expect("a file").path();
        let again = fields(&capture, "mqtt.msgtype == 3 && mqtt.dupflag == 1", &["mqtt.qos"]);
        assert_eq!(again.len() as u64, lost, "{told}");
    });
}

#[test]
#[ignore = "needs tshark"]
fn a_simulated_load_sends_again_what_met_a_reset() {
    told_of_messages_that_met_a_reset("sim");
}

#[test]
#[ignore = "needs root and tshark"]
fn a_live_load_sends_again_what_met_a_reset() {
    told_of_messages_that_met_a_reset("live");
}

#[test]
fn without_a_session_what_met_a_reset_is_unknown_and_the_warning_says_why() {
    let (publish, _) = load("mqtt-qos1", "sim", "");
    let [acknowledged, unknown] = ["acknowledged", "unknown"].map(|name| count(&publish["outcomes"][name]));
    assert_eq!(acknowledged + unknown, 15, "{publish:#}");
    assert_eq!(unknown, count(&publish["connects"]["lost"]), "{publish:#}");
    let warnings = publish["warnings"].to_string();
    assert!(warnings.contains("--session-expiry"), "{warnings}");
}
