//! Suspects of claims, parts of a claim, and what a study prints about itself.

mod common;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use common::{Said, ended, eventually, need_root, open_folder, said, signal, wirecost};
use serde_json::Value;

const SCENARIO: &str = "wirecost: 1\nengine: sim\nstack: [mqtt-qos1, udp]\ncount: 20\nsize: 100B\n";
const CLAIMS: &str = "wirecost: 1\nstudy: mine\nsource: a leaflet\n\
runs: {publish: {file: publish.yaml, takes: 4min, quick: 5s}}\nclaims:\n\
- id: M1-bytes\n  says: a message takes 173 B\n  published: 173B\n  \
value: \"publish/bytes_per_msg{stack=mqtt-qos1} mean\"\n  suspects:\n  \
- {name: a message of 3 B, set: {size: 3B}}\n  \
- {name: a message of 4 B, set: {size: 4B}}\n\
- id: M1-ratio\n  says: MQTT takes twice the bytes\n  published: 1.05\n  within: 1%\n  \
ratio: [\"publish/bytes_per_msg{stack=mqtt-qos1} mean\", \"publish/bytes_per_msg{stack=udp} mean\"]\n  suspects:\n  \
- {name: UDP with 240 B more, of: udp, set: {size: 340B}}\n\
recomputed:\n- {id: R1, says: a sum, published: 3, arithmetic: 1 + 2}\n";

fn run(folder: &Path, arguments: &str) -> Said {
    said(wirecost(folder).args(arguments.split(' ')))
}

fn study(home: &Path) {
    fs::create_dir(home.join("mine")).expect("a folder");
    fs::write(home.join("mine/claims.yaml"), CLAIMS).expect("a file");
    fs::write(home.join("mine/publish.yaml"), SCENARIO).expect("a file");
}

#[test]
fn a_suspect_is_run_and_changes_no_verdict() {
    let home = open_folder();
    study(home.path());
    let said = run(home.path(), "study --from mine --out results --json -");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("mine: 1 claim, 3 figures; 4 runs, about 16 min"),
        "{}",
        said.stderr
    );
    assert!(said.stderr.contains("3 of 3 figures judged"), "{}", said.stderr);
    let claims: Vec<Value> = serde_json::from_str(&said.stdout).expect("judged claims");
    assert_eq!(claims[0]["verdict"], "differs");
    let suspects = claims[0]["suspects"].as_array().expect("suspects");
    assert_eq!(suspects[0]["comes_out"], 1, "{suspects:?}");
    let change = &suspects[0]["points"][0]["changes"][0];
    assert_eq!(
        (&change["without"], &change["with"]),
        (&"270 B".into(), &"173 B".into())
    );
    // It applies to one of the two stacks, and the other keeps its figure.
    let changes = claims[1]["suspects"][0]["points"][0]["changes"]
        .as_array()
        .expect("changes");
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert!(
        home.path()
            .join("results/publish-a-message-of-3-B/summary.json")
            .exists()
    );
    let table = run(home.path(), "study --from mine --out results --claim M1");
    assert!(
        table
            .stdout
            .contains("comes out under: a message of 3 B (ours 173 B"),
        "{}",
        table.stdout
    );
    let page = fs::read_to_string(home.path().join("results/report.html")).expect("a page");
    assert!(page.contains("Comes out under: a message of 3 B"), "{page}");
}

#[test]
fn part_of_a_study_is_named_by_claim_or_by_part() {
    let home = open_folder();
    study(home.path());
    for (name, expected) in [
        ("M1", "1 claim, 2 figures"),
        ("M1-bytes", "1 claim, 1 figure"),
        ("R1", "0 claims, 1 figure"),
    ] {
        let said = run(
            home.path(),
            &format!("study --from mine --no-runs --out out --claim {name}"),
        );
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stderr.contains(expected), "{expected}: {}", said.stderr);
    }
    let other = run(home.path(), "study latency --claim T1");
    assert_eq!(
        other
            .line("hint: ")
            .map(|hint| hint.starts_with("its claims are L1, L2, L3, L4")),
        Some(true)
    );
}

#[test]
fn the_list_counts_claims_figures_and_recomputed_rows() {
    let home = open_folder();
    let said = run(home.path(), "study list --json -");
    let studies: Vec<Value> = serde_json::from_str(&said.stdout).expect("a list");
    let count = |key: &str| -> usize {
        studies
            .iter()
            .map(|study| study[key].as_array().map_or(0, Vec::len))
            .sum()
    };
    assert_eq!((count("claims"), count("recomputed")), (45, 35));
    let figures = studies
        .iter()
        .flat_map(|study| study["figures"].as_array().expect("figures"));
    let published = figures.filter(|figure| figure["published"].is_string()).count();
    assert!(published >= 200, "{published}");
}

#[test]
fn wrong_claims_files_are_refused_with_their_line() {
    let home = open_folder();
    let head = "wirecost: 1\nstudy: own\nsource: us\nruns: {a: a.yaml}\nclaims:\n";
    let value = "value: a/response_time mean";
    for (claim, error) in [
        (
            format!("{{id: A, says: x, publishd: 1s, {value}}}"),
            "unknown key",
        ),
        (
            "{id: A, says: x, published: 1s, value: b/response_time mean}".to_owned(),
            "none of the runs",
        ),
        (
            format!("{{id: A, says: x, published: 1 parsec, {value}}}"),
            "published:",
        ),
        (
            "{id: A, says: x, published: 1s, value: \"a/response_time{stak=tcp} mean\"}".to_owned(),
            "stak",
        ),
        (
            format!("{{id: A, says: x, published: 1s, {value}, bound: {{flights: [SYN]}}}}"),
            "round-trip time",
        ),
        ("{id: A, says: x, order: []}".to_owned(), "at least two figures"),
        (
            format!("{{id: A, says: x, published: 1s, {value}, within: -5%}}"),
            "within",
        ),
        (
            "{id: A, says: x, published: 1s, value: a/respons_time mean}".to_owned(),
            "unknown metric",
        ),
        (
            "{id: A, says: x, published: 1s, value: a/response_time p(42)}".to_owned(),
            "names no figure of response_time",
        ),
        (
            "{id: A, says: x, published: 1 parsec, arithmetic: 1 s + 1 s}".to_owned(),
            "parsec",
        ),
    ] {
        fs::write(home.path().join("own.yaml"), format!("{head}- {claim}\n")).expect("a file");
        let said = run(home.path(), "claims own.yaml");
        assert_eq!(said.code, Some(2), "{claim}: {}", said.stderr);
        assert!(
            said.stderr.contains("own.yaml:6") && said.stderr.contains(error),
            "{claim}: {}",
            said.stderr
        );
    }
    let twice = "- {id: A, says: x, published: 3, arithmetic: 1 + 2}\n".repeat(2);
    fs::write(home.path().join("own.yaml"), format!("{head}{twice}")).expect("a file");
    let said = run(home.path(), "claims own.yaml");
    assert_eq!(
        said.line("error: "),
        Some("own.yaml:7: the id \"A\" is there twice")
    );
}

/// A figure that a results folder does not have is refused at the line of its claim.
#[test]
fn claims_on_results_are_refused_with_their_line() {
    let home = open_folder();
    study(home.path());
    let made = run(home.path(), "run mine/publish.yaml --out publish");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let value = "value: \"publish/bytes_per_msg{stack=tcp} mean\"";
    let claims = format!(
        "wirecost: 1\nstudy: own\nsource: us\nruns: {{publish: publish.yaml}}\nclaims:\n- {{id: A, says: x, published: 1B, {value}}}\n"
    );
    fs::write(home.path().join("own.yaml"), claims).expect("a file");
    let said = run(home.path(), "claims own.yaml publish");
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    let line = said.line("error: ").expect("an error");
    assert!(
        line.starts_with("own.yaml:6: A: publish/bytes_per_msg{stack=tcp} mean"),
        "{line}"
    );
}

/// A selector that matches nothing is refused at the line of its claim before the first run, as are other wrong files of a study.
#[test]
fn a_study_is_checked_before_anything_runs() {
    let home = open_folder();
    study(home.path());
    let original = CLAIMS.to_owned();
    for (from, to, error, hint) in [
        (
            "publish/bytes_per_msg{stack=mqtt-qos1} mean\"\n  suspects",
            "publish/bytes_per_msg{stack=tcp} mean\"\n  suspects",
            "mine/claims.yaml:6: M1-bytes: publish/bytes_per_msg{stack=tcp} mean: nothing of the run is {stack=tcp}",
            "the run has stack=mqtt-qos1|udp",
        ),
        (
            "publish/bytes_per_msg{stack=udp} mean",
            "publish/bytes_per_msg{stack=udp,link.rtt=40ms} mean",
            "mine/claims.yaml:13: M1-ratio: publish/bytes_per_msg{stack=udp,link.rtt=40ms} mean",
            "the run has link.rtt=25ms",
        ),
        (
            "set: {size: 3B}",
            "set: {stack: udp}",
            "mine/claims.yaml:6: M1-bytes: publish/bytes_per_msg{stack=mqtt-qos1} mean: nothing of the run is {stack=mqtt-qos1}",
            "the run has stack=udp",
        ),
        (
            "claims:\n- id: M1-bytes",
            "plots:\n- {title: Bytes, of: \"publish/bytes_per_msg{stack=tcp} mean\", over: size}\nclaims:\n- id: M1-bytes",
            "mine/claims.yaml:6: Bytes: publish/bytes_per_msg{stack=tcp} mean: nothing of the run is {stack=tcp}",
            "the run has stack=mqtt-qos1|udp",
        ),
        (
            "claims:\n- id: M1-bytes",
            "plots:\n- {title: Bytes, of: publish/bytes_per_msg mean, over: sizes}\nclaims:\n- id: M1-bytes",
            "mine/claims.yaml:6: Bytes: publish/bytes_per_msg mean: the run has no sizes",
            "size",
        ),
        (
            "claims:\n- id: M1-bytes",
            "tables:\n- {title: Bytes, rows: size, columns: {all: publish/bytes_per_msg mean}}\nclaims:\n- id: M1-bytes",
            "mine/claims.yaml:6: Bytes: publish/bytes_per_msg mean: several figures of the run are at one size",
            "select one of them, for example with stack=mqtt-qos1",
        ),
        (
            "id: M1-ratio",
            "id: M1-bytes",
            "claims.yaml:13: the id \"M1-bytes\" is there twice",
            "",
        ),
        ("within: 1%", "within: -1%", "claims.yaml:", "write 5%"),
    ] {
        let text = original.replacen(from, to, 1);
        assert_ne!(text, original, "{from}");
        fs::write(home.path().join("mine/claims.yaml"), text).expect("a file");
        let said = run(home.path(), "study --from mine --out results");
        assert_eq!(said.code, Some(2), "{to}: {}", said.stderr);
        assert!(
            said.stderr.contains(error) && said.stderr.contains(hint),
            "{to}: {}",
            said.stderr
        );
        assert!(!home.path().join("results").exists(), "{to}: something was run");
    }
}

#[test]
fn an_interrupted_study_continues_to_the_same_verdicts() {
    let home = open_folder();
    study(home.path());
    let whole = run(home.path(), "study --from mine --out whole --json -");
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    let mut command = wirecost(home.path());
    command.args(["study", "--from", "mine", "--out", "parts", "--json", "-"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let study = command.spawn().expect("the study starts");
    eventually("its first run begins", || {
        home.path().join("parts/publish.yaml").exists()
    });
    signal(study.id(), "INT");
    let broken = ended(study);
    assert_eq!(broken.code, Some(130), "{}", broken.stderr);
    assert!(broken.stdout.contains("it was not run"), "{}", broken.stdout);
    let again = run(home.path(), "study --from mine --out parts --json -");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(again.stdout, whole.stdout);
}

/// Without RabbitMQ on PATH its claims alone change: they are not run, and what is impossible stays impossible.
#[test]
#[ignore = "needs root and rabbitmq-server"]
fn without_a_server_only_its_claims_change() {
    need_root();
    let home = open_folder();
    study(home.path());
    let claims = CLAIMS
        .replace("runs: {", "runs: {rabbit: rabbit.yaml, ")
        .replace("recomputed:", "\
- {id: M2, says: a transfer takes no round trip, published: 1ms, value: rabbit/response_time mean, \
needs: [\"server:rabbitmq\"], bound: {flights: [transfer], rtt: 25ms}}\n\
- {id: M3, says: a transfer takes a round trip, published: 25ms, value: rabbit/response_time mean, needs: [\"server:rabbitmq\"]}\n\
recomputed:");
    fs::write(home.path().join("mine/claims.yaml"), claims).expect("a file");
    let rabbit =
        "wirecost: 1\nengine: live\ntarget: rabbitmq\nstack: amqp-unsettled\ncount: 3\nlink: {rtt: 25ms}\n";
    fs::write(home.path().join("mine/rabbit.yaml"), rabbit).expect("a file");
    let judged = |out: &str, path: &str| -> Vec<Value> {
        let mut command = wirecost(home.path());
        command
            .args(["study", "--from", "mine", "--json", "-", "--out", out])
            .env("PATH", path);
        let said = said(&mut command);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        serde_json::from_str(&said.stdout).expect("judged claims")
    };
    let there = judged("there", &std::env::var("PATH").expect("a path"));
    let absent = judged("absent", &home.path().display().to_string());
    for (with, without) in there.iter().zip(&absent) {
        match with["id"].as_str() {
            Some("M2") => assert_eq!(
                (&with["verdict"], &without["verdict"]),
                (&"impossible".into(), &"impossible".into())
            ),
            Some("M3") => {
                assert_ne!(with["verdict"], "not_run", "{with}");
                assert_eq!(without["verdict"], "not_run", "{without}");
                assert!(
                    without["why"]
                        .as_str()
                        .is_some_and(|why| why.contains("rabbitmq-server")),
                    "{without}"
                );
            }
            _ => assert_eq!(with, without),
        }
    }
    assert_eq!((there.len(), absent.len()), (5, 5));
}
