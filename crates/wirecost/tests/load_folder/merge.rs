//! The output of merged loads, and their thresholds, which are judged like those of one run.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Said, open_folder, said, wirecost};
use crate::{is_whole, summary};

/// Two runs of a scenario with 100 messages each, and these thresholds.
fn two_runs(home: &Path, thresholds: &str) {
    let text = format!(
        "wirecost: 1\nstack: coap-con\nclients: 2\nphases: [{{do: publish, rate: 100/s, count: 100}}]\n{thresholds}"
    );
    fs::write(home.join("a.yaml"), text).expect("a file");
    for out in ["a", "b"] {
        let said = said(wirecost(home).args(["run", "a.yaml", "--quiet", "-o", out]));
        assert!(is_whole(&said) || said.code == Some(99), "{}", said.stderr);
    }
}

fn merge(home: &Path) -> Said {
    said(wirecost(home).args(["merge", "a", "b", "-o", "all"]))
}

/// Changes the file of the only load of a folder.
fn change(folder: &Path, change: impl FnOnce(&mut Value)) {
    let key = summary(folder).loads[0].key.clone();
    let path = folder.join(format!("cells/{key}.json"));
    let text = fs::read_to_string(&path).expect("a file");
    let mut file: Value = serde_json::from_str(&text).expect("JSON");
    change(&mut file["load"]);
    fs::write(path, file.to_string()).expect("written");
}

/// Removes the warnings that the test machine has caused from the load of a folder.
fn make_valid(folder: &Path) {
    change(folder, |load| {
        (load["valid"], load["warnings"]) = (json!(true), json!([]));
        for phase in load["phases"].as_array_mut().expect("phases") {
            (phase["valid"], phase["warnings"]) = (json!(true), json!([]));
        }
    });
}

#[test]
fn thresholds_of_loads_are_judged_over_the_merged_run() {
    let home = open_folder();
    two_runs(
        home.path(),
        "thresholds:\n  acknowledged: [count<150]\n  \"offered{phase=publish}\": [count>=150]\n",
    );
    for run in ["a", "b"] {
        let passes = summary(&home.path().join(run)).thresholds.into_iter();
        let passes: Vec<bool> = passes.map(|threshold| threshold.pass).collect();
        assert!(!passes[1], "100 messages are too few");
        make_valid(&home.path().join(run));
    }
    let merged = merge(home.path());
    assert_eq!(merged.code, Some(99), "{}", merged.stderr);
    let thresholds = summary(&home.path().join("all")).thresholds;
    let judged: Vec<_> = thresholds.iter().map(|one| (one.actual, one.pass)).collect();
    assert_eq!(judged, [(Some(200.0), false), (Some(200.0), true)]);
    for line in ["pass  offered", "FAIL  acknowledged"] {
        assert!(merged.stdout.contains(line), "{}", merged.stdout);
    }
    assert!(merged.line("report:  ").is_some(), "{}", merged.stderr);
}

#[test]
fn a_figure_invalid_in_one_run_is_invalid_in_the_merged_run() {
    let home = open_folder();
    two_runs(home.path(), "");
    make_valid(&home.path().join("a"));
    make_valid(&home.path().join("b"));
    let merged = merge(home.path());
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    assert!(merged.stdout.contains("coap-con"), "{}", merged.stdout);
    fs::remove_dir_all(home.path().join("all")).expect("a folder");
    change(&home.path().join("b"), |load| {
        load["valid"] = json!(false);
        load["warnings"] =
            json!([{"kind": "schedule-lag", "text": "the generator was late", "invalidates": true}]);
        for phase in load["phases"].as_array_mut().expect("phases") {
            phase["valid"] = json!(false);
        }
    });
    let merged = merge(home.path());
    assert_eq!(merged.code, Some(14), "{}", merged.stderr);
    assert!(merged.stdout.contains("INVALID"), "{}", merged.stdout);
    assert!(!summary(&home.path().join("all")).loads[0].valid);
}

/// The thresholds of a single load are judged where that load ran.
#[test]
fn a_shard_is_not_judged_by_the_loads_of_the_others() {
    let home = open_folder();
    let text = "wirecost: 1\nvary: {stack: [mqtt-qos1, mqtt-qos0]}\nclients: 2\nphases: [{do: publish, rate: 100/s, count: 20}]\n\
                thresholds: {response_time: p(50)<5s, delivered: rate==100%}\n";
    fs::write(home.path().join("a.yaml"), text).expect("a file");
    let (mut judged, mut folders) = (0, Vec::new());
    for shard in 1..=3 {
        let (shard, out) = (format!("{shard}/3"), format!("s{shard}"));
        let said =
            said(wirecost(home.path()).args(["run", "a.yaml", "--quiet", "--shard", &shard, "-o", &out]));
        assert!(is_whole(&said), "{shard}: {:?} {}", said.code, said.stderr);
        // An empty shard has no folder.
        if home.path().join(&out).exists() {
            judged += summary(&home.path().join(&out)).thresholds.len();
            folders.push(out);
        }
    }
    assert_eq!(judged, 2, "each by one shard");
    let arguments = folders.iter().map(String::as_str).chain(["-o", "all"]);
    let merged = said(wirecost(home.path()).arg("merge").args(arguments));
    assert!(is_whole(&merged), "{:?} {}", merged.code, merged.stderr);
    assert_eq!(summary(&home.path().join("all")).thresholds.len(), 2);
}

#[test]
fn thresholds_that_cannot_be_read_are_not_judged_in_silence() {
    let home = open_folder();
    two_runs(home.path(), "thresholds:\n  acknowledged: [count>=1]\n");
    for run in ["a", "b"] {
        make_valid(&home.path().join(run));
        let path = home.path().join(run).join("scenario.resolved.yaml");
        let text = fs::read_to_string(&path).expect("a scenario");
        let text = text.replace("acknowledged:", "applauded:");
        fs::write(path, text).expect("written");
    }
    let merged = merge(home.path());
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    let warning = merged.line("warning: thresholds are not judged, their scenario cannot be read: ");
    assert!(
        warning.is_some_and(|why| why.contains("applauded")),
        "{}",
        merged.stderr
    );
}
