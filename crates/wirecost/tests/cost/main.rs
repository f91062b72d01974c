//! `wirecost cost`: energy, battery life and money of a comparison in virtual time and of its capture.

mod bills;
mod cells;
mod check;
#[path = "../common/mod.rs"]
mod common;
mod files;
mod fit;
mod loads;
mod measured;
mod named;
mod sessions;
mod tariffs;

use std::path::Path;

use serde_json::Value;

use common::{Said, open_folder, said, wirecost};

/// A comparison in the folder `run` of a home.
fn compared(home: &Path) {
    let arguments = [
        "compare",
        "coap-con,mqtt-qos1+tls1.3",
        "--engine",
        "sim",
        "-n",
        "2",
        "--size",
        "48B",
        "--out",
        "run",
    ];
    let said = said(wirecost(home).args(arguments));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

fn cost(home: &Path, arguments: &str) -> Said {
    said(wirecost(home).arg("cost").args(arguments.split_whitespace()))
}

/// The rows of `--json -`.
fn rows(home: &Path, arguments: &str) -> Vec<Value> {
    let said = cost(home, &format!("{arguments} --json -"));
    assert_eq!(said.code, Some(0), "{arguments}: {}", said.stderr);
    let value: Value = serde_json::from_str(&said.stdout).expect("JSON");
    value["rows"].as_array().expect("rows").clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The sum of the means of the entries of a table.
fn sum(table: &Value) -> f64 {
    let entries = table.as_object().expect("a table").values();
    entries.map(|entry| number(&entry["mean"])).sum()
}

fn assert_near(got: f64, expected: f64) {
    assert!(
        (got - expected).abs() <= 1e-9 * expected.abs().max(1e-9),
        "{got}, {expected}"
    );
}

#[test]
fn splits_sum_to_the_whole_and_states_to_the_time() {
    let home = open_folder();
    compared(home.path());
    for device in [
        "esp32s3-wifi",
        "nrf9160-lte-m",
        "nrf9160-nb-iot",
        "raspberry-pi-2b-3g",
    ] {
        for row in rows(home.path(), &format!("run --device {device} --interval 1h")) {
            let power = &row["mean_power_w"];
            let total = number(&power["total"]["mean"]);
            assert_near(sum(&power["part"]), total);
            let rest = number(&power["part"]["rest"]["mean"]);
            assert_near(sum(&power["phase"]) + rest, total);
            assert_near(sum(&power["cause"]) + rest, total);
            let states = row["once"]["states"].as_object().expect("states");
            let seconds: f64 = states.values().map(|state| number(&state["seconds"])).sum();
            assert_near(seconds, number(&row["once"]["seconds"]));
        }
    }
}

#[test]
fn a_month_has_the_bytes_of_its_readings() {
    let home = open_folder();
    compared(home.path());
    let summary = common::summary_in(&home.path().join("run"));
    let cell = &summary.cells[0];
    let message = cell.message.as_ref().expect("a message");
    let [coap, fresh, kept] = &rows(home.path(), "run --tariff per-mb --interval 15min")[..] else {
        panic!("three rows")
    };
    assert_eq!(coap["mode"], "no connection");
    assert_near(
        number(&coap["month"]["bytes_up"]),
        message.up.wire.mean * 2_592_000.0 / 900.0,
    );
    assert_eq!(
        (&fresh["mode"], &kept["mode"]),
        (&"a connection each".into(), &"persistent for 96".into())
    );
    // Of the 96 readings of a day 95 are followed by an interval with keep-alives. PINGREQ, PINGRESP and an ACK: 12 B of timestamps
    // each, two records of 24 B.
    let bytes =
        |rows: &[Value]| number(&rows[2]["month"]["bytes_up"]) + number(&rows[2]["month"]["bytes_down"]);
    let silent = rows(
        home.path(),
        "run --tariff per-mb --interval 15min --keep-alive 0s",
    );
    let pings = number(&kept["month"]["keep_alives"]);
    // The fifteenth minute ends with a reading.
    assert_near(pings, 95.0 * 14.0 * 30.0);
    let with = number(&kept["month"]["bytes_up"]) + number(&kept["month"]["bytes_down"]);
    assert_near(with - bytes(&silent), pings * (3.0 * 52.0 + 2.0 * 24.0));
}

#[test]
fn longer_intervals_and_fewer_keep_alives_lengthen_battery_life() {
    let home = open_folder();
    compared(home.path());
    // Small enough to be empty before its shelf life ends.
    let battery = "run --device nrf9160-lte-m --battery 240mAh@3.6V";
    let years = |arguments: &str| -> Vec<f64> {
        let rows = rows(home.path(), &format!("{battery} {arguments}"));
        rows.iter()
            .map(|row| {
                let years = &row["battery_years"];
                assert!(number(&years["low"]) < number(&years["years"]));
                assert!(number(&years["years"]) < number(&years["high"]));
                number(&years["years"])
            })
            .collect()
    };
    // No time-out lies between: the radio of this device rests 11 s after a packet, and pays a wake-up for the next one.
    let mut before = vec![0.0; 3];
    for interval in ["12s", "1min", "15min", "1d", "30d"] {
        let now = years(&format!("--interval {interval} --keep-alive 0s"));
        assert!(
            now.iter().zip(&before).all(|(now, before)| now >= before),
            "{interval}"
        );
        before = now;
    }
    let kept = |keep_alive: &str| years(&format!("--keep-alive {keep_alive}"))[2];
    assert!(kept("5min") > kept("60s") && kept("25min") > kept("5min"));
    // None is due after 25 min, where a reading comes every 15 min.
    assert_near(kept("0s"), kept("25min"));
}

#[test]
fn the_table_marks_what_is_modelled_and_names_the_files() {
    let home = open_folder();
    compared(home.path());
    let said = cost(
        home.path(),
        "run --device nrf9160-lte-m --battery 2400mAh@3.6V --tariff soracom",
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for expected in [
        "run: one reading every 15 min; each row: cold 48B, RTT 25 ms, sim\n",
        "coap-con          no connection ",
        "battery years*",
        "USD/month*",
        "* modelled from the packets by devices/nrf9160-lte-m.yaml",
        "figures assumed",
        "* priced by tariffs/soracom.yaml",
        "the price is an example",
    ] {
        assert!(said.stdout.contains(expected), "{expected}:\n{}", said.stdout);
    }
}

#[test]
fn rows_of_batches_say_what_a_message_carries() {
    let home = open_folder();
    let words = "compare coap-con --engine sim -n 1 --readings 1,10 --compression none,gzip --out run -q";
    let ran = said(wirecost(home.path()).args(words.split_whitespace()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let table = cost(home.path(), "run --tariff per-mb").stdout;
    for expected in [
        "run: one message every 15 min; each row: RTT 25 ms, sim\n",
        "coap-con cold 1 reading in json: 96B ",
        "coap-con cold 10 readings in json with gzip: ",
    ] {
        assert!(table.contains(expected), "{expected}:\n{table}");
    }
}

/// All bytes of a device's capture.
fn bytes_of_capture(row: &Value) -> f64 {
    number(&row["bytes_once"]) * number(&row["readings_of_once"])
}

#[test]
fn a_capture_has_the_bytes_that_pcap_counts() {
    let home = open_folder();
    compared(home.path());
    let capture = "run/capture/sim.pcapng";
    let pcap = said(wirecost(home.path()).args(["pcap", capture, "--json", "-"]));
    let pcap: Value = serde_json::from_str(&pcap.stdout).expect("JSON");
    let rows = rows(home.path(), &format!("{capture} --device esp32s3-wifi"));
    // Two stacks with two devices each.
    assert_eq!(rows.len(), 4);
    let bytes: f64 = rows.iter().map(bytes_of_capture).sum();
    assert_near(bytes, number(&pcap["wire_bytes"]));
}

#[test]
#[ignore = "needs tshark"]
fn a_capture_has_the_bytes_that_tshark_counts() {
    let home = open_folder();
    compared(home.path());
    let capture = home.path().join("run/capture/sim.pcapng");
    let fields = common::tshark::fields(&capture, "ip", &["ip.len"]);
    let tshark: f64 = fields
        .iter()
        .map(|row| row[0].parse::<f64>().expect("a length"))
        .sum();
    let rows = rows(home.path(), "run/capture/sim.pcapng --tariff per-mb");
    let bytes: f64 = rows.iter().map(bytes_of_capture).sum();
    assert_near(bytes, tshark);
}

#[test]
fn a_device_that_is_always_on_spends_little_above_its_rest() {
    let home = open_folder();
    let arguments = "compare coap-con --engine sim -n 1 --size 128B --interval 10s --messages-per-connection 20 --out run";
    let compared = said(wirecost(home.path()).args(arguments.split(' ')));
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let of = |device: &str| {
        let rows = rows(
            home.path(),
            &format!("run --device {device} --battery 2000mAh@3.3V"),
        );
        let row = rows[0].clone();
        let each = number(&row["joules_each"]["mean"]);
        assert_near(number(&row["mah_each"]), each / 3.3 / 3.6);
        // A message every ten seconds for as long as the battery lasts.
        let messages = number(&row["battery_years"]["years"]) * 31_536_000.0 / 10.0;
        let told = number(&row["messages_per_battery"]["messages"]);
        assert!((told / messages - 1.0).abs() < 1e-6, "{told}, {messages}");
        [each, number(&row["joules_each_above_rest"])]
    };
    let [asleep, asleep_above] = of("esp32s3-wifi");
    let [on, on_above] = of("esp32s3-wifi-on");
    // The receiver of 88 mA at 3.3 V for ten seconds, and next to nothing of traffic.
    assert!(on > 2.9 && on_above < 0.01 * on, "{on}, {on_above}");
    assert!(
        asleep < on && asleep_above > 0.3 * asleep,
        "{asleep}, {asleep_above}"
    );
    assert!(on_above < asleep_above, "no tails: {on_above}, {asleep_above}");
}

#[test]
fn a_session_has_the_charge_of_its_messages() {
    let home = open_folder();
    let arguments = "compare mqtt-qos1 coap-con --engine sim -n 1 --size 128B --interval 10s --messages-per-connection 20 --out run";
    let compared = said(wirecost(home.path()).args(arguments.split(' ')));
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let rows = rows(home.path(), "run --device esp32s3-wifi-on");
    let of = |stack: &str, key: &str| {
        let mut rows = rows.iter();
        let row = rows.find(|row| row["traffic"].as_str().is_some_and(|name| name.contains(stack)));
        row.expect("a row")[key].clone()
    };
    let [each, session] = ["mah_each", "mah_session"].map(|key| number(&of("mqtt-qos1", key)));
    assert_near(session, 20.0 * each);
    // The receiver of 88 mA for twenty times ten seconds.
    assert!(
        (session / (88.0 * 200.0 / 3600.0) - 1.0).abs() < 0.05,
        "{session}"
    );
    assert!(
        of("coap-con", "mah_session").is_null(),
        "no connection, no session"
    );
}

#[test]
fn published_microjoules_are_below_what_the_airtime_needs() {
    let home = open_folder();
    let arguments = "compare coap-con --engine sim -n 1 --size 128B --out run";
    let compared = said(wirecost(home.path()).args(arguments.split(' ')));
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let rows = rows(home.path(), "run --device esp32s3-wifi");
    let transmit = &rows[0]["once"]["states"]["transmit"];
    // 1.8 uJ were published for a CoAP message of 128 B on an ESP32-S3.
    let microjoules = number(&transmit["joules"]["low"]) * 1e6;
    assert!(microjoules > 20.0 * 1.8, "{microjoules}");
}

#[test]
fn the_current_of_a_reading_and_of_a_day_are_drawn_of_a_run_and_of_a_capture() {
    let home = open_folder();
    compared(home.path());
    let drawn = |source: &str| {
        let files = "--device nrf9160-lte-m --curve reading.svg --day-curve day.svg";
        let said = cost(home.path(), &format!("{source} --interval 15min {files}"));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let read = |name: &str| std::fs::read_to_string(home.path().join(name)).expect("a file");
        (read("reading.svg"), read("day.svg"), said.stderr)
    };
    for source in ["run", "run/capture/sim.pcapng"] {
        let (reading, day, said) = drawn(source);
        assert!(
            reading.contains("wake-up") && reading.contains("seconds"),
            "{reading}"
        );
        assert!(day.contains("mean of 5 min") && day.contains("hours"), "{day}");
        assert!(
            said.contains("modelled. This reading: ") && said.contains("modelled. This day: "),
            "{said}"
        );
        assert!(reading.contains("mA, modelled") && day.contains("mA, modelled"));
    }
}

#[test]
fn what_has_no_packets_in_time_is_not_drawn() {
    let home = open_folder();
    let load = "load coap-con --engine sim -c 2 --rate 1/s -d 5s --out loaded";
    let loaded = said(wirecost(home.path()).args(load.split_whitespace()));
    assert_eq!(loaded.code, Some(0), "{}", loaded.stderr);
    let refused = cost(home.path(), "loaded --device nrf9160-lte-m --curve reading.svg");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("no packets of one device"),
        "{}",
        refused.stderr
    );
    assert!(!home.path().join("reading.svg").exists());
}
