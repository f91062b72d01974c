//! All-in bytes in the table, the exports and the report; plain and secured stacks apart.

mod common;

use wirecost_report::export::{csv, markdown};
use wirecost_report::html::report;
use wirecost_report::per::Per;
use wirecost_report::terminal::{Contents, TableOptions, table, table_of};
use wirecost_results::{Results, Summary};

const WIDE: TableOptions = TableOptions {
    width: 160,
    color: false,
};

/// MQTT QoS 1 and CoAP CON every five minutes, on connections of 288 messages.
fn kept() -> Results {
    common::intervals(&["mqtt-qos1", "coap-con"], &[300], &[288])
}

fn per(summary: &Summary, per: Per) -> String {
    let contents = Contents {
        per,
        ..Contents::default()
    };
    table_of(summary, &WIDE, contents)
}

fn has_column(text: &str, name: &str) -> bool {
    let head = text.lines().find(|line| line.starts_with("stack "));
    head.is_some_and(|head| head.contains(name))
}

/// The all-in bytes of a stack, from its sections.
fn all_in_of(summary: &Summary, stack: &str) -> f64 {
    let cell = summary.cells.iter().find(|cell| cell.stack == stack).unwrap();
    let sections = [&cell.connect, &cell.message, &cell.keep_alive, &cell.close];
    let sections = sections.into_iter().flatten();
    let bytes: u64 = sections
        .map(|section| section.up.wire.sum + section.down.wire.sum)
        .sum();
    bytes as f64 / cell.message.as_ref().unwrap().samples as f64
}

#[test]
fn all_in_has_a_column_where_messages_share_something() {
    assert!(!has_column(
        &table(&common::eight_stacks().summary, &WIDE),
        "all-in"
    ));
    let mut several = common::eight_stacks().summary;
    several.cells[3].messages_per_connection = 2;
    assert!(has_column(&table(&several, &WIDE), "all-in"));
    assert!(has_column(&table(&kept().summary, &WIDE), "all-in"));
}

#[test]
fn a_month_of_messages_is_all_in_bytes_times_their_number() {
    let summary = kept().summary;
    let each = all_in_of(&summary, "mqtt-qos1");
    let month = each * 288.0 * 30.0;
    let text = per(&summary, Per::Month);
    let expected = format!("mqtt-qos1 {:.2} MB", month / 1e6);
    assert!(
        text.lines().next().unwrap().contains(&expected),
        "{expected}\n{text}"
    );
    assert!(text.contains("keep-alive within all-in: mqtt-qos1"), "{text}");
    let text = per(&summary, Per::Message);
    let expected = format!("mqtt-qos1 {each:.0} B");
    assert!(
        text.lines().next().unwrap().contains(&expected),
        "{expected}\n{text}"
    );
}

#[test]
fn exports_hold_all_in_bytes() {
    let summary = kept().summary;
    assert!(markdown(&summary).contains("| all-in (B/msg) |"));
    let text = csv(&summary);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let row = rows.iter().find(|row| row[0] == "mqtt-qos1").unwrap();
    let value = |name: &str| row[at(name)].parse::<f64>().unwrap();
    let sum = value("all_in_up_bytes") + value("all_in_down_bytes");
    assert!((sum - all_in_of(&summary, "mqtt-qos1")).abs() < 0.01, "{sum}");
}

#[test]
fn the_conclusion_says_from_when_on_keeping_a_connection_costs() {
    let summary = common::intervals(&["mqtt-qos1"], &[60, 600, 3_600], &[1, 48]).summary;
    let text = table(&summary, &WIDE);
    let said = text
        .lines()
        .find(|line| line.starts_with("from an interval of about "))
        .unwrap();
    assert!(
        said.contains(" on mqtt-qos1 ×1 costs less than mqtt-qos1 ×48"),
        "{said}"
    );
    let never = common::intervals(&["mqtt-qos1"], &[60], &[1, 48]).summary;
    let text = table(&never, &WIDE);
    assert!(
        text.contains("\nmqtt-qos1 ×48 costs less than mqtt-qos1 ×1 ("),
        "{text}"
    );
}

#[test]
fn all_in_bytes_of_unsent_messages_are_not_compared() {
    let mut summary = kept().summary;
    summary.cells[1].outcomes.failed = 1;
    let text = table(&summary, &WIDE);
    assert!(text.contains("† not all messages were sent"), "{text}");
    assert!(!text.lines().next().unwrap().contains("coap-con"), "{text}");
}

/// Four stacks, of which two are secured.
fn plain_and_secured() -> Results {
    let mut results = common::results(
        ["mqtt-qos1", "mqtt-qos2", "coap-con", "udp"]
            .map(|stack| (stack, 128, 25))
            .to_vec(),
    );
    for (index, name) in [(0, "mqtt-qos1+tls1.3"), (1, "http3")] {
        results.summary.cells[index].stack = name.into();
        results.ladders[index].stack = name.into();
    }
    results
}

#[test]
fn plain_and_secured_stacks_are_ranked_apart() {
    let results = plain_and_secured();
    let color = TableOptions { color: true, ..WIDE };
    let text = table(&results.summary, &color);
    let is_bold = |stack: &str, value: &str| {
        let row = text.lines().find(|line| line.starts_with(stack)).unwrap();
        row.contains(&format!("\u{1b}[1m{value}\u{1b}[0m"))
    };
    assert!(
        is_bold("udp", "156") && is_bold("mqtt-qos1+tls1.3", "299"),
        "{text}"
    );
    let plain = table(&results.summary, &WIDE);
    let place = |text: &str| plain.find(text).unwrap_or_else(|| panic!("{text}: {plain}"));
    assert!(place("\nplain:\n") < place("\ncoap-con ") && place("\nudp ") < place("\nencrypted:\n"));
    assert!(place("\nencrypted:\n") < place("\nmqtt-qos1+tls1.3 "));
    assert!(
        plain.starts_with("plain: ") && plain.contains("\nencrypted: "),
        "{plain}"
    );
    assert!(plain.contains("http3 has no plain form"), "{plain}");
    let html = report(&results).unwrap();
    assert!(html.contains("of all, plain") && html.contains("of all, encrypted"));
}

#[test]
fn nothing_is_best_where_nothing_differs() {
    let mut summary = common::results(vec![("coap-con", 128, 25), ("mqtt-qos1", 128, 25)]).summary;
    summary.cells[1] = wirecost_results::Cell {
        stack: "coap-non".into(),
        ..summary.cells[0].clone()
    };
    let color = TableOptions { color: true, ..WIDE };
    let text = table(&summary, &color);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("coap")).collect();
    assert!(rows.iter().all(|row| !row.contains("\u{1b}[1m")), "{text}");
    assert!(text.contains("no difference of note in response time"), "{text}");
}

#[test]
fn no_bytes_are_best_under_loss_where_nothing_tests_them() {
    let mut summary = common::eight_stacks().summary;
    for cell in &mut summary.cells {
        cell.link.up.loss = 0.01;
        cell.message.as_mut().unwrap().wire_ci95 = None;
    }
    let color = TableOptions { color: true, ..WIDE };
    let text = table(&summary, &color);
    assert!(
        text.contains("156?") && text.contains("too few samples to tell"),
        "{text}"
    );
    assert!(!text.contains("\u{1b}[1m156\u{1b}[0m"), "{text}");
    assert!(text.contains("bytes are means under loss"), "{text}");
}

#[test]
fn columns_that_say_nothing_are_left_out() {
    let mut summary = common::eight_stacks().summary;
    let text = table(&summary, &WIDE);
    assert!(
        !has_column(&text, "goodput") && !text.contains("goodput"),
        "{text}"
    );
    for cell in &mut summary.cells {
        cell.payload_bytes = 10_000;
        let times = cell.message.as_mut().unwrap().response_time_ns.as_mut().unwrap();
        times.max = times.min;
    }
    let text = table(&summary, &WIDE);
    assert!(has_column(&text, "goodput"), "several packets a message: {text}");
    assert!(
        !has_column(&text, "p99") && !has_column(&text, "mean"),
        "one time: {text}"
    );
}

#[test]
fn the_legend_has_no_mark_that_is_not_shown() {
    let summary = common::eight_stacks().summary;
    let narrow = TableOptions {
        width: 80,
        color: false,
    };
    assert!(table(&summary, &WIDE).contains("\n° low n"));
    assert!(!table(&summary, &narrow).contains("° low n"), "p99 is hidden");
}
