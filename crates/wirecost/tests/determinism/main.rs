//! The same scenario and seed give the same cells, byte for byte: on one thread and on two, in this build and in the
//! one that wrote `cells.sha256`. `scripts/determinism` compares a release build with the same file.

#[path = "../common/mod.rs"]
mod common;

use std::path::Path;

use aws_lc_rs::digest::{SHA256, digest};
use common::{open_folder, said, wirecost};
use serde_json::Value;

/// Every application protocol, every channel, objects, every start.
const MATRIX: &str = "tcp,udp,mqtt-qos0,mqtt-qos1,mqtt-qos2,mqtt5-qos0,mqtt5-qos1,mqtt5-qos2,coap-non,coap-con,\
    amqp-settled,amqp-unsettled,http1,http3,udp+cose,mqtt-qos1+cose,mqtt-qos1+tls1.3,mqtt5-qos1+tls1.2,tcp+tls1.3,\
    amqp-unsettled+tls1.3,http1+tls1.3,http1+tls1.2,coap-con+dtls1.3,coap-con+dtls1.2,coap-con+dtls1.2-psk,\
    coap-con+dtls1.2-cid,coap-con+oscore,udp+dtls1.3 --start cold,resumed,0rtt --size 128B,10kB --timeout 5s -n 2 --seed 7";

/// The impairments of the links.
const LINKS: [&str; 2] = [
    "--rtt 40ms --loss 5%",
    "--rtt 30ms --link-rate 1Mbit --delay-variation 3ms",
];

/// The hash of a simulation's cells, without the version.
fn hash(link: &str, jobs: usize) -> String {
    let folder = open_folder();
    let mut command = wirecost(folder.path());
    command.args(["compare", "--engine", "sim", "--out", "run", "-q", "-j"]);
    command.arg(jobs.to_string());
    let arguments = format!("{MATRIX} {link}");
    let said = said(command.args(arguments.split_whitespace()));
    // Messages that are lost for good have their own exit code.
    assert!(matches!(said.code, Some(0 | 13)), "{}", said.stderr);
    let summary = std::fs::read_to_string(folder.path().join("run/summary.json")).expect("a summary");
    let mut summary: Value = serde_json::from_str(&summary).expect("JSON");
    let cells = summary["cells"].as_array_mut().expect("cells");
    for cell in cells.iter_mut() {
        let cell = cell.as_object_mut().expect("a cell");
        cell.remove("key");
        // They are what was asked for.
        cell.remove("labels");
    }
    sha256(&serde_json::to_string(cells).expect("JSON"))
}

fn sha256(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reports in NB-IoT cells: without an answer, with one, on TCP, with TLS; with kept connections, Fast Open and tickets.
const REPORTS: &str = "nbiot coap-non coap-con tcp mqtt-qos1+tls1.3 --size 60B --load 0.5/s --seeds 2 --duration 2s --seed 7 \
    --what-if persistent-tcp,fast-open,resumed";

/// The hash of the points of runs in NB-IoT cells.
fn hash_of_reports(threads: usize) -> String {
    let folder = open_folder();
    let mut command = wirecost(folder.path());
    command.args(REPORTS.split_whitespace());
    command.args(["--out", "run", "-q", "--engine-threads", &threads.to_string()]);
    let said = said(&mut command);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let summary = std::fs::read_to_string(folder.path().join("run/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    sha256(&serde_json::to_string(&summary["points"]).expect("JSON"))
}

#[test]
fn reports_in_cells_depend_on_the_options_and_the_seed_alone() {
    let one = hash_of_reports(1) + "\n";
    assert_eq!(one, hash_of_reports(2) + "\n", "one thread and two");
    compare_with(&one, "reports.sha256");
}

#[test]
fn cells_depend_on_the_scenario_and_the_seed_alone() {
    let hashes = |jobs| {
        LINKS
            .iter()
            .map(|link| hash(link, jobs) + "\n")
            .collect::<String>()
    };
    let one = hashes(1);
    assert_eq!(one, hashes(2), "one thread and two");
    compare_with(&one, "cells.sha256");
}

/// Compares hashes with those in a file.
fn compare_with(hashes: &str, name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/determinism")
        .join(name);
    if std::env::var_os("WIRECOST_WRITE_HASHES").is_some() {
        std::fs::write(&file, hashes).expect("the hashes are written");
    }
    let expected = std::fs::read_to_string(&file).expect("hashes");
    assert_eq!(
        hashes, expected,
        "this build and the one that wrote {name}; where figures were meant to change: scripts/determinism --write"
    );
}
