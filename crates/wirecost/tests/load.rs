//! `wirecost load`: what the generator says it has sent is what the counting target says has arrived.

use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Runs a load, whose results folder is gone with this test.
fn load(arguments: &[&str]) -> Output {
    let home = TempDir::new().expect("a folder");
    Command::new(env!("CARGO_BIN_EXE_wirecost"))
        .current_dir(home.path())
        .arg("load")
        .args(arguments)
        .args(["--quiet", "--json", "-"])
        .output()
        .expect("the program runs")
}

/// The publishing phase of a load that has figures. A busy machine makes times invalid, never counts.
fn published(arguments: &[&str]) -> Value {
    let output = load(arguments);
    let code = output.status.code();
    assert!(
        matches!(code, Some(0 | 14)),
        "{arguments:?}: {code:?} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    let phases = summary["loads"][0]["phases"].as_array().expect("phases");
    let publish = phases.iter().find(|phase| phase["name"] == "publish");
    publish.expect("a publishing phase").clone()
}

#[test]
fn what_was_sent_has_arrived_whatever_the_stack() {
    for stack in [
        "tcp",
        "udp",
        "mqtt-qos0",
        "mqtt-qos1",
        "mqtt-qos2",
        "mqtt5-qos0",
        "mqtt5-qos1",
        "mqtt5-qos2",
        "coap-non",
        "coap-con",
        "amqp-settled",
        "amqp-unsettled",
        "http1",
        "http3",
        "mqtt-qos1+tls1.3",
        "coap-con+dtls1.3",
        "coap-con+dtls1.2-psk",
        "coap-con+oscore",
        "amqp-unsettled+cose+tls1.3",
    ] {
        let publish = published(&[stack, "-c", "3", "-r", "100/s", "-d", "1s"]);
        let outcomes = &publish["outcomes"];
        let carried = outcomes["acknowledged"]
            .as_u64()
            .zip(outcomes["delivered"].as_u64());
        assert_eq!(outcomes["offered"], 100, "{stack}: {publish}");
        assert_eq!(
            carried.map(|(one, other)| one + other),
            Some(100),
            "{stack}: {publish}"
        );
        assert_eq!(publish["sent"], 100, "{stack}");
        assert_eq!(publish["deliveries"]["arrived"], 100, "{stack}");
    }
}

#[test]
fn a_count_ends_both_loops_exactly() {
    for arguments in [
        ["mqtt-qos1", "--closed-loop", "-n", "57", "-c", "4"].as_slice(),
        ["mqtt-qos1", "-n", "57", "-c", "4", "-r", "200/s"].as_slice(),
        ["http1", "--closed-loop", "-n", "57", "-c", "60"].as_slice(),
    ] {
        let publish = published(arguments);
        assert_eq!(publish["outcomes"]["offered"], 57, "{arguments:?}");
        assert_eq!(publish["outcomes"]["acknowledged"], 57, "{arguments:?}");
        assert_eq!(publish["deliveries"]["arrived"], 57, "{arguments:?}");
    }
}

#[test]
fn a_target_that_is_not_there_is_said_so() {
    let output = load(&["mqtt://127.0.0.1:1", "-d", "1s"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(11), "{said}");
    assert!(
        said.contains("error: no device could connect to mqtt://127.0.0.1:1/"),
        "{said}"
    );
    assert!(said.contains("hint: "), "{said}");
}

#[test]
fn a_strangers_server_is_loaded_with_consent_only() {
    let output = load(&["mqtt://192.0.2.1", "-r", "101/s", "-d", "1s"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--i-own-this-target"), "{said}");
}
