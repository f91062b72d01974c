//! Kept connections that end: the device connects again when its next message is due.

mod common;

use common::{open_folder, said, wirecost};
use serde_json::Value;

/// The cells of a comparison in virtual time: 40 devices with 4 messages each, one every 5 minutes.
fn cells(arguments: &str) -> Vec<Value> {
    let home = open_folder();
    let line = format!(
        "compare --engine sim -n 40 --interval 5min --messages-per-connection 4 --json - {arguments}"
    );
    let said = said(wirecost(home.path()).args(line.split(' ')));
    assert!(matches!(said.code, Some(0 | 13)), "{arguments}: {}", said.stderr);
    let mut summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    match summary["cells"].take() {
        Value::Array(cells) => cells,
        other => panic!("cells: {other}"),
    }
}

/// Acknowledged messages, and connections that were made.
fn outcome(cell: &Value) -> [u64; 2] {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    [
        number(&cell["outcomes"]["acknowledged"]),
        number(&cell["connect"]["samples"]),
    ]
}

#[test]
fn an_idle_connection_that_its_server_closes_is_made_again() {
    // HTTP/1.1 servers close after 75 s, QUIC connections end after 60 s.
    for cell in cells("http1,http1+tls1.3,http3") {
        assert_eq!(outcome(&cell), [160, 160], "{}", cell["stack"]);
        assert_eq!(cell["all_in"]["messages"], 160, "{}", cell["stack"]);
    }
}

#[test]
fn a_kept_connection_that_lasts_is_not_made_again() {
    for cell in cells("mqtt-qos1,amqp-unsettled") {
        assert_eq!(outcome(&cell), [160, 40], "{}", cell["stack"]);
    }
}

#[test]
fn never_leaves_the_rest_of_the_messages_unsent() {
    let cells = cells("http1 --reconnect never");
    assert_eq!(outcome(&cells[0]), [40, 40]);
    assert_eq!(cells[0]["outcomes"]["failed"], 120);
}
