//! Cells that start otherwise than cold: in tables, in the matrix of connects, in curves, in ladders.

mod common;

use wirecost_report::export::{csv, markdown};
use wirecost_report::html::report;
use wirecost_report::terminal::{TableOptions, table};
use wirecost_results::{Results, Summary};

/// How each cell starts; the last one says why it does not.
const STARTS: [(&str, &str); 4] = [
    ("mqtt-qos1", "cold"),
    ("mqtt-qos1", "resumed"),
    ("coap-con", "cold"),
    ("coap-con", "resumed"),
];
const REASON: &str = "coap-con has no handshake that could be resumed";

fn starts() -> Results {
    let mut results = common::results(STARTS.map(|(stack, _)| (stack, 128, 100)).to_vec());
    let cells = results.summary.cells.iter_mut().zip(&mut results.ladders);
    for ((cell, ladder), (_, start)) in cells.zip(STARTS) {
        cell.start = start.into();
        ladder.start = start.into();
    }
    common::not_run(&mut results.summary.cells[3], REASON);
    results.ladders.pop();
    results.samples.retain(|row| row.cell != 3);
    results
}

/// The part of the report between two of its sections.
fn section(html: &str, from: &str, to: &str) -> String {
    let place = |id: &str| html.find(&format!("id=\"{id}\"")).unwrap();
    html[place(from)..place(to)].to_owned()
}

#[test]
fn the_start_has_a_column_where_any_cell_does_not_start_cold() {
    let summary = starts().summary;
    let text = table(&summary, &TableOptions::default());
    let row = |stack: &str, start: &str| {
        let is_row = |line: &&str| line.split_whitespace().take(2).eq([stack, start]);
        text.lines()
            .find(is_row)
            .unwrap_or_else(|| panic!("{stack} {start}:\n{text}"))
            .to_owned()
    };
    for (stack, start) in STARTS {
        row(stack, start);
    }
    assert!(row("coap-con", "resumed").ends_with(&format!("not run: {REASON}")));
    assert!(markdown(&summary).contains("| stack | start | up (B/msg) |"));
    assert!(markdown(&summary).contains("| mqtt-qos1 | resumed | 243 |"));
    assert!(csv(&summary).contains("\nmqtt-qos1,resumed,128,"));
    assert!(!table(&common::eight_stacks().summary, &TableOptions::default()).contains("start"));
    assert!(!markdown(&common::eight_stacks().summary).contains("| start |"));
}

#[test]
fn round_trips_to_the_first_acknowledgement_are_in_every_table() {
    let mut summary = starts().summary;
    let says = |summary: &Summary| table(summary, &TableOptions::default()).contains("1st ack");
    assert!(!says(&summary), "they are connect and message together");
    let sum = summary.cells[0].first_message_round_trips.replace(1.0);
    assert!(says(&summary));
    assert!(markdown(&summary).contains("1st ack (RTTs)"));
    summary.cells[0].first_message_round_trips = sum;
    let text = csv(&summary);
    let at = text
        .lines()
        .next()
        .unwrap()
        .split(',')
        .position(|name| name == "first_message_round_trips");
    let values: Vec<&str> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(at.unwrap()).unwrap())
        .collect();
    assert_eq!(values[0], "3", "connect 2, message 1");
    assert_eq!(values.last(), Some(&""), "not run");
}

#[test]
fn the_matrix_has_a_cost_or_a_reason_for_every_start() {
    let html = report(&starts()).unwrap();
    let matrix = section(&html, "connect", "break-even");
    let cost = "<b>406 B</b><small>238 up, 168 down</small><small>0 B of security</small>\
                <small>7 packets, 2 RTT</small>";
    assert_eq!(matrix.matches(cost).count(), 2, "{matrix}");
    assert_eq!(matrix.matches("<small>64.2 µs of CPU</small>").count(), 2);
    assert!(matrix.contains("<td class=\"reason\">no connect</td>"));
    assert!(matrix.contains(&format!("<td class=\"reason\">not run: {REASON}</td>")));
}

#[test]
fn sizes_that_vary_are_told_and_loss_is_no_news() {
    let mut results = starts();
    let said = |results: &Results| {
        let note = "sizes of mqtt-qos1 resumed vary: connect 238 to 241 B up";
        let texts = [
            report(results).unwrap(),
            table(&results.summary, &TableOptions::default()),
            markdown(&results.summary),
        ];
        texts.map(|text| text.contains(note))
    };
    assert_eq!(said(&results), [false; 3]);
    let cell = &mut results.summary.cells[1];
    cell.connect.as_mut().unwrap().up.wire.max = 241;
    assert_eq!(said(&results), [true; 3]);
    results.summary.cells[1].link.down.loss = 0.01;
    assert_eq!(said(&results), [false; 3]);
}

#[test]
fn curves_cross_where_a_connection_pays_off() {
    let mut results = common::results(vec![("mqtt-qos1", 128, 100), ("mqtt-qos2", 128, 100)]);
    let dearer = |results: &Results| {
        let html = report(results).unwrap();
        section(&html, "break-even", "ladder")
            .matches("costs less than")
            .count()
    };
    assert_eq!(dearer(&results), 0, "one is cheaper in both parts");
    // A connect of 2,000 B more pays off after 2,000 / (411 - 299) = 17.9 messages.
    let connect = results.summary.cells[0].connect.as_mut().unwrap();
    connect.up.security.mean += 2_000.0;
    connect.up.wire.mean += 2_000.0;
    connect.wire_ci95 = None;
    let html = report(&results).unwrap();
    let text = "from 18 messages on mqtt-qos1 costs less than mqtt-qos2";
    // The mark in each of both widths, and the list.
    assert_eq!(html.matches(text).count(), 3);
}

#[test]
fn early_data_is_not_ranked_by_message_bytes() {
    let mut results = starts();
    let cell = &mut results.summary.cells[1];
    cell.early_message = true;
    cell.message.as_mut().unwrap().up.ip.mean = 0.0;
    cell.message.as_mut().unwrap().up.wire.mean = 9.0;
    let text = markdown(&results.summary);
    assert!(text.contains("| mqtt-qos1 | resumed | 9‡ |"), "{text}");
    assert!(text.contains("| coap-con | cold | **170** |"), "{text}");
    // Its later messages cost what they do on a connection that starts cold.
    let curves = section(&report(&results).unwrap(), "break-even", "ladder");
    assert!(curves.contains("mqtt-qos1 resumed,10000,299."), "{curves}");
}

#[test]
fn flights_say_what_they_carry() {
    let mut results = starts();
    let packets = &mut results.ladders[1].packets;
    let hello = packets
        .iter_mut()
        .find(|packet| packet.label == "CONNECT")
        .unwrap();
    (hello.label, hello.security) = ("ClientHello".into(), 200);
    let html = report(&results).unwrap();
    let flight = "<li value=\"3\" title=\"ip 40 + transport 64 + security 200 + application 22\">\
                  <span class=\"numbered\">3</span> ↑ 326 B: <span class=\"connect\">ACK</span> · \
                  <span class=\"connect\">ClientHello</span>";
    assert!(html.contains(flight), "{}", section(&html, "ladder", "latency"));
    results
        .ladders
        .iter_mut()
        .flat_map(|ladder| &mut ladder.packets)
        .for_each(|packet| packet.flight = 0);
    assert!(
        !report(&results).unwrap().contains("<ol class=\"flights\">"),
        "older results have none"
    );
}
