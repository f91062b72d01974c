//! Runs of both engines: side by side in tables, never mixed in a figure.

mod common;

use wirecost_report::export::{csv, markdown};
use wirecost_report::html::report;
use wirecost_report::rows::Rows;
use wirecost_report::terminal::{Contents, TableOptions, table, table_of};
use wirecost_results::Summary;
use wirecost_results::resolved::Tree;

const WIDE: TableOptions = TableOptions {
    width: 160,
    color: false,
};

/// The table with a row for each engine.
fn both(summary: &Summary, options: &TableOptions) -> String {
    let contents = Contents {
        rows: Rows::Both,
        ..Contents::default()
    };
    table_of(summary, options, contents)
}

/// The first words of the rows of a stack.
fn rows(text: &str, stack: &str) -> Vec<Vec<String>> {
    let words = |line: &str| line.split_whitespace().take(4).map(str::to_owned).collect();
    text.lines()
        .filter(|line| line.starts_with(&format!("{stack} ")))
        .map(words)
        .collect()
}

#[test]
fn both_engines_of_a_stack_stand_side_by_side() {
    let text = both(&common::both_engines().summary, &WIDE);
    assert_eq!(
        rows(&text, "mqtt-qos1"),
        [
            ["mqtt-qos1", "live", "=", "1.00"],
            ["mqtt-qos1", "sim", "243", "56"]
        ]
    );
    assert_eq!(rows(&text, "mqtt-qos2")[0][1..], ["live", "≠¹", "1.00"]);
    let order: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("tcp"))
        .take(4)
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(order, ["tcp", "tcp", "udp", "udp"]);
}

#[test]
fn a_stack_has_one_row_which_is_live_where_it_was_measured() {
    let mut summary = common::both_engines().summary;
    let live = summary.cells.iter_mut().filter(|cell| cell.engine == "live");
    for cell in live.filter(|cell| cell.stack == "udp") {
        common::not_run(cell, "no permission");
    }
    let text = table(&summary, &WIDE);
    assert_eq!(rows(&text, "mqtt-qos1"), [["mqtt-qos1", "live", "=", "1.00"]]);
    assert_eq!(rows(&text, "udp")[0], ["udp", "sim", "156", "0"]);
    assert!(text.contains("udp not run: no permission\n"), "{text}");
    assert!(
        text.contains("valid: 15 of 15 cells (7 live, 8 simulated), 1 not run\n"),
        "{text}"
    );
    assert_eq!(markdown(&summary).matches("\n| mqtt-qos1 |").count(), 1);
}

#[test]
fn what_differs_is_a_footnote() {
    let summary = common::both_engines().summary;
    let note = format!("¹ mqtt-qos2: {}", common::DIFFERENCE);
    assert!(table(&summary, &WIDE).contains(&note));
    assert!(markdown(&summary).contains("≠¹ 1.00 |"));
    assert!(markdown(&summary).contains(&format!("- ¹ {} (1 cell)", common::DIFFERENCE)));
    let html = report(&common::both_engines()).unwrap();
    assert!(html.contains(&format!("<b>¹</b> {}: mqtt-qos2", common::DIFFERENCE)));
    assert!(html.contains("<td class=\"key\">≠¹ 1.00</td>"));
}

#[test]
fn each_engine_has_its_own_best() {
    let color = TableOptions { color: true, ..WIDE };
    let text = both(&common::both_engines().summary, &color);
    let bold: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("udp ") && line.contains("\u{1b}[1m156\u{1b}[0m"))
        .collect();
    assert_eq!(bold.len(), 2, "{text}");
}

#[test]
fn a_figure_draws_one_engine() {
    let mut results = common::both_engines();
    let html = report(&results).unwrap();
    assert!(html.contains("The figures show the measured cells"));
    assert!(!html.contains("<title>udp (sim)") && html.contains("<title>udp: "));
    assert_eq!(
        html.matches("<div class=\"ladder\">").count(),
        common::STACKS.len()
    );
    for cell in results
        .summary
        .cells
        .iter_mut()
        .filter(|cell| cell.engine == "live")
    {
        common::not_run(cell, "no permission");
    }
    let html = report(&results).unwrap();
    assert!(html.contains("The figures show the simulated cells"));
    assert!(html.contains("<title>udp (sim): ") && !html.contains("<title>udp: "));
    assert_eq!(
        html.matches("<div class=\"ladder\">").count(),
        common::STACKS.len()
    );
}

#[test]
fn simulated_cells_name_the_builtin_server() {
    let mut summary = common::both_engines().summary;
    summary.scenario.set("target", Tree::text("mosquitto"));
    for cell in summary.cells.iter_mut().filter(|cell| cell.engine == "live") {
        (cell.target, cell.agreement) = ("mosquitto".into(), None);
    }
    let text = both(&summary, &WIDE);
    let named = |row: &str| text.lines().any(|line| line.starts_with(row));
    assert!(
        named("mqtt-qos1 @mosquitto") && named("mqtt-qos1 @builtin"),
        "{text}"
    );
    assert!(!text.contains("agrees"));
}

#[test]
fn csv_tells_engine_key_rhythm_and_agreement() {
    let mut summary = common::both_engines().summary;
    summary.cells[8].key = "0123456789abcdef".into();
    summary.cells[8].interval_ns = Some(10_000_000_000);
    let text = csv(&summary);
    assert!(text.starts_with(
        "stack,start,payload_bytes,readings,encoding,compression,encoded_bytes,engine,target,link,rtt_ms,loss_up,loss_down,rate_up_bps,rate_down_bps,mtu_bytes,key,messages_per_connection,interval_ns,\
         agreement_equal,agreement_first_difference,agreement_median_ratio,valid,"
    ));
    assert!(text.contains(
        "\ntcp,cold,128,,,,,live,builtin,rtt 25ms,25,0,0,,,1500,0123456789abcdef,1,10000000000,true,,1.0042,true,"
    ));
    assert!(text.contains(&format!(",false,\"{}\",1.0042,", common::DIFFERENCE)));
}

#[test]
fn a_full_queue_is_told() {
    let mut results = common::eight_stacks();
    let plain = report(&results).unwrap();
    assert!(!plain.contains("queue full"));
    let cell = &mut results.summary.cells[3];
    let achieved = cell.link.achieved.as_mut().unwrap();
    (achieved.queue_dropped_up, achieved.queue_dropped_down) = (Some(1_234), Some(0));
    let again = wirecost_results::summary::CauseBytes { up: 9.5, down: 0.0 };
    cell.message
        .as_mut()
        .unwrap()
        .by_cause
        .insert("retransmission".into(), again);
    let text = table(&results.summary, &WIDE);
    let told = "mqtt-qos1, 128 B, RTT 25 ms: a full queue refused 1,234 packets up and 0 down; 9.5 B/msg were sent again";
    assert!(text.contains(told), "{text}");
    let html = report(&results).unwrap();
    assert!(
        html.contains("queue full")
            && html.contains("<td>1,234 &#x2f; 0</td>")
            && html.contains("<td>9.5 &#x2f; 0</td>")
    );
}
