//! The summary of a live run against tshark: every byte of the capture, by phase, direction and layer.
//!
//! wirecost's figures come from the spans of its endpoints; these tests read the same capture with tshark, derive
//! phases, layers and retransmissions from its fields, and expect equality to the byte.

#[path = "../common/mod.rs"]
mod common;

mod books;
mod coap_stream;
mod stream;

use std::collections::BTreeMap;

use wirecost_results::summary::{Bytes, Cell, Count, Section, Summary};

use books::{Books, Identity, Phase, Sums, keep};
use common::tshark::{Body, Packet, fields, packets};
use common::{ALL_STACKS, Run};

#[test]
#[ignore = "needs root and tshark"]
fn every_byte_is_where_tshark_sees_it() {
    check(&format!(
        "{ALL_STACKS} -s 0B,1B,128B,1000B,1500B,10kB,65507B -n 4 --settle 300ms"
    ));
}

#[test]
#[ignore = "needs root and tshark"]
fn every_byte_is_where_tshark_sees_it_over_ipv6() {
    check(&format!(
        "{ALL_STACKS} -s 1B,128B,1500B,10kB,65507B -n 4 --settle 300ms --ipv6"
    ));
}

/// Settle is longer than the third retransmission time-out here, so that a message has settled when the next begins.
#[test]
#[ignore = "needs root and tshark"]
fn every_byte_is_where_tshark_sees_it_under_loss() {
    check(&format!(
        "{ALL_STACKS} -s 128B,10kB -n 6 --settle 1s --loss 5% --seed 11"
    ));
}

#[test]
#[ignore = "needs root and tshark"]
fn every_byte_is_where_tshark_sees_it_under_loss_over_ipv6() {
    check(&format!(
        "{ALL_STACKS} -s 128B,1500B -n 6 --settle 1s --loss 5% --ipv6 --seed 11"
    ));
}

#[test]
#[ignore = "needs root and tshark"]
fn packets_fit_a_small_mtu() {
    check(&format!(
        "{ALL_STACKS} -s 128B,1500B -n 2 --settle 300ms --mtu 600B"
    ));
}

#[test]
#[ignore = "needs root and tshark"]
fn packets_fit_the_smallest_mtu_of_ipv6() {
    check(&format!(
        "{ALL_STACKS} -s 128B,10kB -n 2 --settle 300ms --mtu 1280B --ipv6"
    ));
}

#[test]
#[ignore = "needs root and tshark"]
fn keep_alive_has_a_section_of_its_own() {
    let stacks = "mqtt-qos1,mqtt5-qos0";
    let run = check(&format!(
        "{stacks} -n 2 --settle 300ms --keep-alive 1s --messages-per-connection 2 --interval 1500ms"
    ));
    for cell in &run.summary.cells {
        let pings = cell.keep_alive.as_ref().expect("PINGREQ in the gaps");
        // PINGREQ and PINGRESP are 2 bytes each (MQTT 3.1.1 sections 3.12 and 3.13), and each is alone in its packet.
        assert!(pings.up.application.sum >= 4, "{}", cell.stack);
        assert_eq!(
            pings.up.application.sum, pings.down.application.sum,
            "{}",
            cell.stack
        );
    }
}

/// Runs a comparison and holds everything in its capture and its summary against tshark.
fn check(arguments: &str) -> Run {
    let run = Run::compare(arguments);
    let capture = run.file("capture/all.pcapng");
    let packets = packets(&capture);
    check_packets(&packets, run.summary.cells[0].link.up.mtu_bytes);
    let sizes: Vec<u64> = sizes(&run.summary);
    let is_life = run.summary.cells.iter().any(|cell| cell.interval_ns.is_some());
    let (mut books, checks) = keep(&packets, &sizes, usize::from(!is_life));
    books.values_mut().for_each(Books::complete);
    check_prefixes(&run, &books);
    check_sum(&packets, &books, checks);
    check_comments(&packets, &books);
    check_cells(&run.summary, &books);
    run
}

fn sizes(summary: &Summary) -> Vec<u64> {
    let mut sizes: Vec<u64> = summary.cells.iter().map(|cell| cell.payload_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn check_packets(packets: &[Packet], mtu: u64) {
    assert!(!packets.is_empty());
    for packet in packets {
        assert!(
            packet.wire_bytes <= mtu,
            "frame {} has {} B",
            packet.frame,
            packet.wire_bytes
        );
        assert_eq!(packet.interface, "link", "frame {}", packet.frame);
    }
    let is_sorted = packets.is_sorted_by_key(|packet| packet.time);
    assert!(
        is_sorted,
        "packets are written in the order in which they entered the link"
    );
}

/// The length prefix of bare TCP, as it is on the wire, is the payload's length.
fn check_prefixes(run: &Run, books: &BTreeMap<String, Books>) {
    if !run.summary.cells.iter().any(|cell| cell.stack == "tcp") {
        return;
    }
    let address = if run.summary.scenario.is("ipv6") {
        "ipv6.src"
    } else {
        "ip.src"
    };
    let rows = fields(
        &run.file("capture/all.pcapng"),
        "tcp.dstport == 9 && tcp.len > 0",
        &[address, "tcp.payload"],
    );
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    for row in &rows {
        first.entry(&row[0]).or_insert(&row[1]);
    }
    for (device, content) in first {
        let prefix = u64::from_str_radix(&content[..8], 16).expect("hexadecimal digits");
        assert_eq!(prefix, books[device].identity.payload_bytes, "{device}");
    }
}

/// Nothing is left over: every captured byte is a device's or a link check's.
fn check_sum(packets: &[Packet], books: &BTreeMap<String, Books>, checks: u64) {
    let captured: u64 = packets.iter().map(|packet| packet.wire_bytes).sum();
    let entered: u64 = books
        .values()
        .flat_map(|books| books.sums.values())
        .map(Sums::wire)
        .sum();
    assert_eq!(captured, entered + checks);
}

/// Every packet carries a comment: its cell, its phase, its cause and its fate.
fn check_comments(packets: &[Packet], books: &BTreeMap<String, Books>) {
    for packet in packets {
        if matches!(packet.body, Body::Icmp) {
            assert!(
                packet.comment.starts_with("link check | "),
                "frame {}: {}",
                packet.frame,
                packet.comment
            );
            continue;
        }
        let books = &books[&packet.device];
        let Identity { stack, payload_bytes } = &books.identity;
        let phase = books.phases[&packet.frame].name();
        let expected = format!("{stack} {payload_bytes} B | {phase} | ");
        assert!(
            packet.comment.starts_with(&expected),
            "frame {}: {}",
            packet.frame,
            packet.comment
        );
        assert_eq!(
            packet.comment.split(" | ").count(),
            4,
            "frame {}: {}",
            packet.frame,
            packet.comment
        );
    }
}

fn check_cells(summary: &Summary, books: &BTreeMap<String, Books>) {
    let mut accounted = 0;
    for cell in &summary.cells {
        assert!(
            cell.not_run.is_none() && cell.valid,
            "{} {:?}",
            cell.stack,
            cell.warnings
        );
        let of_cell = |books: &&Books| {
            (&books.identity.stack, books.identity.payload_bytes) == (&cell.stack, cell.payload_bytes)
        };
        let devices: Vec<&Books> = books.values().filter(of_cell).collect();
        assert_eq!(
            devices.len() as u64,
            summary.scenario.samples(),
            "devices of {} {}",
            cell.stack,
            cell.payload_bytes
        );
        accounted += devices.len();
        check_cell(cell, &devices, summary.scenario.messages_per_connection());
        check_outcomes(cell);
    }
    assert_eq!(accounted, books.len(), "every device belongs to a cell");
}

/// Without loss every message arrives; with loss each one has exactly one outcome.
fn check_outcomes(cell: &Cell) {
    assert!(cell.outcomes.add_up(), "{}: {:?}", cell.stack, cell.outcomes);
    let is_lossless = cell.link.up.loss == 0.0 && cell.link.down.loss == 0.0;
    assert!(
        !is_lossless || cell.all_arrived(),
        "{}: {:?}",
        cell.stack,
        cell.outcomes
    );
}

fn check_cell(cell: &Cell, devices: &[&Books], messages: u64) {
    let sections = [
        ("connect", Phase::Connect, cell.connect.as_ref(), 1),
        ("message", Phase::Measured, cell.message.as_ref(), messages),
        ("keep_alive", Phase::KeepAlive, cell.keep_alive.as_ref(), 1),
        ("close", Phase::Close, cell.close.as_ref(), 1),
    ];
    for (name, phase, section, per_device) in sections {
        let place = format!("{} {} B, {name}", cell.stack, cell.payload_bytes);
        // A device that never sent its message is no sample of one.
        let sampled = devices
            .iter()
            .filter(|books| phase != Phase::Measured || books.measured > 0);
        let sampled: Vec<&&Books> = sampled.collect();
        for way in 0..2 {
            let of_devices: Vec<Sums> = sampled.iter().map(|books| books.sum(phase, way)).collect();
            match section {
                Some(section) => {
                    let place = format!("{place}, {}", ["up", "down"][way]);
                    check_section(&place, section, way, &of_devices, per_device);
                }
                None => assert!(of_devices.iter().all(|sums| sums.packets == 0), "{place} is null"),
            }
        }
    }
    let sent: u64 = devices.iter().map(|books| books.measured).sum();
    let outcomes = &cell.outcomes;
    assert_eq!(
        sent,
        outcomes.offered - outcomes.failed,
        "messages of {}",
        cell.stack
    );
}

/// What a device's sums hold of one layer.
type Layer = fn(&Sums) -> u64;

fn check_section(place: &str, section: &Section, way: usize, devices: &[Sums], per_device: u64) {
    let bytes: &Bytes = [&section.up, &section.down][way];
    assert_eq!(
        section.samples,
        devices.len() as u64 * per_device,
        "{place}: samples"
    );
    let layers: [(&str, &Count, Layer); 6] = [
        ("packets", &bytes.packets, |sums| sums.packets),
        ("ip", &bytes.ip, |sums| sums.ip),
        ("transport", &bytes.transport, |sums| sums.transport),
        ("application", &bytes.application, |sums| sums.application),
        ("payload", &bytes.payload, |sums| sums.payload),
        ("wire", &bytes.wire, Sums::wire),
    ];
    for (layer, count, of) in layers {
        let seen: Vec<u64> = devices.iter().map(of).collect();
        assert_eq!(count.sum, seen.iter().sum::<u64>(), "{place}: {layer}");
        // One message per device: its smallest and largest are the devices' too.
        if per_device == 1 {
            assert_eq!(Some(&count.min), seen.iter().min(), "{place}: least {layer}");
            assert_eq!(Some(&count.max), seen.iter().max(), "{place}: most {layer}");
        }
    }
    assert_eq!(bytes.security.sum, 0, "{place}: security");
    check_causes(place, section, way, devices);
}

fn check_causes(place: &str, section: &Section, way: usize, devices: &[Sums]) {
    let total = |cause: &str| {
        let mean = section.by_cause[cause];
        ([mean.up, mean.down][way] * section.samples as f64).round() as u64
    };
    let resent: u64 = devices.iter().map(|sums| sums.retransmitted).sum();
    assert_eq!(total("retransmission"), resent, "{place}: retransmission");
    let errors: u64 = devices.iter().map(|sums| sums.probes).sum();
    assert_eq!(total("probe"), errors, "{place}: probe");
    let all: u64 = section.by_cause.keys().map(|cause| total(cause)).sum();
    let wire: u64 = devices.iter().map(Sums::wire).sum();
    assert_eq!(all, wire, "{place}: the causes and the whole");
}
