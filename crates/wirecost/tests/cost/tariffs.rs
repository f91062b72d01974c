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

fn by_bytes(period: &str, more: &str) -> String {
    let figure = |key: &str, value: &str| format!("  {key}: {{value: {value}, source: assumed}}\n");
    [
        "bytes:\n",
        &figure("tunnel", "54B"),
        &figure("round", "1kB"),
        &figure("price", "2 EUR"),
        more,
    ]
    .concat()
        + &format!("  period: {period}\n  per: 1MB\n")
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
        let more = format!("  included: {{value: {included}, source: assumed}}\n");
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
            "messages:\n  unit: {{value: {unit}, source: assumed}}\n  keep_alives: {{value: true, source: assumed}}\n  \
             sessions: {{value: true, source: assumed}}\n  price: {{value: 3 USD, source: assumed}}\n  per: 1000\n"
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
    let bytes = "bytes:\n  round: 1B\n  period: month\n  price: 12 EUR\n  per: 500MB\n";
    let month = READINGS * 900.0;
    let bundle = format!("base_fee: 0.25 EUR\n{bytes}  valid: 365d\n");
    for row in priced(home.path(), &bundle) {
        let used = number(&row["bill"]["charged_bytes"]) / 500e6;
        let share = used.max(month / (365.0 * 86_400.0));
        assert_near(number(&row["bill"]["amount"]), 0.25 + 12.0 * share);
    }
    let table = cost(home.path(), "run --interval 15min --tariff mine.yaml");
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
