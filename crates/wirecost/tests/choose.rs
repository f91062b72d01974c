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

/// The bytes of a row, as far as they have digits before their point.
fn bytes_of(row: &Value) -> f64 {
    row["figures"]["bytes_per_reading"]["mean"]
        .as_f64()
        .expect("bytes")
        .round()
}

/// What `--keep-alive 1080s` costs is a row, which has the figures of the comparison with that keep-alive.
#[test]
fn the_longest_keep_alive_that_the_link_allows_is_a_row() {
    let home = open_folder();
    let asked = "amqp-unsettled+tls1.3,mqtt-qos1+tls1.3 --every 15min --size 64B --link lte-m --start cold --certificate p256";
    let choice = chosen(home.path(), &format!("{asked} --out run"));
    let kept = |choice: &Value, stack: &str| -> Vec<Value> {
        let kept = |row: &&Value| row["stack"] == stack && row["connection"] != "a connection each";
        rows(choice).iter().filter(kept).cloned().collect()
    };
    let mqtt = kept(&choice, "mqtt-qos1+tls1.3");
    let names: Vec<&Value> = mqtt.iter().map(|row| &row["connection"]).collect();
    assert_eq!(
        names,
        [
            "persistent for 96, keep-alive 18 min",
            "persistent for 96, keep-alive 1 min"
        ]
    );
    // Heartbeats of AMQP follow the container (AMQP 1.0 section 2.4.5).
    assert_eq!(kept(&choice, "amqp-unsettled+tls1.3").len(), 1);
    let notes = rows(&choice).iter().filter_map(|row| row["note"].as_str());
    assert!(notes.into_iter().all(|note| !note.contains("--keep-alive")));

    let alone = chosen(home.path(), &format!("{asked} --keep-alive 1080s --out alone"));
    assert_eq!(bytes_of(&mqtt[0]), bytes_of(&kept(&alone, "mqtt-qos1+tls1.3")[0]));
    let compare = "compare mqtt-qos1+tls1.3 --engine sim --size 64B --link lte-m --interval 15min --messages-per-connection 96 \
                   --keep-alive 1080s --out compared -q";
    let compared = said(wirecost(home.path()).args(compare.split_whitespace()));
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let summary = std::fs::read_to_string(home.path().join("compared/summary.json")).expect("a summary");
    let summary: Summary = serde_json::from_str(&summary).expect("a summary");
    let all_in = summary.cells[0].all_in().expect("all-in bytes").each();
    assert!(
        (all_in
            - mqtt[0]["figures"]["bytes_per_reading"]["mean"]
                .as_f64()
                .expect("bytes"))
        .abs()
            < 2.0
    );
}

/// A public broker sends a chain of two certificates. DTLS has its own leaf, as before.
#[test]
fn unless_certificates_are_asked_for_tls_has_those_of_a_public_broker() {
    let home = open_folder();
    let asked = "mqtt-qos1+tls1.3,coap-con+dtls1.3,coap-con+oscore --every 12h --rtt 50ms --start cold --keep-alive 0s";
    let said = choose(
        home.path(),
        &format!("{asked} -n 2 -q --json public.json --out public"),
    );
    let words = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "TLS with the chain letsencrypt-ecdsa (p256) of a public broker and x25519, DTLS with a p256 leaf",
        "certificates of TLS: letsencrypt-ecdsa, 1000 B (assumed) and 699 B; --certificate p256 is a leaf",
    ] {
        assert!(
            words.contains(expected),
            "{expected}: {}{}",
            said.stdout,
            said.stderr
        );
    }
    let text = std::fs::read_to_string(home.path().join("public.json")).expect("JSON");
    let public: Value = serde_json::from_str(&text).expect("JSON");
    let private = chosen(home.path(), &format!("{asked} --certificate p256 --out private"));
    let each = |choice: &Value, stack: &str| -> f64 {
        let is_each = |row: &&Value| row["stack"] == stack && row["connection"] != "persistent for 2";
        bytes_of(rows(choice).iter().find(is_each).expect("a row"))
    };
    let more = |stack: &str| each(&public, stack) - each(&private, stack);
    // 1,699 B of certificates for one of 395 B, and the header of a second segment with its acknowledgement.
    assert!(
        (1_300.0..1_450.0).contains(&more("mqtt-qos1+tls1.3")),
        "{}",
        more("mqtt-qos1+tls1.3")
    );
    assert_eq!((more("coap-con+dtls1.3"), more("coap-con+oscore")), (0.0, 0.0));
    // Where nothing has certificates of TLS, nothing is said of them.
    let said = choose(
        home.path(),
        "coap-con+oscore --every 12h --rtt 50ms -n 1 -q --out none",
    );
    assert!(
        said.code == Some(0) && !said.stdout.contains("certificates of TLS"),
        "{}",
        said.stdout
    );
}

/// Each start that a stack can is a way; `--start` restricts them, and a batch is compared by the reading.
#[test]
fn starts_and_batches_are_ways() {
    let home = open_folder();
    let asked = "mqtt-qos1+tls1.3,coap-con+oscore --every 6h --rtt 50ms --keep-alive 60s";
    let starts = |choice: &Value, stack: &str| -> Vec<String> {
        let of_stack = |row: &&Value| row["stack"] == stack && row["connection"] != "persistent for 4";
        let starts = rows(choice).iter().filter(of_stack);
        starts
            .map(|row| row["start"].as_str().expect("a start").to_owned())
            .collect()
    };
    let choice = chosen(home.path(), &format!("{asked} --out all"));
    let mut all = starts(&choice, "mqtt-qos1+tls1.3");
    all.sort();
    assert_eq!(all, ["0rtt", "cold", "resumed"]);
    assert_eq!(starts(&choice, "coap-con+oscore"), ["cold"]);
    let resumed = chosen(
        home.path(),
        &format!("{asked} --start resumed --delivery at-most-once --out resumed"),
    );
    assert_eq!(starts(&resumed, "mqtt-qos1+tls1.3"), ["resumed"]);

    let choice = chosen(
        home.path(),
        "coap-con --every 10min --rtt 40ms --readings 1,4 --tariff per-mb --device nrf9160-lte-m --within 50min --out batch",
    );
    let [batch, single] = rows(&choice) else {
        panic!("{choice}")
    };
    assert_eq!(
        (&batch["connection"], &single["connection"]),
        (
            &"no connection, 4 a message".into(),
            &"no connection, 1 a message".into()
        )
    );
    assert!(bytes_of(batch) < bytes_of(single));
    let month = |row: &Value| row["figures"]["bytes_per_month"].as_f64().expect("bytes");
    let ratio = |of: &dyn Fn(&Value) -> f64| of(batch) / of(single);
    let exact = |row: &Value| {
        row["figures"]["bytes_per_reading"]["mean"]
            .as_f64()
            .expect("bytes")
    };
    assert!(
        (ratio(&month) - ratio(&exact)).abs() < 1e-9,
        "a reading has the same number of followers in both"
    );
    // The first reading waits for three others, and for the device.
    let parts = &batch["figures"]["time_parts_s"];
    assert_eq!(
        (parts["wait"].as_f64(), parts["wake"].as_f64()),
        (Some(1_800.0), Some(1.5))
    );
    assert!(batch["figures"]["time_s"].as_f64().expect("a time") > 1_801.5);
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

/// A broker charges a reading by its size, however many packets it takes.
#[test]
fn a_large_reading_is_one_message_of_a_tariff() {
    let home = open_folder();
    let rule = "{counts: [connect, publish], unit: 5kB, price: 1 USD, per: 1000000}";
    let text = format!("wirecost_tariff: 1\ntitle: mine\nrules: {{messages: {rule}}}\n");
    std::fs::write(home.path().join("mine.yaml"), text).expect("a tariff");
    let choice = chosen(
        home.path(),
        "mqtt-qos1+tls1.3 --size 20kB --every 12h --rtt 50ms --keep-alive 60s --start cold --tariff ./mine.yaml --out a",
    );
    let prices = rows(&choice).iter().map(|row| {
        let money = row["figures"]["money_per_month"].as_f64().expect("money");
        // A million messages cost a dollar; a reading is four of 5 kB, and a connect one more.
        (
            row["connection"].clone(),
            (money * 1e6 / (2_592_000.0 / 43_200.0) * 1e6).round() / 1e6,
        )
    });
    let mut prices: Vec<(Value, f64)> = prices.collect();
    prices.sort_by(|one, other| one.1.total_cmp(&other.1));
    assert_eq!(
        prices,
        [
            ("persistent for 2".into(), 4.5),
            ("a connection each".into(), 5.0)
        ]
    );
}

#[test]
#[ignore = "needs root"]
fn the_first_three_are_measured_live() {
    common::need_root();
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

#[test]
fn each_requirement_names_what_it_excludes() {
    let home = open_folder();
    let said = choose(
        home.path(),
        "coap-con,coap-non,mqtt-qos1+tls1.3 --every 12h --rtt 200ms --within 1800ms --reach coap --device-class 1 \
         --device nrf9160-lte-m --battery 100mAh@3.6V --battery-years 90 --monthly-bytes 3kB -n 2 -q --json - --out a",
    );
    assert_eq!(said.code, Some(13), "{}", said.stderr);
    assert!(
        said.stderr.contains("no stack meets the requirements"),
        "{}",
        said.stderr
    );
    let choice: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let fails = |stack: &str, way: &str| {
        let row = rows(&choice)
            .iter()
            .find(|row| row["stack"] == stack && row["connection"] == way);
        row.expect("a row")["fails"].to_string()
    };
    assert!(fails("coap-non", "no connection").contains("delivery: delivers at most once"));
    let mqtt = fails("mqtt-qos1+tls1.3", "a connection each");
    for expected in [
        "within: longest 2.3 s (wake-up 1.5 s, connect 600 ms, message 200 ms), above 1.8 s",
        "reach: the other side does not speak it",
        "device-class: too large for a device of class 1",
        "battery-years: ",
        "monthly-bytes: ",
    ] {
        assert!(mqtt.contains(expected), "{expected}: {mqtt}");
    }
    let coap = fails("coap-con", "no connection");
    assert!(
        coap.contains("battery-years: ") && !coap.contains("within: "),
        "{coap}"
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
            .starts_with("50 B every 12 h"),
        "{choice}"
    );
    let refused = |text: &str| {
        std::fs::write(home.path().join("wrong.yaml"), text).expect("a file");
        let said = choose(home.path(), "--file wrong.yaml --out c");
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        said.stderr
    };
    for (text, expected) in [
        (
            "every: 12h\nevry: 12h\n",
            "wrong.yaml:2: unexpected argument '--evry'",
        ),
        ("size: 12B\n", "--every"),
        (
            "every: 12h\nsize: twelve\n",
            "wrong.yaml:2: invalid value 'twelve' for '--size",
        ),
        (
            "every: 12h\nby: money\n",
            "wrong.yaml:2: --by money needs --tariff",
        ),
        (
            "every: 12h\n\nwithin: 0s\n",
            "wrong.yaml:3: --within must be above 0s",
        ),
        (
            "every: 12h\nout: here\n",
            "wrong.yaml:2: --out belongs on the command line",
        ),
        ("use_cases: 3\n", "wrong.yaml:1: use_cases is not a list"),
        (
            "use_cases:\n  - {every: 12h}\n",
            "wrong.yaml:2: a use case without a name",
        ),
        ("- 3\n", "not a table of options"),
        (
            "every: 12h\nbattery_years: 2\n",
            "wrong.yaml:2: --battery-years needs --battery",
        ),
        (
            "every: 12h\n\nbattery: 1Ah@3V\n",
            "wrong.yaml:3: --battery needs --device",
        ),
        (
            "every: 12h\nlink: {rtt: 5ms}\n",
            "wrong.yaml:2: --link is a table, not a value",
        ),
        (
            "use_cases:\n  - {name: a, every: 12h}\n  - {name: a, every: 6h}\n",
            "wrong.yaml:3: two use cases have the name \"a\"",
        ),
        (
            "every: 12h\nuse_cases:\n  - name: a\n    within: 2ms\n    rtt: 20ms\n",
            "wrong.yaml:4: --within 2 ms contradicts the link",
        ),
    ] {
        let said = refused(text);
        assert!(said.contains(expected), "{text}: {said}");
        assert!(said.contains("hint: "), "{said}");
    }
}

#[test]
fn several_use_cases_make_a_decision_matrix() {
    let home = open_folder();
    let text = "every: 12h\nrtt: 100ms\nstacks: [coap-con, mqtt-qos1]\nuse_cases:\n  - {name: Small, size: 48B}\n  \
                - {name: Pictures of 10 kB, size: 10kB, by: time}\n  - {name: A few bytes, monthly_bytes: 4kB}\n";
    std::fs::write(home.path().join("cases.yaml"), text).expect("a file");
    let said = choose(home.path(), "--file cases.yaml -n 2 -q --out m");
    // The third one has no answer: 48 B with headers twice a day.
    assert_eq!(said.code, Some(13), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("no stack meets the requirements of: A few bytes"),
        "{}",
        said.stderr
    );
    for expected in [
        "use case",
        "Small",
        "coap-con, no connection",
        "Pictures of 10 kB",
        "mqtt-qos1",
        "nearest coap-con",
        "by monthly-bytes",
    ] {
        assert!(said.stdout.contains(expected), "{expected}:\n{}", said.stdout);
    }
    let read = |name: &str| std::fs::read_to_string(home.path().join("m").join(name)).expect("a file");
    let choice: Value = serde_json::from_str(&read("choice.json")).expect("JSON");
    let best = |index: usize| choice["use_cases"][index]["best"].clone();
    assert_eq!(
        (best(0), best(1), best(2)),
        ("coap-con".into(), "mqtt-qos1".into(), Value::Null)
    );
    assert!(read("choice.html").contains("Decision matrix"));
    assert!(read("choice.html").contains("02-pictures-of-10-kb&#x2f;report.html"));
    assert!(read("02-pictures-of-10-kb/choice.md").contains("# Pictures of 10 kB"));
}

#[test]
fn the_example_of_use_cases_is_valid() {
    let home = open_folder();
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/choose/use-cases.yaml"
    );
    let text = std::fs::read_to_string(example).expect("the example");
    assert_eq!(text.matches("name: ").count(), 10);
    // A wrong option of the command line comes after the file was read.
    let said = choose(home.path(), &format!("--file {example} --every 0s --out m"));
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("--every must be above 0s"),
        "{}",
        said.stderr
    );
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
    refused("--every 100d", "--every must be above 0 ms and at most 744 h");
    refused("--every 1min --by money", "--by money needs --tariff");
    refused("--every 1min --by energy", "--by energy needs --device");
    refused("--every 1min --rtt 5ms,10ms", "choose takes one link");
    refused("--every 1min --within 0s", "--within must be above 0s");
    refused(
        "--every 1min --delivery exactly-once --reach coap",
        "--delivery exactly-once and --reach coap contradict each other",
    );
    refused(
        "--every 1min --reach http --device-class 1",
        "--reach http and --device-class 1 contradict each other",
    );
    refused(
        "--every 10s --size 1kB --monthly-bytes 1MB",
        "--monthly-bytes 1MB contradicts --size 1kB every 10 s",
    );
    refused(
        "--every 1min --rtt 100ms --within 40ms",
        "--within 40 ms contradicts the link, whose delay up is 50 ms",
    );
    refused("--every 1min --battery 1Ah@3V --battery-years 2", "--device");
    refused("--every 1min --device nrf9161", "unknown device");
}

/// The bytes of a reading on the kept connections of each stack.
fn kept(choice: &Value) -> Vec<(String, f64)> {
    let kept = rows(choice).iter().filter(|row| {
        let way = row["connection"].as_str().expect("a way");
        way.starts_with("persistent")
    });
    kept.map(|row| {
        let bytes = row["figures"]["bytes_per_reading"]["mean"].as_f64();
        (row["stack"].to_string(), bytes.expect("bytes"))
    })
    .collect()
}

/// RFC 9146 section 1: without a connection ID, another port is the end of a session of DTLS.
#[test]
fn behind_a_nat_that_gives_another_port_a_connection_id_pays_off() {
    let home = open_folder();
    let stacks = "coap-con+dtls1.2-psk,coap-con+dtls1.3,coap-con+dtls1.2-cid --size 64B --every 15min --link lte-m --start cold";
    let new = kept(&chosen(home.path(), &format!("{stacks} --out new")));
    let same = kept(&chosen(
        home.path(),
        &format!("{stacks} --nat same-port --out same"),
    ));
    let order =
        |kept: &[(String, f64)]| -> Vec<String> { kept.iter().map(|(name, _)| name.clone()).collect() };
    let quoted = |names: [&str; 3]| names.map(|name| format!("\"{name}\""));
    let [psk, dtls13, cid] = ["coap-con+dtls1.2-psk", "coap-con+dtls1.3", "coap-con+dtls1.2-cid"];
    assert_eq!(order(&new), quoted([cid, psk, dtls13]));
    assert_eq!(order(&same), quoted([psk, dtls13, cid]));
    assert_eq!(new[0].1, same[2].1, "a connection ID costs the same behind both");
    assert!(new[1].1 > 3.0 * same[0].1 && new[2].1 > 10.0 * same[1].1);
    // The assumption is below the table, and what it does to whom.
    let said = choose(home.path(), &format!("{stacks} -n 2 --out again"));
    let said_in_one_line = said.stdout.replace("\n  ", " ");
    let assumed =
        "NAT: binding time-out 1 min for UDP and 20 min for TCP; a later UDP packet gets another port";
    assert!(said_in_one_line.contains(assumed), "{}", said.stdout);
    let note = "coap-con+dtls1.2-psk, coap-con+dtls1.3: the NAT gives another port between two readings";
    assert!(said_in_one_line.contains(note), "{}", said.stdout);
}

#[test]
fn a_reading_that_meets_the_servers_close_arrives_on_a_new_connection() {
    let home = open_folder();
    let asked = "http1+tls1.3 --reach http --size 60B --every 75s --link lte --loss 2%";
    let choice = chosen(home.path(), &format!("{asked} --out close"));
    for row in rows(&choice) {
        assert_eq!(row["figures"]["readings_lost"], 0, "{row}");
        assert_eq!(row["fails"], serde_json::json!([]), "{row}");
    }
    let page = std::fs::read_to_string(home.path().join("close/choice.md")).expect("a page");
    assert!(page.contains("the server closes after 75 s"), "{page}");
}

#[test]
fn a_stack_that_loses_readings_does_not_meet_a_guarantee() {
    let home = open_folder();
    // The NAT forgets the connection between two readings: every second one meets its end.
    let asked = "mqtt-qos1 --size 60B --every 10min --rtt 40ms --nat-timeout tcp=5min --keep-alive 0s -n 2 -q --json -";
    let said = choose(home.path(), &format!("{asked} --out least"));
    let choice: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let losing = |choice: &Value| -> Vec<String> {
        let fails = rows(choice)
            .iter()
            .flat_map(|row| row["fails"].as_array().cloned());
        fails.flatten().map(|fail| fail.to_string()).collect()
    };
    assert_eq!(losing(&choice), ["\"delivery: loses 144 of 288 readings\""]);
    let most = choose(
        home.path(),
        &format!("{asked} --delivery at-most-once --out most"),
    );
    let choice: Value = serde_json::from_str(&most.stdout).expect("JSON");
    assert!(losing(&choice).is_empty(), "{choice}");
}

#[test]
fn a_stack_that_the_tariffs_service_does_not_take_fails_it() {
    let home = open_folder();
    let choice = chosen(
        home.path(),
        "coap-con+oscore,http3,mqtt-qos1+tls1.3 --size 48B --every 15min --rtt 40ms --tariff AWS-IoT-Core",
    );
    assert_eq!(choice["best"], "mqtt-qos1+tls1.3");
    for row in rows(&choice) {
        let stack = row["stack"].as_str().expect("a name");
        let why = format!("tariff: tariffs/aws-iot-core.yaml takes mqtt+tls and http1+tls, not {stack}");
        let fails = row["fails"].as_array().expect("reasons");
        let is_taken = stack.starts_with("mqtt");
        assert_eq!(fails.iter().any(|reason| *reason == *why), !is_taken, "{row}");
        assert_eq!(row["figures"]["money_per_month"].is_null(), !is_taken, "{row}");
    }
}
