//! CSV, Markdown, and the folder that takes them all.

mod common;

use std::path::Path;

use wirecost_report::export::{csv, markdown};
use wirecost_report::write_all;
use wirecost_results::columns::Row as _;
use wirecost_results::resolved::Tree;
use wirecost_results::summary::{ProgramFigures, Times};
use wirecost_results::{Results, RunFolder, SampleRow, Summary};

#[test]
fn csv_has_a_row_per_phase_and_as_many_fields_in_each() {
    let summary = common::eight_stacks().summary;
    let text = csv(&summary);
    let fields: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
    assert!(fields.iter().all(|count| *count == fields[0]), "{fields:?}");
    // Five stacks connect and close, three only send.
    assert_eq!(fields.len(), 1 + 5 * 3 + 3);
}

#[test]
fn runs_that_differ_in_a_setting_differ_in_their_rows() {
    let usual = common::eight_stacks().summary;
    let mut other = usual.clone();
    other.scenario.set("certificate", Tree::text("rsa2048"));
    other.scenario.set("pipelined_connect", Tree::Bool(true));
    other.scenario.set("nagle", Tree::Bool(false));
    let said = "certificate=rsa2048, pipelined_connect=true";
    let rows = csv(&other);
    assert!(rows.lines().skip(1).all(|row| row.contains(said)), "{rows}");
    assert!(!csv(&usual).contains(said));
    assert!(
        markdown(&other).contains("settings: certificate=rsa2048, pipelined\\_connect=true"),
        "{}",
        markdown(&other)
    );
    assert!(!markdown(&usual).contains("settings: "));
}

#[test]
fn a_program_has_its_times_in_its_rows_and_beside_the_table() {
    let mut summary = common::eight_stacks().summary;
    let times = |mean: f64| Times {
        n: 10,
        mean,
        ..Times::default()
    };
    summary.cells[0].program = Some(ProgramFigures {
        command: "curl".to_owned(),
        time_ns: times(210e6),
        cpu_ns: times(11.7e6),
    });
    let text = csv(&summary);
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let row: Vec<&str> = text.lines().nth(1).unwrap().split(',').collect();
    let found = [row[at("program_time_mean_ns")], row[at("program_cpu_mean_ns")]];
    assert_eq!(found, ["210000000", "11700000"]);
    let words = "210 ms from start to end, 11.7 ms of CPU, means of 10 runs";
    assert!(markdown(&summary).contains(words), "{}", markdown(&summary));
}

#[test]
fn csv_holds_the_exact_bytes() {
    let text = csv(&common::eight_stacks().summary);
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let row = text
        .lines()
        .find(|line| line.starts_with("mqtt-qos1,") && line.contains(",message,"))
        .unwrap();
    let row: Vec<&str> = row.split(',').collect();
    let value = |name: &str| row[header.iter().position(|column| *column == name).unwrap()];
    assert_eq!(value("up_wire_bytes"), "243");
    assert_eq!(value("up_payload_bytes"), "128");
    assert_eq!(value("down_application_bytes"), "4");
    assert_eq!(value("round_trips"), "1");
}

#[test]
fn csv_quotes_what_would_break_it_and_names_what_was_not_run() {
    let mut summary = common::troubled().summary;
    summary.cells[1].target = "mqtt://a,\"b\"".into();
    let text = csv(&summary);
    assert!(text.contains("\"mqtt://a,\"\"b\"\"\""));
    let not_run = text.lines().find(|line| line.starts_with("tcp,")).unwrap();
    assert!(not_run.contains("permission denied"));
}

#[test]
fn markdown_tables_are_rectangular_and_escaped() {
    let mut summary = common::troubled().summary;
    summary.cells[1].stack = "a|b<script>".into();
    let text = markdown(&summary);
    assert!(text.contains("a\\|b&lt;script>"));
    let bars = |line: &str| line.matches('|').count() - line.matches("\\|").count();
    let table: Vec<usize> = text
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(bars)
        .collect();
    assert!(table.iter().all(|count| *count == table[0]), "{table:?}");
}

/// The row of a stack in the Markdown table.
fn row<'a>(text: &'a str, stack: &str) -> &'a str {
    text.lines()
        .find(|line| line.starts_with(&format!("| {stack}")))
        .unwrap()
}

#[test]
fn an_invalid_cell_is_best_in_nothing() {
    let mut summary = common::eight_stacks().summary;
    assert!(row(&markdown(&summary), "udp").contains("**156**"));
    summary.cells[1].valid = false;
    let text = markdown(&summary);
    assert!(!row(&text, "udp").contains("**"));
    assert!(
        row(&text, "coap-non").contains("**173**"),
        "the next one is best then"
    );
}

#[test]
fn a_time_to_arrival_does_not_beat_an_answer() {
    let text = markdown(&common::eight_stacks().summary);
    assert!(
        row(&text, "coap-con").contains("**0+1**"),
        "fewest round trips of acknowledged ones"
    );
    assert!(
        row(&text, "udp").contains("**0+0.5**→"),
        "and of those that are not"
    );
}

fn response_times(summary: &mut Summary) -> impl Iterator<Item = &mut Times> {
    let messages = summary.cells.iter_mut().filter_map(|cell| cell.message.as_mut());
    messages.filter_map(|message| message.response_time_ns.as_mut())
}

/// Gives each mean an interval of this half width, as a part of it.
fn widen(summary: &mut Summary, part: f64) {
    for times in response_times(summary) {
        times.ci95 = Some([1.0 - part, 1.0 + part].map(|end| times.mean * end));
    }
}

#[test]
fn only_a_difference_that_would_have_been_seen_is_marked_as_none() {
    let mut summary = common::eight_stacks().summary;
    let marked = |summary: &Summary, mark: &str| row(&markdown(summary), "mqtt5-qos1").contains(mark);
    // mqtt-qos2 takes twice as long as the others.
    widen(&mut summary, 0.001);
    assert!(marked(&summary, " ±0.03**\\~") && !marked(&summary, "?"));
    widen(&mut summary, 0.2);
    assert!(
        marked(&summary, " ±5.02?"),
        "a fifth more would not have been seen"
    );
    for times in response_times(&mut summary) {
        times.mean = 25e6;
    }
    widen(&mut summary, 0.001);
    assert!(
        !marked(&summary, " ±0.03**\\~"),
        "none differs, so there is no best"
    );
}

#[test]
fn equal_times_of_simulated_messages_make_no_bytes_inseparable() {
    let mut summary = common::eight_stacks().summary;
    for times in response_times(&mut summary) {
        (times.min, times.max) = (25_000_000, 25_000_000);
        (times.mean, times.p50, times.p99) = (25_000_000.0, Some(25_000_000), Some(25_000_000));
        times.ci95 = Some([25_000_000.0; 2]);
    }
    let text = markdown(&summary);
    let rows = text.lines().filter(|line| line.contains("qos"));
    assert!(
        rows.clone().count() > 2 && rows.clone().all(|row| !row.contains("\\~")),
        "{text}"
    );
}

#[test]
fn a_folder_gets_every_report() {
    let temp = tempfile::tempdir().unwrap();
    let folder = fill(temp.path(), &common::matrix());
    write_all(&folder).unwrap();
    for name in ["summary.csv", "summary.md", "report.html"] {
        assert!(
            std::fs::metadata(folder.file(name)).unwrap().len() > 1_000,
            "{name}"
        );
    }
}

#[test]
fn a_missing_file_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&temp.path().join("run")).unwrap();
    let error = write_all(&folder).unwrap_err();
    assert!(error.to_string().contains("summary.json"), "{error}");
}

fn fill(path: &Path, results: &Results) -> RunFolder {
    let folder = RunFolder::create(&path.join("run")).unwrap();
    folder.write_json("summary.json", &results.summary).unwrap();
    folder.write_json("env.json", &results.environment).unwrap();
    folder.write_json("ladder.json", &results.ladders).unwrap();
    let text = SampleRow::file(&results.samples);
    folder.write("samples.csv", text.as_bytes()).unwrap();
    folder
}
