//! The energy of a cell as a figure of thresholds and claims.

use std::fs;

use serde_json::Value;

use super::common::{open_folder, said, wirecost};
use super::{assert_near, number, rows};

const SCENARIO: &str =
    "wirecost: 1\nengine: sim\ncount: 2\nsize: 48B\nstack: [coap-con, mqtt-qos1]\nlink: {rtt: 40ms}\n";

/// The same with a reading every 10 min, on connections of their own and on kept ones.
const LIVES: &str = "wirecost: 1\nengine: sim\ncount: 2\nsize: 48B\nstack: [coap-con, coap-con+oscore, mqtt-qos1]\nlink: {rtt: 40ms}\n\
    keep_alive: 0s\ninterval: 10min\nmessages_per_connection: [1, 2, 4, 16]\n";

const CLAIMS_OF_LIVES: &str =
    "wirecost: 1\nstudy: mine\nsource: a paper\nruns: {lives: lives.yaml}\nclaims:\n";

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
  - id: E4
    says: a session of MQTT takes more than one of CoAP
    order: [\"run/session_energy{stack=coap-con,device=esp32s3-wifi} mean\", \"run/session_energy{stack=mqtt-qos1,device=esp32s3-wifi} mean\"]
  - id: E3
    says: a session in a loop, with 3G and without
    order: [\"run/session_energy{stack=mqtt-qos1,device=raspberry-pi-2b-3g} min\", \"run/session_energy{stack=mqtt-qos1,device=raspberry-pi-2b-3g} mean\"]
";

#[test]
fn the_energy_of_a_reading_is_the_one_that_cost_computes() {
    let home = open_folder();
    fs::write(home.path().join("lives.yaml"), LIVES).expect("a scenario");
    let claims = [
        ("mqtt-qos1", 4),
        ("coap-con+oscore", 1),
        ("coap-con+oscore", 4),
        ("coap-con+oscore", 16),
    ];
    let claim = |(stack, messages): &(&str, u64)| {
        let labels = format!("stack={stack},device=esp32s3-wifi,messages_per_connection={messages}");
        format!(
            "  - id: E{stack}{messages}\n    says: a reading\n    published: 1.8J\n    value: \"lives/energy{{{labels}}} mean\"\n"
        )
    };
    let claims: String = claims.iter().map(claim).collect();
    fs::write(
        home.path().join("claims.yaml"),
        format!("{CLAIMS_OF_LIVES}{claims}"),
    )
    .expect("claims");
    let run = said(wirecost(home.path()).args(["run", "lives.yaml", "--out", "lives"]));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let judged = said(wirecost(home.path()).args(["claims", "claims.yaml", "lives", "--json", "-"]));
    let judged: Value = serde_json::from_str(&judged.stdout).expect("JSON");
    let rows = rows(home.path(), "lives --device esp32s3-wifi");
    let row = |stack: &str, mode: &str| -> Value {
        let is_it = |row: &&Value| row["mode"] == mode && row["traffic"].to_string().contains(stack);
        rows.iter().find(is_it).expect("a row").clone()
    };
    let figure = &judged[0]["points"][0]["figures"][0];
    let joules = &row("mqtt", "persistent for 4")["joules_each"];
    assert_near(number(&figure["value"]), number(&joules["mean"]));
    assert_near(number(&figure["interval"][1]), number(&joules["high"]));
    let joules = number(&row("oscore", "no connection")["joules_each"]["mean"]);
    for claim in judged.as_array().expect("claims").iter().skip(1) {
        let value = number(&claim["points"][0]["figures"][0]["value"]);
        assert!((value / joules - 1.0).abs() < 1e-4, "{value}, {joules}");
    }
}

#[test]
fn a_claim_of_energy_says_what_it_is_modelled_by() {
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
    // 26.21 and 26.34 mJ.
    assert_eq!(judged[1]["verdict"], "not_separable", "{judged}");
    assert_eq!(
        judged[2]["verdict"], "reproduced",
        "both have the spread of one file: {judged}"
    );
    assert_eq!(judged[3]["verdict"], "reproduced", "{judged}");
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
