//! The energy of a cell as a figure of thresholds and claims.

use std::fs;

use serde_json::Value;

use super::common::{open_folder, said, wirecost};
use super::{assert_near, number, rows};

const SCENARIO: &str =
    "wirecost: 1\nengine: sim\ncount: 2\nsize: 48B\nstack: [coap-con, mqtt-qos1]\nlink: {rtt: 40ms}\n";

const CLAIMS: &str = "wirecost: 1
study: mine
source: a paper
runs: {run: run.yaml}
claims:
  - id: E1
    says: a message
    published: 1.8uJ
    value: \"run/energy{stack=mqtt-qos1,device=esp32s3-wifi} mean\"
  - id: E2
    says: MQTT takes more than CoAP
    order: [\"run/energy{stack=coap-con,device=esp32s3-wifi} mean\", \"run/energy{stack=mqtt-qos1,device=esp32s3-wifi} mean\"]
  - id: E3
    says: a session in a loop, with 3G and without
    order: [\"run/session_energy{stack=mqtt-qos1,device=raspberry-pi-2b-3g} min\", \"run/session_energy{stack=mqtt-qos1,device=raspberry-pi-2b-3g} mean\"]
";

#[test]
fn a_claims_energy_is_the_one_that_cost_computes() {
    let home = open_folder();
    fs::write(home.path().join("run.yaml"), SCENARIO).expect("a scenario");
    fs::write(home.path().join("claims.yaml"), CLAIMS).expect("claims");
    let run = said(wirecost(home.path()).args(["run", "run.yaml", "--out", "run"]));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let judged = said(wirecost(home.path()).args(["claims", "claims.yaml", "run", "--json", "-"]));
    assert_eq!(judged.code, Some(0), "{}", judged.stderr);
    let judged: Value = serde_json::from_str(&judged.stdout).expect("JSON");
    let figure = &judged[0]["points"][0]["figures"][0];
    assert_eq!(figure["modelled_by"], "esp32s3-wifi");
    let rows = rows(home.path(), "run --device esp32s3-wifi");
    let is_it = |row: &&Value| row["mode"] == "kept open" && row["traffic"].to_string().contains("mqtt");
    let row = rows.iter().find(is_it).expect("a row");
    let joules = &row["once"]["joules"];
    assert_near(number(&figure["value"]), number(&joules["mean"]));
    assert_near(number(&figure["interval"][1]), number(&joules["high"]));
    assert_eq!(
        judged[1]["verdict"], "reproduced",
        "both have the spread of one file: {judged}"
    );
    assert_eq!(judged[2]["verdict"], "reproduced", "{judged}");
    let ours = judged[0]["points"][0]["ours"].as_str().expect("a text");
    assert!(ours.contains("modelled by esp32s3-wifi"), "{ours}");
}

#[test]
fn a_threshold_on_energy_decides_the_exit_code() {
    let home = open_folder();
    for (bound, code) in [("1uJ", 99), ("1J", 0)] {
        let demand =
            format!("thresholds: {{\"energy{{stack=mqtt*,device=esp32s3-wifi}}\": \"mean<{bound}\"}}\n");
        fs::write(home.path().join("run.yaml"), format!("{SCENARIO}{demand}")).expect("a scenario");
        let out = format!("run-{bound}");
        let run = said(wirecost(home.path()).args(["run", "run.yaml", "--out", &out]));
        assert_eq!(run.code, Some(code), "{}{}", run.stdout, run.stderr);
    }
}
