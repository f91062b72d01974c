//! Connects that do not wait: in virtual time, in comparisons and loads.

mod common;

use common::{compared, open_folder, said, wirecost};
use serde_json::Value;
use wirecost_results::summary::Summary;

const STACKS: &str =
    "mqtt-qos0,mqtt-qos1,mqtt5-qos2,mqtt5-qos1+tls1.3,amqp-unsettled,amqp-unsettled+tls1.3,coap-con,http1";

fn in_virtual_time(options: &str) -> Summary {
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.args(["compare", STACKS, "--engine", "sim", "-n", "2", "--rtt", "50ms"]);
    command.args(["--messages-per-connection", "1", "-q", "--out", "run"]);
    command.args(options.split_whitespace());
    compared(&said(&mut command), &home.path().join("run"))
}

fn first_message_ns(summary: &Summary, stack: &str) -> f64 {
    let mut cells = summary.cells.iter();
    let cell = cells.find(|cell| cell.stack == stack).expect("a cell");
    assert!(cell.valid && cell.all_arrived(), "{stack}: {:?}", cell.warnings);
    cell.first_message_time_ns.as_ref().expect("a time").mean
}

#[test]
fn a_first_message_is_there_exactly_a_round_trip_earlier_and_two_with_amqp() {
    let (waiting, pipelined) = (in_virtual_time(""), in_virtual_time("--pipelined-connect"));
    for (stack, gained) in [
        ("mqtt-qos0", 1.0),
        ("mqtt-qos1", 1.0),
        ("mqtt5-qos2", 1.0),
        ("mqtt5-qos1+tls1.3", 1.0),
        ("amqp-unsettled", 2.0),
        ("amqp-unsettled+tls1.3", 2.0),
        // They wait for no answer to a connect of their own.
        ("coap-con", 0.0),
        ("http1", 0.0),
    ] {
        let before = first_message_ns(&waiting, stack);
        let after = first_message_ns(&pipelined, stack);
        assert_eq!(before - after, gained * 50e6, "{stack}");
    }
}

/// A device's life: it sends, and closes after the last answer. No message of QoS 0 is closed away before CONNACK.
#[test]
fn a_life_with_a_connection_for_each_message_is_shorter_by_the_wait() {
    let times = |options: &str| in_virtual_time(&format!("--interval 60s {options}"));
    let (waiting, pipelined) = (times(""), times("--pipelined-connect"));
    for stack in ["mqtt-qos0", "mqtt-qos1", "mqtt5-qos1+tls1.3"] {
        let gained = first_message_ns(&waiting, stack) - first_message_ns(&pipelined, stack);
        assert_eq!(gained, 50e6, "{stack}");
        let cell = pipelined
            .cells
            .iter()
            .find(|cell| cell.stack == stack)
            .expect("a cell");
        assert!(cell.connect.is_some() && cell.close.is_some(), "{stack}");
    }
}

fn load(options: &str) -> Value {
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.args([
        "load", "--quiet", "--json", "-", "--engine", "sim", "--rtt", "50ms",
    ]);
    let said = said(command.args(options.split_whitespace()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let mut summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    summary["loads"][0].take()
}

#[test]
fn a_load_with_a_connection_for_each_message_gains_the_round_trip() {
    let median = |stack: &str, more: &str| {
        let load = load(&format!(
            "{stack} -c 20 -r 20/s -d 2s --connection per-message {more}"
        ));
        let phases = load["phases"].as_array().expect("phases");
        let publish = phases
            .iter()
            .find(|phase| phase["name"] == "publish")
            .expect("a phase");
        assert_eq!(publish["outcomes"]["acknowledged"], 40, "{publish}");
        publish["response_time_ns"]["p50"].as_f64().expect("a median")
    };
    for (stack, gained) in [
        ("mqtt-qos1", 50e6),
        ("mqtt5-qos2", 50e6),
        ("amqp-unsettled", 100e6),
    ] {
        let difference = median(stack, "") - median(stack, "--pipelined-connect");
        assert!((difference - gained).abs() < 1e6, "{stack}: {difference}");
    }
}

#[test]
fn what_has_no_pipelined_connect_is_refused_with_the_reason() {
    let refused = |words: &str| {
        let home = open_folder();
        let mut command = wirecost(home.path());
        let said = said(command.args(words.split_whitespace()));
        assert_eq!(said.code, Some(2), "{words}: {}", said.stderr);
        said.stderr
    };
    let sn = refused("compare mqttsn-qos1 --engine sim --pipelined-connect");
    assert!(sn.contains("mqttsn-qos1 has no pipelined connect"), "{sn}");
    let session =
        refused("load mqtt-qos1 --engine sim --subscribers 1 --session-expiry 60s --pipelined-connect -d 1s");
    assert!(
        session.contains("does not know whether the server has its session"),
        "{session}"
    );
}
