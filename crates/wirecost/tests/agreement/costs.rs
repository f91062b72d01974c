//! What a load costs its mean device.

use std::path::Path;

use serde_json::Value;

use crate::common::{need_root, open_folder, said, wirecost};

/// The account of a load of 4 devices over a link, which send 5 messages each.
fn row_of_a_load(home: &Path, stack: &str) -> Value {
    let load = format!("load --quiet --out run {stack} -c 4 -n 20 -r 4/s --rtt 40ms --size 48B");
    let loaded = said(wirecost(home).args(load.split_whitespace()));
    assert!(matches!(loaded.code, Some(0 | 14)), "{}", loaded.stderr);
    let cost = "cost run --device nrf9160-lte-m --json -";
    let said = said(wirecost(home).args(cost.split_whitespace()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let mut value: Value = serde_json::from_str(&said.stdout).expect("JSON");
    value["rows"][0].take()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Bytes are equal where nothing but the stack decides them. With TCP, the kernel may put what a server sends at one time in one
/// segment and acknowledge fewer of them: a header of 52 B each, so at most three of a device's 24 packets. A live load takes some
/// time for a handshake and between phases, in which the tail goes on: 0.1 s of 5 s.
#[test]
#[ignore = "needs root"]
fn a_live_load_costs_what_one_in_virtual_time_does() {
    need_root();
    for (stack, headers) in [("coap-con", 0.0), ("mqtt-qos1+tls1.3", 3.0)] {
        let [live, simulated] = ["", "--engine sim"].map(|more| {
            let home = open_folder();
            row_of_a_load(home.path(), &format!("{stack} {more}"))
        });
        let both = |figure: fn(&Value) -> &Value| [&live, &simulated].map(|row| number(figure(row)));
        let [ours, theirs] = both(|row| &row["readings_of_once"]);
        assert!((ours / theirs - 1.0).abs() < 1e-9, "{stack}: {ours}, {theirs}");
        let [ours, theirs] = both(|row| &row["bytes_once"]);
        let bound = headers * 52.0 / 5.0;
        assert!(
            (ours - theirs).abs() <= bound + 1e-9,
            "{stack}: {ours} B, {theirs} B"
        );
        let [ours, theirs] = both(|row| &row["once"]["joules"]["mean"]);
        assert!(
            (ours / theirs - 1.0).abs() < 0.05,
            "{stack}: {ours} J, {theirs} J"
        );
    }
}
