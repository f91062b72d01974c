//! The table on a terminal, compared character by character.

mod common;

use std::path::PathBuf;
use wirecost_results::warning::WarningKind;

use wirecost_report::terminal::{TableOptions, table};

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

#[test]
fn tables_are_as_accepted() {
    let runs = [
        ("eight", common::eight_stacks()),
        ("troubled", common::troubled()),
        ("matrix", common::matrix()),
    ];
    for (run, results) in &runs {
        for width in [80, 100, 140] {
            for color in [false, true] {
                let dress = if color { "color" } else { "plain" };
                let text = table(&results.summary, &TableOptions { width, color });
                snapshot(&format!("{run}-{width}-{dress}.txt"), &text);
            }
        }
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let results = common::troubled();
    for width in 40..160 {
        let text = table(&results.summary, &TableOptions { width, color: false });
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= width, "{widest} characters at width {width}:\n{text}");
    }
}

#[test]
fn colour_adds_nothing_but_escape_sequences() {
    let summary = common::troubled().summary;
    let plain = table(
        &summary,
        &TableOptions {
            width: 120,
            color: false,
        },
    );
    let color = table(
        &summary,
        &TableOptions {
            width: 120,
            color: true,
        },
    );
    let bare: String = color
        .split('\u{1b}')
        .enumerate()
        .map(|(i, part)| undressed(i, part))
        .collect();
    assert_eq!(trimmed(&bare), trimmed(&plain));
}

fn undressed(index: usize, part: &str) -> &str {
    if index == 0 {
        part
    } else {
        part.split_once('m').map_or("", |(_, text)| text)
    }
}

fn trimmed(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).collect()
}

#[test]
fn hostile_names_cannot_command_the_terminal() {
    let mut summary = common::eight_stacks().summary;
    summary.cells[0].stack = "tcp\u{1b}[2J".into();
    summary.cells[1].target = "mqtt://x\r\nvalid".into();
    let text = table(
        &summary,
        &TableOptions {
            width: 100,
            color: false,
        },
    );
    assert!(!text.contains(['\u{1b}', '\r']));
}

#[test]
fn a_stream_of_messages_is_labelled_so() {
    let mut summary = common::eight_stacks().summary;
    for cell in &mut summary.cells {
        cell.messages_per_connection = 20;
        cell.interval_ns = Some(50_000_000);
    }
    let text = table(&summary, &TableOptions::default());
    assert!(
        text.contains("\n128 B, RTT 25 ms, 20 messages each, one per 50 ms, 150 samples per cell\n"),
        "{text}"
    );
}

#[test]
fn a_warning_of_every_cell_names_none_of_them() {
    let mut summary = common::eight_stacks().summary;
    for cell in &mut summary.cells {
        cell.warnings.push(wirecost_results::warning::Warning {
            kind: WarningKind::FewSamples,
            text: "only 20 samples: below 30".into(),
            invalidates: false,
        });
    }
    let warned = |summary: &wirecost_results::Summary, line: &str| {
        let text = table(
            summary,
            &TableOptions {
                width: 140,
                color: false,
            },
        );
        assert!(text.contains(line), "{text}");
    };
    warned(&summary, "warning: every cell: only 20 samples: below 30\n");
    summary.cells[0].warnings.clear();
    warned(
        &summary,
        "warning: udp, mqtt-qos0, mqtt-qos1, mqtt-qos2, mqtt5-qos1, coap-non and 1 more: only 20 samples",
    );
}

#[test]
fn a_warning_of_one_cell_of_a_matrix_names_its_size_and_link() {
    let mut summary = common::eight_stacks().summary;
    summary.cells[0].payload_bytes = 16;
    summary.cells[1].warnings = vec![wirecost_results::warning::Warning {
        kind: WarningKind::Timeouts,
        text: "3 of 150 messages were not acknowledged in time".into(),
        invalidates: false,
    }];
    let text = table(&summary, &TableOptions::default());
    assert!(
        text.contains("warning: udp, 128 B, RTT 25 ms: 3 of 150 messages"),
        "{text}"
    );
}

#[test]
fn messages_that_did_not_arrive_are_told() {
    let mut summary = common::eight_stacks().summary;
    let outcomes = &mut summary.cells[0].outcomes;
    (outcomes.delivered, outcomes.lost) = (143, 7);
    let text = table(&summary, &TableOptions::default());
    assert!(
        text.contains("tcp, 128 B, RTT 25 ms: of 150 messages 7 lost\n"),
        "{text}"
    );
}

/// The run of eight stacks, with another interval of one mean.
fn with_interval(stack: &str, interval: Option<[f64; 2]>) -> String {
    let mut summary = common::eight_stacks().summary;
    let cell = summary.cells.iter_mut().find(|cell| cell.stack == stack).unwrap();
    let times = cell.message.as_mut().unwrap().response_time_ns.as_mut();
    times.unwrap().ci95 = interval;
    let wide = TableOptions {
        width: 200,
        color: false,
    };
    table(&summary, &wide)
}

fn row(table: &str, stack: &str) -> String {
    let is_row = |line: &&str| line.starts_with(&format!("{stack} "));
    table.lines().find(is_row).unwrap().to_owned()
}

#[test]
fn an_interval_that_is_not_symmetric_shows_both_reaches() {
    let table = with_interval("mqtt-qos2", Some([45e6, 70e6]));
    let row = row(&table, "mqtt-qos2");
    assert!(row.contains(" 50.11 -5.11 +19.89"), "{row}");
}

#[test]
fn a_mean_without_an_interval_is_marked_and_not_ranked() {
    let table = with_interval("coap-con", None);
    let unsure = row(&table, "coap-con");
    assert!(unsure.contains(" 25.10° ") && !unsure.contains("~°"), "{unsure}");
    assert!(table.contains("° at a mean: too few samples"), "{table}");
    let known = with_interval("coap-con", Some([25.1e6, 25.12e6]));
    assert!(!known.contains("° at a mean"), "{known}");
}
