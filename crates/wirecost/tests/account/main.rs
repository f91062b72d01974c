//! One truth for each question: every command and page that names a figure of a device's life gives the same value.

mod by_hand;
#[path = "../common/mod.rs"]
mod common;
mod device_side;
mod fleet;
mod lossy;
mod monotone;
mod printed;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use common::{open_folder, said, wirecost};

const STACKS: [&str; 6] = [
    "coap-con+oscore",
    "coap-con+dtls1.2-psk",
    "coap-con+dtls1.2-cid",
    "mqtt-qos1+tls1.3",
    "http1+tls1.3",
    "http3",
];
/// Links with what is asked of their address translator afterwards. lte-m gives a forgotten UDP port another one, Wi-Fi has no translator.
const LINKS: [(&str, &str, &str); 5] = [
    ("lte-m", "lte-m", ""),
    ("lte-m-same", "lte-m", "--nat same-port"),
    ("wifi", "wifi", ""),
    (
        "wifi-new",
        "wifi",
        "--nat-timeout udp=1min,tcp=20min --nat new-port",
    ),
    ("satellite-geo", "satellite-geo", ""),
];
/// Intervals, with the readings of a connection that is kept for a day.
const INTERVALS: [(&str, f64, u64); 2] = [("15min", 900.0, 96), ("1h", 3_600.0, 24)];
const KEEP_ALIVES: [&str; 2] = ["60s", "1080s"];
const TERMS: &str = "--device nrf9160-lte-m --battery 2400mAh@3.6V --tariff soracom";
const MONTH_SECONDS: f64 = 2_592_000.0;

/// A stack and the readings of one of its connections; 0 without a connection.
type Way = (String, u64);
/// The figures of a way by their names.
type Figures = BTreeMap<&'static str, f64>;

/// Runs the program and returns its output.
fn run(home: &Path, arguments: &str) -> String {
    let said = said(wirecost(home).args(arguments.split_whitespace()));
    assert_eq!(said.code, Some(0), "{arguments}: {}{}", said.stdout, said.stderr);
    said.stdout
}

fn json(home: &Path, arguments: &str) -> Value {
    serde_json::from_str(&run(home, &format!("{arguments} --json -"))).expect("JSON")
}

/// A file that the program wrote.
fn written(home: &Path, name: &str) -> Value {
    let text = std::fs::read_to_string(home.join(name)).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The readings of a connection from the words of a table.
fn readings(words: &str) -> u64 {
    match words {
        "no connection" => 0,
        "a connection each" => 1,
        kept => kept
            .strip_prefix("persistent for ")
            .and_then(|readings| readings.parse().ok())
            .unwrap_or_else(|| panic!("{kept}")),
    }
}

fn figures<const N: usize>(of: [(&'static str, f64); N]) -> Figures {
    of.into_iter().collect()
}

/// With the time of a reading, where the row has one.
fn with_time(mut figures: Figures, row: &Value) -> Figures {
    figures.extend(row["time_s"].as_f64().map(|seconds| ("time", seconds)));
    figures
}

/// The figures of the rows of `cost`, by stack and way.
fn of_cost(rows: &Value, name: impl Fn(&Value) -> Way) -> BTreeMap<Way, Figures> {
    let rows = rows["rows"].as_array().expect("rows").iter();
    rows.map(|row| {
        let month = &row["month"];
        let figures = figures([
            ("bytes", number(&row["bytes_once"])),
            ("month", number(&month["bytes_up"]) + number(&month["bytes_down"])),
            ("watts", number(&row["mean_power_w"]["total"]["mean"])),
            ("years", number(&row["battery_years"]["years"])),
            ("low", number(&row["battery_years"]["low"])),
            ("money", number(&row["bill"]["amount"])),
            ("joules", number(&row["account"]["message"]["joules"]["mean"])),
        ]);
        (name(row), with_time(figures, row))
    })
    .collect()
}

/// The name of a row of a run.
fn way_of_run(row: &Value) -> Way {
    let label = row["traffic"].as_str().expect("a label");
    let stack = label.split(' ').next().expect("a stack").to_owned();
    (stack, readings(row["mode"].as_str().expect("a way")))
}

fn of_choose(choice: &Value) -> BTreeMap<Way, Figures> {
    let rows = choice["rows"].as_array().expect("rows").iter();
    rows.map(|row| {
        let of = &row["figures"];
        let figures = figures([
            ("bytes", number(&of["bytes_per_reading"]["mean"])),
            ("month", number(&of["bytes_per_month"])),
            ("watts", number(&of["mean_power_w"]["mean"])),
            ("years", number(&of["battery_years"]["years"])),
            ("low", number(&of["battery_years"]["low"])),
            ("money", number(&of["money_per_month"])),
            ("joules", number(&of["account"]["message"]["joules"]["mean"])),
        ]);
        let stack = row["stack"].as_str().expect("a stack").to_owned();
        let way = row["connection"].as_str().expect("a way");
        ((stack, readings(way)), with_time(figures, of))
    })
    .collect()
}

fn of_what_if(found: &Value) -> BTreeMap<Way, Figures> {
    let rows = found["rows"].as_array().expect("rows").iter();
    rows.map(|row| {
        let figures = figures([
            ("bytes", number(&row["bytes_per_reading"])),
            ("month", number(&row["bytes_per_month"])),
            ("watts", number(&row["mean_power_w"])),
            ("years", number(&row["battery_years"]["years"])),
            ("low", number(&row["battery_years"]["low"])),
            ("money", number(&row["money_per_month"])),
            ("joules", number(&row["account"]["message"]["joules"]["mean"])),
        ]);
        let stack = row["stack"].as_str().expect("a stack").to_owned();
        (
            (stack, readings(row["connection"].as_str().expect("a way"))),
            with_time(figures, row),
        )
    })
    .collect()
}

/// The figures of a comparison's cells. A stack without a connection has the figures of its longest cell.
fn of_compare(summary: &wirecost_results::Summary, interval: f64) -> BTreeMap<Way, Figures> {
    let cells = summary.cells.iter().map(|cell| {
        let each = cell.all_in.expect("messages").each();
        let figures = figures([("bytes", each), ("month", each * MONTH_SECONDS / interval)]);
        let readings = cell.connect.as_ref().map_or(0, |_| cell.messages_per_connection);
        ((cell.stack.clone(), readings), figures)
    });
    cells.collect()
}

/// What the figure "when a connection pays off" draws, from the page: bytes by stack and messages of a connection.
fn of_break_even(page: &str) -> BTreeMap<Way, Figures> {
    let table = page
        .split("stack,messages_per_connection,B\n")
        .nth(1)
        .expect("the data of the figure");
    let lines = table.lines().map_while(|line| {
        let mut parts = line.split(',');
        let stack = parts.next()?.split(' ').next()?.to_owned();
        let readings: u64 = parts.next()?.parse().ok()?;
        Some((
            (stack, readings),
            figures([("bytes", parts.next()?.parse().ok()?)]),
        ))
    });
    lines.collect()
}

/// How far a figure may be from the same one elsewhere: sums in another order differ in their last bits.
const OF_SUMS: f64 = 1e-11;
/// The same of a capture, which has its times in microseconds.
const OF_CAPTURE: f64 = 1e-6;
/// The same of a figure's data, which have four decimals.
const OF_FIGURE: f64 = 1e-6;

/// Whether every figure of `some` is the one that `all` has.
fn agree(place: &str, all: &BTreeMap<Way, Figures>, some: &BTreeMap<Way, Figures>) {
    agree_within(OF_SUMS, place, all, some);
}

fn agree_within(slack: f64, place: &str, all: &BTreeMap<Way, Figures>, some: &BTreeMap<Way, Figures>) {
    assert!(!some.is_empty(), "{place}");
    for (way, figures) in some {
        let reference = all
            .get(way)
            .unwrap_or_else(|| panic!("{place}: {way:?} is in no row of choose"));
        for (name, value) in figures {
            let expected = reference[name];
            let is_same = (value - expected).abs() <= slack * expected.abs();
            assert!(is_same, "{place}: {name} of {way:?}: {value}, {expected}");
        }
    }
}

/// Bytes of a kept connection's reading over DTLS, without a connection ID and with one: behind another port the first connects again
/// for each reading.
fn port_matters(place: &str, chosen: &BTreeMap<Way, Figures>, kept: u64, is_new: bool) {
    let bytes = ["coap-con+dtls1.2-psk", "coap-con+dtls1.2-cid"].map(|stack| {
        let figures = &chosen[&(stack.to_owned(), kept)];
        figures["bytes"]
    });
    assert_eq!(bytes[0] > 1.5 * bytes[1], is_new, "{place}: {bytes:?}");
}

/// What a capture has today is what the same life has in `choose`, and its layers sum to it.
fn today_agrees(place: &str, found: &Value, chosen: &Figures) {
    let near = |got: f64, expected: f64, what: &str| {
        assert!(
            (got / expected - 1.0).abs() < OF_CAPTURE,
            "{place}: {what} of today: {got}, {expected}"
        );
    };
    near(number(&found["bytes_per_reading"]), chosen["bytes"], "bytes");
    near(
        number(&found["bytes_per_month"]),
        chosen["month"],
        "bytes of a month",
    );
    near(number(&found["money_per_month"]), chosen["money"], "money");
    near(number(&found["battery_years"]["years"]), chosen["years"], "years");
    for row in found["rows"].as_array().expect("rows").iter().chain([found]) {
        let layers = row["layers"].as_object().expect("layers");
        let sum: f64 = layers.values().map(number).sum();
        near(sum, number(&row["bytes_per_reading"]), "the sum of layers");
    }
}

fn link_agrees(home: &Path, (link, of_run, translator): (&str, &str, &str)) {
    let stacks = STACKS.join(",");
    run(
        home,
        &format!("compare -q --engine sim -n 1 --size 64B --link {of_run} {stacks} --out {link}"),
    );
    for (interval, seconds, kept) in INTERVALS {
        for keep_alive in KEEP_ALIVES {
            // A keep-alive matters to links with the translator that they have; another one is asked for once.
            if !translator.is_empty() && (kept != 24 || keep_alive == "60s") {
                continue;
            }
            let name = format!("{link}-{interval}-{keep_alive}");
            let asked = format!("--link {of_run} {translator} --keep-alive {keep_alive}");
            let choice = run(
                home,
                &format!(
                    "choose -q -n 1 --size 64B --every {interval} {asked} {TERMS} --start cold --certificate p256 {} --out {name}-choose",
                    STACKS.join(" ")
                ),
            );
            let chosen = of_choose(&written(home, &format!("{name}-choose/choice.json")));
            printed::of_choose(&format!("{name}: choose"), &choice, &chosen);
            assert_eq!(
                chosen.len(),
                2 * STACKS.len() - 1,
                "{name}: two ways, one without a connection"
            );
            let gives_new_port = link == "lte-m" || link == "wifi-new" || link == "satellite-geo";
            port_matters(&name, &chosen, kept, gives_new_port);
            let priced = run(
                home,
                &format!(
                    "cost {link} {TERMS} --interval {interval} --keep-alive {keep_alive} {translator} --json {name}.json"
                ),
            );
            let place = format!("{name}: cost of a run without an interval");
            agree(
                &place,
                &chosen,
                &of_cost(&written(home, &format!("{name}.json")), way_of_run),
            );
            printed::of_cost(&place, &priced, &chosen);
            let table = run(
                home,
                &format!(
                    "compare -q --engine sim -n 1 --size 64B {asked} {stacks} --interval {interval} --per month \
                     --messages-per-connection 1,{kept} --out {name}"
                ),
            );
            let summary = common::summary_in(&home.join(&name));
            let compared = of_compare(&summary, seconds);
            agree(&format!("{name}: compare"), &chosen, &compared);
            for cell in &summary.cells {
                let month = cell.all_in.expect("messages").each() * MONTH_SECONDS / seconds;
                let text = wirecost_report::number::data(month.round() as u64);
                assert!(
                    table.contains(&text),
                    "{name}: {} a month, {text}:\n{table}",
                    cell.stack
                );
            }
            let as_run = json(home, &format!("cost {name} {TERMS}"));
            agree(
                &format!("{name}: cost of a run with an interval"),
                &chosen,
                &of_cost(&as_run, way_of_run),
            );
            let capture = device_side::capture(&home.join(&name).join("capture/sim.pcapng"));
            let of_address = |row: &Value| -> Way {
                let address = row["traffic"].as_str().expect("an address");
                let host: usize = address
                    .rsplit('.')
                    .next()
                    .and_then(|host| host.parse().ok())
                    .expect("a host");
                let cell = &summary.cells[host - 2];
                (
                    cell.stack.clone(),
                    cell.connect.as_ref().map_or(0, |_| cell.messages_per_connection),
                )
            };
            let captured = json(
                home,
                &format!("cost {} {TERMS} --interval {interval}", capture.display()),
            );
            agree_within(
                OF_CAPTURE,
                &format!("{name}: cost of its capture"),
                &chosen,
                &of_cost(&captured, of_address),
            );
            let kept_mqtt = summary
                .cells
                .iter()
                .position(|cell| cell.stack.starts_with("mqtt") && cell.messages_per_connection == kept)
                .expect("a cell");
            let what_if = run(
                home,
                &format!(
                    "what-if -q {} {} --client 10.77.0.{} {asked} --every {interval} {TERMS} --out {name}-if",
                    capture.display(),
                    STACKS.join(" "),
                    kept_mqtt + 2
                ),
            );
            let found = written(home, &format!("{name}-if/what-if.json"));
            let place = format!("{name}: what-if");
            agree(&place, &chosen, &of_what_if(&found));
            printed::of_what_if(&place, &what_if, &chosen);
            today_agrees(&place, &found, &chosen[&("mqtt-qos1+tls1.3".to_owned(), kept)]);
            let page = std::fs::read_to_string(home.join(&name).join("report.html")).expect("a page");
            let mut drawn = of_break_even(&page);
            drawn.retain(|(stack, _), _| stack != "coap-con+oscore");
            agree_within(
                OF_FIGURE,
                &format!("{name}: when a connection pays off"),
                &chosen,
                &drawn,
            );
        }
    }
}

#[test]
fn every_command_gives_the_same_figures_of_a_life() {
    let home = open_folder();
    std::thread::scope(|scope| {
        for link in LINKS {
            let home = home.path();
            scope.spawn(move || link_agrees(home, link));
        }
    });
}
