//! What is printed: the account of a row, tables, folders, and why a row is not behind the first.

use serde_json::Value;

use super::{bytes_of, choose, chosen, rows};
use crate::common::{open_folder, said};

/// The account of a row has each packet of a life, and sums to the row's figures.
#[test]
fn a_row_is_explained_packet_by_packet() {
    let home = open_folder();
    let asked =
        "mqtt-qos1 --every 12h --rtt 50ms --keep-alive 0s --device nrf9160-lte-m --tariff per-mb -n 1 -q";
    let choice = choose(home.path(), &format!("{asked} --json choice.json --out a"));
    assert_eq!(choice.code, Some(0), "{}", choice.stderr);
    let json = std::fs::read_to_string(home.path().join("choice.json")).expect("JSON");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let at = rows(&json)
        .iter()
        .position(|row| row["connection"] == "a connection each")
        .expect("a row");
    let explained = choose(home.path(), &format!("{asked} --explain {} --out b", at + 1));
    let text = &explained.stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("bill of the row: connects "), "{text}");
    let page = std::fs::read_to_string(home.path().join("a/choice.html")).expect("a page");
    assert!(page.contains("bill of mqtt-qos1 "), "no bill by cause");
    assert!(
        text.starts_with(&format!("Row {}, mqtt-qos1 (a connection each): ", at + 1)),
        "{text}"
    );
    let sum = text
        .lines()
        .find(|line| line.trim_start().starts_with("sum "))
        .expect("a sum");
    let fields: Vec<&str> = sum.split_whitespace().collect();
    assert_eq!(
        fields[3].parse::<f64>().expect("bytes"),
        bytes_of(&rows(&json)[at]),
        "{text}"
    );
    let of_phase = |phase: &str| -> Vec<&str> {
        text.lines()
            .filter(|line| line.contains(&format!(" ms  {phase}  ")))
            .collect()
    };
    // A SYN, its answer and ACK, CONNECT with its answer, and an ACK of each.
    assert_eq!(of_phase("connect").len(), 7, "{text}");
    let sum_of = |share: fn(&str) -> Option<&str>| -> f64 {
        let lines = text
            .lines()
            .take_while(|line| !line.starts_with("the sums are of"))
            .filter(|line| line.contains(" %") && !line.contains("  sum  "));
        let percents = lines.filter_map(|line| share(line)?.split_whitespace().last()?.parse::<f64>().ok());
        percents.sum()
    };
    let energy = sum_of(|line| {
        line.rsplit(" %")
            .nth(if line.contains("  device  ") { 1 } else { 2 })
    });
    let bill = sum_of(|line| line.rsplit(" %").nth(1).filter(|_| !line.contains("  device  ")));
    assert!(
        (energy - 100.0).abs() < 1.0 && (bill - 100.0).abs() < 1.0,
        "{energy} {bill}: {text}"
    );
    let none = choose(home.path(), &format!("{asked} --explain 99 --out c"));
    assert_eq!(none.code, Some(2));
    assert!(
        none.stderr.contains("--explain 99: the ranking has "),
        "{}",
        none.stderr
    );
}

/// Two calls within a second have a folder each.
#[test]
fn calls_within_a_second_have_a_folder_each() {
    let home = open_folder();
    for _ in 0..3 {
        let said = choose(home.path(), "coap-con --every 12h --rtt 5ms -n 1 -q");
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let folders = std::fs::read_dir(home.path().join("runs")).expect("a folder");
    assert_eq!(folders.count(), 3);
}

/// No line of the ranking, of `cost` and of the account of a row is wider than the terminal.
#[test]
#[ignore = "needs bsdutils"]
fn tables_fit_the_terminal() {
    let home = open_folder();
    let asked = "mqtt-qos1+tls1.3,coap-con+oscore --every 6h --link lte-m -n 1 -q --device nrf9160-lte-m --battery 2400mAh@3.6V --tariff 1nce";
    for width in [80, 120, 200] {
        let commands = [
            format!("choose {asked} --out {width}"),
            format!("choose {asked} --explain 2 --out explained-{width}"),
            format!("cost {width} --device nrf9160-lte-m --battery 2400mAh@3.6V --tariff 1nce"),
        ];
        for command in commands {
            let program = env!("CARGO_BIN_EXE_wirecost");
            let said = said(
                std::process::Command::new("script")
                    .current_dir(home.path())
                    .args([
                        "-qec",
                        &format!("stty cols {width} rows 50 && {program} {command}"),
                        "/dev/null",
                    ]),
            );
            assert_eq!(said.code, Some(0), "{command}: {}", said.stdout);
            let longest = said
                .stdout
                .lines()
                .map(|line| line.trim_end().chars().count())
                .max();
            assert!(longest <= Some(width), "{command}:\n{}", said.stdout);
            let first = said.stdout.lines().next().unwrap_or_default();
            assert!(
                first.contains("coap-con+oscore") || first.starts_with("Row 2, "),
                "the answer comes first: {first}"
            );
            let hides = said.stdout.contains("columns hidden (terminal too narrow)");
            assert!(
                hides || width > 80 || !command.starts_with("choose"),
                "{}",
                said.stdout
            );
        }
    }
}

/// The interval of the bytes of a row; where its devices are too few for one, the least and the most.
fn ends(row: &Value) -> [f64; 2] {
    let bytes = &row["figures"]["bytes_per_reading"];
    assert!(bytes["n"].as_u64().expect("devices") > 1, "{row}");
    let end = |side: &str, whole: &str| bytes[side].as_f64().or(bytes[whole].as_f64()).expect("an end");
    [end("low", "least"), end("high", "most")]
}

/// What each row but the first one is beside it.
fn beside_first(choice: &Value) -> Vec<Option<&str>> {
    let rows = rows(choice).iter().skip(1);
    rows.map(|row| row["beside_first"].as_str()).collect()
}

/// Bytes of MQTT 3.1.1 and 5 differ by less than what lost packets add.
#[test]
fn rows_that_are_not_behind_the_first_say_why() {
    let home = open_folder();
    let asked = "mqtt-qos1,mqtt5-qos1 --every 6h --rtt 50ms --keep-alive 0s";
    let exact = chosen(home.path(), &format!("{asked} --out exact"));
    for row in rows(&exact) {
        let [low, high] = ends(row);
        assert!(low == high, "every device has the same packets: {row}");
    }
    assert!(beside_first(&exact).iter().all(Option::is_none), "{exact}");
    // At 20 %, a device gives up to connect, and its readings are lost.
    let lossy = format!("{asked} --loss 10% --tariff per-mb");
    let choice = chosen(home.path(), &format!("{lossy} --out lossy"));
    let too_few = "too few samples to tell it from the first";
    assert!(beside_first(&choice).contains(&Some(too_few)), "{choice}");
    let page = std::fs::read_to_string(home.path().join("lossy/choice.md")).expect("a page");
    assert!(page.contains(too_few), "{page}");
    // The price is by the byte: the same rows stand beside the first one.
    let by_money = chosen(home.path(), &format!("{lossy} --by money --out money"));
    assert_eq!(beside_first(&by_money), beside_first(&choice));
}

#[test]
fn one_device_has_no_interval() {
    let home = open_folder();
    let said = choose(
        home.path(),
        "udp,coap-con --every 6h --rtt 50ms -n 1 -q --delivery at-most-once",
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for expected in [
        "(no interval)",
        "means over 1 device",
        "too few samples to tell it from the first",
    ] {
        assert!(said.stdout.contains(expected), "{expected}:\n{}", said.stdout);
    }
}

#[test]
#[ignore = "needs root"]
fn the_first_three_are_measured_live() {
    crate::common::need_root();
    let home = open_folder();
    let choice = chosen(
        home.path(),
        "coap-con,mqtt-qos1,http1,coap-con+oscore,mqtt-qos1+tls1.3 --every 6h --rtt 20ms --verify --out live",
    );
    let verified = choice["verified"].as_array().expect("a list");
    assert_eq!(verified.len(), 3, "{choice}");
    for stack in verified {
        assert_eq!(stack["equal"], true, "{stack}");
    }
    assert!(home.path().join("live/verify/report.html").exists());
}
