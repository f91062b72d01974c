//! What is written of loads: the table, the exports, the page's text.

#[path = "common/loads.rs"]
mod loads;

use std::path::PathBuf;
use std::process::Command;

use wirecost_report::load::{Absent, LoadResults, csv, html, is_load, junit, markdown, write_all};
use wirecost_report::terminal::TableOptions;
use wirecost_report::terminal::load::table;
use wirecost_results::RunFolder;
use wirecost_results::columns::Row as _;
use wirecost_results::figures::Connects;
use wirecost_results::load::{Asked, LoadSummary, PhaseFigures};
use wirecost_results::rate_search::{RateSearch, RateTrial};
use wirecost_results::repeat::RunOf;
use wirecost_results::seconds::SecondRow;
use wirecost_results::threshold::Threshold;
use wirecost_results::usage::UsageRow;
use wirecost_results::warning::WarningKind;

fn snapshot(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/snapshots")
        .join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        actual, expected,
        "{name} differs; UPDATE_SNAPSHOTS=1 accepts the new one"
    );
}

fn runs() -> [(&'static str, LoadResults); 4] {
    [
        ("stalled", loads::stalled()),
        ("storm", loads::storm()),
        ("matrix", loads::matrix()),
        ("linked", loads::linked()),
    ]
}

#[test]
fn tables_are_as_accepted() {
    for (run, results) in runs() {
        for width in [80, 100, 140] {
            let text = table(&results.summary, &TableOptions { width, color: false });
            snapshot(&format!("load-{run}-{width}.txt"), &text);
        }
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (run, results) in runs() {
        for width in 40..160 {
            let text = table(&results.summary, &TableOptions { width, color: false });
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(
                widest <= width,
                "{run}: {widest} characters at width {width}:\n{text}"
            );
        }
    }
}

#[test]
fn what_the_link_did_is_told_in_table_and_page() {
    let mut results = loads::linked();
    let page = html(&results).unwrap();
    assert!(
        page.contains("<h2>Emulated link</h2>") && page.contains("4,200"),
        "{page}"
    );
    assert!(!html(&loads::stalled()).unwrap().contains("Emulated link"));
    results.summary.loads.remove(0);
    let options = TableOptions {
        width: 140,
        color: false,
    };
    snapshot("load-link-140.txt", &table(&results.summary, &options));
}

/// The times of a phase that must not be used stand nowhere: not in the table, not in the exports for people. Its counts, and the
/// figures of the others, stay.
#[test]
fn an_invalid_phase_has_its_reason_instead_of_its_times() {
    let mut results = loads::stalled();
    let p99 = "0.651";
    assert!(table(&results.summary, &TableOptions::default()).contains(p99));
    loads::invalidate(&mut results.summary.loads[0]);
    results.summary.loads[0].phases[1].warnings[0].kind = WarningKind::GeneratorSaturated;
    let text = table(&results.summary, &TableOptions::default());
    assert!(text.contains("INVALID: the generator was 4.1 ms late"), "{text}");
    let (connect_p50, count) = ("0.600", "10,000 offered: 9,960 acknowledged");
    assert!(text.contains(connect_p50) && text.contains(count), "{text}");
    for text in [text, markdown(&results.summary)] {
        assert!(text.contains("INVALID") && !text.contains(p99), "{text}");
    }
    let page = html(&results).unwrap();
    assert!(page.contains("INVALID: the generator was 4.1 ms late"));
    assert!(page.contains(">connect</text>") && !page.contains("publish response"));
}

/// Lateness only adds to a time that counts from the intended send.
#[test]
fn the_times_of_a_late_generator_are_marked_as_upper_bounds() {
    let mut results = loads::stalled();
    let service = results.summary.loads[0].phases[1].service_time_ns.as_ref();
    assert!(service.is_some_and(|times| times.n > 0));
    loads::invalidate(&mut results.summary.loads[0]);
    let options = TableOptions {
        width: 140,
        color: false,
    };
    let text = table(&results.summary, &options);
    assert!(
        text.contains("≤0.651") && text.contains("service INVALID: the generator was 4.1 ms late"),
        "{text}"
    );
    assert!(!text.lines().any(|line| line.starts_with("service ")), "{text}");
    assert!(markdown(&results.summary).contains("≤0.651"));
    assert!(html(&results).unwrap().contains("≤0.651"));
}

#[test]
fn missing_deliveries_are_shown_with_the_figures() {
    let mut results = loads::stalled();
    let told = "12,000 expected, 2,000 missing";
    let texts = |results: &LoadResults| {
        [
            table(&results.summary, &TableOptions::default()),
            markdown(&results.summary),
        ]
    };
    assert!(texts(&results).iter().all(|text| !text.contains("missing")));
    let before = html(&results).unwrap().matches("missing").count();
    let phase = &mut results.summary.loads[0].phases[1];
    phase.missing = Some(2_000);
    phase.deliveries.as_mut().expect("deliveries").expected = 12_000;
    for text in texts(&results) {
        assert!(text.contains(told), "{text}");
    }
    let text = csv(&results.summary);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let of = |name| rows[0].iter().position(|column| *column == name).expect(name);
    assert_eq!(
        ["expected", "missing"].map(|name| rows[2][of(name)]),
        ["12000", "2000"]
    );
    assert!(html(&results).unwrap().matches("missing").count() > before);
}

#[test]
fn what_a_phase_offers_has_its_own_name() {
    for (name, offered) in [
        ("publish", "messages"),
        ("handshakes", "handshakes"),
        ("request", "requests"),
    ] {
        let mut results = loads::stalled();
        results.summary.loads[0].phases[1].name = name.into();
        let text = table(&results.summary, &TableOptions::default());
        let line = format!("{offered:<13}10,000 offered: ");
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn a_threshold_that_ended_a_load_is_named() {
    let mut results = loads::stalled();
    results.summary.interrupted = true;
    results.summary.loads[0].aborted = Some(Threshold {
        metric: "response_time".into(),
        expression: "p(99)<5ms".into(),
        actual: Some(0.012),
        interval: None,
        pass: false,
    });
    let line = "ended early: response_time p(99)<5ms was demanded, it is 12 ms";
    let text = table(&results.summary, &TableOptions::default());
    assert!(text.contains(line) && !text.contains("interrupted"), "{text}");
    assert!(markdown(&results.summary).contains("p(99)&lt;5ms was demanded, it is 12 ms"));
    assert!(
        html(&results)
            .unwrap()
            .contains("response_time p(99)&lt;5ms was demanded, it is 12 ms")
    );
}

#[test]
fn hostile_names_cannot_command_anything() {
    let mut results = loads::stalled();
    results.summary.name = "a</title><script>x()</script>\u{1b}[2J".into();
    let load = &mut results.summary.loads[0];
    load.target = "mqtt://x\r\n\"<&>".into();
    load.phases[1].reasons.insert("no\u{1b}[2J<b>".into(), 1);
    let table = table(&results.summary, &TableOptions::default());
    assert!(!table.contains(['\u{1b}', '\r']));
    let page = html(&results).unwrap();
    assert!(!page.contains("<script>x()") && !page.contains("no\u{1b}"));
    let xml = junit(&results.summary, &[]);
    assert!(
        !xml.contains('\u{1b}') && xml.contains("a&lt;/title&gt;"),
        "{xml}"
    );
    assert!(!markdown(&results.summary).contains("</title>"));
}

#[test]
fn the_csv_has_a_row_per_phase_and_as_many_fields_in_each() {
    for (run, results) in runs() {
        let text = csv(&results.summary);
        let fields: Vec<usize> = text.lines().map(|line| line.matches(',').count()).collect();
        let phases: usize = results.summary.loads.iter().map(|load| load.phases.len()).sum();
        assert_eq!(fields.len(), phases + 1, "{run}");
        let quoted = text.matches('"').count();
        assert!(
            quoted > 0 || fields.windows(2).all(|pair| pair[0] == pair[1]),
            "{run}"
        );
    }
}

#[test]
fn exports_are_as_accepted() {
    let matrix = loads::matrix();
    snapshot("load-matrix.md", &markdown(&matrix.summary));
    snapshot("load-matrix.xml", &junit(&matrix.summary, &[]));
    snapshot("load-stalled.md", &markdown(&loads::stalled().summary));
}

/// Loads and thresholds are cases; what is invalid or could not be run is an error, what does not hold a failure.
#[test]
fn junit_counts_what_went_wrong() {
    let xml = junit(&loads::matrix().summary, &[]);
    assert!(xml.contains("tests=\"16\" failures=\"1\" errors=\"2\""), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), 16);
    let ends = ["<error ", "<failure ", "<skipped "].map(|end| xml.matches(end).count());
    assert_eq!(ends, [2, 1, 0]);
}

#[test]
fn an_invalid_figure_is_not_contradicted() {
    let mut summary = loads::stalled().summary;
    let demanded = Threshold {
        metric: "messages_lost".into(),
        expression: "count==0".into(),
        actual: Some(0.0),
        interval: None,
        pass: false,
    };
    summary.thresholds = vec![demanded];
    let reason = "an INVALID figure does not pass";
    assert!(!junit(&summary, &[]).contains(reason));
    summary.loads[0].valid = false;
    assert!(junit(&summary, &[]).contains(reason));
}

#[test]
fn loads_are_told_apart_by_the_rates_of_all_their_phases() {
    let mut summary = loads::matrix().summary;
    summary.loads.retain(|load| load.not_run.is_none());
    summary.loads.truncate(1);
    let own = summary.loads[0].phases[1].clone();
    summary.loads[0].phases.push(PhaseFigures {
        asked_rate: Some(3_000.0),
        ..own
    });
    let mut other = summary.loads[0].clone();
    other.phases[1].asked_rate = Some(70.0);
    summary.loads.push(other);
    let xml = junit(&summary, &[]);
    assert!(xml.contains("70/s then 3,000/s"), "{xml}");
    let names: std::collections::BTreeSet<_> = xml
        .lines()
        .filter(|line| line.contains("<testcase class"))
        .collect();
    assert_eq!(
        names.len(),
        xml.matches("wirecost.load").count() + summary.thresholds.len(),
        "{xml}"
    );
}

#[test]
fn seconds_without_a_percentile_are_not_zero() {
    let mut results = loads::stalled();
    for row in &mut results.seconds {
        row.response_p99_ns = None;
    }
    let page = html(&results).expect("a report");
    assert!(page.contains("p99: no value") && !page.contains("at most 0.000 ms"));
}

/// A phase of 2.2 s, of which 2,200 messages are 1,000 a second; it ends in the middle of a second.
#[test]
fn a_partial_second_has_its_own_rate_and_width() {
    let mut results = loads::stalled();
    let publish = &mut results.summary.loads[0].phases[1];
    (publish.duration_s, publish.measured_s) = (2.25, 2.2);
    results.seconds.retain(|row| row.phase == 0 || row.second < 3);
    let last = results.seconds.last_mut().expect("a second");
    (last.outcomes.offered, last.outcomes.acknowledged) = (200, 200);
    let page = html(&results).expect("a report");
    assert!(page.contains("second,offered,acknowledged\n"), "{page}");
    for row in ["2.5,1000,1000", "3.5,1000,1000", "4.1,1000,1000"] {
        assert!(page.contains(&format!("{row}\n")), "{row}");
    }
    assert!(page.contains("4 to 4.2 s: 200 acknowledged"));
}

#[test]
fn a_drop_phase_has_no_rate() {
    let mut results = loads::storm();
    let lost = |results: &LoadResults| {
        let page = html(results).expect("a report");
        let told = page.split("lost: ").nth(1).expect("a line");
        told.split('<').next().expect("its text").to_owned()
    };
    let load = &mut results.summary.loads[0];
    load.phases.push(PhaseFigures {
        name: "drop".into(),
        begin_s: 80.0,
        duration_s: 0.01,
        ..PhaseFigures::default()
    });
    let before = lost(&results);
    results.seconds.push(SecondRow {
        phase: 3,
        connects: Connects {
            lost: 2_000,
            ..Connects::default()
        },
        ..SecondRow::default()
    });
    assert_eq!(lost(&results), before);
}

#[test]
fn junit_fails_where_messages_or_loads_are_missing() {
    let mut summary = loads::stalled().summary;
    summary.thresholds.clear();
    let ends = |xml: &str| ["<error ", "<skipped "].map(|end| xml.matches(end).count());
    let xml = junit(&summary, &[]);
    assert_eq!(ends(&xml), [1, 0]);
    assert!(
        xml.contains("publish: 40 of 10,000 were not acknowledged: 40 refused"),
        "{xml}"
    );
    let outcomes = &mut summary.loads[0].phases[1].outcomes;
    (outcomes.acknowledged, outcomes.refused) = (outcomes.offered, 0);
    assert_eq!(ends(&junit(&summary, &[])), [0, 0]);
    let absent = |error: Option<&str>| Absent {
        load: summary.loads[0].clone(),
        error: error.map(str::to_owned),
    };
    let xml = junit(&summary, &[absent(Some("nobody there")), absent(None)]);
    assert_eq!(ends(&xml), [1, 1]);
    assert!(
        xml.contains("tests=\"3\"") && xml.contains("nobody there"),
        "{xml}"
    );
    let mut unmeasured = loads::matrix().summary;
    unmeasured.loads.retain(|load| load.not_run.is_some());
    assert!(junit(&unmeasured, &[]).contains("time=\"0.000\""));
}

#[test]
fn loads_without_phases_have_labels() {
    let mut summary = loads::linked().summary;
    for load in &mut summary.loads {
        load.asked = Some(Box::new(Asked {
            rates: load.phases.iter().filter_map(|phase| phase.asked_rate).collect(),
            link: load.link.take().map(|figures| figures.link),
        }));
        load.not_run = Some("the target did not start".into());
        load.phases.clear();
    }
    let mut faster = summary.loads[0].clone();
    faster.asked.as_mut().unwrap().rates = vec![20.0, 70.0];
    summary.loads.push(faster);
    let xml = junit(&summary, &[]);
    let cases = xml.lines().filter(|line| line.contains("wirecost.load\""));
    let names: std::collections::BTreeSet<&str> = cases.collect();
    assert_eq!(names.len(), summary.loads.len(), "{xml}");
    assert!(xml.contains("20/s then 70/s"), "{xml}");
    let links = csv(&summary);
    assert_eq!(links.matches("rtt 40ms").count(), summary.loads.len(), "{links}");
}

#[test]
fn a_run_of_nothing_has_a_report() {
    let mut results = loads::stalled();
    results.summary.loads.clear();
    results.seconds.clear();
    results.curves.clear();
    results.profiles.clear();
    assert_eq!(csv(&results.summary), "");
    assert!(html(&results).unwrap().contains("Nothing was run."));
    assert!(table(&results.summary, &TableOptions::default()).starts_with("no load was run\n"));
}

#[test]
fn a_folder_is_read_back_and_reported() {
    let results = loads::stalled();
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("run");
    let folder = RunFolder::create_with(&path, &["latency", "profile"]).unwrap();
    write(&folder, &results);
    assert!(is_load(&folder));
    let read = LoadResults::read(&folder).unwrap();
    assert!(read.seconds == results.seconds, "intervals.csv");
    assert_eq!(read.usage, results.usage);
    assert_eq!(markdown(&read.summary), markdown(&results.summary));
    assert_eq!(read.profiles, results.profiles);
    write_all(&folder).unwrap();
    for file in ["summary.csv", "summary.md", "junit.xml", "report.html"] {
        assert!(folder.file(file).exists(), "{file}");
    }
}

/// A folder from elsewhere must not make the report read files outside it.
#[test]
fn a_profile_outside_the_folder_is_not_read() {
    let mut results = loads::stalled();
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("secret"), "a;b 1\n").unwrap();
    for name in [
        "../secret".to_owned(),
        home.path().join("secret").display().to_string(),
    ] {
        results.summary.loads[0].profile = Some(name);
        let folder = RunFolder::open(&home.path().join("run"));
        std::fs::create_dir_all(folder.file("profile")).unwrap();
        write(&folder, &results);
        assert!(LoadResults::read(&folder).unwrap().profiles.is_empty());
    }
}

fn write(folder: &RunFolder, results: &LoadResults) {
    let summary: &LoadSummary = &results.summary;
    folder.write_json("summary.json", summary).unwrap();
    folder.write_json("env.json", &results.environment).unwrap();
    folder
        .write("intervals.csv", SecondRow::file(&results.seconds).as_bytes())
        .unwrap();
    folder
        .write("usage.csv", UsageRow::file(&results.usage).as_bytes())
        .unwrap();
    for (_, folded) in &results.profiles {
        folder
            .write("profile/000.folded", folded.text().as_bytes())
            .unwrap();
    }
}

#[test]
#[ignore = "needs libxml2-utils"]
fn junit_is_well_formed() {
    let home = tempfile::tempdir().unwrap();
    for (run, results) in runs() {
        let file = home.path().join(format!("{run}.xml"));
        std::fs::write(&file, junit(&results.summary, &[])).unwrap();
        let output = Command::new("xmllint").arg("--noout").arg(&file).output();
        let output = output.expect("xmllint is needed: scripts/test installs it");
        assert!(
            output.status.success(),
            "{run}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Loads with seconds of their own are lines of the same figures, and all of them are named.
#[test]
fn a_matrix_has_one_figure_for_each_quantity() {
    let mut results = loads::stalled();
    let one = html(&results).unwrap().matches("<figure>").count();
    let rows = results.seconds.clone();
    for index in 1..12_u64 {
        let mut load = results.summary.loads[0].clone();
        load.clients += index;
        load.profile = None;
        results.summary.loads.push(load);
        let own = rows.iter().map(|row| SecondRow {
            load: index,
            ..row.clone()
        });
        results.seconds.extend(own);
    }
    let page = html(&results).unwrap();
    let several = page.matches("<figure>").count();
    assert!(several <= one + 3, "{several} figures, {one} of one load");
    assert_eq!(page.matches("<svg class=\"key\"").count(), 12);
    let labels = ["</svg>12 mqtt-qos1, ", "series,second,messages&#x2f;s\n"];
    assert!(labels.iter().all(|label| page.contains(label)), "{labels:?}");
    assert!(
        !page.contains("second,offered,acknowledged\n"),
        "no figure of one load"
    );
}

#[test]
fn a_search_is_told_in_every_output() {
    let mut results = loads::matrix();
    let trial = |rate: f64, good: bool| RateTrial {
        key: results.summary.loads[0].key.clone(),
        rate,
        good,
        loss_ratio: Some(0.0),
        figure_s: Some(0.012),
        why: (!good).then(|| "p(99) was 62.00 ms".to_owned()),
        bottleneck: Some("devices".into()),
        ..RateTrial::default()
    };
    let rates = [(1_000.0, true), (2_000.0, false), (1_980.0, true)];
    let trials = rates
        .iter()
        .flat_map(|(rate, good)| [(); 3].map(|()| trial(*rate, *good)))
        .collect();
    let search = RateSearch {
        name: "mqtt-qos1 → builtin, 10 clients".into(),
        bound: "p(99)<50ms".into(),
        trials,
        ..RateSearch::default()
    };
    results.summary.searches = vec![search.clone().concluded(true)];
    let conclusion =
        "1,980/s with p(99)<50ms (conditional throughput; relevant bounds: 1,980/s held, 2,000/s did not)";
    let options = TableOptions {
        width: 140,
        color: false,
    };
    let text = table(&results.summary, &options);
    assert!(text.contains(&format!("highest rate {conclusion}")), "{text}");
    assert!(
        text.contains("limit        devices: p(99) was 62.00 ms"),
        "{text}"
    );
    assert!(
        text.contains("1,000               3 of 3     12.00     devices"),
        "{text}"
    );
    let page = html(&results).unwrap();
    assert!(page.contains("Highest rate") && page.contains("1,980&#x2f;s held, 2,000&#x2f;s did not"));
    assert!(markdown(&results.summary).contains("1,980/s held, 2,000/s did not"));
    let passed = junit(&results.summary, &[]);
    assert!(
        passed.contains("wirecost.search") && !passed.contains("wirecost.load"),
        "{passed}"
    );
    let repeated = |run| RateSearch {
        run_of: Some(RunOf {
            load: "key".into(),
            run,
            runs: 2,
        }),
        ..search.clone()
    };
    results.summary.searches = [1, 2].map(|run| repeated(run).concluded(true)).into();
    let together = "over 2 searches: 1,980/s, 95 % interval 1,980/s to 1,980/s";
    assert!(table(&results.summary, &options).contains(&format!("highest rate {together}")));
    assert!(markdown(&results.summary).contains(&format!("The highest rate {together}.")));
    let page = html(&results).unwrap().replace("&#x2f;", "/");
    assert!(page.contains(&format!("<p>The highest rate {together}.</p>")));
    let none = RateSearch {
        trials: vec![trial(1.0, false); 3],
        ..search.clone()
    };
    results.summary.searches = vec![none.concluded(true)];
    let text = table(&results.summary, &options);
    assert!(text.contains("none with p(99)<50ms: 1/s did not hold"), "{text}");
    assert!(junit(&results.summary, &[]).contains("<failure "));
    let mut starved = search;
    for trial in starved.trials.iter_mut().filter(|trial| !trial.good) {
        (trial.by_generator, trial.at_most) = (true, true);
    }
    results.summary.searches = vec![starved.concluded(true)];
    let text = table(&results.summary, &options);
    let first =
        "the generator, not the target, ended the search: the target holds at least 1,980/s with p(99)<50ms";
    assert!(text.starts_with(first) && text.contains("≤12.00"), "{text}");
    assert!(!text.contains("highest rate"), "{text}");
    let said = markdown(&results.summary);
    assert!(
        said.contains("10 clients**: the generator, not the target, ended the search"),
        "{said}"
    );
    assert!(junit(&results.summary, &[]).contains("<error "));
}
