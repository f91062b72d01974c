//! `--tariff FILE`: what is counted, when it is rounded, and the bill.

use std::path::Path;

use serde_json::Value;

use crate::common;

use super::{assert_near, compared, cost, number, open_folder, rows};

/// Readings of a month at 15 minutes.
const READINGS: f64 = 2_592_000.0 / 900.0;

/// The rows of a run with a tariff of these lines.
fn priced(home: &Path, lines: &str) -> Vec<Value> {
    let text = format!("wirecost_tariff: 1\ntitle: mine\n{lines}");
    std::fs::write(home.join("mine.yaml"), text).expect("a tariff");
    rows(home, "run --interval 15min --keep-alive 0s --tariff mine.yaml")
}

/// A rule of packets.
fn by_bytes(period: &str, more: &str) -> String {
    format!(
        "rules:\n  data:\n    counts: packets\n    tunnel: {{value: 54B, source: assumed}}\n    round: 1kB\n    each: {period}\n    \
         price: 2 EUR\n    per: 1MB\n{more}"
    )
}

#[test]
fn bytes_are_rounded_up_per_session_day_and_month_of_a_file() {
    let home = open_folder();
    compared(home.path());
    for (period, periods) in [("session", READINGS), ("day", 30.0), ("month", 1.0)] {
        let rows = priced(home.path(), &by_bytes(period, ""));
        let each = rows
            .iter()
            .find(|row| row["mode"] == "a connection each")
            .expect("a row");
        let (month, bill) = (&each["month"], &each["bill"]);
        assert_near(number(&month["sessions"]), READINGS);
        let of = |key: &str| number(&month[key]);
        let counted = of("bytes_up") + of("bytes_down") + 54.0 * (of("packets_up") + of("packets_down"));
        assert_near(number(&bill["counted_bytes"]), counted);
        let charged = (counted / periods / 1e3).ceil() * 1e3 * periods;
        assert!(charged > counted, "{period}");
        assert_near(number(&bill["charged_bytes"]), charged);
        assert_near(number(&bill["amount"]), charged / 1e6 * 2.0);
    }
    // What is included is free, and a month below it costs nothing.
    for (included, amount) in [("1MB", None), ("1GB", Some(0.0))] {
        let more = format!("    free: {{value: {included}, source: assumed}}\n");
        for row in priced(home.path(), &by_bytes("month", &more)) {
            let bill = &row["bill"];
            let paid = (number(&bill["charged_bytes"]) - 1e6).max(0.0) / 1e6 * 2.0;
            assert_near(number(&bill["amount"]), amount.unwrap_or(paid));
        }
    }
}

#[test]
fn messages_of_a_file_have_a_least_size_and_a_price() {
    let home = open_folder();
    compared(home.path());
    // A reading has 48 B.
    for (unit, units) in [("1kB", 1.0), ("48B", 1.0), ("47B", 2.0), ("10B", 5.0)] {
        let lines = format!(
            "rules:\n  messages:\n    counts: [publish, keep_alive, connect]\n    unit: {unit}\n    price: 3 USD\n    per: 1000\n"
        );
        for row in priced(home.path(), &lines) {
            let sessions = match row["mode"].as_str() {
                Some("a connection each") => READINGS,
                Some("persistent for 96") => 30.0,
                _ => 0.0,
            };
            let charged = READINGS * units + sessions;
            assert_near(number(&row["bill"]["charged_messages"]), charged);
            assert_near(number(&row["bill"]["amount"]), charged / 1e3 * 3.0);
            assert_eq!(row["bill"]["charged_bytes"], 0.0);
        }
    }
    let table = cost(home.path(), "run --interval 15min --tariff ./mine.yaml");
    assert!(table.stdout.contains("messages  USD/month*"), "{}", table.stdout);
    assert!(
        table
            .stdout
            .contains("* priced by ./mine.yaml: mine; the price is an example"),
        "{}",
        table.stdout
    );
}

#[test]
fn a_service_prices_only_what_it_takes() {
    let home = open_folder();
    let stacks =
        "compare mqtt-qos1+tls1.3 coap-con -n 1 --size 48B --engine sim --interval 15min -q --out both";
    let made = common::said(common::wirecost(home.path()).args(stacks.split(' ')));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let rows = rows(home.path(), "both --tariff aws-iot-core");
    for row in &rows {
        let is_mqtt = row["traffic"]
            .as_str()
            .is_some_and(|label| label.starts_with("mqtt"));
        assert_eq!(row["bill"].is_null(), !is_mqtt, "{row}");
        assert_eq!(row["not_billed"].is_null(), is_mqtt, "{row}");
    }
    let said = "not priced: tariffs/aws-iot-core.yaml takes mqtt+tls and http1+tls, not coap-con\n";
    let table = cost(home.path(), "both --tariff aws-iot-core");
    assert!(table.stdout.contains(said), "{}", table.stdout);
    let table = cost(home.path(), "both/capture/sim.pcapng --tariff aws-iot-core");
    let said = "the service takes mqtt+tls and http1+tls: whether the capture has these alone is not checked";
    assert!(table.stdout.contains(said), "{}", table.stdout);
}

#[test]
fn a_prepaid_bundle_and_a_base_fee_are_paid_without_traffic_too() {
    let home = open_folder();
    compared(home.path());
    let bytes = "rules:\n  sim: {counts: fee, price: 0.25 EUR}\n  data:\n    counts: packets\n    price: 12 EUR\n    bundle: 500MB\n";
    let month = READINGS * 900.0;
    let bundle = format!("{bytes}    valid: 365d\n");
    for row in priced(home.path(), &bundle) {
        let used = number(&row["bill"]["charged_bytes"]) / 500e6;
        let share = used.max(month / (365.0 * 86_400.0));
        assert_near(number(&row["bill"]["amount"]), 0.25 + 12.0 * share);
    }
    let table = cost(home.path(), "run --interval 15min --tariff mine.yaml");
    let words = table.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("a bundle ends by its time, after 1 year, with"),
        "{words}"
    );
    assert!(
        table.stdout.contains("the price is an example"),
        "{}",
        table.stdout
    );
}

#[test]
fn rows_of_several_links_keep_their_links_and_equal_prices_are_no_win() {
    let home = open_folder();
    let line = "compare coap-con mqtt-qos1 --engine sim -n 2 --size 64B --link lte-m,nb-iot --out run";
    let compared = common::said(common::wirecost(home.path()).args(line.split(' ')));
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let table = cost(home.path(), "run --tariff 1nce --interval 15min").stdout;
    let text = table.split_whitespace().collect::<Vec<_>>().join(" ");
    // A prepaid bundle costs the same for few bytes.
    assert!(
        text.starts_with("coap-con cold 64B, RTT ")
            && text
                .contains("costs the least money of 6 rows, as others do, and has no more bytes than these"),
        "{table}"
    );
    assert!(text.contains("; each row: sim"), "{table}");
    assert!(
        text.contains("rate 62.5 kbit/s up 26.15 kbit/s down no connection"),
        "{table}"
    );
}

#[test]
fn a_bill_is_told_by_cause_with_its_next_cheaper_step() {
    let home = open_folder();
    let line = "compare mqtt-qos1 -n 1 --size 48B --engine sim --interval 15min --keep-alive 60s \
                --messages-per-connection 96 -q --out kept";
    let made = common::said(common::wirecost(home.path()).args(line.split_whitespace()));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let row = &rows(home.path(), "kept --tariff soracom")[0];
    let (bill, month) = (&row["bill"], &row["month"]);
    let causes = bill["by_cause"].as_object().expect("causes");
    let sum: f64 = causes.values().map(number).sum();
    assert_near(sum, number(&bill["amount"]));
    // 14 of 15 minutes have a keep-alive of three packets, the fifteenth a reading of three.
    let share = number(&causes["keep_alive"]) / number(&bill["amount"]);
    assert!((0.8..0.95).contains(&share), "{share}");
    let told = cost(home.path(), "kept --tariff soracom").stdout;
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = format!("keep-alives {:.0} %", share * 100.0);
    assert!(
        told.contains(&expected) && told.contains("the next cheaper step: "),
        "{told}"
    );
    // One unit of 100 KB less, from the counted bytes down to the end of the unit below.
    let step = &bill["next_step"];
    let unit = 102_400.0;
    let below = number(&bill["charged_bytes"]) - unit;
    assert_near(number(&step["less"]), number(&bill["counted_bytes"]) - below);
    assert_near(number(&step["saves_a_month"]), unit / 1_048_576.0 * 0.08);
    assert_near(number(&month["sessions"]), 30.0);
}

#[test]
fn tiers_of_an_account_are_those_of_all_devices_and_both_kilobytes_are_told() {
    let home = open_folder();
    let line = "compare mqtt-qos1+tls1.3 -n 1 --size 5050B --engine sim --interval 15min --keep-alive 0s \
                --messages-per-connection 96 -q --out kept";
    let made = common::said(common::wirecost(home.path()).args(line.split_whitespace()));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let bill = |devices: u32| {
        let asked = format!("kept --tariff aws-iot-core --devices {devices}");
        rows(home.path(), &asked)[0]["bill"].clone()
    };
    // With its topic a reading is above 5,000 and below 5,120 B: two units or one; a CONNECT a day is one more.
    let units = |each: f64| READINGS * each + 30.0;
    let money = |devices: f64, each: f64| {
        let minutes = (devices * number(&bill(1)["lines"][0]["quantity"]) - 2_250_000.0).max(0.0) * 0.08e-6;
        (devices * units(each) - 500_000.0).max(0.0) * 1e-6 + minutes
    };
    assert_near(number(&bill(1)["amount"]), 0.0);
    let thousand = bill(1_000);
    assert_near(number(&thousand["lines"][1]["quantity"]), units(2.0));
    assert_near(number(&thousand["fleet_amount"]), money(1_000.0, 2.0));
    let other = number(&thousand["amount_with_kilobytes_of_1024"]);
    assert_near(other * 1_000.0, money(1_000.0, 1.0));
    let told = cost(home.path(), "kept --tariff aws-iot-core --devices 100000").stdout;
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("where it has 1,024 B: the page does not say"),
        "{told}"
    );
}

#[test]
fn the_worked_examples_of_a_file_are_run() {
    let home = open_folder();
    let run = |line: &str| common::said(common::wirecost(home.path()).args(line.split_whitespace()));
    for name in [
        "aws-iot-core",
        "azure-iot-hub",
        "clearblade",
        "emqx-cloud",
        "hivemq-cloud",
    ] {
        let said = run(&format!("tariffs {name} --examples"));
        assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
        assert!(said.stdout.contains("agree with the page"), "{}", said.stdout);
    }
    let said = run("tariffs azure-iot-hub --examples --json -");
    let value: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let lines = value["figures"].as_array().expect("figures").iter();
    let lines: Vec<f64> = lines
        .filter(|line| line["line"] == "messages")
        .map(|line| number(&line["computed"]))
        .collect();
    assert_eq!(lines, [1_728.0, 606.0, 611.0, 24.0, 960.0]);
    // One that does not come out is said, and so is a file without any.
    let text = run("tariffs azure-iot-hub")
        .stdout
        .replace("lines: {messages: 1728}", "lines: {messages: 1727}");
    std::fs::write(home.path().join("wrong.yaml"), text).expect("a tariff");
    let said = run("tariffs ./wrong.yaml --examples");
    assert_eq!(said.code, Some(14), "{}", said.stdout);
    assert!(
        said.stdout.contains("1 of 7 figures do not agree"),
        "{}",
        said.stdout
    );
    let said = run("tariffs per-mb --examples");
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
    assert!(
        said.stderr.contains("per-mb has no worked examples"),
        "{}",
        said.stderr
    );
}
