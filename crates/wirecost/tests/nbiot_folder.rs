//! The results folder of reports in NB-IoT cells: what it holds, and what reads it.

mod common;

use std::path::Path;

use boon::{Compiler, Schemas};
use serde_json::Value;

use common::{Said, open_folder, said, wirecost};

const SCHEMA: &str = include_str!("../../../schema/nbiot-summary.schema.json");
/// One cell.
const CELL_OF_SCHEMA: &str = "--set scenario.n_sites=1 --set scenario.sectors_per_site=1 --seeds 2 -q";
/// One cell with few reports.
const CELL: &str = "--set scenario.n_sites=1 --set scenario.sectors_per_site=1 --duration 8s --seeds 2 -q";
const GRID: &str = "nbiot coap-con tcp --size 25B --load 0.5/s,1/s";

fn run(folder: &Path, words: &str) -> Said {
    said(wirecost(folder).args(words.split_whitespace()))
}

/// The error names each of these, as a word of its own.
fn names(said: &Said, words: &[&str]) {
    let error = said.line("error: ").expect("an error");
    let parts: Vec<&str> = error.split([' ', ',', ':']).collect();
    for word in words {
        assert!(parts.contains(word), "{word}: {error}");
    }
}

fn json(folder: &Path, file: &str) -> Value {
    let text = std::fs::read_to_string(folder.join(file)).expect(file);
    serde_json::from_str(&text).expect("JSON")
}

/// A summary without the command, which names the folder.
fn summary(folder: &Path, run: &str) -> Value {
    let mut summary = json(folder, &format!("{run}/summary.json"));
    summary.as_object_mut().expect("a table").remove("command");
    summary
}

fn accepts(value: &Value) -> Result<(), String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    compiler.add_resource("summary.json", schema).expect("a resource");
    let index = compiler.compile("summary.json", &mut schemas).expect("a schema");
    let checked = schemas.validate(value, index);
    checked.map_err(|error| format!("{error:#}"))
}

#[test]
fn the_summary_of_reports_in_cells_is_valid() {
    let home = open_folder();
    for words in [
        "--what-if edt --vary levels.ce0.npdcch_g=2,4 --threshold served:rate>=1% --threshold delay:p(95)<1min",
        "--sensitivity",
        // Points without a report.
        "--seed 3 --duration 1s",
    ] {
        let said = run(home.path(), &format!("{GRID} {words} {CELL_OF_SCHEMA} --out run"));
        assert!(matches!(said.code, Some(0 | 99)), "{words}: {}", said.stderr);
        let summary = json(home.path(), "run/summary.json");
        assert_eq!(accepts(&summary), Ok(()), "{words}");
        assert_eq!(summary["kind"], "nbiot");
        let machine = json(home.path(), "run/env.json");
        assert!(machine["started_at"].as_str().is_some_and(|at| at.ends_with('Z')));
        std::fs::remove_dir_all(home.path().join("run")).expect("removed");
    }
}

#[test]
fn shards_merge_to_the_whole_run() {
    let home = open_folder();
    for shard in ["1/2", "2/2"] {
        let name = &shard[..1];
        let said = run(
            home.path(),
            &format!("{GRID} {CELL} --shard {shard} --out {name}"),
        );
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let part = summary(home.path(), "1")["points"]
        .as_array()
        .expect("points")
        .len();
    assert!((1..4).contains(&part), "{part}");
    assert_eq!(
        run(home.path(), &format!("{GRID} {CELL} --out whole")).code,
        Some(0)
    );
    let merged = run(home.path(), "merge 1 2 --out merged");
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    assert_eq!(summary(home.path(), "merged"), summary(home.path(), "whole"));
    let alone = run(
        home.path(),
        &format!("{GRID} {CELL} --seed 7 --shard 1/2 --out other"),
    );
    assert_eq!(alone.code, Some(0));
    let refused = run(home.path(), "merge 1 other --out mixed");
    assert_eq!(refused.code, Some(2));
    names(&refused, &["other", "seed", "42", "7"]);
    assert!(!home.path().join("mixed").exists());
}

#[test]
fn a_part_of_the_shards_merges_to_an_interrupted_run() {
    let home = open_folder();
    for shard in ["1/3", "2/3"] {
        let said = run(
            home.path(),
            &format!("{GRID} {CELL} --shard {shard} --out {}", &shard[..1]),
        );
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let merged = run(home.path(), "merge 1 2 --out merged");
    assert_eq!(merged.code, Some(130), "{}", merged.stderr);
    assert_eq!(summary(home.path(), "merged")["interrupted"], true);
}

#[test]
fn a_resumed_run_has_the_figures_of_a_whole_one() {
    let home = open_folder();
    assert_eq!(
        run(home.path(), &format!("{GRID} {CELL} --out run")).code,
        Some(0)
    );
    let whole = summary(home.path(), "run");
    let cells = home.path().join("run/cells");
    let mut files: Vec<_> = std::fs::read_dir(&cells).expect("cells").flatten().collect();
    files.sort_by_key(std::fs::DirEntry::file_name);
    assert_eq!(files.len(), 8);
    for file in files.iter().step_by(2) {
        std::fs::remove_file(file.path()).expect("removed");
    }
    let resumed = run(home.path(), &format!("{GRID} {CELL} --resume run"));
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(summary(home.path(), "run"), whole);
    let other = run(
        home.path(),
        &format!("{GRID} {CELL} --set levels.ce0.npdcch_g=4 --resume run"),
    );
    assert_eq!(other.code, Some(2));
    names(&other, &["run", "nbiot.levels.ce0.npdcch_g", "2.0", "4.0"]);
}

#[test]
fn a_scenario_runs_as_its_command_line_does() {
    let home = open_folder();
    let scenario = "wirecost: 1\nnbiot: {scenario: {n_sites: 1, sectors_per_site: 1}}\nstack: [coap-con, tcp]\nsize: 25B\n\
                    load: [0.5/s, 1/s]\nseeds: 2\nduration: 8s\nthresholds:\n  served: [\"rate>=99%\"]\n";
    std::fs::write(home.path().join("a.yaml"), scenario).expect("a file");
    let from_file = run(home.path(), "run a.yaml --out file -q");
    assert_eq!(from_file.code, Some(0), "{}", from_file.stderr);
    let typed = run(
        home.path(),
        &format!("{GRID} {CELL} --threshold served:rate>=99% --out typed"),
    );
    assert_eq!((typed.code, &typed.stdout), (Some(0), &from_file.stdout));
    assert_eq!(summary(home.path(), "file"), summary(home.path(), "typed"));
    let resolved = |run: &str| std::fs::read_to_string(home.path().join(run).join("scenario.resolved.yaml"));
    assert_eq!(
        resolved("file").expect("a file"),
        resolved("typed").expect("a file")
    );
}

#[test]
fn a_threshold_on_reports_that_fails_is_exit_code_99() {
    let home = open_folder();
    let words =
        "--threshold served:rate>=99% --threshold delay{stack=tcp}:p(95)<1ms --threshold energy:mean<9J";
    let failed = run(home.path(), &format!("{GRID} {CELL} {words} --out run"));
    assert_eq!(failed.code, Some(99), "{}", failed.stderr);
    let thresholds = summary(home.path(), "run")["thresholds"].clone();
    let passed: Vec<bool> = thresholds
        .as_array()
        .expect("thresholds")
        .iter()
        .filter_map(|one| one["pass"].as_bool())
        .collect();
    assert_eq!(passed, [true, false, true], "{thresholds}");
    assert!(
        failed.stdout.contains("FAIL  delay{stack=tcp}"),
        "{}",
        failed.stdout
    );
}

#[test]
fn varied_parameters_are_dimensions_of_table_and_summary() {
    let home = open_folder();
    let words = "--vary levels.ce0.npdcch_g=2,4.0 --threshold served{levels.ce0.npdcch_g=4}:rate>=1%";
    let varied = run(home.path(), &format!("{GRID} {CELL} {words} --out run"));
    assert_eq!(varied.code, Some(0), "{}", varied.stderr);
    let points = summary(home.path(), "run")["points"].clone();
    let points = points.as_array().expect("points");
    let values: Vec<(&str, f64)> = points
        .iter()
        .filter_map(|point| {
            let value = point["varied"]["levels.ce0.npdcch_g"].as_str()?;
            Some((value, point["dci_spacing_ms"].as_f64()?))
        })
        .collect();
    assert_eq!(values, [[("2", 16.0); 4], [("4", 32.0); 4]].concat());
    assert!(
        varied.stdout.contains("tcp (npdcch_g=4) 25 B"),
        "{}",
        varied.stdout
    );
    let widest = varied.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|width| width <= 100), "{}", varied.stdout);
}

#[test]
fn report_and_diff_read_reports_in_cells() {
    let home = open_folder();
    for (name, more) in [("old", ""), ("new", "--set rrc.inactivity_ms=3000")] {
        assert_eq!(
            run(home.path(), &format!("{GRID} {CELL} {more} --out {name}")).code,
            Some(0)
        );
    }
    for file in ["summary.csv", "summary.md"] {
        let path = home.path().join("old").join(file);
        let before = std::fs::read_to_string(&path).expect(file);
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(run(home.path(), "report old").code, Some(0));
        assert_eq!(std::fs::read_to_string(&path).expect(file), before);
    }
    let same = run(home.path(), "diff old old --gate");
    assert_eq!(
        (same.code, same.stdout.lines().count()),
        (Some(0), 1),
        "{}",
        same.stdout
    );
    let changed = run(home.path(), "diff old new --gate");
    assert_eq!(changed.code, Some(98), "{}", changed.stderr);
    assert!(changed.stdout.contains("energy mean"), "{}", changed.stdout);
    assert!(!changed.stdout.contains("bytes_up"), "{}", changed.stdout);
}

#[test]
fn a_load_that_cannot_fit_in_memory_is_refused() {
    let home = open_folder();
    let refused = run(
        home.path(),
        "nbiot tcp --size 25B --load 40/s --seeds 1000 --engine-threads 1000 --out run",
    );
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    names(&refused, &["--load", "40/s", "1000", "50400", "1512.0"]);
    assert!(refused.line("hint: ").is_some(), "{}", refused.stderr);
    assert!(!home.path().join("run").exists());
}

#[test]
#[ignore = "needs python3"]
fn the_schema_of_the_network_is_as_its_types_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let checked = std::process::Command::new("python3")
        .arg(root.join("scripts/nbiot-schema"))
        .arg("--check")
        .output();
    let checked = Said::from(checked.expect("python3"));
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
}
