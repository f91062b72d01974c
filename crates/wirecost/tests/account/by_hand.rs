//! The account of three rows, recomputed in another language from a capture, a device file and a tariff file alone.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::common::{open_folder, summary_in};
use super::{TERMS, device_side, json, number, run};

/// The rows of docs/models/account.md, each with its figures there: bytes, joules of a day, milliwatts, years, and money of a month.
const ROWS: [(&str, [&str; 5]); 4] = [
    (
        "coap-con+oscore",
        ["166.00", "41.872", "0.48473", "1.9942", "0.0625"],
    ),
    (
        "mqtt-qos1+tls1.3",
        ["300.36", "42.128", "0.48770", "1.9823", "0.1094"],
    ),
    (
        "coap-con+dtls1.2-cid",
        ["211.55", "41.938", "0.48549", "1.9911", "0.0781"],
    ),
    (
        "coap-con+dtls1.2-psk",
        ["680.23", "43.457", "0.50307", "1.9229", "0.2266"],
    ),
];

fn assert_close(got: f64, expected: f64, what: &str) {
    assert!((got / expected - 1.0).abs() < 1e-6, "{what}: {got}, {expected}");
}

#[test]
#[ignore = "needs tshark"]
fn an_account_follows_from_its_packets_and_files() {
    let home = open_folder();
    let stacks = ROWS.map(|(stack, _)| stack).join(",");
    run(
        home.path(),
        &format!(
            "compare -q --engine sim -n 1 --size 64B --link lte-m --interval 15min --messages-per-connection 96 --keep-alive 1080s \
             {stacks} --out run"
        ),
    );
    let capture = device_side::capture(&home.path().join("run/capture/sim.pcapng"));
    let priced = json(home.path(), &format!("cost run {TERMS}"));
    let summary = summary_in(&home.path().join("run"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/models/account.md")).expect("the page");
    for (stack, told) in ROWS {
        let index = summary
            .cells
            .iter()
            .position(|cell| cell.stack == stack)
            .expect("a cell");
        let by_hand = Command::new("python3")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/account/by_hand.py"))
            .arg(&capture)
            .arg(format!("10.77.0.{}", index + 2))
            .args([
                root.join("devices/nrf9160-lte-m.yaml"),
                root.join("tariffs/soracom.yaml"),
            ])
            .args(["96", "900", "31104", "0.01"])
            .output()
            .expect("python3 starts");
        assert!(
            by_hand.status.success(),
            "{}",
            String::from_utf8_lossy(&by_hand.stderr)
        );
        let by_hand: Value = serde_json::from_slice(&by_hand.stdout).expect("JSON");
        let mut rows = priced["rows"].as_array().expect("rows").iter();
        let start = format!("{stack} ");
        let is_it = |row: &&Value| {
            row["traffic"]
                .as_str()
                .is_some_and(|label| label.starts_with(&start))
        };
        let row = rows.find(is_it).expect("a row");
        let of = |key: &str| number(&by_hand[key]);
        let states = &row["once"]["states"];
        assert_close(number(&row["bytes_once"]), of("bytes"), stack);
        let month = number(&row["month"]["bytes_up"]) + number(&row["month"]["bytes_down"]);
        assert_close(month, of("month"), stack);
        for state in ["sleep", "idle", "receive", "transmit"] {
            assert_close(
                number(&states[state]["seconds"]),
                number(&by_hand["seconds"][state]),
                state,
            );
        }
        let listening = number(&by_hand["seconds"]["listen"]) + number(&by_hand["seconds"]["wake"]);
        assert_close(number(&states["listen"]["seconds"]), listening, "listen");
        assert_close(number(&row["once"]["joules"]["mean"]), of("joules"), stack);
        assert_close(number(&row["mean_power_w"]["total"]["mean"]), of("watts"), stack);
        assert_close(number(&row["battery_years"]["years"]), of("years"), stack);
        assert_close(number(&row["bill"]["counted_bytes"]), of("counted"), stack);
        assert_close(number(&row["bill"]["amount"]), of("money"), stack);
        let now = [
            format!("{:.2}", of("bytes")),
            format!("{:.3}", of("joules")),
            format!("{:.5}", of("watts") * 1e3),
            format!("{:.4}", of("years")),
            format!("{:.4}", of("money")),
        ];
        assert_eq!(now.each_ref().map(String::as_str), told, "{stack}");
        for figure in told {
            assert!(
                page.contains(figure),
                "{figure} of {stack} is not in docs/models/account.md"
            );
        }
    }
}
