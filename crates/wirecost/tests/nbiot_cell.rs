//! One device in a modelled NB-IoT cell: `compare --link nbiot`, its capture, and the recorded device of `nbiot`.

mod common;

use std::path::Path;

use wirecost_results::Ladder;
use wirecost_results::nbiot::sequence::AirTransmission;

use common::tshark::fields;
use common::{open_folder, said, wirecost};

fn run(home: &Path, arguments: &str) -> common::Said {
    said(wirecost(home).args(arguments.split(' ')))
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

fn sequence(path: &Path) -> Vec<AirTransmission> {
    serde_json::from_str(&text(path)).expect("JSON")
}

/// Length and comment of each packet that tshark reads.
fn packets(capture: &Path) -> Vec<(u64, String)> {
    let rows = fields(capture, "ip", &["ip.len", "frame.comment"]);
    let packet = |row: Vec<String>| (row[0].parse().expect("a length"), row[1].clone());
    rows.into_iter().map(packet).collect()
}

/// The numbers of `air A to B ms in N blocks`.
fn air_times(comment: &str) -> [f64; 3] {
    let air = comment.split(" | air ").nth(1).expect("air times");
    let numbers = air.split([' ', '\n']).filter_map(|word| word.parse().ok());
    let numbers: Vec<f64> = numbers.collect();
    [numbers[0], numbers[1], numbers[2]]
}

#[test]
fn a_comparison_in_a_cell_is_modelled_and_says_so() {
    let home = open_folder();
    let said = run(
        home.path(),
        "compare coap-con,mqtt-qos1 --link nbiot -n 3 --out run --sequence",
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for word in [
        "modelled NB-IoT cell (vodafone, unloaded, coupling loss 123 dB)",
        "random access preamble (Msg1)",
        "Msg5 + packet: 1 (170 B)",
        "release",
    ] {
        assert!(said.stdout.contains(word), "{word} is not in {}", said.stdout);
    }
    let summary = common::compared(&said, &home.path().join("run"));
    let cell = summary.cells[0].link.nbiot_cell.as_ref().expect("a cell");
    assert_eq!((cell.profile.as_str(), cell.load_per_s), ("vodafone", 0.0));
    assert!(summary.cells.iter().all(|cell| cell.engine == "sim"));
    // The resolved scenario asks for the same cells.
    let again = run(home.path(), "run run/scenario.resolved.yaml --out again -q");
    let again = common::compared(&again, &home.path().join("again"));
    let keys = |summary: &wirecost_results::Summary| -> Vec<String> {
        summary.cells.iter().map(|cell| cell.key.clone()).collect()
    };
    assert_eq!(keys(&again), keys(&summary));
}

#[test]
#[ignore = "needs tshark"]
fn comments_say_when_a_packet_was_on_the_air() {
    let home = open_folder();
    let said = run(home.path(), "compare coap-con --link nbiot -n 1 --out run -q");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let packets = packets(&home.path().join("run/capture/sim.pcapng"));
    let ladders = text(&home.path().join("run/ladder.json"));
    let ladders: Vec<Ladder> = serde_json::from_str(&ladders).expect("JSON");
    let lengths: Vec<u64> = packets.iter().map(|(length, _)| *length).collect();
    assert_eq!(lengths, [170, 34, 170, 34]);
    for (number, (length, comment)) in (1..).zip(&packets[..2]) {
        let name = format!("{number} ({length} B)");
        let carries = |on_air: &&AirTransmission| {
            on_air
                .packet
                .as_deref()
                .is_some_and(|names| names.contains(&name))
        };
        let blocks: Vec<&AirTransmission> = ladders[0].air.iter().filter(carries).collect();
        let [began, ended, count] = air_times(comment);
        assert_eq!(count as usize, blocks.len(), "{comment}");
        let on_air_ms = blocks.last().expect("a block").at_ms + blocks.last().expect("a block").duration_ms
            - blocks[0].at_ms;
        assert!(
            (ended - began - on_air_ms).abs() < 0.002,
            "{comment}: {on_air_ms} ms"
        );
    }
}

#[test]
#[ignore = "needs tshark"]
fn the_recorded_device_of_a_curve_has_a_sequence_and_a_capture() {
    let home = open_folder();
    let said = run(
        home.path(),
        "nbiot coap-con tcp --size 48B --load 1/s --duration 3s --seeds 1 --set scenario.n_sites=1 --out run --sequence --capture",
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stdout.contains("on the air: coap-con, 48 B"),
        "{}",
        said.stdout
    );
    let folder = home.path().join("run");
    let first = sequence(&folder.join("sequence.json"));
    let same = sequence(&folder.join("sequence/coap-con-48b-1-seed0.json"));
    assert_eq!(first, same);
    assert_eq!(first[0].channel, "NPRACH");
    let packets = packets(&folder.join("capture/coap-con-48b-1-seed0.pcapng"));
    // A report of 48 B with its header over UDP and IPv4, and its answer.
    assert_eq!(packets[0].0, 48 + 28);
    let carries_it = |on_air: &&AirTransmission| {
        on_air
            .packet
            .as_deref()
            .is_some_and(|names| names.starts_with("1 "))
    };
    let last = first.iter().rfind(carries_it).expect("a block of the report");
    let [_, ended, _] = air_times(&packets[0].1);
    assert!(
        (ended - last.at_ms - last.duration_ms).abs() < 0.002,
        "{}",
        packets[0].1
    );
    assert!(folder.join("capture/tcp-48b-1-seed0.pcapng").exists());
}

/// Years on the battery of TR 45.820, from a tenth of it, so that no shelf life ends before it is empty, of the rows of `cost` or `choose`, by their ways.
fn years(home: &Path, arguments: &str) -> Vec<(String, f64)> {
    let battery = "--device nbiot-tr45820 --battery 138.9mAh@3.6V --self-discharge 0% --json -";
    let said = run(home, &format!("{arguments} {battery}"));
    assert_eq!(said.code, Some(0), "{arguments}: {}", said.stderr);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    let rows = json["rows"].as_array().expect("rows");
    let years = |row: &serde_json::Value| {
        let row_years = match row.get("figures") {
            Some(figures) => &figures["battery_years"]["years"],
            None => &row["battery_years"]["years"],
        };
        let way = row.get("mode").or_else(|| row.get("connection"));
        let way = way.and_then(|way| way.as_str()).expect("a way");
        (way.to_owned(), row_years.as_f64().expect("years") * 10.0)
    };
    rows.iter().map(years).collect()
}

#[test]
fn a_battery_lasts_as_long_as_the_times_in_the_cell_let_it() {
    let home = open_folder();
    let mut all = Vec::new();
    for loss in ["123dB", "144dB", "154dB"] {
        let arguments = "--size 84B --interval 1d -n 20 --timeout 120s -q";
        let compare =
            format!("compare coap-con --link nbiot --coupling-loss {loss} {arguments} --out {loss}");
        assert_eq!(run(home.path(), &compare).code, Some(0));
        let rows = years(home.path(), &format!("cost {loss}"));
        assert_eq!(rows.len(), 1, "{rows:?}");
        all.push(rows[0].1);
    }
    assert!(all.is_sorted_by(|near, far| near > far), "{all:?}");
    // The published life at 154 dB is 18 years.
    assert!((16.0..20.0).contains(&all[2]), "{all:?}");
}

#[test]
fn cost_of_a_run_and_choose_have_the_same_life_in_a_cell() {
    let home = open_folder();
    let compare = "compare coap-con --link nbiot -n 5 -q --out run --size 48B";
    assert_eq!(run(home.path(), compare).code, Some(0));
    let priced = years(home.path(), "cost run --interval 1h");
    let chosen = years(
        home.path(),
        "choose coap-con --link nbiot -q --out choice --size 48B --every 1h",
    );
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
    assert!(
        priced.len() == chosen.len() && near(priced[0].1, chosen[0].1),
        "{priced:?} {chosen:?}"
    );
}
