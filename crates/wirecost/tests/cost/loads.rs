//! Loads: the mean of the first devices, which were observed while the load ran.

use std::path::Path;

use wirecost_results::load::LoadFile;

use crate::common::tshark::fields;
use crate::common::{need_root, open_folder, said, wirecost};
use crate::{assert_near, cost, number, rows, sum};

/// A load in the folder `run` of a home.
fn loaded(home: &Path, arguments: &str) {
    let mut command = wirecost(home);
    command.args(["load", "--quiet", "--out", "run"]);
    let said = said(command.args(arguments.split_whitespace()));
    assert!(matches!(said.code, Some(0 | 14)), "{}", said.stderr);
}

#[test]
fn splits_of_a_load_sum_to_the_whole_and_states_to_the_time() {
    let home = open_folder();
    loaded(
        home.path(),
        "mqtt-qos1 -c 30 -r 6/s -d 10s --rtt 40ms --engine sim",
    );
    let row = &rows(home.path(), "run --device nrf9160-lte-m")[0];
    let power = &row["mean_power_w"];
    let total = number(&power["total"]["mean"]);
    let rest = number(&power["part"]["rest"]["mean"]);
    assert_near(sum(&power["part"]), total);
    assert_near(sum(&power["phase"]) + rest, total);
    assert_near(sum(&power["cause"]) + rest, total);
    let states = row["once"]["states"].as_object().expect("states");
    let seconds: f64 = states.values().map(|state| number(&state["seconds"])).sum();
    // Means are cut to the nanosecond.
    assert!((seconds - number(&row["once"]["seconds"])).abs() < 1e-7);
    // The wake-up before the first packet is in the time.
    assert!(
        seconds > 9.0 && seconds < number(&row["interval_s"]) + 3.0,
        "{seconds}"
    );
}

#[test]
fn a_fleet_pays_for_each_device_of_a_load() {
    let home = open_folder();
    loaded(home.path(), "coap-con -c 5 -r 5/s -d 10s --rtt 40ms --engine sim");
    let bill = |devices: u32| {
        let row = &rows(home.path(), &format!("run --tariff per-mb --devices {devices}"))[0];
        (
            number(&row["bill"]["amount"]),
            number(&row["bill"]["fleet_amount"]),
        )
    };
    let (one, of_one) = bill(1);
    let (each, of_all) = bill(200);
    assert_near(each, one);
    assert_near(of_one, one);
    assert_near(of_all, 200.0 * one);
    let arguments = "run --device nrf9160-lte-m --devices 200";
    let row = &rows(home.path(), arguments)[0];
    let joules = |month: &str| number(&row[month]["joules"]["mean"]);
    assert_near(
        joules("month"),
        number(&row["mean_power_w"]["total"]["mean"]) * 2_592_000.0,
    );
    assert_near(joules("fleet_month"), 200.0 * joules("month"));
    let table = cost(home.path(), arguments).stdout;
    assert!(table.contains("J/month*"), "{table}");
    assert!(
        table.contains("energy, bytes and money per month are those of 200 devices"),
        "{table}"
    );
}

#[test]
fn the_mean_device_of_a_load_sends_its_share_of_the_messages() {
    let home = open_folder();
    loaded(
        home.path(),
        "coap-con -c 40 -n 200 -r 20/s --rtt 40ms --engine sim",
    );
    let row = &rows(home.path(), "run --device nbiot-tr45820")[0];
    // 200 messages of 40 devices in turn: 5 each.
    assert_near(number(&row["readings_of_once"]), 5.0);
    let bytes = number(&row["bytes_once"]);
    assert!(bytes > 128.0 && bytes < 300.0, "{bytes} per reading");
}

#[test]
fn a_longer_interval_never_drains_the_devices_of_a_load() {
    let home = open_folder();
    loaded(home.path(), "coap-con -c 3 -n 3 -r 1/s --rtt 40ms --engine sim");
    let mut last = 0.0;
    for interval in ["1s", "1min", "1h", "1d"] {
        let asked = format!("run --device nrf9160-nb-iot --battery 2400mAh@3.6V --interval {interval}");
        let years = number(&rows(home.path(), &asked)[0]["battery_years"]["years"]);
        assert!(years >= last, "{interval}: {years} after {last}");
        last = years;
    }
}

#[test]
fn a_live_load_without_a_link_says_what_it_cannot_know() {
    let home = open_folder();
    loaded(home.path(), "coap-con -c 3 -n 6 -r 10/s");
    let said = cost(home.path(), "run --device nbiot-tr45820");
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("single devices"), "{}", said.stderr);
    assert!(
        said.stderr.contains("hint: run it with --engine sim"),
        "{}",
        said.stderr
    );
}

/// A load of 4 devices over a link, which send 5 messages each.
fn load_over_a_link(home: &Path, stack: &str, more: &str) {
    let load = format!("{stack} -c 4 -n 20 -r 4/s --rtt 40ms --size 48B {more}");
    loaded(home, &load);
}

#[test]
#[ignore = "needs root and tshark"]
fn a_live_load_keeps_the_bytes_that_tshark_sees() {
    need_root();
    let home = open_folder();
    load_over_a_link(home.path(), "mqtt-qos1+tls1.3", "--capture --no-keys");
    let run = home.path().join("run");
    let only = |folder: &str| {
        let mut entries = std::fs::read_dir(run.join(folder)).expect("a folder");
        entries.next().expect("a file").expect("readable").path()
    };
    let seen = fields(&only("capture"), "ip", &["ip.len"]);
    let seen: u64 = seen
        .iter()
        .map(|row| row[0].parse::<u64>().expect("a length"))
        .sum();
    let file = std::fs::read_to_string(only("cells")).expect("a load");
    let file: LoadFile = serde_json::from_str(&file).expect("JSON");
    let traffic = file.traffic.expect("packets").traffic;
    let sizes = traffic.shapes.iter().map(|shape| {
        let bytes = shape.spans.iter().map(|(.., bytes)| u64::from(*bytes));
        bytes.sum()
    });
    let sizes: Vec<u64> = sizes.collect();
    let packets = traffic.devices.iter().flat_map(|device| &device.packets);
    assert_eq!(packets.map(|(_, shape)| sizes[*shape]).sum::<u64>(), seen);
    // They are decrypted, although the capture has no secrets.
    let row = &rows(home.path(), "run --device nrf9160-lte-m")[0];
    assert_near(number(&row["readings_of_once"]), 5.0);
}
