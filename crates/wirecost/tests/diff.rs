//! `wirecost diff`: what counts as a change, between seeds and between versions.

mod common;

use std::fs;
use std::path::Path;

use common::{Said, open_folder, said, wirecost};
use serde_json::Value;

/// Stacks over UDP and TCP, with a handshake and without.
const STACKS: &str = "mqtt-qos1,coap-con,mqtt-qos1+tls1.3,coap-con+dtls1.3";

fn run(folder: &Path, arguments: &str) -> Said {
    said(wirecost(folder).args(arguments.split(' ')))
}

fn simulate(folder: &Path, arguments: &str) {
    let said = run(folder, &format!("{arguments} --engine sim -q"));
    // Messages that are lost for good have an exit code of their own.
    assert!(matches!(said.code, Some(0 | 13)), "{arguments}: {}", said.stderr);
}

/// Changes a summary as another program would have written it.
fn rewrite(folder: &Path, change: impl FnOnce(&mut Value)) {
    let file = folder.join("summary.json");
    let mut summary: Value =
        serde_json::from_str(&fs::read_to_string(&file).expect("a summary")).expect("JSON");
    change(&mut summary);
    fs::write(&file, summary.to_string()).expect("written");
}

#[test]
fn a_change_of_an_exact_figure_is_listed_and_gated() {
    let home = open_folder();
    for more in [
        "mqtt-qos1,coap-con --out one",
        "mqtt-qos1,coap-con --out two",
        "mqtt-qos1,udp --resource longer --out three",
        "tcp --out four",
    ] {
        simulate(home.path(), &format!("compare {more} -n 30 --rtt 25ms"));
    }
    let same = run(home.path(), "diff one two --gate");
    assert_eq!(
        (same.code, same.stdout.as_str()),
        (Some(0), "nothing changed beyond its interval\n")
    );
    let other = run(home.path(), "diff one three --gate");
    assert_eq!(other.code, Some(98), "{}", other.stdout);
    let lines = |beginning: &str| -> Vec<&str> {
        let lines = other.stdout.lines();
        lines.filter(|line| line.starts_with(beginning)).collect()
    };
    assert!(
        lines("- mqtt-qos1").contains(&"- mqtt-qos1 (sim): bytes_per_msg mean from 299 B to 301 B (+0.7 %)"),
        "{}",
        other.stdout
    );
    assert_eq!(lines("- coap-con"), ["- coap-con: in the old run alone"]);
    assert_eq!(lines("- udp"), ["- udp: in the new run alone"]);
    let chosen = run(home.path(), "diff one three --gate times=20%");
    assert!(!chosen.stdout.contains("bytes"), "{}", chosen.stdout);
    let nothing = run(home.path(), "diff one four");
    assert_eq!(
        nothing.line("error: "),
        Some("the two runs have no cell in common")
    );
    let first = run(home.path(), "diff --gate one two");
    assert_eq!(first.code, Some(2));
    assert!(
        first.stderr.contains("stands behind the folders"),
        "{}",
        first.stderr
    );
}

/// `scripts/gate-alarms` has 1,000 pairs.
#[test]
fn other_seeds_are_no_change_and_a_byte_more_is_one() {
    let home = open_folder();
    for loss in ["0%", "1%", "5%"] {
        let setting = format!("compare {STACKS} -n 20 --rtt 40ms --size 64B --loss {loss}");
        for (seed, folder) in [(1, "a"), (2, "b"), (3, "c"), (4, "d")] {
            simulate(
                home.path(),
                &format!("{setting} --seed {seed} --out {folder}{loss}"),
            );
        }
        for (old, new) in [("a", "b"), ("c", "d"), ("a", "d")] {
            let same = run(home.path(), &format!("diff {old}{loss} {new}{loss} --gate"));
            assert_eq!(same.code, Some(0), "{loss} {old} {new}: {}", same.stdout);
        }
        // A topic of one byte more.
        let planted = setting.replace(STACKS, "mqtt-qos1,mqtt-qos1+tls1.3");
        simulate(
            home.path(),
            &format!("{planted} --resource test1 --seed 5 --out planted{loss}"),
        );
        for gate in ["--gate", "--gate bytes=0"] {
            let said = run(home.path(), &format!("diff a{loss} planted{loss} {gate}"));
            assert_eq!(said.code, Some(98), "{loss} {gate}: {}", said.stderr);
            for stack in ["mqtt-qos1 (sim)", "mqtt-qos1+tls1.3 (sim)"] {
                let line = format!("- {stack}: bytes_up_per_msg ");
                assert!(
                    said.stdout.contains(&line),
                    "{loss} {gate} {stack}: {}",
                    said.stdout
                );
            }
        }
    }
}

#[test]
fn loads_of_other_seeds_are_no_change_and_repeated_ones_have_intervals() {
    let home = open_folder();
    let load = "load mqtt-qos1 -c 10 --rate 50/s --duration 2s --rtt 40ms --loss 5%";
    for (seed, folder) in [(1, "a"), (2, "b")] {
        simulate(home.path(), &format!("{load} --seed {seed} --out {folder}"));
    }
    let once = run(home.path(), "diff a b --gate");
    assert_eq!(once.code, Some(0), "{}", once.stdout);
    let note = once.line("note: not judged where one run gives no interval: ");
    assert!(
        note.is_some_and(|names| names.contains("one_way_delay")),
        "{}",
        once.stderr
    );
    let slower = load.replace("40ms", "40ms --service-time 30ms");
    for (seed, folder, load) in [(10, "c", load), (20, "d", load), (30, "e", &slower)] {
        simulate(
            home.path(),
            &format!("{load} --repeat 5 --seed {seed} --out {folder}"),
        );
    }
    let repeated = run(home.path(), "diff c d --gate");
    assert_eq!(repeated.code, Some(0), "{}", repeated.stdout);
    let slow = run(home.path(), "diff c e --gate times=5%");
    assert_eq!(slow.code, Some(98), "{}{}", slow.stdout, slow.stderr);
    assert!(
        slow.stdout.contains("response_time mean from "),
        "{}",
        slow.stdout
    );
}

#[test]
fn folders_of_another_version_are_compared_by_what_their_cells_are() {
    let home = open_folder();
    for folder in ["old", "new"] {
        simulate(
            home.path(),
            &format!("compare mqtt-qos1,coap-con -n 20 --rtt 25ms --size 10B,64B --out {folder}"),
        );
    }
    // Another version has other keys, and a dimension that this one does not know.
    rewrite(&home.path().join("old"), |summary| {
        summary["version"] = "0.0.9".into();
        for cell in summary["cells"].as_array_mut().expect("cells") {
            cell["key"] = format!("0{}", &cell["key"].as_str().expect("a key")[1..]).into();
            cell["labels"]["link.colour"] = "blue".into();
        }
        summary["cells"][0]["message"]["up"]["wire"]["mean"] = 1.0.into();
    });
    let scenario = home.path().join("old/scenario.resolved.yaml");
    fs::write(scenario, "wirecost: 99\n").expect("a scenario that this version cannot read");
    let said = run(home.path(), "diff old new --gate");
    assert_eq!(said.code, Some(98), "{}", said.stderr);
    let own = |line: &&str| line.contains("bytes_up_per_msg");
    assert_eq!(said.stdout.lines().filter(own).count(), 1, "{}", said.stdout);
    let claims = "wirecost: 1\nstudy: own\nsource: us\nruns: {old: old.yaml}\nclaims:\n\
                  - {id: A, says: x, published: 100B, value: \"old/bytes_down_per_msg{stack=coap-con,size=64B} mean\"}\n";
    fs::write(home.path().join("own.yaml"), claims).expect("a file");
    let judged = run(home.path(), "claims own.yaml old");
    assert!(
        judged.stdout.contains("differs"),
        "{}{}",
        judged.stdout,
        judged.stderr
    );
    rewrite(&home.path().join("old"), |summary| {
        for cell in summary["cells"].as_array_mut().expect("cells") {
            cell.as_object_mut().expect("a cell").remove("labels");
        }
    });
    let older = run(home.path(), "diff old new");
    assert_eq!(
        older.line("error: "),
        Some(
            "old holds results of wirecost 0.0.9 that lack the dimensions of their cells, by which cells are matched"
        )
    );
    assert_eq!(
        older.line("hint: "),
        Some("run its scenario again: wirecost run old/scenario.resolved.yaml --out NEW")
    );
}

#[test]
fn loads_of_another_version_are_compared_by_what_their_phases_are() {
    let home = open_folder();
    for folder in ["old", "new"] {
        let load = "load mqtt-qos1 -c 5 --rate 20/s --duration 2s --rtt 25ms";
        simulate(home.path(), &format!("{load} --out {folder}"));
    }
    rewrite(&home.path().join("old"), |summary| {
        summary["version"] = "0.0.9".into();
        summary["loads"][0]["key"] = "0123456789abcdef".into();
        summary["loads"][0]["phases"][1]["link"]["up"]["bytes"] = 1.into();
    });
    let said = run(home.path(), "diff old new --gate");
    assert_eq!(said.code, Some(98), "{}", said.stderr);
    let mut lines = said.stdout.lines();
    let is_planted =
        |line: &str| line.starts_with("- publish mqtt-qos1 (sim): ") && line.contains("_bytes_up sum");
    assert!(lines.all(is_planted), "{}", said.stdout);
    // Its figures cannot be used: no change can be told, and none be ruled out.
    rewrite(&home.path().join("new"), |summary| {
        for phase in summary["loads"][0]["phases"].as_array_mut().expect("phases") {
            phase["valid"] = false.into();
        }
    });
    let invalid = run(home.path(), "diff old new --gate");
    assert_eq!(
        (invalid.code, invalid.stdout.lines().count()),
        (Some(14), 1),
        "{}",
        invalid.stdout
    );
    assert!(
        invalid.stderr.contains("INVALID in the new run"),
        "{}",
        invalid.stderr
    );
}
