//! The congestion control of TCP: in virtual time, on kernel sockets, and where it is refused.

mod common;

use common::{Run, compared, need_root, open_folder, said, wirecost};
use wirecost_results::summary::{Cell, Summary};

/// A message of 500 kB whose way up loses one packet in a hundred.
fn in_virtual_time(options: &str) -> Summary {
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.args([
        "compare",
        "tcp,http3",
        "--engine",
        "sim",
        "-n",
        "8",
        "-s",
        "500kB",
    ]);
    command.args(["--rtt", "50ms", "--loss", "1%", "--messages-per-connection", "1"]);
    command.args(["-q", "--out", "run"]);
    command.args(options.split_whitespace());
    compared(&said(&mut command), &home.path().join("run"))
}

fn cell<'a>(summary: &'a Summary, stack: &str) -> &'a Cell {
    let mut cells = summary.cells.iter();
    cells.find(|cell| cell.stack == stack).expect("a cell")
}

fn mean_time_ns(cell: &Cell) -> f64 {
    let message = cell.message.as_ref().expect("messages");
    message.response_time_ns.as_ref().expect("times").mean
}

#[test]
fn reno_is_another_tcp_and_the_usual_one_keeps_its_name() {
    let [usual, cubic, reno] = ["", "--congestion cubic", "--congestion reno"].map(in_virtual_time);
    assert_eq!(cell(&usual, "tcp").key, cell(&cubic, "tcp").key);
    assert_eq!(usual.scenario.get("congestion"), None);
    assert_ne!(cell(&usual, "tcp").key, cell(&reno, "tcp").key);
    // Losses are the same packets; after each, reno has half of its window and cubic seven tenths.
    let [cubic_ns, reno_ns] = [&cubic, &reno].map(|summary| mean_time_ns(cell(summary, "tcp")));
    assert!(reno_ns > 1.05 * cubic_ns, "{reno_ns} {cubic_ns}");
    let quic = cell(&reno, "http3");
    let why = quic.not_run.as_deref().unwrap_or_default();
    assert!(why.contains("congestion control is TCP's"), "{why}");
}

#[test]
fn a_load_has_it_too() {
    let median = |options: &str| {
        let home = open_folder();
        let mut command = wirecost(home.path());
        let words =
            "load mqtt-qos1 --engine sim -c 20 -r 20/s -d 3s -s 300kB --rtt 50ms --loss 1% --quiet --json -";
        let said = said(command.args(words.split(' ')).args(options.split_whitespace()));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let summary: serde_json::Value = serde_json::from_str(&said.stdout).expect("a summary");
        let phases = summary["loads"][0]["phases"].as_array().expect("phases").clone();
        let publish = phases
            .iter()
            .find(|phase| phase["name"] == "publish")
            .expect("a phase");
        publish["response_time_ns"]["p50"].as_f64().expect("a median")
    };
    assert_eq!(median(""), median("--congestion cubic"));
    assert_ne!(median(""), median("--congestion reno"));
}

#[test]
fn it_is_refused_where_no_end_has_it() {
    for (arguments, expected) in [
        ("compare tcp --congestion vegas", "cubic, reno, bbr"),
        (
            "compare tcp --engine sim --congestion bbr",
            "take the engine live",
        ),
        ("compare tcp --congestion bbr", "take the engine live"),
        (
            "compare http3 --engine sim --congestion reno",
            "http3 has no TCP connection",
        ),
        (
            "load mqtt-qos1 --engine sim --congestion bbr",
            "take the engine live",
        ),
        (
            "load coap-con --engine sim --congestion reno",
            "coap-con has no TCP connection",
        ),
        ("load mqtt-qos1 --congestion reno", "an emulated link"),
        ("load mqtt://127.0.0.1 --congestion reno", "an emulated link"),
    ] {
        let home = open_folder();
        let refused = said(wirecost(home.path()).args(arguments.split(' ')));
        assert_eq!(refused.code, Some(2), "{arguments}: {}", refused.stderr);
        assert!(
            refused.stderr.contains(expected),
            "{arguments}: {}",
            refused.stderr
        );
    }
}

#[test]
#[ignore = "needs root"]
fn reno_sends_the_same_packets_on_kernel_sockets() {
    let run = Run::undisturbed(|| {
        Run::compare(
            "tcp -s 100kB -n 4 --engine auto --rtt 40ms --messages-per-connection 1 --congestion reno",
        )
    });
    let of = |engine: &str| {
        let mut cells = run.summary.cells.iter();
        let cell = cells.find(|cell| cell.engine == engine).expect("a cell");
        cell.message.as_ref().expect("messages").up.packets.mean
    };
    assert_eq!(of("sim"), of("live"));
}

/// Where a namespace says what new sockets have.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

#[test]
#[ignore = "needs root"]
fn programs_behind_a_link_have_it_at_both_ends() {
    need_root();
    let home = open_folder();
    let mut command = wirecost(home.path());
    let server = format!("sh -c 'cat {DEFAULT}; exec python3 -m http.server 8000'");
    command.args([
        "link",
        "--congestion",
        "reno",
        "--settle",
        "100ms",
        "-o",
        "run",
        "--server",
        &server,
    ]);
    let said = said(command.args(["--", "cat", DEFAULT]));
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "reno\n"),
        "{}",
        said.stderr
    );
    let log = std::fs::read_to_string(home.path().join("run/server.log")).expect("a log");
    assert!(log.starts_with("reno\n"), "{log}");
    let text = std::fs::read_to_string(home.path().join("run/link.json")).expect("link.json");
    assert!(text.contains("\"congestion\": \"reno\""), "{text}");
}

#[test]
#[ignore = "needs root"]
fn a_scenario_of_a_program_has_it() {
    need_root();
    let home = open_folder();
    let text = format!("wirecost: 1\nprogram: cat {DEFAULT}\ncount: 1\nsettle: 100ms\ncongestion: reno\n");
    std::fs::write(home.path().join("a.yaml"), text).expect("a writable folder");
    let mut command = wirecost(home.path());
    let said = said(command.args(["run", "a.yaml", "--allow-programs", "-o", "run"]));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stdout.contains("settings: congestion=reno"),
        "{}",
        said.stdout
    );
    let log = std::fs::read_to_string(home.path().join("run/programs/0001/program.log")).expect("a log");
    assert_eq!(log, "reno\n");
}
