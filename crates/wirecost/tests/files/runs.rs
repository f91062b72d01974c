//! Results folders of runs that begin together, and their distributions.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Stdio};

use wirecost_results::{RunFolder, Summary};
use wirecost_stats::hlog;

use crate::common::{ended, open_folder, said, wirecost};

/// Commands that make a folder in `runs` by themselves.
const COMMANDS: [&str; 6] = [
    "compare --engine sim -n 1 udp",
    "load tcp --engine sim -c 1 -n 1",
    "choose coap-con --every 1h",
    "what-if cap coap-con",
    "nbiot coap-con --load 0.5/s --seeds 1 --duration 5s",
    "merge one two",
];

#[test]
fn runs_that_begin_together_have_folders_of_their_own() {
    let home = open_folder();
    let path = home.path();
    let shards = "wirecost: 1\nstack: [udp, tcp]\nengine: sim\nsamples: 1\n";
    fs::write(path.join("shards.yaml"), shards).expect("a file");
    let made = "run shards.yaml --shard 1/2 -q -o one";
    assert_eq!(said(wirecost(path).args(made.split(' '))).code, Some(0));
    let made = "run shards.yaml --shard 2/2 -q -o two";
    assert_eq!(said(wirecost(path).args(made.split(' '))).code, Some(0));
    fs::copy(path.join("one/capture/sim.pcapng"), path.join("cap")).expect("a capture");
    let start = |line: &str| -> Child {
        let mut command = wirecost(path);
        command
            .args(line.split(' '))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.spawn().expect("the command starts")
    };
    for line in COMMANDS {
        let before = folders(path);
        let children: Vec<Child> = (0..4).map(|_| start(line)).collect();
        for child in children {
            let said = ended(child);
            assert_eq!(said.code, Some(0), "{line}: {}", said.stderr);
        }
        let new: BTreeSet<String> = folders(path).difference(&before).cloned().collect();
        assert_eq!(new.len(), 4, "{line}: {new:?}");
        for folder in new {
            let summary = path.join("runs").join(&folder).join("summary.json");
            assert!(summary.exists(), "{line}: {folder}");
        }
    }
}

fn folders(path: &std::path::Path) -> BTreeSet<String> {
    let entries = fs::read_dir(path.join("runs")).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn one_of_two_runs_that_are_sent_to_one_folder_is_refused() {
    let home = open_folder();
    let path = home.path();
    let start = || {
        let words = "compare --engine sim -n 200 mqtt-qos1,coap-con --loss 10% -q --out both";
        let mut command = wirecost(path);
        command
            .args(words.split(' '))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.spawn().expect("the command starts")
    };
    let children = [start(), start(), start()];
    let said = children.map(ended);
    let mut codes = said.each_ref().map(|said| said.code);
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(2), Some(2)], "{said:?}");
    let refused = said.iter().filter_map(|said| said.line("error: "));
    for sentence in refused {
        let is_known = ["another run is at work in both", "both is not empty"].contains(&sentence);
        assert!(is_known, "{sentence}");
    }
}

#[test]
fn a_distribution_holds_every_message_that_the_summary_counts() {
    let home = open_folder();
    let path = home.path();
    let line =
        "compare --engine sim -n 5 --messages-per-connection 4 --loss 20% mqtt-qos1,coap-con,udp -q -o run";
    let said = said(wirecost(path).args(line.split(' ')));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let folder = RunFolder::open(&path.join("run"));
    let summary: Summary = folder.read_json("summary.json").expect("a summary");
    assert_eq!(summary.cells.len(), 3);
    for (index, cell) in summary.cells.iter().enumerate() {
        let times = cell
            .message
            .as_ref()
            .and_then(|message| message.response_time_ns.as_ref());
        let times = times.expect("times");
        let name = format!("latency/{index:03}-{}-{}B.hgrm", cell.stack, cell.payload_bytes);
        let text = folder.read_text(&name).expect("a distribution");
        assert_eq!(total(&text), times.n, "{name}\n{text}");
        let most = most_ms(&text);
        let expected = times.max as f64 / 1e6;
        // Three digits.
        assert!(
            (most - expected).abs() <= expected / 1_000.0,
            "{name}: {most} {expected}"
        );
        let delay = cell
            .message
            .as_ref()
            .and_then(|message| message.one_way_delay_ns.as_ref());
        let connect = cell
            .connect
            .as_ref()
            .and_then(|connect| connect.response_time_ns.as_ref());
        for (kind, figure) in [("response", Some(times)), ("delay", delay), ("connect", connect)] {
            let log = format!(
                "latency/{index:03}-{}-{}B-{kind}.hlog",
                cell.stack, cell.payload_bytes
            );
            let Some(figure) = figure else {
                assert!(!folder.file(&log).exists(), "{log}: the cell has no such time");
                continue;
            };
            let rows = hlog::read(&folder.read_text(&log).expect("a histogram")).expect("a log");
            let [row] = &rows[..] else {
                panic!("{log}: {} rows", rows.len());
            };
            assert_eq!(row.histogram.len(), figure.n, "{log}");
        }
        // The first messages alone are one for each connection.
        assert!(times.n > 5, "{name}: {}", times.n);
    }
}

fn total(text: &str) -> u64 {
    let (_, count) = text.split_once("Total count").expect("a count");
    let digits = count.trim_start_matches([' ', '=']);
    let end = digits.find(']').expect("an end");
    digits[..end].trim().parse().expect("a number")
}

fn most_ms(text: &str) -> f64 {
    let (_, most) = text.split_once("#[Max").expect("a maximum");
    let digits = most.trim_start_matches([' ', '=']);
    digits[..digits.find(',').expect("an end")]
        .trim()
        .parse()
        .expect("a number")
}
