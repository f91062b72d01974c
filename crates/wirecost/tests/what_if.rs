//! `wirecost what-if`: the readings of a capture over other stacks.

mod common;

use serde_json::Value;

use common::{open_folder, said, wirecost};

#[test]
fn the_captured_stack_has_the_bytes_that_were_captured() {
    let home = open_folder();
    let run = |arguments: &str| {
        let said = said(wirecost(home.path()).args(arguments.split_whitespace()));
        assert_eq!(said.code, Some(0), "{arguments}: {}", said.stderr);
        said.stdout
    };
    run(
        "compare mqtt-qos1 --engine sim --size 48B --interval 1min --messages-per-connection 3 -n 1 --keep-alive 0s --out run",
    );
    let asked = "what-if run/capture/sim.pcapng mqtt-qos1,coap-con --keep-alive 0s -q --json - --out if";
    // The comparison sends one message more, before the three that it measures.
    let found: Value = serde_json::from_str(&run(asked)).expect("JSON");
    assert_eq!(
        (&found["readings"], &found["size_bytes"], &found["interval_s"]),
        (&4.into(), &48.into(), &60.0.into())
    );
    let rows = found["rows"].as_array().expect("rows");
    let same = rows
        .iter()
        .find(|row| row["connection"] == "kept for 4")
        .expect("a row");
    assert_eq!(same["bytes_per_reading"], found["bytes_per_reading"], "{found}");
}

#[test]
fn a_missing_file_and_an_unknown_client_are_refused() {
    let home = open_folder();
    let refused = |arguments: &str| {
        let said = said(wirecost(home.path()).args(arguments.split_whitespace()));
        assert_eq!(said.code, Some(2), "{arguments}: {}", said.stderr);
        said.stderr
    };
    assert!(refused("what-if missing.pcap coap-con").contains("cannot read missing.pcap"));
    let compare = "compare coap-con --engine sim -n 1 --out run";
    let compared = said(wirecost(home.path()).args(compare.split_whitespace()));
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let stranger = "what-if run/capture/sim.pcapng coap-con --client 192.0.2.1";
    assert!(refused(stranger).contains("has no packets of this device"));
}
