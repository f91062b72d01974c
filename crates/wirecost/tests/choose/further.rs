//! What a choice says beyond its ranking: the cost against the interval, and which input changes the order.

use std::path::Path;

use serde_json::Value;

use super::{choose, chosen, rows};
use crate::common::open_folder;

const METER: &str = "--size 64B --link lte-m --start cold --keep-alive 18min";

/// A point of the picture.
struct Point {
    label: String,
    seconds: f64,
    value: f64,
    is_simulated: bool,
}

/// The points of the picture of a choice.
fn points(home: &Path, folder: &str) -> Vec<Point> {
    let page = std::fs::read_to_string(home.join(folder).join("choice.html")).expect("a page");
    let (_, data) = page
        .split_once(">row,interval_s,")
        .expect("the data of the picture");
    let (data, _) = data.split_once("</pre>").expect("an end");
    let point = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<f64>().expect("a number");
        Point {
            label: fields[0].to_owned(),
            seconds: number(1),
            value: number(2),
            is_simulated: fields[5] == "true",
        }
    };
    data.trim().lines().skip(1).map(point).collect()
}

fn at<'a>(points: &'a [Point], label: &str, seconds: f64) -> Option<&'a Point> {
    let mut found = points.iter();
    found.find(|point| point.label == label && point.seconds == seconds)
}

/// A figure of the row with this stack and connection.
fn figure(choice: &Value, stack: &str, connection: &str, name: &str) -> f64 {
    let mut all = rows(choice).iter();
    let row = all.find(|row| {
        let own = row["connection"].as_str().unwrap_or_default();
        row["stack"] == stack && own.starts_with(connection)
    });
    let figures = &row.expect("a row")["figures"];
    match name {
        "mean_power_w" => figures[name]["mean"].as_f64(),
        name => figures[name].as_f64(),
    }
    .expect("a figure")
}

/// Where nothing is sent between two readings, the packets of one question are those of another interval: bytes and charge are those
/// that a question with that interval has.
#[test]
fn the_cost_at_another_interval_is_that_of_a_question_with_it() {
    let home = open_folder();
    let stacks = "coap-con+oscore,mqtt-qos1+tls1.3";
    for by in ["bytes", "energy"] {
        let asked = format!("{stacks} {METER} --by {by} --device nrf9160-lte-m");
        chosen(home.path(), &format!("{asked} --every 15min --out {by}"));
        let other = chosen(home.path(), &format!("{asked} --every 1h --out {by}-1h"));
        let points = points(home.path(), by);
        for (stack, connection, label) in [
            ("coap-con+oscore", "no connection", "coap-con+oscore"),
            ("mqtt-qos1+tls1.3", "a connection each", "mqtt-qos1+tls1.3 each"),
        ] {
            let told = at(&points, label, 3_600.0).expect("a point");
            assert!(!told.is_simulated && at(&points, label, 900.0).is_some_and(|point| point.is_simulated));
            let simulated = match by {
                "bytes" => figure(&other, stack, connection, "bytes_per_month") / 1e6,
                // Of 30 days, at the supply of the device file.
                _ => figure(&other, stack, connection, "mean_power_w") * 2_592_000.0 / 3.6 / 3.7,
            };
            let off = (told.value / simulated - 1.0).abs();
            assert!(off < 1e-4, "{by} of {label}: {} and {simulated}", told.value);
        }
        // What a kept connection costs at another interval is not claimed.
        let kept = points
            .iter()
            .filter(|point| point.label == "mqtt-qos1+tls1.3 persistent");
        let kept: Vec<f64> = kept.map(|point| point.seconds).collect();
        assert_eq!(kept, [900.0], "{by}");
    }
}

#[test]
fn a_kept_connection_is_simulated_at_other_intervals_when_asked() {
    let home = open_folder();
    let asked = format!("coap-con+oscore,mqtt-qos1+tls1.3 {METER}");
    let choice = chosen(
        home.path(),
        &format!("{asked} --every 15min --sensitivity --out more"),
    );
    let other = chosen(home.path(), &format!("{asked} --every 1h --out hour"));
    let points = points(home.path(), "more");
    let told = at(&points, "mqtt-qos1+tls1.3 persistent", 3_600.0).expect("a point");
    let simulated = figure(&other, "mqtt-qos1+tls1.3", "persistent", "bytes_per_month") / 1e6;
    assert!(
        told.is_simulated && (told.value / simulated - 1.0).abs() < 1e-6,
        "{} {simulated}",
        told.value
    );
    // Keep-alives cost what readings an hour do not: somewhere a connection each is cheaper than a kept one.
    let page = std::fs::read_to_string(home.path().join("more/choice.md")).expect("a page");
    let said = page
        .lines()
        .find(|line| line.contains("on mqtt-qos1+tls1.3 each costs less than mqtt-qos1+tls1.3 persistent ("));
    assert!(
        said.is_some_and(|line| line.starts_with("- from about ")),
        "{page}"
    );
    let inputs = choice["sensitivity"]["inputs"].as_array().expect("inputs");
    let names: Vec<&str> = inputs.iter().filter_map(|line| line["input"].as_str()).collect();
    assert_eq!(names[..2], ["size", "interval"], "{names:?}");
    assert!(
        inputs
            .iter()
            .all(|line| line["failed"].is_null() && line["changes_order_at"].is_array())
    );
}

/// The value that is named changes the order, and a per cent less does not: both asked as questions of their own. Above 1,024 bytes CoAP
/// sends a second block.
#[test]
fn the_value_that_changes_the_order_does_so_in_a_question_of_its_own() {
    let home = open_folder();
    let best = |size: u64, more: &str| {
        let asked = "coap-con,mqtt-qos1 --start cold --keep-alive 60s --rtt 100ms --link-rate 100kbit --by time --every 1h";
        chosen(
            home.path(),
            &format!("{asked} --size {size}B --out {size} {more}"),
        )
    };
    let choice = best(1_010, "--sensitivity");
    assert_eq!(choice["best"], "coap-con");
    let sensitivity = &choice["sensitivity"];
    let second = sensitivity["second"].as_str().expect("a second row");
    assert!(second.starts_with("mqtt-qos1 (persistent"), "{second}");
    let inputs = sensitivity["inputs"].as_array().expect("inputs");
    let changes = inputs[0]["changes_order_at"].as_array().expect("changes");
    let [change] = changes.as_slice() else {
        panic!("{sensitivity}")
    };
    let value = change["value"].as_str().expect("a value");
    let value: u64 = value
        .strip_suffix(" B")
        .expect("bytes")
        .parse()
        .expect("a number");
    assert!((1_024..=1_111).contains(&value), "{sensitivity}");
    assert_eq!(best(value, "")["best"], "mqtt-qos1");
    assert_eq!(best(value - 10, "")["best"], "coap-con");
    let page = std::fs::read_to_string(home.path().join("1010/choice.md")).expect("a page");
    let line = format!("| size | 1010 B | at {value} B (+");
    assert!(page.contains(&line), "{line} in {page}");
}

#[test]
fn a_choice_of_one_row_has_no_order_that_could_change() {
    let home = open_folder();
    let said = choose(
        home.path(),
        "udp --every 1h --rtt 10ms --delivery at-most-once -n 1 --sensitivity -q --out one",
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stdout
            .contains("There are no two rows whose order an input could change."),
        "{}",
        said.stdout
    );
}
