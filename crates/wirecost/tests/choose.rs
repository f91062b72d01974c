//! `wirecost choose`: the first stack follows the requirements, and the figures are those of the comparison.

mod common;

use std::path::Path;

use serde_json::Value;
use wirecost_results::Summary;

use common::{Said, open_folder, said, wirecost};

fn choose(home: &Path, arguments: &str) -> Said {
    said(wirecost(home).arg("choose").args(arguments.split_whitespace()))
}

/// The choice, where at least one stack meets the requirements.
fn chosen(home: &Path, arguments: &str) -> Value {
    let said = choose(home, &format!("{arguments} -n 2 -q --json -"));
    assert_eq!(said.code, Some(0), "{arguments}: {}", said.stderr);
    serde_json::from_str(&said.stdout).expect("JSON")
}

fn rows(choice: &Value) -> &[Value] {
    choice["rows"].as_array().expect("rows")
}

#[test]
fn bytes_are_the_all_in_bytes_of_the_comparison() {
    let home = open_folder();
    let choice = chosen(
        home.path(),
        "coap-con,mqtt-qos1 --every 10min --rtt 40ms --out run --device nrf9160-lte-m --battery 2400mAh@3.6V --tariff per-mb",
    );
    assert_eq!(choice["best"], "coap-con");
    let summary = std::fs::read_to_string(home.path().join("run/summary.json")).expect("a summary");
    let summary: Summary = serde_json::from_str(&summary).expect("a summary");
    for row in rows(&choice) {
        let kept = row["connection"] != "a connection each";
        let cell = summary.cells.iter().find(|cell| {
            cell.stack == row["stack"].as_str().expect("a name") && (cell.messages_per_connection > 1) == kept
        });
        let all_in = cell.and_then(|cell| cell.all_in()).expect("all-in bytes").each();
        let bytes = row["figures"]["bytes_per_reading"]["mean"]
            .as_f64()
            .expect("bytes");
        assert!(
            (bytes - all_in).abs() < 1e-6,
            "{}: {bytes} and {all_in}",
            row["stack"]
        );
        assert!(row["figures"]["battery_years"]["years"].as_f64().expect("years") > 0.0);
        assert!(row["figures"]["money_per_month"].as_f64().expect("money") > 0.0);
    }
    let page = std::fs::read_to_string(home.path().join("run/choice.md")).expect("a page");
    assert!(page.contains("**coap-con** (no connection)."), "{page}");
}

/// CoAP sends a large payload block by block, a round trip each (RFC 7959); TCP fills its window.
#[test]
fn the_fastest_stack_changes_where_coap_goes_blockwise() {
    let home = open_folder();
    let fastest = |size: &str, folder: &str| {
        let asked =
            format!("coap-con,mqtt-qos1 --every 12h --rtt 100ms --by time --size {size} --out {folder}");
        chosen(home.path(), &asked)["best"].clone()
    };
    assert_eq!(fastest("48B", "small"), "coap-con");
    assert_eq!(fastest("10kB", "large"), "mqtt-qos1");
}

#[test]
fn each_requirement_names_what_it_excludes() {
    let home = open_folder();
    let choice = chosen(
        home.path(),
        "coap-con,coap-non,mqtt-qos1 --every 12h --rtt 200ms --within 300ms --out a",
    );
    assert_eq!(choice["best"], "coap-con");
    let fails = |stack: &str, way: &str| {
        let row = rows(&choice)
            .iter()
            .find(|row| row["stack"] == stack && row["connection"] == way);
        row.expect("a row")["fails"].to_string()
    };
    assert!(fails("coap-non", "no connection").contains("delivers at most once"));
    assert!(fails("mqtt-qos1", "a connection each").contains("above 0.30 s"));

    let said = choose(
        home.path(),
        "coap-con --every 12h --monthly-bytes 1kB -n 1 -q --out b",
    );
    assert_eq!(said.code, Some(13), "{}", said.stderr);
    assert!(
        said.stderr.contains("no stack meets the requirements"),
        "{}",
        said.stderr
    );
    assert!(
        said.stdout.contains("MB a month, above 0.00 MB"),
        "{}",
        said.stdout
    );
}

#[test]
fn a_file_of_requirements_gives_way_to_the_command_line() {
    let home = open_folder();
    std::fs::write(
        home.path().join("needs.yaml"),
        "every: 12h\nsize: 100B\nrtt: 20ms\nstacks: [coap-con]\n",
    )
    .expect("a file");
    let choice = chosen(home.path(), "--file needs.yaml --size 50B --out a");
    assert!(
        choice["asked"]
            .as_str()
            .expect("text")
            .starts_with("50B every 720min"),
        "{choice}"
    );
    let refused = |text: &str| {
        std::fs::write(home.path().join("wrong.yaml"), text).expect("a file");
        let said = choose(home.path(), "--file wrong.yaml --out c");
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        said.stderr
    };
    assert!(refused("evry: 12h\n").contains("--evry"));
    assert!(refused("size: 12B\n").contains("--every"));
    assert!(refused("every: 12h\nsize: twelve\n").contains("twelve"));
}

#[test]
fn contradicting_requirements_are_refused() {
    let home = open_folder();
    let refused = |arguments: &str, why: &str| {
        let said = choose(home.path(), &format!("{arguments} --out d"));
        assert_eq!(said.code, Some(2), "{arguments}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{arguments}: {}", said.stderr);
    };
    refused("--every 0s", "--every must be above 0s");
    refused("--every 1min --by money", "--by money needs --tariff");
    refused("--every 1min --by energy", "--by energy needs --device");
    refused("--every 1min --rtt 5ms,10ms", "choose takes one link");
    refused("--every 1min --within 0s", "--within must be above 0s");
    refused(
        "--every 1min --delivery exactly-once --reach coap",
        "no stack has this guarantee, class and protocol together",
    );
    refused("--every 1min --device nrf9161", "unknown device");
}
