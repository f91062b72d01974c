//! `load --find-max`: a known limit is found, an interrupted search goes on, a rate that never holds is said, and a starved
//! generator sets no limit.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

mod common;
#[path = "peers/port.rs"]
mod port;

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{Said, ended, eventually, need_program, need_root, open_folder, said, signal, wirecost};
use port::own_port;
use serde_json::Value;

/// Four workers of 10 ms: no more than 400 messages a second.
const FOUR_WORKERS: &str = "mqtt-qos1 -c 10 -r 100/s -d 4s --engine sim --service-time 10ms --workers 4";

/// A search in a folder below `home`.
fn search(home: &Path, arguments: &str, folder: [&str; 2]) -> Command {
    let mut command = wirecost(home);
    command.arg("load").args(arguments.split(' '));
    command
        .args(["--find-max", "p(99)<50ms", "--json", "-"])
        .args(folder);
    command
}

/// The one search of a run.
fn found(said: &Said) -> Value {
    let mut summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    assert_eq!(
        summary["searches"].as_array().map(Vec::len),
        Some(1),
        "{}",
        said.stderr
    );
    summary["searches"][0].take()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

#[test]
fn a_search_finds_the_rate_that_a_server_can_serve() {
    let home = open_folder();
    let said = said(&mut search(home.path(), FOUR_WORKERS, ["--out", "run"]));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let search = found(&said);
    let names = [
        "conditional_throughput",
        "relevant_lower_bound",
        "relevant_upper_bound",
    ];
    let ends = names.map(|name| number(&search[name]));
    assert!(ends.iter().all(|rate| (380.0..=420.0).contains(rate)), "{search}");
    assert!(
        ends[0] <= ends[1] && ends[1] < ends[2] && ends[2] - ends[1] <= 0.02 * ends[2],
        "{search}"
    );
    assert_eq!(
        (&search["bottleneck"], &search["complete"]),
        (&"target".into(), &true.into())
    );
    let trials = search["trials"].as_array().expect("trials");
    // Three of five trials classify a rate: no other result of the missing two could change it.
    for (rate, good) in [(ends[1], true), (ends[2], false)] {
        let loads = trials.iter().filter(|trial| number(&trial["rate"]) == rate);
        assert_eq!(
            loads.filter(|trial| trial["good"] == good).count(),
            3,
            "{rate}: {search}"
        );
    }
    assert_eq!(search["ended_by_generator"], false, "{search}");
    assert!(
        said.stderr.contains("100/s holds: p(99) is 10.00 ms"),
        "{}",
        said.stderr
    );
    let read = |name: &str| std::fs::read_to_string(home.path().join("run").join(name)).expect(name);
    let cells = read("journal.jsonl").matches("\"event\":\"cell\"").count();
    assert_eq!(cells, trials.len());
    assert!(read("report.html").contains("Highest rate"));
    assert!(read("summary.md").contains("highest rate 404/s with"));
    assert!(read("junit.xml").contains("classname=\"wirecost.search\""));
    assert!(read("scenario.resolved.yaml").contains("find_max: p(99)<50ms"));
}

#[test]
fn an_interrupted_search_goes_on_and_finds_the_same() {
    let home = open_folder();
    let whole = said(&mut search(home.path(), FOUR_WORKERS, ["--out", "whole"]));
    let mut command = search(home.path(), FOUR_WORKERS, ["--out", "part"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a search");
    let mut lines = BufReader::new(child.stderr.take().expect("its messages"));
    let mut line = String::new();
    while !line.contains("800/s does not hold") {
        line.clear();
        assert!(lines.read_line(&mut line).expect("a line") > 0, "it ended before");
    }
    signal(child.id(), "INT");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("its messages");
    let stopped = ended(child);
    assert_eq!(stopped.code, Some(130), "{rest}");
    assert_eq!(found(&stopped)["complete"], false);
    let resumed = said(&mut search(home.path(), FOUR_WORKERS, ["--resume", "part"]));
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(found(&resumed), found(&whole));
    let other = FOUR_WORKERS.replace("10ms", "9ms");
    let refused = said(&mut search(home.path(), &other, ["--resume", "part"]));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}

#[test]
fn a_server_that_is_too_slow_at_any_rate_fails_the_search() {
    let home = open_folder();
    let slow = "coap-con -c 300 -r 150/s -d 1s --engine sim --service-time 100ms --workers 300";
    let said = said(&mut search(home.path(), slow, ["--out", "run"]));
    assert_eq!(said.code, Some(99), "{}", said.stderr);
    let search = found(&said);
    assert_eq!(search["conditional_throughput"], Value::Null);
    let trials = search["trials"].as_array().expect("trials");
    assert_eq!(trials[0]["why"], "p(99) was 100.01 ms", "{search}");
    // A p99 needs a hundred messages: a lower rate has too few of them in a second.
    let rates = trials.iter().map(|trial| number(&trial["rate"]));
    let lowest = rates.fold(f64::INFINITY, f64::min);
    assert!((100.0..=102.0).contains(&lowest), "{search}");
}

#[test]
fn a_scenario_can_search_the_highest_rate() {
    let home = open_folder();
    let scenario = "wirecost: 1\nstack: mqtt-qos1\nengine: sim\nservice_time: 10ms\nworkers: 4\nfind_max: p(99)<50ms\n\
                    phases: [{do: publish, rate: 100/s, duration: 4s}]\n";
    std::fs::write(home.path().join("max.yaml"), scenario).expect("a scenario");
    let mut command = wirecost(home.path());
    let said = said(command.args(["run", "max.yaml", "--json", "-", "--quiet"]));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        (380.0..=420.0).contains(&number(&found(&said)["conditional_throughput"])),
        "{}",
        said.stdout
    );
}

/// Forty devices of one message in flight each send 100/s over 400 ms, whatever the machine.
#[test]
#[ignore = "needs root"]
fn a_live_search_finds_the_rate_of_devices_that_wait() {
    need_root();
    let home = open_folder();
    let mut command = wirecost(home.path());
    let arguments = "load coap-con -c 40 -r 80/s -d 2s --rtt 400ms --find-max p(50)<500ms --json - --out run";
    let said = said(command.args(arguments.split(' ')));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let search = found(&said);
    let rate = number(&search["conditional_throughput"]);
    assert!((90.0..=112.0).contains(&rate), "{search}");
    assert_eq!(search["bottleneck"], "devices", "{search}");
}

/// A program that is ended with the test.
struct Program(Child);

impl Program {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.stderr(Stdio::null()).spawn().expect("it starts"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Mosquitto on a port of its own, and a program that keeps the first CPU busy.
struct Beside {
    home: tempfile::TempDir,
    url: String,
    _broker: Program,
    busy: Option<Program>,
}

impl Beside {
    fn start() -> Self {
        need_program("mosquitto", "mosquitto");
        let port = own_port();
        let mut broker = Command::new("/usr/sbin/mosquitto");
        let broker = Program::start(broker.args(["-p", &port.to_string()]));
        eventually("Mosquitto listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let mut busy = Command::new("taskset");
        let busy = Program::start(busy.args(["-c", "0", "sh", "-c", "while :; do :; done"]));
        Self {
            home: open_folder(),
            url: format!("mqtt://127.0.0.1:{port}"),
            _broker: broker,
            busy: Some(busy),
        }
    }

    /// A load of five devices.
    fn load(&self, mut command: Command, arguments: &str) -> Said {
        command.args(["load", &self.url, "-c", "5"]);
        command.args(arguments.split(' ')).current_dir(self.home.path());
        said(command.stdin(Stdio::null()))
    }

    /// The same by a generator that shares the first CPU with the program that never waits and comes before it.
    fn starved(&self, niceness: u8, arguments: &str) -> Said {
        let mut command = Command::new("taskset");
        let niceness = niceness.to_string();
        command.args(["-c", "0", "nice", "-n", &niceness, env!("CARGO_BIN_EXE_wirecost")]);
        self.load(command, arguments)
    }
}

/// The phase of a load in which it publishes.
fn published(summary: &Value) -> &Value {
    let phases = summary["loads"][0]["phases"].as_array().expect("phases");
    let mut phases = phases.iter();
    phases.find(|phase| phase["name"] == "publish").expect("messages")
}

/// Its messages leave late, and Mosquitto answers each at once.
#[test]
#[ignore = "needs mosquitto"]
fn a_starved_generator_is_no_limit_of_mosquitto() {
    let beside = Beside::start();
    // With less niceness the scheduler may wake the generator in time, as it sleeps for most of its share of the CPU.
    let plain = beside.starved(10, "-d 1s -r 110/s --json -");
    assert_eq!(plain.code, Some(14), "{}", plain.stderr);
    let summary: Value = serde_json::from_str(&plain.stdout).expect("a summary");
    let publish = published(&summary);
    assert_eq!(
        publish["outcomes"]["offered"], 110,
        "counts stay counts: {publish}"
    );
    let limited = |metric: &str| publish["limited"].get(metric);
    assert_eq!(limited("acknowledged"), None, "{publish}");
    assert!(
        limited("response_time").is_some() && limited("service_time").is_some(),
        "{publish}"
    );

    let said = beside.starved(10, "-d 1s -r 110/s --find-max p(99)<1ms");
    assert_eq!(said.code, Some(14), "{}{}", said.stdout, said.stderr);
    let first = "the generator, not the target, ended the search: no rate with p(99)<1ms is known";
    let words: Vec<&str> = said.stdout.split_whitespace().collect();
    assert!(words.join(" ").starts_with(first), "{}", said.stdout);
    assert!(!said.stdout.contains("highest rate"), "{}", said.stdout);
}

/// The rate that a starved generator could offer is a lower bound of what Mosquitto holds: a generator with CPUs of its own offers that
/// rate, and the one of which the search could not tell, and Mosquitto holds both.
#[test]
#[ignore = "needs mosquitto"]
fn a_plain_load_holds_the_rate_that_a_starved_search_names() {
    let mut beside = Beside::start();
    // Its share of the CPU, a seventh, is less than Mosquitto has.
    let said = beside.starved(8, "-d 400ms -r 1000/s --find-max p(50)<100ms --json -");
    assert_eq!(said.code, Some(14), "{}{}", said.stdout, said.stderr);
    let search = found(&said);
    assert_eq!(
        (&search["ended_by_generator"], &search["bottleneck"]),
        (&true.into(), &"generator".into()),
        "{search}"
    );
    beside.busy = None;
    for name in ["relevant_lower_bound", "relevant_upper_bound"] {
        let rate = number(&search[name]);
        let asked = format!("-d 400ms -r {rate}/s --threshold p(50)<100ms --json -");
        let plain = beside.load(wirecost(beside.home.path()), &asked);
        let summary: Value = serde_json::from_str(&plain.stdout).expect("a summary");
        let demand = &summary["thresholds"][0];
        assert_eq!(demand["pass"], true, "{name} {rate}: {demand}\n{}", plain.stderr);
        let outcomes = &published(&summary)["outcomes"];
        assert!(
            number(&outcomes["acknowledged"]) >= 0.99 * number(&outcomes["offered"]),
            "{name} {rate}: {outcomes}"
        );
    }
}
