//! The packet ladder: the device on the left, the server on the right, time downwards. Every stack of a group has its
//! own panel with its flights as text below. All panels share one time axis.

mod flights;

use std::collections::BTreeMap;

use serde::Serialize;
use wirecost_proto::units::counted;
use wirecost_results::{Ladder, LadderPacket};

use super::selection::{DRAWN, spread_out};
use crate::chart::Scale;
use crate::chart::down::{self, Frame, Label};
use crate::chart::svg::{Anchor, Svg};
use crate::csv::quoted;
use crate::groups::Group;
use crate::number;
use flights::Flight;

const WIDTH: f64 = 400.0;
const HOSTS: [f64; 2] = [156.0, 278.0];
/// The right edge of the numbers of the axis.
const NUMBERS: f64 = 28.0;
/// Where time begins, and how many pixels it takes.
const TIME: [f64; 2] = [46.0, 380.0];
const HEIGHT: f64 = TIME[0] + TIME[1] + 16.0;
/// Pixels from the line of a host to its labels.
const ASIDE: f64 = 10.0;
/// Radius of a flight's number.
const NUMBER: f64 = 7.0;

/// The panels of one payload size and link, and their data as CSV.
#[derive(Serialize)]
struct LadderGroup {
    heading: String,
    panels: Vec<Panel>,
    data: String,
}

/// The ladder of one stack.
#[derive(Serialize)]
struct Panel {
    svg: String,
    flights: Vec<Flight>,
}

/// The ladders of a run.
#[derive(Serialize)]
pub(super) struct Ladders {
    groups: Vec<LadderGroup>,
    /// The text that says which ladders are drawn, if not all are.
    drawn: Option<String>,
}

impl Ladders {
    /// All ladders; if there are more than [`DRAWN`], those of some groups, evenly spread over the run.
    ///
    /// If both engines ran a cell, the ladder is that of the engine of the figures.
    pub(super) fn from_ladders(ladders: &[Ladder], groups: &[Group<'_>]) -> Self {
        let places = places(groups);
        let place = |ladder: &Ladder| ladder.cell.and_then(|cell| places.get(&cell).copied());
        // Folders of older versions name no cell: what cannot be placed is drawn rather than lost.
        let is_charted = |ladder: &&Ladder| ladder.cell.is_none() || place(ladder).is_some();
        let ladders: Vec<&Ladder> = ladders.iter().filter(is_charted).collect();
        let groups = by_group(&ladders, place);
        let count = (groups.len() * DRAWN / ladders.len().max(1)).max(1);
        if ladders.len() <= DRAWN {
            return Self {
                groups: groups.iter().map(|group| group_of(group)).collect(),
                drawn: None,
            };
        }
        let drawn: Vec<LadderGroup> = spread_out(&groups, count)
            .into_iter()
            .map(|group| group_of(group))
            .collect();
        let words = format!(
            "Drawn for {} of {} combinations of size and link, evenly spread in the order of the run; ladder.json holds all.",
            drawn.len(),
            groups.len()
        );
        Self {
            groups: drawn,
            drawn: Some(words),
        }
    }
}

/// The number of the group of each cell that figures draw.
fn places(groups: &[Group<'_>]) -> BTreeMap<u64, usize> {
    let of_group = |(number, group): (usize, &Group<'_>)| -> Vec<(u64, usize)> {
        let cells = group.charted().cells.into_iter();
        cells.map(|(index, _)| (index as u64, number)).collect()
    };
    groups.iter().enumerate().flat_map(of_group).collect()
}

/// The ladders by group, payload size and link, in the order of the run.
fn by_group<'a>(ladders: &[&'a Ladder], place: impl Fn(&Ladder) -> Option<usize>) -> Vec<Vec<&'a Ladder>> {
    let mut groups: Vec<Vec<&Ladder>> = Vec::new();
    for ladder in ladders {
        let kind = |ladder: &Ladder| (place(ladder), ladder.payload_bytes, ladder.link.clone());
        let of_one_kind = |first: &&Ladder| kind(first) == kind(ladder);
        match groups
            .iter_mut()
            .find(|group| group.first().is_some_and(of_one_kind))
        {
            Some(group) => group.push(ladder),
            None => groups.push(vec![ladder]),
        }
    }
    groups
}

fn group_of(ladders: &[&Ladder]) -> LadderGroup {
    let ends = ladders.iter().flat_map(|ladder| &ladder.packets).map(end);
    let axis = frame(ends.max().unwrap_or(0));
    let first = ladders.first();
    LadderGroup {
        heading: first.map_or_else(String::new, |l| format!("{} B, {}", l.payload_bytes, l.link)),
        panels: ladders.iter().map(|ladder| panel(ladder, &axis)).collect(),
        data: data(ladders),
    }
}

fn end(packet: &LadderPacket) -> u64 {
    packet.delivered_ns.unwrap_or(packet.sent_ns)
}

/// Time downwards, the same in every panel.
fn frame(span_ns: u64) -> Frame {
    Frame {
        width: WIDTH,
        numbers: NUMBERS,
        hosts: HOSTS,
        time: TIME,
        scale: Scale::linear(0.0, millis(span_ns).max(0.001)),
    }
}

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

fn panel(ladder: &Ladder, axis: &Frame) -> Panel {
    Panel {
        svg: draw(ladder, axis),
        flights: flights::all(ladder),
    }
}

fn draw(ladder: &Ladder, axis: &Frame) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let stack = number::plain(&ladder.stack);
    let start = if ladder.start == "cold" {
        String::new()
    } else {
        format!(", {}", ladder.start)
    };
    svg.text(
        "panel",
        Anchor::Start,
        [0.0, 14.0],
        // The width is fixed: a longer name would run into the number of packets at the right.
        &number::clipped(&(stack.clone() + &start), 36),
    );
    svg.text(
        "muted",
        Anchor::End,
        [WIDTH, 14.0],
        &packets(ladder.packets.len()),
    );
    axis.draw(&mut svg, ["device", "server"]);
    for packet in &ladder.packets {
        let title = title(packet);
        svg.group(&class(packet), &title, |svg| arrow(svg, axis, packet));
    }
    numbers(&mut svg, axis, ladder);
    labels(&mut svg, axis, ladder, true);
    labels(&mut svg, axis, ladder, false);
    svg.finish(&format!("Packets of {stack}{start}"), &description(ladder))
}

fn packets(count: usize) -> String {
    counted(count as u64, "packet")
}

/// The class sets the colour by phase. A pure acknowledgement is dashed.
fn class(packet: &LadderPacket) -> String {
    let pure = if is_pure_ack(packet) { " ack" } else { "" };
    format!("arrow {}{pure}", phase(packet))
}

fn phase(packet: &LadderPacket) -> &'static str {
    if packet.phase == "connect" {
        "connect"
    } else {
        "message"
    }
}

/// Writes the number of each flight on its first arrow, once in the connect and once in the message, which may share a
/// flight. A number without room is only in the list below.
fn numbers(svg: &mut Svg, axis: &Frame, ladder: &Ladder) {
    let mut written: Vec<(u32, &str)> = Vec::new();
    let mut free = f64::NEG_INFINITY;
    for packet in ladder.packets.iter().filter(|packet| packet.flight > 0) {
        let flight = (packet.flight, phase(packet));
        // An acknowledgement alone rarely is what a flight is about.
        if written.contains(&flight) || (is_pure_ack(packet) && !is_alone(packet, ladder)) {
            continue;
        }
        written.push(flight);
        let middle = axis
            .y(millis(packet.sent_ns))
            .midpoint(axis.y(millis(end(packet))));
        if middle < free {
            continue;
        }
        free = middle + 2.0 * NUMBER;
        let at = [HOSTS[0].midpoint(HOSTS[1]), middle];
        svg.circle(&format!("flight {}", flight.1), at, NUMBER, "");
        svg.text(
            "flight",
            Anchor::Middle,
            [at[0], at[1] + 3.3],
            &packet.flight.to_string(),
        );
    }
}

/// Whether the flight has only pure ACKs in this phase.
fn is_alone(packet: &LadderPacket, ladder: &Ladder) -> bool {
    let together = |other: &&LadderPacket| other.flight == packet.flight && phase(other) == phase(packet);
    ladder.packets.iter().filter(together).all(is_pure_ack)
}

/// Whether a packet is a segment without data, SYN, FIN and RST (RFC 9293 section 3.1).
fn is_pure_ack(packet: &LadderPacket) -> bool {
    packet.label == "ACK" && packet.security == 0 && packet.application == 0 && packet.payload == 0
}

fn is_up(packet: &LadderPacket) -> bool {
    packet.direction == "up"
}

fn arrow(svg: &mut Svg, axis: &Frame, packet: &LadderPacket) {
    let (from, to) = if is_up(packet) {
        (HOSTS[0], HOSTS[1])
    } else {
        (HOSTS[1], HOSTS[0])
    };
    let start = [from, axis.y(millis(packet.sent_ns))];
    let Some(delivered) = packet.delivered_ns else {
        // Half-way, and a little later than it was sent.
        return down::lost(svg, start, [from.midpoint(to), start[1] + 14.0]);
    };
    down::arrow(svg, start, [to, axis.y(millis(delivered))]);
}

/// The labels of one direction, next to the sending host. Pure ACKs are left out if there is not enough room.
fn labels(svg: &mut Svg, axis: &Frame, ladder: &Ladder, up: bool) {
    let room = axis.room();
    let sent = |with_acks: bool| -> Vec<&LadderPacket> {
        let wanted = |packet: &&LadderPacket| is_up(packet) == up && (with_acks || !is_pure_ack(packet));
        ladder.packets.iter().filter(wanted).collect()
    };
    let all = sent(true);
    // An acknowledgement alone is what a reader misses least.
    let mut packets = if all.len() <= room { all } else { sent(false) };
    packets.truncate(room);
    packets.sort_by_key(|packet| packet.sent_ns);
    let label = |packet: &&LadderPacket| Label {
        text: packet.label.clone(),
        tail: format!(" {}", wire(packet)),
        is_faint: is_pure_ack(packet),
        at_ms: millis(packet.sent_ns),
    };
    let labels: Vec<Label> = packets.iter().map(label).collect();
    axis.labels(svg, if up { 0 } else { 1 }, &labels, ASIDE);
}

const fn layers(packet: &LadderPacket) -> [(&'static str, u64); 5] {
    [
        ("ip", packet.ip),
        ("transport", packet.transport),
        ("security", packet.security),
        ("application", packet.application),
        ("payload", packet.payload),
    ]
}

fn wire(packet: &LadderPacket) -> u64 {
    layers(packet)
        .iter()
        .fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
}

fn sum(packet: &LadderPacket) -> String {
    let layers = layers(packet).into_iter().filter(|(_, bytes)| *bytes > 0);
    let terms: Vec<String> = layers.map(|(name, bytes)| format!("{name} {bytes}")).collect();
    terms.join(" + ")
}

fn title(packet: &LadderPacket) -> String {
    let delivered = packet.delivered_ns.map_or_else(
        || packet.fate.clone(),
        |at| format!("delivered at {} ms", number::millis(at as f64)),
    );
    format!(
        "{} ({}, {}, {}): {} B = {}; sent at {} ms, {delivered}",
        packet.label,
        packet.direction,
        packet.phase,
        packet.cause,
        wire(packet),
        sum(packet),
        number::millis(packet.sent_ns as f64),
    )
}

fn description(ladder: &Ladder) -> String {
    ladder.packets.iter().map(title).collect::<Vec<_>>().join(". ")
}

fn data(ladders: &[&Ladder]) -> String {
    let mut csv = "stack,start,direction,phase,cause,fate,label,flight,sent_ns,delivered_ns,ip,transport,security,application,payload\n"
        .to_owned();
    for ladder in ladders {
        for packet in &ladder.packets {
            let words = [
                &ladder.stack,
                &ladder.start,
                &packet.direction,
                &packet.phase,
                &packet.cause,
                &packet.fate,
            ];
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            let delivered = packet.delivered_ns.map(|at| at.to_string()).unwrap_or_default();
            let bytes = layers(packet).map(|(_, bytes)| bytes.to_string()).join(",");
            let label = quoted(&packet.label);
            csv += &format!(
                "{},{label},{},{},{delivered},{bytes}\n",
                words.join(","),
                packet.flight,
                packet.sent_ns
            );
        }
    }
    csv
}
