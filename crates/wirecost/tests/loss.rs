//! Runs on a link that loses packets: what becomes of messages, when they are sent again, and that the same seed
//! loses the same packets.

mod common;

use std::collections::BTreeMap;

use wirecost_results::Summary;
use wirecost_results::summary::Cell;

use common::tshark::{Body, Packet, fields, packets};
use common::{ALL_STACKS, Run};

const SAMPLES: u64 = 40;

#[test]
#[ignore = "needs root and tshark"]
fn every_message_ends_in_exactly_one_outcome() {
    let run = Run::compare(&format!(
        "{ALL_STACKS} -s 128B -n {SAMPLES} --settle 300ms --loss 5%"
    ));
    let packets = packets(&run.file("capture/all.pcapng"));
    for cell in &run.summary.cells {
        let outcomes = &cell.outcomes;
        assert_eq!(outcomes.offered, SAMPLES, "{}", cell.stack);
        assert!(outcomes.add_up(), "{}: {outcomes:?}", cell.stack);
        let is_answered = cell
            .message
            .as_ref()
            .is_some_and(|section| section.response_kind == "to_ack");
        let without_answer = outcomes.delivered + outcomes.lost;
        let with_answer = outcomes.acknowledged + outcomes.refused + outcomes.late + outcomes.unknown;
        assert_eq!(
            if is_answered { without_answer } else { with_answer },
            0,
            "{}: {outcomes:?}",
            cell.stack
        );
    }
    check_reliability(&run.summary);
    check_udp(cell_of(&run.summary, "udp"), &packets);
    for stack in ["mqtt-qos2", "mqtt5-qos2"] {
        check_exactly_once(&run, stack);
    }
}

/// What is sent again until it arrives arrives, and its second transmissions are counted.
fn check_reliability(summary: &Summary) {
    let is_reliable = |cell: &&Cell| !["udp", "coap-non"].contains(&cell.stack.as_str());
    for cell in summary.cells.iter().filter(is_reliable) {
        assert!(cell.all_arrived(), "{}: {:?}", cell.stack, cell.outcomes);
    }
    let resent: f64 = summary
        .cells
        .iter()
        .filter_map(|cell| cell.message.as_ref())
        .map(|section| {
            let retransmission = section.by_cause["retransmission"];
            retransmission.up + retransmission.down
        })
        .sum();
    assert!(resent > 0.0, "5 % loss each way, and nothing was sent again");
}

fn cell_of<'a>(summary: &'a Summary, stack: &str) -> &'a Cell {
    summary
        .cells
        .iter()
        .find(|cell| cell.stack == stack)
        .expect("a cell")
}

/// The second datagram of each device is its measured message, and the link says what became of it.
fn check_udp(cell: &Cell, packets: &[Packet]) {
    let mut datagrams: BTreeMap<&str, Vec<&Packet>> = BTreeMap::new();
    let is_bare = |packet: &&Packet| matches!(&packet.body, Body::Udp(datagram) if datagram.server_port == 9);
    for packet in packets.iter().filter(is_bare) {
        datagrams.entry(&packet.device).or_default().push(packet);
    }
    assert!(datagrams.values().all(|packets| packets.len() == 2));
    let is_lost = |packets: &&Vec<&Packet>| packets[1].comment.ends_with("| lost");
    let lost = datagrams.values().filter(is_lost).count() as u64;
    assert!(lost > 0, "none of {SAMPLES} lost: choose another seed");
    assert_eq!(
        (cell.outcomes.delivered, cell.outcomes.lost),
        (SAMPLES - lost, lost)
    );
}

/// MQTT 3.1.1 section 4.3.3: each message crosses the connection once, and its four packets come in their order.
fn check_exactly_once(run: &Run, stack: &str) {
    let names = [
        "ip.src",
        "ip.dst",
        "tcp.seq_raw",
        "mqtt.msgtype",
        "mqtt.msgid",
        "mqtt.dupflag",
    ];
    let filter = format!("mqtt.msgtype >= 3 && mqtt.msgtype <= 7 && frame.comment contains \"{stack} \"");
    let rows = fields(&run.file("capture/all.pcapng"), &filter, &names);
    let mut by_device: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    for row in rows {
        assert!(
            !row[5].contains(['1', 'T']),
            "no PUBLISH is sent again on a connection that holds: {row:?}"
        );
        // A segment that TCP sends again carries the same packet.
        if seen.insert((row[0].clone(), row[2].clone())) || row[3].contains(',') {
            let device = if row[0].starts_with("10.77.") {
                &row[0]
            } else {
                &row[1]
            };
            by_device
                .entry(device.clone())
                .or_default()
                .push((row[3].clone(), row[4].clone()));
        }
    }
    assert_eq!(by_device.len() as u64, SAMPLES, "{stack}");
    for (device, exchange) in by_device {
        let kinds: Vec<&str> = exchange.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(
            kinds,
            ["3", "5", "6", "7", "3", "5", "6", "7"],
            "{stack} of {device}: {exchange:?}"
        );
        let ids: Vec<&str> = exchange.iter().map(|(_, id)| id.as_str()).collect();
        let is_one = |ids: &[&str]| ids.iter().all(|id| *id == ids[0]);
        assert!(
            is_one(&ids[..4]) && is_one(&ids[4..]),
            "{stack} of {device}: {exchange:?}"
        );
    }
}

/// RFC 7252 section 4.2 and 4.8: the first time-out is random in ACK_TIMEOUT to ACK_TIMEOUT * ACK_RANDOM_FACTOR, each
/// further one is twice the last, and there are at most MAX_RETRANSMIT. Virtual time is never late; a machine may be, by
/// any time, and is never early but for the rounding of its timers.
#[test]
#[ignore = "needs root and tshark"]
fn confirmable_messages_are_sent_again_when_rfc_7252_says_so() {
    const ROUNDING: f64 = 0.005;
    for (engine, capture, late) in [
        ("sim", "capture/sim.pcapng", 1e-6),
        ("live", "capture/all.pcapng", f64::INFINITY),
    ] {
        let run = Run::compare(&format!(
            "coap-con -n 60 --settle 200ms --loss 12% --seed 11 --record-hosts 60 --engine {engine}"
        ));
        let cell = cell_of(&run.summary, "coap-con");
        assert!(cell.outcomes.add_up(), "{:?}", cell.outcomes);
        check_time_outs(
            &transmissions(&packets(&run.file(capture))),
            late.min(ROUNDING),
            late,
        );
    }
}

/// Checks the gaps between the transmissions of each message, which may be so much too short or too long.
fn check_time_outs(transmissions: &BTreeMap<(String, u16), Vec<f64>>, early: f64, late: f64) {
    const ACK_TIMEOUT: f64 = 2.0;
    const ACK_RANDOM_FACTOR: f64 = 1.5;
    const MAX_RETRANSMIT: usize = 4;
    let longest = ACK_TIMEOUT * ACK_RANDOM_FACTOR + late;
    let mut first_gaps = Vec::new();
    let mut doubled = 0;
    for times in transmissions.values() {
        assert!(times.len() <= 1 + MAX_RETRANSMIT, "{times:?}");
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let first = gaps.first().copied();
        let fits = |gap: f64| (ACK_TIMEOUT - early..=longest).contains(&gap);
        assert!(first.is_none_or(fits), "first time-out {first:?} s");
        first_gaps.extend(first);
        for (count, gap) in (1..).zip(gaps.iter().skip(1)) {
            // Twice the one before, and thus 2^n times the first: what was late of that is no part of it.
            let least = ACK_TIMEOUT * f64::from(1_u32 << count) - early;
            let off = (gap - 2.0 * gaps[count as usize - 1]).abs();
            assert!(*gap >= least && off <= late, "{gaps:?}");
            doubled += 1;
        }
    }
    let resent = first_gaps.len();
    assert!(resent >= 5 && doubled >= 1, "{resent} resent, {doubled} doubled");
    let spread = first_gaps
        .iter()
        .fold(0.0_f64, |most, gap| most.max((gap - first_gaps[0]).abs()));
    assert!(spread > 0.05, "time-outs are random: {first_gaps:?}");
}

/// When each confirmable request was sent, in seconds, by device and message id.
fn transmissions(packets: &[Packet]) -> BTreeMap<(String, u16), Vec<f64>> {
    let start = packets[0].time;
    let mut times: BTreeMap<(String, u16), Vec<f64>> = BTreeMap::new();
    for packet in packets.iter().filter(|packet| packet.way == 0) {
        let Body::Udp(datagram) = &packet.body else {
            continue;
        };
        let coap = datagram.coap.as_ref().expect("CoAP");
        assert_eq!(coap.kind, 0, "a CON");
        let key = (packet.device.clone(), coap.message_id);
        times
            .entry(key)
            .or_default()
            .push((packet.time - start) as f64 / 1e9);
    }
    times
}

#[test]
#[ignore = "needs root and tshark"]
fn the_same_seed_gives_the_same_order_and_the_same_losses() {
    let arguments = "udp,coap-non -s 128B,1000B -n 12 --settle 200ms --loss 20%";
    let (one, again) = (Run::compare(arguments), Run::compare(arguments));
    let other = Run::compare(&format!("{arguments} --seed 43"));
    assert_eq!(fates(&one), fates(&again));
    assert_ne!(fates(&one), fates(&other), "another seed is another run");
}

/// By device: what it is and what became of each of its datagrams. Nothing answers these, so that each device sends
/// the same two whatever is lost.
fn fates(run: &Run) -> BTreeMap<String, Vec<String>> {
    let mut fates: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for packet in packets(&run.file("capture/all.pcapng")) {
        if packet.body.is_icmp() {
            continue;
        }
        let fates = fates.entry(packet.device.clone()).or_default();
        // The time that a delivery took is no decision.
        let fate = packet.comment.split(" after ").next().unwrap_or_default();
        fates.push(format!("{} {fate}", ["up", "down"][packet.way]));
    }
    assert!(fates.values().all(|fates| fates.len() == 2), "{fates:?}");
    fates
}
