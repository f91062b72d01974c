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

/// The IETF's comparison of security protocols: 60 rows, of which those of records can be judged. The file has what must come out.
#[test]
fn sizes_of_records_are_those_of_the_ietfs_comparison() {
    let home = open_folder();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/protocol-comparison");
    let made = run(
        home.path(),
        &format!("run {folder}/records.yaml --quiet --out records"),
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let said = run(
        home.path(),
        &format!("claims {folder}/claims.yaml records --json -"),
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let verdicts = verdicts(&said);
    let count = |wanted: &str| verdicts.iter().filter(|(_, verdict)| verdict == wanted).count();
    assert_eq!((count("reproduced"), count("differs")), (13, 4), "{verdicts:?}");
    assert_eq!(count("not_run"), verdicts.len() - 17, "{verdicts:?}");
    assert!(
        said.stdout.contains("no library here has Group OSCORE"),
        "{}",
        said.stdout
    );
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
        "modelled_otherwise",
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
        "measured by a current clamp there, and modelled here",
        "1 impossible, 1 contradicted, 1 differs, 1 modelled otherwise, 1 not separable, 1 undecidable, 1 not run, 1 reproduced",
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
fn curves_of_cells_judge_claims_within_their_replications() {
    let home = open_folder();
    let study = home.path().join("mine");
    fs::create_dir(&study).expect("a folder");
    let served = |stack: &str| format!("\"cells/served{{stack={stack}}} rate\"");
    let throughput = |stack: &str| format!("\"cells/device_throughput{{stack={stack}}} mean\"");
    let (tcp, non) = (throughput("tcp"), throughput("coap-non"));
    let claims = format!(
        "wirecost: 1\nstudy: mine\nsource: a paper\nruns: {{cells: cells.yaml}}\nclaims:\n\
         - {{id: M1, says: a, apart: 0%, curves: {{of: [{tcp}, {non}], over: load, at: mean}}}}\n\
         - {{id: M2, says: b, apart: 0%, curves: {{of: [{non}, {tcp}], over: load, at: mean}}}}\n\
         - {{id: M3, says: c, curves: {{of: [{}, {}], over: load, at: 95%}}}}\n\
         - {{id: M4, says: d, limit: {{of: [{}, {}], above: 99%}}}}\n",
        served("tcp"),
        served("coap-non"),
        served("tcp").replace("}", ",load=1/s}"),
        served("coap-non").replace("}", ",load=1/s}"),
    );
    fs::write(study.join("claims.yaml"), &claims).expect("a file");
    let scenario = "wirecost: 1\nnbiot: {scenario: {n_sites: 1}}\nstack: [coap-non, tcp]\nsize: 25B\nload: [0.5/s, 1/s]\n\
                    seeds: 3\nduration: 20s\nwarm_up: 0s\n";
    fs::write(study.join("cells.yaml"), scenario).expect("a file");
    let said = run(home.path(), "study --from mine --out results --json -");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let expected = [
        ("M1", "reproduced"),
        ("M2", "contradicted"),
        ("M3", "not_separable"),
        ("M4", "reproduced"),
    ];
    assert_eq!(
        verdicts(&said),
        expected.map(|(id, verdict)| (id.to_owned(), verdict.to_owned())),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("beyond 1/s"), "{}", said.stdout);
    // A scenario with one load decides nothing about curves, which is said before anything is run.
    fs::write(study.join("cells.yaml"), scenario.replace("[0.5/s, 1/s]", "1/s")).expect("a file");
    let said = run(home.path(), "study --from mine --out other");
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("claims.yaml:6: M1")
            && said
                .stderr
                .contains("no run decides it: the scenario has one value of load"),
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
    fs::create_dir(home.path().join("mine")).expect("a folder");
    fs::write(
        home.path().join("mine/claims.yaml"),
        "wirecost: 1\nstudy: nbiot\nsource: us\nclaims:\n- {id: A, says: x, published: 3, arithmetic: 1 + 2}\n",
    )
    .expect("a file");
    let cases: [(&str, &str, &str); 9] = [
        (
            "study nbiot --from mine",
            "nbiot and --from mine are two studies",
            "leave one of them out",
        ),
        (
            "study all --from mine --no-runs",
            "mine/claims.yaml: a study that is compiled in is called nbiot, too",
            "give the study another name",
        ),
        ("study --from mine --write copy", "--write", ""),
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

/// A study of one figure that has been run in `results`, and a folder `kept/mine` that keeps its verdicts, its page and a summary, as
/// docs/studies does.
fn kept_study(home: &Path) {
    fs::create_dir(home.join("mine")).expect("a folder");
    let claims = "wirecost: 1\nstudy: mine\nsource: a leaflet\nruns: {publish: publish.yaml}\nclaims:\n\
                  - {id: M1, says: MQTT takes 299 B, published: 299B, value: publish/bytes_per_msg mean}\n\
                  - {id: M2, says: a sum, published: 3, arithmetic: 1 + 2}\n";
    fs::write(home.join("mine/claims.yaml"), claims).expect("a file");
    let scenario = "wirecost: 1\nengine: sim\nstack: mqtt-qos1\ncount: 30\n";
    fs::write(home.join("mine/publish.yaml"), scenario).expect("a file");
    let said = run(home, "study --from mine --out results");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    fs::create_dir_all(home.join("kept/mine/publish")).expect("a folder");
    for file in ["claims.json", "report.html", "publish/summary.md"] {
        fs::copy(home.join("results").join(file), home.join("kept/mine").join(file)).expect(file);
    }
}

#[test]
fn verdicts_that_are_kept_without_results_stand() {
    let home = open_folder();
    let home = home.path();
    kept_study(home);
    let page = || fs::read_to_string(home.join("kept/mine/report.html")).expect("a page");
    let before = page();
    let said = run(
        home,
        "study --from mine --no-runs --out kept/mine --json again.json",
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let [again, first] = ["again.json", "results/claims.json"].map(|file| {
        let text = fs::read_to_string(home.join(file)).expect(file);
        serde_json::from_str::<Value>(&text).expect("JSON")
    });
    assert_eq!(again, first);
    // Its page has what is not there to be drawn again.
    assert_eq!(page(), before);
    let one = run(
        home,
        "study --from mine --no-runs --out kept/mine --claim M1 --json -",
    );
    assert_eq!(verdicts(&one), [("M1".to_owned(), "reproduced".to_owned())]);

    let file = home.join("mine/claims.yaml");
    let claims = fs::read_to_string(&file).expect("a file");
    for (from, to, error) in [
        (
            "published: 299B",
            "published: 298B",
            "it judges other numbers than M1 has now",
        ),
        (
            "mean}",
            "mean, within: 20%}",
            "it has no verdict of M1 by the formula, tolerance and bound that the claim has now",
        ),
        ("id: M2", "id: M3", "it has no verdict of M3"),
    ] {
        fs::write(&file, claims.replace(from, to)).expect("a file");
        let said = run(home, "study --from mine --no-runs --out kept/mine");
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert_eq!(
            said.line("error: "),
            Some(format!("kept/mine/claims.json: {error}").as_str())
        );
    }
    let other_words = claims.replace("says: a sum", "says: a total, expect: contradicted");
    fs::write(&file, other_words).expect("a file");
    let said = run(home, "study --from mine --no-runs --out kept/mine");
    assert_eq!(said.code, Some(99), "{}", said.stderr);
    assert_eq!(
        said.line("error: "),
        Some("M2: reproduced instead of contradicted")
    );
    // Without the summary of a run, the file may be that of an earlier `--no-runs`.
    fs::remove_file(home.join("kept/mine/publish/summary.md")).expect("a file");
    let said = run(home, "study --from mine --no-runs --out kept/mine --json -");
    assert!(said.stdout.contains("it was not run"), "{}", said.stdout);
}

#[test]
fn the_page_of_all_studies_has_that_of_a_folder() {
    let home = open_folder();
    let home = home.path();
    kept_study(home);
    let said = run(home, "study all --from mine --no-runs --out kept");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let page = fs::read_to_string(home.join("kept/report.html")).expect("a page");
    for text in [
        "6 studies, ",
        "id=\"latency\"",
        "id=\"mine-M1\"",
        "wirecost study all --from mine<",
        "wirecost study --from mine --claim M1<",
        "wirecost study latency --claim L1",
        "href=\"mine&#x2f;publish&#x2f;report.html\"",
    ] {
        assert!(page.contains(text), "{text}");
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

#[test]
fn a_study_of_a_folder_says_how_its_programs_are_allowed() {
    let home = open_folder();
    let mine = home.path().join("mine");
    std::fs::create_dir(&mine).expect("a folder");
    let claims = "wirecost: 1\nstudy: mine\nsource: a paper\nruns: {a: a.yaml}\nclaims:\n\
        - {id: A, says: bytes, published: 1kB, value: a/session_bytes mean}\n";
    std::fs::write(mine.join("claims.yaml"), claims).expect("claims");
    std::fs::write(mine.join("a.yaml"), "wirecost: 1\nprogram: /bin/true\n").expect("a scenario");
    let refused = said(wirecost(home.path()).args(["study", "--from", "mine", "--out", "out"]));
    assert_eq!(refused.code, Some(2));
    assert!(
        refused
            .stderr
            .contains("a: the scenario runs true on this machine"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("hint: add --allow-programs"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_baseline_lists_the_verdicts_and_figures_that_changed() {
    let home = open_folder();
    let mine = home.path().join("mine");
    std::fs::create_dir(&mine).expect("a folder");
    let write = |headers: &str, sum: &str, more: &str| {
        let claims = format!(
            "wirecost: 1\nstudy: mine\nsource: a paper\nruns: {{posts: posts.yaml}}\nclaims:\n\
             - {{id: A, says: a sum, published: 3, arithmetic: {sum}}}\n\
             - {{id: B, says: bytes, published: 1kB, within: 90%, value: posts/session_bytes mean}}\n{more}"
        );
        let posts = format!("wirecost: 1\nengine: sim\nstack: http1\ncount: 5\nrequest_headers: {headers}\n");
        std::fs::write(mine.join("claims.yaml"), claims).expect("claims");
        std::fs::write(mine.join("posts.yaml"), posts).expect("a scenario");
    };
    let study = |words: &[&str]| {
        said(
            wirecost(home.path())
                .args(["study", "--from", "mine"])
                .args(words),
        )
    };
    write(
        "20B",
        "1 + 2",
        "- {id: C, says: a sum, published: 2, arithmetic: 1 + 1}\n",
    );
    let first = study(&["--out", "old"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    write("50B", "1 + 3", "");
    let second = study(&["--out", "new", "--baseline", "old"]);
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    for line in ["A: reproduced -> differs: ", "C: no longer judged", "posts: "] {
        let has = second.stderr.lines().any(|told| told.starts_with(line));
        assert!(has, "{line}: {}", second.stderr);
    }
    assert!(
        !second.stderr.contains("B: "),
        "its verdict is the same: {}",
        second.stderr
    );
    let third = study(&["--out", "again", "--baseline", "new"]);
    assert!(
        third.stderr.contains("no verdict and no figure changed"),
        "{}",
        third.stderr
    );
    let same = study(&["--out", "again", "--baseline", "./again"]);
    assert_eq!(same.code, Some(2), "it would be compared with itself");
    assert!(
        same.stderr.contains("is the folder of this run"),
        "{}",
        same.stderr
    );
    let refused = study(&["--out", "never", "--baseline", "mine"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("mine has no claims.json"),
        "{}",
        refused.stderr
    );
    assert!(!home.path().join("never").exists(), "before any run");
}
