//! `--tariff FILE`: what is counted, when it is rounded, and the bill.

use std::path::Path;

use serde_json::Value;

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
                Some("kept for 96") => 30.0,
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
