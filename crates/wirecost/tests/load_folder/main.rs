//! Loads in processes and in their results folder: the whole program against its own sink.

#[path = "../common/mod.rs"]
mod common;
mod connects;
mod disk;
mod interrupted;
mod merge;
#[path = "../peers/mod.rs"]
mod peers;
mod profile;
mod unreached;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use boon::{Compiler, Schemas};
use serde_json::Value;
use wirecost_results::LoadSummary;
use wirecost_results::load::PhaseFigures;
use wirecost_results::setting::SettingValue;

use common::{
    Said, WIRECOST, children, ended, eventually, need_program, need_root, open_folder, said, signal, wirecost,
};

const SCHEMA: &str = include_str!("../../../../schema/load-summary.schema.json");

fn load(home: &Path, arguments: &str) -> Said {
    let mut command = wirecost(home);
    command
        .args(["load", "--quiet"])
        .args(arguments.split_whitespace());
    said(&mut command)
}

fn begin(home: &Path, arguments: &str) -> Child {
    let mut command = wirecost(home);
    command
        .args(["load", "--quiet"])
        .args(arguments.split_whitespace());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("wirecost starts")
}

/// The summary of a folder, checked against the schema.
fn summary(folder: &Path) -> LoadSummary {
    let text = std::fs::read_to_string(folder.join("summary.json")).expect("summary.json");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    compiler.add_resource("load.json", schema).expect("a resource");
    let index = compiler.compile("load.json", &mut schemas).expect("a schema");
    let accepted = schemas.validate(&value, index);
    accepted.unwrap_or_else(|error| panic!("{error:#}\n{text}"));
    let summary: LoadSummary = serde_json::from_value(value).expect("a summary");
    for phase in summary.loads.iter().flat_map(|load| &load.phases) {
        assert!(phase.outcomes.add_up(), "{phase:?}");
    }
    summary
}

fn publish(summary: &LoadSummary) -> &PhaseFigures {
    let mut phases = summary.loads[0].phases.iter();
    phases.find(|phase| phase.name == "publish").expect("messages")
}

/// Exit codes of a load with complete figures. The test machine may be too busy for its times.
fn is_whole(said: &Said) -> bool {
    matches!(said.code, Some(0 | 14))
}

#[test]
fn a_test_report_on_stdout_takes_the_place_of_the_table() {
    let home = open_folder();
    let said = load(
        home.path(),
        "mqtt-qos1 -c 2 -r 100/s -n 20 -o run --junit - --json a.json",
    );
    assert!(is_whole(&said), "{:?} {}", said.code, said.stderr);
    assert!(said.stdout.starts_with("<?xml"), "{}", said.stdout);
    assert!(
        said.stdout.trim_end().ends_with("</testsuites>"),
        "{}",
        said.stdout
    );
    assert!(home.path().join("a.json").exists() && !home.path().join("-").exists());
}

#[test]
#[ignore = "needs root and libapache2-mod-php"]
fn the_settings_of_a_server_that_nobody_set_are_in_the_results() {
    need_root();
    need_program("apache2", "libapache2-mod-php");
    let home = open_folder();
    let said = load(
        home.path(),
        "http1 --target apache -c 2 -r 50/s -n 10 --rtt 1ms -o run",
    );
    assert!(is_whole(&said), "{:?} {}", said.code, said.stderr);
    let folder = home.path().join("run");
    let settings = &summary(&folder).loads[0].settings;
    assert_eq!(settings["workers"], SettingValue::Number(256));
    assert_eq!(settings["store"], SettingValue::Word("none".into()));
    for (file, text) in [
        ("report.html", "store none, workers 256"),
        ("summary.md", "store none, workers 256"),
    ] {
        let found = std::fs::read_to_string(folder.join(file)).expect(file);
        assert!(found.contains(text), "{file}: {found}");
    }
    assert!(said.stdout.contains("store none, workers 256"), "{}", said.stdout);
}

#[test]
fn three_processes_of_two_loops_count_like_one() {
    let home = open_folder();
    for (out, layout) in [("one", "--threads 1"), ("three", "--processes 3 --threads 2")] {
        let said = load(
            home.path(),
            &format!("mqtt-qos1 -c 12 -r 300/s -n 300 {layout} -o {out}"),
        );
        assert!(is_whole(&said), "{:?} {}", said.code, said.stderr);
    }
    let (one, three) = (
        summary(&home.path().join("one")),
        summary(&home.path().join("three")),
    );
    assert_eq!((one.loads[0].processes, one.loads[0].loops), (1, 1));
    assert_eq!((three.loads[0].processes, three.loads[0].loops), (3, 6));
    let (one_messages, three_messages) = (publish(&one), publish(&three));
    assert_eq!(one_messages.outcomes, three_messages.outcomes);
    assert_eq!(three_messages.outcomes.acknowledged, 300);
    assert_eq!(one_messages.sent, three_messages.sent);
    assert_eq!(one_messages.deliveries, three_messages.deliveries);
    assert_eq!(one_messages.socket_bytes_up, three_messages.socket_bytes_up);
    assert_eq!(one.loads[0].key, three.loads[0].key, "one question");
}

#[test]
fn a_killed_worker_ends_the_load_with_the_counts_so_far() {
    let home = open_folder();
    let child = begin(
        home.path(),
        "mqtt-qos1 -c 4 -r 100/s -d 60s --timeout 2s --processes 2 -o run",
    );
    let workers = || children(child.id(), "load-worker");
    eventually("two workers run", || workers().len() == 2);
    std::thread::sleep(Duration::from_millis(2_500));
    signal(workers()[0], "KILL");
    let said = ended(child);
    assert_ne!(said.code, Some(0), "{}", said.stderr);
    let summary = summary(&home.path().join("run"));
    let messages = publish(&summary);
    assert!(messages.outcomes.acknowledged > 0 && messages.outcomes.offered < 6_000);
    let warnings = &messages.warnings;
    assert!(
        warnings.iter().any(|warning| warning.text.contains("signal: 9")),
        "{warnings:?}"
    );
}

#[test]
fn a_load_that_is_killed_leaves_no_worker() {
    let home = open_folder();
    let mut child = begin(home.path(), "mqtt-qos1 -c 4 -r 100/s -d 60s --processes 2 -o run");
    eventually("two workers run", || {
        children(child.id(), "load-worker").len() == 2
    });
    let all: Vec<u32> = children(child.id(), "load-");
    signal(child.id(), "KILL");
    child.wait().expect("it ends");
    let is_gone = |pid: &u32| !Path::new(&format!("/proc/{pid}/exe")).exists();
    eventually("everything ends with it", || all.iter().all(is_gone));
    assert!(
        summary(&home.path().join("run")).interrupted,
        "the folder can be read"
    );
}

#[test]
fn ctrl_c_at_any_moment_leaves_a_folder_to_continue_from() {
    for after_ms in [0, 300, 1_500] {
        let home = open_folder();
        let arguments = "mqtt-qos1 -c 4 -r 100/s -d 3s --timeout 2s";
        let child = begin(home.path(), &format!("{arguments} -o run"));
        eventually("the run has begun", || {
            home.path().join("run/summary.json").exists()
        });
        std::thread::sleep(Duration::from_millis(after_ms));
        signal(child.id(), "INT");
        let first = ended(child);
        assert_eq!(first.code, Some(130), "after {after_ms} ms: {}", first.stderr);
        assert!(first.line("resume:  ").is_some(), "{}", first.stderr);
        assert!(summary(&home.path().join("run")).interrupted);
        let second = load(home.path(), &format!("{arguments} --resume run"));
        assert!(is_whole(&second), "{:?} {}", second.code, second.stderr);
        let summary = summary(&home.path().join("run"));
        assert!(!summary.interrupted);
        assert_eq!(publish(&summary).outcomes.offered, 300);
        let other = load(home.path(), "mqtt-qos1 -c 5 -r 100/s -d 3s --resume run");
        assert_eq!(other.code, Some(2), "{}", other.stderr);
        assert!(other.stderr.contains("clients was 4, is 5"), "{}", other.stderr);
    }
}

#[test]
fn loads_of_one_key_add_up_and_others_stand_side_by_side() {
    let home = open_folder();
    let mut codes = Vec::new();
    for (out, clients) in [("a", 2), ("b", 2), ("c", 3)] {
        let said = load(
            home.path(),
            &format!("coap-con -c {clients} -r 100/s -n 100 -o {out}"),
        );
        assert!(is_whole(&said), "{:?} {}", said.code, said.stderr);
        codes.push(said.code);
    }
    let merge = |arguments: &str| {
        let mut command = wirecost(home.path());
        said(command.arg("merge").args(arguments.split_whitespace()))
    };
    let merged = merge("a b c -o all");
    assert_eq!(Some(merged.code), codes.into_iter().max(), "{}", merged.stderr);
    let whole = summary(&home.path().join("all"));
    assert_eq!(whole.loads.len(), 2);
    let (sum, alone) = (&whole.loads[0], &whole.loads[1]);
    assert_eq!((sum.clients, alone.clients), (4, 3));
    let messages = publish(&whole);
    assert_eq!(messages.outcomes.acknowledged, 200);
    assert_eq!(messages.offered_rate, Some(200.0));
    assert_eq!(messages.response_time_ns.as_ref().map(|times| times.n), Some(200));
    let log = std::fs::read_to_string(home.path().join("all/latency/000-1-response.hlog"));
    let rows = wirecost_stats::hlog::read(&log.expect("a log")).expect("rows");
    assert_eq!(rows.iter().map(|row| row.histogram.len()).sum::<u64>(), 200);
    for (arguments, reason) in [("a a", "named twice"), ("a", "two results folders or more")] {
        let refused = merge(&format!("{arguments} -o refused"));
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
        assert!(!home.path().join("refused").exists());
    }
}

#[test]
fn shards_of_loads_are_disjoint_and_merge_to_the_whole() {
    let home = open_folder();
    let text = "wirecost: 1\nname: four loads\nstack: [mqtt-qos1, coap-con]\nclients: [2, 3]\n\
                phases: [{do: publish, rate: 100/s, count: 50}]\n";
    std::fs::write(home.path().join("a.yaml"), text).expect("a file");
    let run = |words: &str| {
        let mut command = wirecost(home.path());
        command.args(["run", "a.yaml", "--quiet"]);
        said(command.args(words.split_whitespace()))
    };
    let (mut keys, mut codes) = (Vec::new(), Vec::new());
    for shard in ["1/2", "2/2"] {
        let said = run(&format!("--shard {shard} -o part-{}", &shard[..1]));
        assert!(is_whole(&said), "{shard}: {:?} {}", said.code, said.stderr);
        codes.push(said.code);
        let part = summary(&home.path().join(format!("part-{}", &shard[..1])));
        keys.extend(part.loads.into_iter().map(|load| load.key));
    }
    let shared_out = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((shared_out, keys.len()), (4, 4), "each load is in one shard");
    let mut command = wirecost(home.path());
    let merged = said(command.args(["merge", "part-1", "part-2", "-o", "all"]));
    assert_eq!(Some(merged.code), codes.into_iter().max(), "{}", merged.stderr);
    let whole = summary(&home.path().join("all"));
    let mut merged: Vec<&str> = whole.loads.iter().map(|load| load.key.as_str()).collect();
    merged.sort_unstable();
    assert_eq!(merged, keys);
    for load in &whole.loads {
        let acknowledged: u64 = load.phases.iter().map(|phase| phase.outcomes.acknowledged).sum();
        assert_eq!(acknowledged, 50, "{} of {}", load.stack, load.clients);
    }
    assert!(!whole.interrupted && home.path().join("all/report.html").exists());
    // Twice the same shard is not the whole.
    let copied = Command::new("cp")
        .args(["-r", "part-1", "again"])
        .current_dir(home.path())
        .status();
    assert!(copied.expect("cp").success());
    let mut command = wirecost(home.path());
    let partial = said(command.args(["merge", "part-1", "again", "-o", "some"]));
    assert!(partial.stderr.contains("merge all shards"), "{}", partial.stderr);
    assert!(
        summary(&home.path().join("some")).interrupted && partial.code == Some(130),
        "{:?}",
        partial.code
    );
}

#[test]
fn too_few_open_files_for_the_target_are_a_limit() {
    let home = open_folder();
    // Enough to begin, and too few for the pipes to another process.
    let line = format!("ulimit -n 10; exec {WIRECOST} load mqtt-qos1 -c 2 -d 1s");
    let mut shell = Command::new("sh");
    let said = said(shell.current_dir(home.path()).args(["-c", &line]));
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains("hint: "), "{}", said.stderr);
}

#[test]
fn more_devices_than_processes_can_hold_are_refused_early() {
    let home = open_folder();
    let said = load(home.path(), "mqtt-qos1 -c 900k --processes 1 -o run");
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains("can hold"), "{}", said.stderr);
    assert!(!home.path().join("run").exists(), "nothing was measured");
}
