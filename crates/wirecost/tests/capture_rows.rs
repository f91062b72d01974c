//! The capture proves the rows of the table: the filter that docs/captures.md gives for a row selects the packets of its
//! measured messages and no others. The cells of each engine are held against the capture of that engine: on kernel sockets a
//! thread that wakes late makes an ACK of its own that virtual time does not have.

mod common;

use std::path::Path;

use wirecost_results::summary::{Cell, Summary};

use common::tshark::{WAY, fields};
use common::{open_folder, said, wirecost};

const STACKS: &str = "udp,mqtt-qos1,coap-con,amqp-unsettled,mqtt-qos1+tls1.3,coap-con+dtls1.2,http3";

#[test]
#[ignore = "needs root and tshark"]
fn the_filter_gives_the_packets_of_a_row() {
    let summary = compare("-n 3 --settle 300ms --start cold,resumed", |_| String::new());
    for engine in ["sim", "live"] {
        let has_resumed =
            |cell: &Cell| cell.engine == engine && cell.start == "resumed" && cell.not_run.is_none();
        assert!(summary.cells.iter().any(has_resumed), "a ticket is not measured");
    }
}

#[test]
#[ignore = "needs tshark"]
fn the_filter_gives_the_packets_of_a_simulated_row() {
    compare("--engine sim -n 3", |_| String::new());
}

#[test]
#[ignore = "needs tshark"]
fn the_filter_tells_links_and_schedules_apart() {
    let conditions = |cell: &Cell| {
        let rtt = (cell.link.up.delay_ns + cell.link.down.delay_ns) / 1_000_000;
        match cell.messages_per_connection {
            1 => format!(", rtt {rtt}ms, 1 message each, one per 2s"),
            messages => format!(", rtt {rtt}ms, {messages} messages each, one per 2s"),
        }
    };
    let more = "--engine sim -n 2 --rtt 20ms,60ms --messages-per-connection 1,3 --interval 2s";
    let summary = compare(more, conditions);
    assert_eq!(summary.cells.len(), 7 * 4);
}

/// One packet of a capture.
struct Packet {
    /// 0 up, 1 down.
    way: usize,
    bytes: u64,
    comment: String,
}

/// Compares, and holds every cell against the sum of its packets in the capture of its engine.
fn compare(more: &str, conditions: impl Fn(&Cell) -> String) -> Summary {
    let home = open_folder();
    let arguments = format!("compare {STACKS} {more} --out run -q");
    let said = said(wirecost(home.path()).args(arguments.split(' ')));
    let summary = common::compared(&said, &home.path().join("run"));
    for (engine, capture) in [("live", "all"), ("sim", "sim")] {
        let capture = home.path().join(format!("run/capture/{capture}.pcapng"));
        let is_measured = |cell: &&Cell| cell.engine == engine && cell.not_run.is_none();
        let cells: Vec<&Cell> = summary.cells.iter().filter(is_measured).collect();
        assert_eq!(capture.exists(), !cells.is_empty(), "{engine}");
        hold_all(&cells, &capture, &conditions);
    }
    summary
}

/// Holds the cells of an engine against the engine's capture.
fn hold_all(cells: &[&Cell], capture: &Path, conditions: &impl Fn(&Cell) -> String) {
    if cells.is_empty() {
        return;
    }
    let all = packets(capture, "ip");
    for (index, cell) in cells.iter().enumerate() {
        let start = match cell.start.as_str() {
            "cold" => String::new(),
            start => format!(" {start}"),
        };
        let conditions = conditions(cell);
        let row = format!("{}{start} {} B{conditions}", cell.stack, cell.payload_bytes);
        hold(cell, &row, &all);
        if index == 1 {
            filter(cell, &row, capture);
        }
    }
}

fn packets(capture: &Path, filter: &str) -> Vec<Packet> {
    let rows = fields(capture, filter, &[WAY, "ip.len", "frame.comment"]);
    let packet = |row: Vec<String>| Packet {
        way: row[0].parse().expect("a way"),
        // An ICMP error quotes the header of another packet.
        bytes: row[1]
            .split(',')
            .next()
            .and_then(|bytes| bytes.parse().ok())
            .expect("a length"),
        comment: row[2].clone(),
    };
    rows.into_iter().map(packet).collect()
}

/// The display filter of the documentation, as it is, in tshark.
fn filter(cell: &Cell, row: &str, capture: &Path) {
    let message = cell.message.as_ref().expect("messages");
    let found = packets(capture, &format!("frame.comment contains \"{row} | message\""));
    let sum = |way: usize| -> u64 {
        let of_way = found.iter().filter(|packet| packet.way == way);
        of_way.map(|packet| packet.bytes).sum()
    };
    assert_eq!(
        [sum(0), sum(1)],
        [message.up.wire.sum, message.down.wire.sum],
        "{row}"
    );
}

fn hold(cell: &Cell, row: &str, packets: &[Packet]) {
    assert!(cell.valid, "{row}: {:?}", cell.warnings);
    let sections = [
        ("message", &cell.message),
        ("connect", &cell.connect),
        ("close", &cell.close),
    ];
    let of_row = |packet: &&Packet| packet.comment.starts_with(&format!("{row} | "));
    for (phase, section) in sections {
        let Some(section) = section else { continue };
        let mut sums = [0; 2];
        let mut elsewhere = 0;
        for packet in packets.iter().filter(of_row) {
            let others: Vec<(u64, &str)> = others(&packet.comment).collect();
            if packet.comment.starts_with(&format!("{row} | {phase} |")) {
                sums[packet.way] += packet.bytes - others.iter().map(|(bytes, _)| bytes).sum::<u64>();
            }
            let of_phase = others.iter().filter(|(_, name)| *name == phase);
            let bytes: u64 = of_phase.map(|(bytes, _)| bytes).sum();
            sums[packet.way] += bytes;
            elsewhere += bytes;
        }
        assert_eq!(
            sums,
            [section.up.wire.sum, section.down.wire.sum],
            "{row} {phase}"
        );
        if !cell.stack.starts_with("http3") {
            assert_eq!(elsewhere, 0, "{row} {phase}");
        }
    }
}

/// The bytes of a comment that count in other figures than the packet.
fn others(comment: &str) -> impl Iterator<Item = (u64, &str)> {
    let listed = comment.split(" | of which ").nth(1).unwrap_or_default();
    let parts = listed.split(", ").filter(|part| !part.is_empty());
    parts.map(|part| {
        let (bytes, name) = part.split_once(" B ").expect("bytes and a name");
        (bytes.parse().expect("a number"), name)
    })
}
