//! `wirecost claims` and `wirecost study`: every verdict, studies that are not compiled in, and wrong files.

mod common;

use std::fs;
use std::path::Path;

use common::{Said, open_folder, said, wirecost};
use serde_json::Value;

const EVERY_VERDICT: &str = include_str!("../../wirecost-studies/tests/every-verdict.yaml");

fn run(folder: &Path, arguments: &str) -> Said {
    said(wirecost(folder).args(arguments.split(' ')))
}

fn compare(folder: &Path, arguments: &str) {
    let said = run(folder, &format!("compare --engine sim --quiet {arguments}"));
    assert_eq!(said.code, Some(0), "{arguments}: {}", said.stderr);
}

/// The verdicts by claim, in the order of the file.
fn verdicts(said: &Said) -> Vec<(String, String)> {
    let judged: Vec<Value> = serde_json::from_str(&said.stdout).expect("judged claims");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    judged
        .iter()
        .map(|claim| (text(&claim["id"]), text(&claim["verdict"])))
        .collect()
}

#[test]
fn every_verdict_comes_out_once() {
    let home = open_folder();
    fs::write(home.path().join("claims.yaml"), EVERY_VERDICT).expect("a file");
    compare(home.path(), "mqtt-qos1,coap-con -n 30 --rtt 25ms --out exact");
    compare(
        home.path(),
        "mqtt-qos1,mqtt5-qos1 -n 60 --rtt 25ms --loss 5% --out noisy",
    );
    let said = run(home.path(), "claims claims.yaml exact noisy=noisy --json -");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let verdicts: Vec<String> = verdicts(&said).into_iter().map(|(_, verdict)| verdict).collect();
    let expected = [
        "impossible",
        "contradicted",
        "differs",
        "not_separable",
        "undecidable",
        "not_run",
        "reproduced",
    ];
    assert_eq!(verdicts, expected);
    let table = run(home.path(), "claims claims.yaml exact noisy");
    for text in [
        "bound 400 ms",
        "mqtt5-qos1 and mqtt-qos1 are equal",
        "does not give RTT",
    ] {
        assert!(table.stdout.contains(text), "{text}\n{}", table.stdout);
    }
}

#[test]
fn the_impossible_needs_no_run() {
    let home = open_folder();
    fs::write(home.path().join("claims.yaml"), EVERY_VERDICT).expect("a file");
    let said = run(home.path(), "claims claims.yaml --json -");
    let verdicts = verdicts(&said);
    assert_eq!(verdicts[0].1, "impossible");
    assert!(
        verdicts[1..].iter().all(|(_, verdict)| verdict == "not_run"),
        "{verdicts:?}"
    );
}

#[test]
fn an_expected_verdict_that_does_not_come_out_fails() {
    let home = open_folder();
    let claims = "wirecost: 1\nstudy: own\nsource: us\nclaims:\n\
                  - {id: A, says: a sum, published: 3, arithmetic: 1 + 2, expect: reproduced}\n\
                  - {id: B, says: another, published: 4, arithmetic: 1 + 2, expect: reproduced}\n";
    fs::write(home.path().join("own.yaml"), claims).expect("a file");
    let said = run(home.path(), "claims own.yaml");
    assert_eq!(said.code, Some(99), "{}", said.stderr);
    assert_eq!(said.line("error: "), Some("B: differs instead of reproduced"));
}

#[test]
fn a_study_in_a_folder_runs_without_a_rebuild() {
    let home = open_folder();
    let study = home.path().join("mine");
    fs::create_dir(&study).expect("a folder");
    let claims = "wirecost: 1\nstudy: mine\nsource: a leaflet\nruns: {publish: publish.yaml}\nclaims:\n\
                  - {id: M1, says: MQTT takes 299 B, published: 299B, value: publish/bytes_per_msg mean}\n";
    fs::write(study.join("claims.yaml"), claims).expect("a file");
    let scenario = "wirecost: 1\nengine: sim\nstack: mqtt-qos1\ncount: 30\n";
    fs::write(study.join("publish.yaml"), scenario).expect("a file");
    let said = run(home.path(), "study --from mine --out results --json -");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(verdicts(&said), [("M1".to_owned(), "reproduced".to_owned())]);
    let page = fs::read_to_string(home.path().join("results/report.html")).expect("a page");
    assert!(page.contains("299B") && !page.contains("http://") && !page.contains("https://"));
    // The second time, the run is there: nothing of it is made again.
    let cells = || {
        fs::read_dir(home.path().join("results/publish/cells"))
            .expect("cells")
            .flatten()
    };
    let written = || -> Vec<_> {
        cells()
            .map(|cell| cell.metadata().and_then(|file| file.modified()).ok())
            .collect()
    };
    let before = written();
    let again = run(home.path(), "study --from mine --out results");
    assert_eq!((again.code, written()), (Some(0), before), "{}", again.stderr);
    // Another scenario in the same folder is refused, and an interrupted run is no evidence.
    fs::write(study.join("quick.yaml"), "publish: [count=31]\n").expect("a file");
    let quick = run(home.path(), "study --from mine --out results --quick");
    assert_eq!(quick.code, Some(2), "{}", quick.stderr);
    let summary = home.path().join("results/publish/summary.json");
    let text = fs::read_to_string(&summary).expect("a summary");
    fs::write(&summary, text.replacen('{', "{\"interrupted\": true,", 1)).expect("written");
    let judged = run(home.path(), "study --from mine --out results --no-runs --json -");
    assert_eq!(verdicts(&judged), [("M1".to_owned(), "not_run".to_owned())]);
}

#[test]
fn statements_of_a_run_in_cells_judge_claims() {
    let home = open_folder();
    let study = home.path().join("mine");
    fs::create_dir(&study).expect("a folder");
    let claims = "wirecost: 1\nstudy: mine\nsource: a paper\nruns: {cells: cells.yaml}\nclaims:\n\
                  - {id: M1, says: a, checks: cells/A13}\n\
                  - {id: M2, says: b, checks: [cells/A13, cells/A1]}\n";
    fs::write(study.join("claims.yaml"), claims).expect("a file");
    let scenario = "wirecost: 1\nnbiot: {scenario: {n_sites: 1}}\nstack: coap-non\nsize: 25B\nload: 0.5/s\n\
                    seeds: 1\nduration: 3s\nwarm_up: 0s\nchecks: true\n";
    fs::write(study.join("cells.yaml"), scenario).expect("a file");
    let said = run(home.path(), "study --from mine --out results --json -");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let named = |verdicts: [&str; 2]| {
        ["M1", "M2"]
            .map(str::to_owned)
            .into_iter()
            .zip(verdicts.map(str::to_owned))
    };
    assert!(
        verdicts(&said).into_iter().eq(named(["reproduced", "not_run"])),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.contains("25 B in 0.4 s are 500 bit/s"),
        "{}",
        said.stdout
    );
    // The gravest of several statements is the claim's.
    let file = home.path().join("results/cells/summary.json");
    let text = fs::read_to_string(&file).expect("a summary");
    for (evaluated, expected) in [
        ("holds", "reproduced"),
        ("not-separable", "not_separable"),
        ("does-not-hold", "contradicted"),
    ] {
        let mut summary: Value = serde_json::from_str(&text).expect("a summary");
        summary["checks"][0]["verdict"] = evaluated.into();
        fs::write(&file, summary.to_string()).expect("written");
        let said = run(home.path(), "study --from mine --out results --no-runs --json -");
        assert!(
            verdicts(&said).into_iter().eq(named(["reproduced", expected])),
            "{}",
            said.stdout
        );
    }
    let absent = claims.replace("A1]", "A99]");
    fs::write(study.join("claims.yaml"), absent).expect("a file");
    let said = run(home.path(), "study --from mine --out results --no-runs");
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("cells/A99: the run has no such statement"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_figure_has_its_unit_and_bytes_are_no_bits() {
    let home = open_folder();
    let claims = "wirecost: 1\nstudy: own\nsource: us\nruns: {one: one.yaml}\nclaims:\n\
                  - {id: A, says: x, published: 299B, value: one/bytes_per_msg mean}\n\
                  - {id: B, says: y, published: 25ms, value: one/response_time p(50)}\n\
                  - {id: C, says: z, order: [\"one/bytes_per_msg{start=cold} mean\", \"one/bytes_per_msg mean\"]}\n";
    fs::write(home.path().join("own.yaml"), claims).expect("a file");
    compare(home.path(), "mqtt-qos1 -n 30 --rtt 25ms --out one");
    let said = run(home.path(), "claims own.yaml one --json -");
    let judged: Value = serde_json::from_str(&said.stdout).expect("judged claims");
    let figure = &judged[0]["points"][0]["figures"][0];
    assert_eq!(
        (figure["value"].as_f64(), figure["unit"].as_str()),
        (Some(299.0), Some("B"))
    );
    let point = &judged[0]["points"][0];
    assert_eq!(
        (point["ours_value"].as_f64(), point["published_value"].as_f64()),
        (Some(299.0), Some(299.0))
    );
    assert_eq!(point["unit"], "B");
    assert_eq!(judged[1]["points"][0]["unit"], "s");
    let same = judged[2]["points"][0]["why"].as_str().expect("a reason");
    assert!(same.ends_with(" are equal"), "{same}");
}

#[test]
fn wrong_studies_and_claims_are_refused() {
    let home = open_folder();
    let claims = "wirecost: 1\nstudy: own\nsource: us\nruns: {a: a.yaml}\nclaims:\n\
                  - {id: A, says: x, published: 1s, value: a/respons_time mean}\n";
    fs::write(home.path().join("own.yaml"), claims).expect("a file");
    let cases: [(&str, &str, &str); 6] = [
        (
            "study latancy",
            "there is no study \"latancy\"",
            "did you mean \"latency\"?",
        ),
        (
            "study latency --claim T1",
            "the study latency has no claim \"T1\"",
            "its claims are L1,",
        ),
        ("study", "", ""),
        ("claims absent.yaml", "cannot read absent.yaml", ""),
        (
            "claims own.yaml",
            "own.yaml:6: unknown metric \"respons_time\"",
            "",
        ),
        ("study --from absent", "cannot read absent", ""),
    ];
    for (arguments, error, hint) in cases {
        let said = run(home.path(), arguments);
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.stderr);
        assert!(
            said.stderr.contains(error) && said.stderr.contains(hint),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn the_studies_are_listed_and_written() {
    let home = open_folder();
    let said = run(home.path(), "study list --json -");
    let studies: Vec<Value> = serde_json::from_str(&said.stdout).expect("a list");
    assert_eq!(studies.len(), 5);
    for study in studies {
        let name = study["study"].as_str().expect("a name");
        let said = run(home.path(), &format!("study {name} --write {name}"));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let judged = run(
            home.path(),
            &format!("study --from {name} --no-runs --out out --json -"),
        );
        assert_eq!(judged.code, Some(0), "{name}: {}", judged.stderr);
    }
}

#[test]
fn a_full_link_leaves_messages_unserved_and_the_row_says_what_became_of_them() {
    let home = open_folder();
    let study = home.path().join("mine");
    fs::create_dir(&study).expect("a folder");
    let scenario = "wirecost: 1\nengine: sim\nclients: 100\nsize: 75B\ntimeout: 2s\nsites: {a: {}, b: {servers: builtin}}\n\
                    links: {a-b: {rtt: 5ms}}\nat: {senders: a}\nvary: {stack: [http1, mqtt-qos0], link.rate: [1Mbit, 100Mbit]}\n\
                    phases: [{do: publish, rate: 2000/s, duration: 1s}]\n";
    fs::write(study.join("full.yaml"), scenario).expect("a file");
    let figure = |metric: &str, stack: &str, rate: &str| {
        format!("\"full/{metric}{{stack={stack},link.rate={rate},phase=publish}} rate\"")
    };
    let claim = |id: &str, published: &str, rate: &str| {
        let ratio = ["http1", "mqtt-qos0"]
            .map(|stack| figure("unserved", stack, rate))
            .join(", ");
        let beside = [figure("late", "http1", rate), figure("late", "mqtt-qos0", rate)].join(", ");
        format!("- {{id: {id}, says: a, published: \"{published}\", ratio: [{ratio}], beside: [{beside}]}}\n")
    };
    let claims = format!(
        "wirecost: 1\nstudy: mine\nsource: a paper\nruns: {{full: full.yaml}}\nclaims:\n{}{}{}",
        claim("F1", ">=1.1", "1Mbit"),
        claim("F2", ">=20", "1Mbit"),
        claim("F3", "20", "100Mbit"),
    );
    fs::write(study.join("claims.yaml"), claims).expect("a file");
    let said = run(home.path(), "study --from mine --out results --json -");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let found: Vec<String> = verdicts(&said).into_iter().map(|(_, verdict)| verdict).collect();
    assert_eq!(
        found,
        ["reproduced", "differs", "not_separable"],
        "{}",
        said.stdout
    );
    let judged: Value = serde_json::from_str(&said.stdout).expect("judged claims");
    let point = &judged[0]["points"][0];
    let beside = point["beside"].as_str().expect("figures beside");
    assert!(
        beside.starts_with("http1: late ") && beside.contains("mqtt-qos0: late 0 %"),
        "{beside}"
    );
    // At most 1 Mbit/s over 115 B, the payload with its headers of IPv4 and TCP.
    let unserved = point["figures"][1]["value"].as_f64().expect("a share");
    assert!(unserved > 1.0 - 1e6 / (115.0 * 8.0 * 2000.0), "{point}");
    assert_eq!(judged[2]["points"][0]["why"], "both are 0");
}
