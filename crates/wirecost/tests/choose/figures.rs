//! The figures are those of the comparison, of a reading, of a fleet and of a month.

use wirecost_results::Summary;

use super::{choose, chosen, rows};
use crate::common::{Said, open_folder, said, wirecost};

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
        let cell = summary
            .cells
            .iter()
            .find(|cell| cell.key == row["key"].as_str().expect("a key"));
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
    assert!(page.contains("**coap-con (no connection)**"), "{page}");
    let page = std::fs::read_to_string(home.path().join("run/choice.html")).expect("a page");
    for part in [
        "Requirements",
        "Ranking",
        "Evidence",
        "Assumptions",
        "Repeat it",
        "10min",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("<script"));
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
fn a_batch_is_one_message_with_its_bytes() {
    let home = open_folder();
    let said = choose(
        home.path(),
        "coap-con --every 10min --rtt 40ms --readings 10 --compression gzip --out batch",
    );
    assert!(
        said.stdout
            .contains("\n10 readings in json with gzip every 10 min over"),
        "{}",
        said.stdout
    );
    // A message leaves when its tenth reading is there: 100 minutes after the one before.
    let summary = std::fs::read_to_string(home.path().join("batch/summary.json")).expect("a summary");
    let summary: Summary = serde_json::from_str(&summary).expect("a summary");
    assert_eq!(summary.cells[0].interval_ns, Some(6_000_000_000_000));
    let said = choose(
        home.path(),
        "coap-con --every 1s --rtt 40ms --readings 10 --monthly-bytes 1MB --out none",
    );
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr
            .contains("--monthly-bytes 1MB contradicts 10 readings in json every 1 s"),
        "{}",
        said.stderr
    );
}

/// The faster one of two stacks over sizes and losses is the one that `compare` finds.
#[test]
fn the_border_over_size_and_loss_is_that_of_the_comparison() {
    let home = open_folder();
    let compare = "compare coap-con,mqtt-qos1 --engine sim --size 48B,10kB --loss 0%,5% --rtt 100ms --interval 12h \
                   --messages-per-connection 2 -n 20 --out map -q";
    let compared = said(wirecost(home.path()).args(compare.split_whitespace()));
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let summary = std::fs::read_to_string(home.path().join("map/summary.json")).expect("a summary");
    let summary: Summary = serde_json::from_str(&summary).expect("a summary");
    let mut fastest_of = Vec::new();
    for (size, loss) in [(48, "0%"), (48, "5%"), (10_000, "0%"), (10_000, "5%")] {
        let loses = loss != "0%";
        let cells = summary.cells.iter();
        let cells = cells.filter(|cell| cell.payload_bytes == size && (cell.link.up.loss > 0.0) == loses);
        let time = |cell: &&wirecost_results::Cell| {
            let message = cell.message.as_ref().expect("messages");
            let times = message.response_time_ns.as_ref().expect("times");
            times.p95.unwrap_or(times.max)
        };
        let expected = cells.min_by_key(time).expect("a cell").stack.clone();
        let asked = format!(
            "coap-con,mqtt-qos1 --every 12h --rtt 100ms --by time --size {size}B --loss {loss} --keep-alive 60s --out {size}-{}",
            u8::from(loses)
        );
        let choice = chosen(home.path(), &asked);
        let mut first = rows(&choice).iter().enumerate();
        // Lost packets differ from run to run: what cannot be told apart from the first one may be it.
        let is_first = first
            .any(|(index, row)| row["stack"] == *expected && (index == 0 || row["beside_first"].is_string()));
        assert!(is_first, "{size} B, {loss}: {expected} in {choice}");
        fastest_of.push(expected);
    }
    assert_eq!((&*fastest_of[0], &*fastest_of[2]), ("coap-con", "mqtt-qos1"));
}

/// Bytes and money of all devices, in the time asked for; what is said of a device stays.
#[test]
fn a_fleet_of_a_year_is_a_multiple_of_a_device_of_a_month() {
    let home = open_folder();
    let asked = "coap-con --every 6h --rtt 50ms --tariff per-mb -n 1 -q";
    let one = choose(home.path(), &format!("{asked} --out one"));
    let fleet = choose(
        home.path(),
        &format!("{asked} --devices 10000 --per year --out fleet"),
    );
    let cell = |said: &Said, column: &str| -> f64 {
        let mut lines = said.stdout.lines().skip_while(|line| !line.starts_with("row "));
        let fields = |line: &str| {
            line.split("  ")
                .map(str::trim)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (heads, row) = (
            fields(lines.next().expect("heads")),
            fields(lines.next().expect("a row")),
        );
        let at = heads
            .iter()
            .position(|head| head == column)
            .unwrap_or_else(|| panic!("{column} in {heads:?}"));
        row[at].replace(',', "").parse().expect("a number")
    };
    let ratio = cell(&fleet, "MB/year") / cell(&one, "MB/month");
    assert!((ratio / 120_000.0 - 1.0).abs() < 0.02, "{ratio}");
    assert!(
        fleet
            .stdout
            .contains("bytes and money per year are those of 10,000 devices"),
        "{}",
        fleet.stdout
    );
    assert!(cell(&fleet, "EUR/year*") > cell(&one, "EUR/month*") * 100_000.0);
}

/// A device that rests wakes up before a reading leaves; one that stays awake does not.
#[test]
fn a_wake_up_counts_in_the_time_of_a_reading() {
    let home = open_folder();
    let asked = "coap-con --rtt 100ms --device nrf9160-lte-m";
    let said = choose(
        home.path(),
        &format!("{asked} --every 15min --within 300ms -q --out rests"),
    );
    assert_eq!(said.code, Some(13), "{}", said.stdout);
    assert!(
        said.stdout
            .contains("within: p95 1.6 s (wake-up 1.5 s, message 100 ms), above 300 ms"),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.contains("- wake-up: 1.5 s and 105 mJ"),
        "{}",
        said.stdout
    );
    let awake = chosen(
        home.path(),
        &format!("{asked} --every 5s --within 300ms --out awake"),
    );
    assert_eq!(rows(&awake)[0]["figures"]["time_parts_s"]["wake"], 0.0);
}
