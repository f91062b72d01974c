//! Scenario files from the outside: examples, the published schema, thresholds, shards, and what is wrong with a file.

#[path = "../common/mod.rs"]
mod common;
mod examples;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use boon::{Compiler, Schemas};
use serde_json::Value;
use wirecost_results::{LoadSummary, Summary};

use common::Said;

const SCHEMA: &str = include_str!("../../../../schema/scenario.schema.json");

/// Runs `wirecost run` with these words in a folder.
fn run(folder: &Path, words: &str) -> Said {
    common::said(common::wirecost(folder).arg("run").args(words.split_whitespace()))
}

/// Writes a scenario of two stacks and two sizes in virtual time, and more.
fn scenario(folder: &Path, more: &str) {
    let text = format!(
        "wirecost: 1\nname: two by two\nengine: sim\ncount: 2\nsettle: 200ms\nstack: [tcp, coap-con]\n\
         vary: {{size: [16B, 128B]}}\n{more}"
    );
    std::fs::write(folder.join("a.yaml"), text).expect("a file");
}

fn summary(folder: &Path, run: &str) -> Summary {
    let text = std::fs::read_to_string(folder.join(run).join("summary.json")).expect("summary.json");
    serde_json::from_str(&text).expect("a summary")
}

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let folders = [folder.join("mqttbs"), folder];
    let entries = |folder| std::fs::read_dir(folder).expect("examples").flatten();
    let paths = folders.into_iter().flat_map(entries).map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 4, "{paths:?}");
    paths
}

fn accepts(yaml: &str) -> Result<(), String> {
    let value: Value = serde_saphyr::from_str(yaml).expect("YAML");
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    compiler
        .add_resource("scenario.json", schema)
        .expect("a resource");
    let index = compiler.compile("scenario.json", &mut schemas).expect("a schema");
    schemas
        .validate(&value, index)
        .map_err(|error| format!("{error:#}"))
}

#[test]
fn a_day_needs_an_interval_and_a_load_has_no_such_table() {
    let home = common::open_folder();
    scenario(home.path(), "");
    let said = run(home.path(), "a.yaml --per day --out run");
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("hint: add --interval 5min, or interval to the scenario"),
        "{}",
        said.stderr
    );
    scenario(home.path(), "interval: 1min\n");
    let said = run(home.path(), "a.yaml --per day --rows both --out run");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("simulated: "), "{}", said.stdout);
    assert!(said.stdout.contains("a day"), "{}", said.stdout);
    let load = "wirecost: 1\nengine: sim\nstack: tcp\nclients: 1\nphases: [{do: publish, rate: 1/s, duration: 1s}]\n";
    std::fs::write(home.path().join("load.yaml"), load).expect("a file");
    let said = run(home.path(), "load.yaml --rows both --out load");
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("--rows applies to comparisons only"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_threshold_judges_all_in_bytes() {
    let home = common::open_folder();
    let thresholds = "interval: 1min\nthresholds:\n  all_in: [mean<10B, mean<10kB, sum<1MB]\n";
    scenario(home.path(), thresholds);
    let said = run(home.path(), "a.yaml --out run");
    assert_eq!(said.code, Some(99), "{}", said.stderr);
    for line in [
        "FAIL  all_in  mean<10B",
        "pass  all_in  mean<10kB",
        "pass  all_in  sum<1MB",
    ] {
        assert!(said.stdout.contains(line), "{}", said.stdout);
    }
    for cell in summary(home.path(), "run").cells {
        let all_in = cell.all_in.expect("all-in bytes");
        assert_eq!(
            Some(all_in),
            wirecost_results::AllIn::from_cell(&cell),
            "{}",
            cell.stack
        );
    }
}

#[test]
fn examples_and_their_resolved_forms_are_equivalent() {
    let home = common::open_folder();
    for path in examples() {
        let text = std::fs::read_to_string(&path).expect("an example");
        assert_eq!(accepts(&text), Ok(()), "{}", path.display());
        let said = run(home.path(), &format!("{} --print-resolved", path.display()));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert_eq!(accepts(&said.stdout), Ok(()), "{}", path.display());
        std::fs::write(home.path().join("resolved.yaml"), &said.stdout).expect("a file");
        let again = run(home.path(), "resolved.yaml --print-resolved");
        assert_eq!(again.stdout, said.stdout, "{}", again.stderr);
    }
}

#[test]
fn the_schema_refuses_the_same_files_as_the_parser() {
    for text in [
        "wirecost: 2",
        "name: x",
        "wirecost: 1\nsise: 1B",
        "wirecost: 1\nsize: 16",
        "wirecost: 1\nstack: h3",
        "wirecost: 1\nlink: {jitter: 1ms}",
        "wirecost: 1\nlink: 5",
        "wirecost: 1\nlink: {name: 5}",
        "wirecost: 1\nstack: tcp\nphases: [{do: publish}]",
        "wirecost: 1\nstack: tcp\nphases: [{do: hold, rate: 5/s}]",
    ] {
        assert!(accepts(text).is_err(), "{text}");
    }
}

/// The links that a scenario with this line resolves to, as `--print-resolved` shows them.
fn links_of(line: &str, flags: &str) -> String {
    let home = common::open_folder();
    std::fs::write(
        home.path().join("mine.yaml"),
        "rtt: {value: 90ms, source: mine}\n",
    )
    .expect("a file");
    let text = format!("wirecost: 1\nstack: tcp\n{line}\n");
    std::fs::write(home.path().join("a.yaml"), &text).expect("a file");
    assert_eq!(accepts(&text), Ok(()), "{line}");
    let said = run(home.path(), &format!("a.yaml --print-resolved {flags}"));
    assert_eq!(said.code, Some(0), "{line}: {}", said.stderr);
    assert_eq!(accepts(&said.stdout), Ok(()), "{}", said.stdout);
    let values = said.stdout.lines().map(str::trim);
    let values = values.filter(|line| line.starts_with("delay:") || line.starts_with("rate:"));
    values
        .filter_map(|line| line.split(": ").nth(1))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_scenario_names_its_link_and_replaces_values_of_it() {
    let of_3g = "150ms 768kbit 150ms 1600kbit";
    for line in ["link: 3g", "link: [3g]", "link: {name: 3g}", "links: [3g]"] {
        assert_eq!(links_of(line, ""), of_3g, "{line}");
    }
    assert_eq!(
        links_of("link: {name: 3g, rtt: 1s}", ""),
        "500ms 768kbit 500ms 1600kbit"
    );
    assert_eq!(links_of("link: ./mine.yaml", ""), "45ms unlimited 45ms unlimited");
    let two = "35ms 12Mbit 35ms 12Mbit 150ms 768kbit 150ms 1600kbit";
    for (line, flags) in [
        ("link: [lte, 3g]", ""),
        ("vary: {link: [lte, 3g]}", ""),
        ("link: wifi", "--vary link=lte,3g"),
    ] {
        assert_eq!(links_of(line, flags), two, "{line} {flags}");
    }
    assert_eq!(links_of("link: {rtt: 9ms}", "--set link=3g"), of_3g);
    let slower = "150ms 9600bit 150ms 9600bit";
    assert_eq!(links_of("link: 3g", "--set link.rate=9600bit"), slower);
}

#[test]
fn a_load_has_a_run_for_each_named_link() {
    let loads = "link: [lte, 3g]\nphases: [{do: hold, duration: 1s}]";
    assert_eq!(
        links_of(loads, ""),
        "35ms 12Mbit 35ms 12Mbit 150ms 768kbit 150ms 1600kbit"
    );
}

#[test]
fn an_unknown_link_in_a_scenario_has_its_line() {
    let home = common::open_folder();
    for (line, expected) in [
        (
            "link: lteq",
            "a.yaml:3: link.name: unknown link \"lteq\" (did you mean lte?)",
        ),
        (
            "link: {name: ./no.yaml}",
            "a.yaml:3: link.name: cannot read ./no.yaml: ",
        ),
        ("link: {jitter: 1ms}", "a.yaml:3: unknown key \"link.jitter\""),
    ] {
        std::fs::write(
            home.path().join("a.yaml"),
            format!("wirecost: 1\nstack: tcp\n{line}\n"),
        )
        .expect("a file");
        let said = run(home.path(), "a.yaml --print-resolved");
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        let error = said.line("error: ").unwrap_or_default();
        assert!(error.starts_with(expected), "{error}");
    }
    let hint = "did you mean \"delay_variation\"?";
    assert_eq!(
        run(home.path(), "a.yaml --print-resolved").line("hint: "),
        Some(hint)
    );
}

#[test]
fn a_load_configures_its_capture_without_choosing_hosts() {
    let home = common::open_folder();
    let print = |record: &str| {
        let text = format!(
            "wirecost: 1\nstack: mqtt-qos1+tls1.3\nlink: {{rtt: 10ms}}\ncapture: true\nrecord: {record}\n\
             phases: [{{do: hold, duration: 1s}}]\n"
        );
        std::fs::write(home.path().join("a.yaml"), &text).expect("a file");
        (accepts(&text), run(home.path(), "a.yaml --print-resolved"))
    };
    let (accepted, said) = print("{keys: false}");
    assert_eq!((accepted, said.code), (Ok(()), Some(0)), "{}", said.stderr);
    assert!(
        said.stdout.contains("record:") && said.stdout.contains("keys: false"),
        "{}",
        said.stdout
    );
    assert_eq!(accepts(&said.stdout), Ok(()), "{}", said.stdout);
    let (_, default) = print("{keys: true}");
    assert!(!default.stdout.contains("record"), "{}", default.stdout);
    for record in ["{hosts: 1}", "{keys: 1}", "keys"] {
        let (accepted, said) = print(record);
        assert!(accepted.is_err(), "{record}");
        assert_eq!(said.code, Some(2), "{record}: {}", said.stderr);
    }
}

#[test]
fn the_smart_meter_runs_and_keeps_its_thresholds() {
    let home = common::open_folder();
    let example = examples()
        .into_iter()
        .find(|path| path.ends_with("smart-meter.yaml"))
        .expect("the example");
    let said = run(
        home.path(),
        &format!("{} --engine sim --set count=1 -o run", example.display()),
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("pass  messages_lost"), "{}", said.stdout);
    let summary = summary(home.path(), "run");
    assert_eq!(summary.thresholds.len(), 3);
    assert!(summary.thresholds.iter().all(|threshold| threshold.pass));
    let again = run(home.path(), "run/scenario.resolved.yaml -o again");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(self::summary(home.path(), "again").cells, summary.cells);
}

#[test]
fn a_threshold_that_fails_is_exit_code_99_and_a_row() {
    let home = common::open_folder();
    scenario(
        home.path(),
        "thresholds:\n  bytes_per_msg: [mean<10B, mean<10kB]\n",
    );
    let said = run(home.path(), "a.yaml -o run");
    assert_eq!(said.code, Some(99), "{}", said.stderr);
    assert!(
        said.stdout.contains("FAIL  bytes_per_msg  mean<10B"),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.contains("pass  bytes_per_msg  mean<10kB"),
        "{}",
        said.stdout
    );
    let passes: Vec<bool> = summary(home.path(), "run")
        .thresholds
        .iter()
        .map(|one| one.pass)
        .collect();
    assert_eq!(passes, [false, true]);
}

/// Runs `wirecost merge` with these words in a folder.
fn merge(folder: &Path, words: &str) -> Said {
    common::said(
        common::wirecost(folder)
            .arg("merge")
            .args(words.split_whitespace()),
    )
}

/// A load of two minutes ends by its threshold, and the one behind it is not begun.
#[test]
fn a_threshold_that_is_to_abort_ends_a_load() {
    let home = common::open_folder();
    let text = "wirecost: 1\nname: too slow\nstack: mqtt-qos1\nclients: 2\nrate: [100/s, 200/s]\n\
                phases: [{do: connect}, {do: publish, duration: 2min}]\n\
                thresholds:\n  response_time: [{expr: \"p(50)<1us\", abort_on_fail: true}]\n";
    std::fs::write(home.path().join("a.yaml"), text).expect("a file");
    let said = run(home.path(), "a.yaml -o run");
    // 14: the generator was late, which is no matter here.
    assert!(matches!(said.code, Some(99 | 14)), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("ending the load: response_time p(50)<1us was demanded, it is "),
        "{}",
        said.stderr
    );
    assert!(
        said.stdout
            .contains("ended early: response_time p(50)<1us was demanded"),
        "{}",
        said.stdout
    );
    let text = std::fs::read_to_string(home.path().join("run/summary.json")).expect("a summary");
    let summary: LoadSummary = serde_json::from_str(&text).expect("a load's summary");
    let [load] = summary.loads.as_slice() else {
        panic!("{} loads", summary.loads.len());
    };
    let outcomes = load.phases[1].outcomes;
    assert!(outcomes.add_up() && outcomes.offered < 12_000, "{outcomes:?}");
    assert!(load.aborted.is_some() && !load.interrupted);
    assert!(summary.interrupted && !summary.thresholds[0].pass);
}

#[test]
fn shards_are_disjoint_and_complete() {
    let home = common::open_folder();
    scenario(home.path(), "");
    assert_eq!(run(home.path(), "a.yaml -o whole").code, Some(0));
    let keys = |run: &str| -> BTreeSet<String> {
        let cells = summary(home.path(), run).cells.into_iter();
        cells.map(|cell| cell.key).collect()
    };
    let mut keyed = BTreeSet::new();
    let mut parts = String::new();
    for index in 1..=3 {
        let name = format!("part{index}");
        let said = run(home.path(), &format!("a.yaml --shard {index}/3 -o {name}"));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        if !home.path().join(&name).exists() {
            let reason = format!("shard {index}/3 has no cells");
            assert!(said.stderr.contains(&reason), "{}", said.stderr);
            continue;
        }
        for key in keys(&name) {
            assert!(keyed.insert(key), "in two shards");
        }
        // The last first: the order is that of the scenario, not of the command line.
        parts = format!("{name} {parts}");
    }
    assert_eq!(keyed, keys("whole"));
    let merged = merge(home.path(), &format!("{parts} -o merged"));
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    assert_eq!(
        summary(home.path(), "merged").cells,
        summary(home.path(), "whole").cells
    );
    for file in ["samples.csv", "ladder.json", "scenario.resolved.yaml"] {
        let of = |run: &str| std::fs::read_to_string(home.path().join(run).join(file)).expect(file);
        assert_eq!(of("merged"), of("whole"), "{file}");
    }
    assert!(home.path().join("merged/report.html").exists());
}

#[test]
fn thresholds_of_shards_are_judged_over_the_merged_run() {
    let home = common::open_folder();
    let thresholds = "thresholds:\n  \"bytes_per_msg{size=16B}\": [mean<10B]\n  \"bytes_per_msg{stack=tcp}\": [mean<10kB]\n";
    scenario(home.path(), thresholds);
    assert_eq!(run(home.path(), "a.yaml -o whole").code, Some(99));
    let mut parts = String::new();
    for index in 1..=2 {
        let said = run(home.path(), &format!("a.yaml --shard {index}/2 -o part{index}"));
        assert!(matches!(said.code, Some(0 | 99)), "{}", said.stderr);
        parts = format!("{parts} part{index}");
    }
    let merged = merge(home.path(), &format!("{parts} -o merged"));
    assert_eq!(merged.code, Some(99), "{}", merged.stderr);
    let judged = summary(home.path(), "merged").thresholds;
    assert_eq!(judged, summary(home.path(), "whole").thresholds);
    assert_eq!(judged.iter().filter(|one| one.pass).count(), 1, "{judged:?}");
    assert!(
        merged.stdout.contains("FAIL  bytes_per_msg{size=16B}"),
        "{}",
        merged.stdout
    );
}

#[test]
fn unrelated_runs_are_not_merged() {
    let home = common::open_folder();
    scenario(home.path(), "");
    assert_eq!(run(home.path(), "a.yaml -o one").code, Some(0));
    assert_eq!(run(home.path(), "a.yaml --set seed=7 -o other").code, Some(0));
    let load =
        "wirecost: 1\nstack: mqtt-qos1\nclients: 2\nphases: [{do: publish, rate: 50/s, duration: 1s}]\n";
    std::fs::write(home.path().join("load.yaml"), load).expect("a file");
    let loaded = run(home.path(), "load.yaml -o load");
    assert!(matches!(loaded.code, Some(0 | 14)), "{}", loaded.stderr);
    for (words, error) in [
        (
            "one other",
            "error: other holds another scenario: seed was 42, is 7",
        ),
        (
            "one load",
            "error: load holds loads and one a comparison: they cannot be put together",
        ),
        ("one one", "error: one is named twice"),
        ("one nowhere", "error: cannot read nowhere/summary.json"),
    ] {
        let said = merge(home.path(), &format!("{words} -o merged"));
        assert_eq!(said.code, Some(2), "{words}: {}", said.stderr);
        assert!(said.stderr.starts_with(error), "{}\n{error}", said.stderr);
        assert!(!home.path().join("merged").exists(), "{words}: nothing is left");
    }
}

#[test]
fn a_fault_in_a_file_is_exit_code_2_with_its_line() {
    let home = common::open_folder();
    for (more, error, hint) in [
        (
            "sise: 1B\n",
            "error: a.yaml:8: unknown key \"sise\"",
            "hint: did you mean \"size\"?",
        ),
        (
            "timeout: 5\n",
            "error: a.yaml:8: timeout: \"5\" has no unit: write 40ms or 15min",
            "",
        ),
        (
            "count: 3\n",
            "error: a.yaml:8: count is given twice in this table",
            "hint: leave one of them out",
        ),
        (
            "thresholds: {bytes: sum<1B}\n",
            "error: a.yaml:8: thresholds: unknown metric \"bytes\"",
            "",
        ),
    ] {
        scenario(home.path(), more);
        let said = run(home.path(), "a.yaml -o run");
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.starts_with(error), "{}\n{error}", said.stderr);
        assert!(said.stderr.contains(hint), "{}", said.stderr);
        assert!(!home.path().join("run").exists(), "nothing is run");
    }
    scenario(home.path(), "");
    for (words, error) in [
        (
            "a.yaml --set size=1",
            "error: --set size=1: size: \"1\" has no unit",
        ),
        (
            "a.yaml --vary sizes=1B",
            "error: --vary sizes=1B: cannot vary \"sizes\"",
        ),
        (
            "a.yaml a.yaml -o run",
            "error: --out belongs to one run, and there are 2 files",
        ),
        (
            "a.yaml a.yaml --junit a.xml",
            "error: --junit belongs to one run, and there are 2 files",
        ),
        (
            "a.yaml --junit a.xml",
            "error: --junit applies to loads only, and this scenario is a comparison",
        ),
        (
            "a.yaml --prometheus 0",
            "error: --prometheus applies to loads only, and this scenario is a comparison",
        ),
        (
            "a.yaml --agents 2 --listen 127.0.0.1:0",
            "error: --agents applies to loads only, and this scenario is a comparison",
        ),
        (
            "a.yaml a.yaml --agents 2 --listen 127.0.0.1:0",
            "error: --agents belongs to one run, and there are 2 files",
        ),
        (
            "a.toml",
            "error: a.toml: scenarios are written in YAML or JSON, not in TOML",
        ),
        ("b.yaml", "error: cannot read b.yaml"),
    ] {
        let said = run(home.path(), words);
        assert_eq!(said.code, Some(2), "{words}: {}", said.stderr);
        assert!(said.stderr.starts_with(error), "{}\n{error}", said.stderr);
    }
}

#[test]
fn a_run_goes_on_where_it_ended_and_refuses_another_scenario() {
    let home = common::open_folder();
    scenario(home.path(), "");
    assert_eq!(run(home.path(), "a.yaml -o run").code, Some(0));
    let machine = || std::fs::read(home.path().join("run/env.json")).expect("env.json");
    let measured_on = machine();
    let again = run(home.path(), "a.yaml --resume run");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(machine() == measured_on, "nothing was measured anew");
    let other = run(home.path(), "a.yaml --set seed=7 --resume run");
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert!(other.stderr.contains("seed was 42, is 7"), "{}", other.stderr);
}

#[test]
fn new_writes_valid_scenarios_and_overwrites_nothing() {
    let home = common::open_folder();
    for kind in ["comparison", "load", "storm"] {
        let name = format!("{kind}.yaml");
        let made = || common::said(common::wirecost(home.path()).args(["new", kind, "-o", &name]));
        assert_eq!(made().code, Some(0));
        assert_eq!(
            run(home.path(), &format!("{name} --print-resolved")).code,
            Some(0)
        );
        assert_eq!(made().code, Some(2), "it is there already");
    }
    let schema = common::said(common::wirecost(home.path()).arg("schema"));
    assert_eq!(schema.stdout, SCHEMA);
}
