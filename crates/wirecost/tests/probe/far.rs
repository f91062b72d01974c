//! Round trips over a link that has a length: what the standards say, whatever the machine is doing meanwhile.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{WIRECOST, need_root, said, wirecost};
use crate::step;

/// Probes a built-in server across an emulated link.
fn across(serve: &str, url: &str) -> Value {
    need_root();
    let folder = TempDir::new().expect("a folder");
    let server = format!("{WIRECOST} serve {serve} --open -q");
    let mut command = wirecost(folder.path());
    command.args([
        "link", "--rtt", "100ms", "--server", &server, "--out", "link", "--", WIRECOST,
    ]);
    command
        .args(["probe", "--json", "probe.json", "--insecure"])
        .args(url.split(' '));
    let said = said(&mut command);
    assert_eq!(said.code, Some(0), "probe {url}\n{}{}", said.stdout, said.stderr);
    let text = fs::read_to_string(folder.path().join("probe.json")).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

fn trips(report: &Value, steps: &[&str]) -> Vec<f64> {
    let of = |name: &&str| step(report, name)["round_trips"].as_f64();
    steps.iter().filter_map(of).collect()
}

const STEPS: [&str; 4] = ["connect", "security", "open", "message"];

#[test]
#[ignore = "needs root"]
fn mqtts_takes_four_round_trips_until_the_acknowledgement() {
    let report = across("mqtt --tls --listen 0.0.0.0:8883", "mqtts://{server}/a");
    assert_eq!(trips(&report, &STEPS), [1.0; 4]);
}

#[test]
#[ignore = "needs root"]
fn h3_takes_two_and_with_early_data_one() {
    let serve = "http3 --accept-0rtt --listen 0.0.0.0:443";
    let cold = across(serve, "h3://{server}/test");
    assert_eq!(trips(&cold, &STEPS), [1.0; 2]);
    let early = across(serve, "h3://{server}/test --start 0rtt");
    assert_eq!(trips(&early, &STEPS), [1.0]);
    assert_eq!(step(&early, "security"), &Value::Null);
}
