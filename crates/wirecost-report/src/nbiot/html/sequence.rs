//! One device over the air: the device on the left, the cell on the right, time downwards.

use wirecost_results::nbiot::sequence::AirTransmission;

use super::Cells;
use crate::chart::down::{self, Frame, LINE, Label};
use crate::chart::svg::Svg;
use crate::chart::{Figure, Scale};
use crate::csv::quoted;
use crate::html::grid::{Grid, GridRow};
use crate::html::shown::{Chart, Section, Shown};
use crate::number;

const TOP: f64 = 30.0;
/// The right edge of the numbers of the axis.
const NUMBERS: f64 = 34.0;
/// Pixels from the line of a host to its labels.
const ASIDE: f64 = 17.0;
const LEAST_SPAN: f64 = 320.0;
/// Width of a transmission on the line of its sender.
const BAR: f64 = 8.0;
/// Above this number of transmissions the others are in the table alone.
const DRAWN: usize = 120;

/// The channels, in the order of their colours.
const CHANNELS: [&str; 5] = ["NPRACH", "NPDCCH", "NPDSCH", "NPUSCH format 1", "NPUSCH format 2"];

/// The message sequence; none without a transmission.
pub(super) const SEQUENCE: Chart<Cells> = Chart {
    section: Section::Own("device", "One device over the air"),
    show: |of| shown(of.transmissions),
};

fn shown(all: &[AirTransmission]) -> Option<Shown> {
    let last = all.iter().map(end).fold(0.0, f64::max);
    let drawn = &all[..all.len().min(DRAWN)];
    let on_air: f64 = all.iter().map(|one| one.duration_ms).sum();
    let channels = CHANNELS.into_iter().enumerate();
    let note = "Time runs downwards. A bar on a line is a transmission of that side, as long as it is on the air; its arrow ends when the \
                other side has it whole. ×N: repetitions. ×: the other side did not decode it.";
    let words = format!(
        "{} transmissions within {} ms, {} ms of them on the air",
        all.len(),
        number::trimmed(last, 0),
        number::trimmed(on_air, 0)
    );
    (!all.is_empty()).then(|| Shown {
        note: match all.len() > DRAWN {
            true => format!(
                "{note} Drawn are the first {DRAWN} of {} transmissions.",
                all.len()
            ),
            false => note.to_owned(),
        },
        legend: channels
            .map(|(index, name)| (format!("k{index}"), name.to_owned()))
            .collect(),
        // All, also beyond those drawn: nothing is to be lost to the room of the drawing.
        table: Some(table(all)),
        ..Shown::new(Figure::new(|width| draw(drawn, width), data(all)), words)
    })
}

fn end(one: &AirTransmission) -> f64 {
    one.at_ms + one.duration_ms
}

fn is_up(one: &AirTransmission) -> bool {
    one.direction == "up"
}

/// The class of the colour of a channel; a channel without one is drawn like the first.
fn class(one: &AirTransmission) -> String {
    let index = CHANNELS.iter().position(|name| *name == one.channel);
    format!("k{}", index.unwrap_or(0))
}

fn frame(all: &[AirTransmission], width: f64) -> Frame {
    let labels = |up| all.iter().filter(|one| is_up(one) == up).count();
    let span = LEAST_SPAN.max(labels(true).max(labels(false)) as f64 * LINE);
    let from = all.iter().map(|one| one.at_ms).fold(0.0, f64::min);
    Frame {
        width,
        numbers: NUMBERS,
        hosts: [width * 0.40, width * 0.64],
        time: [TOP, span],
        scale: Scale::linear(from, all.iter().map(end).fold(0.0, f64::max)),
    }
}

fn draw(all: &[AirTransmission], width: f64) -> String {
    let frame = frame(all, width);
    let mut svg = Svg::new(width, frame.bottom() + 12.0);
    frame.draw(&mut svg, ["device", "cell"]);
    for one in all {
        let class = format!("air {}", class(one));
        svg.group(&class, &told(one), |svg| transmission(svg, &frame, one));
    }
    for host in [0, 1] {
        labels(&mut svg, &frame, all, host);
    }
    let told: Vec<String> = all.iter().map(told).collect();
    svg.finish("One device over the air", &told.join(". "))
}

/// A bar as long as the transmission on the line of the sender, and an arrow to where the receiver has it whole.
fn transmission(svg: &mut Svg, frame: &Frame, one: &AirTransmission) {
    let (from, to) = match is_up(one) {
        true => (frame.hosts[0], frame.hosts[1]),
        false => (frame.hosts[1], frame.hosts[0]),
    };
    let (top, bottom) = (frame.y(one.at_ms), frame.y(end(one)));
    svg.rect(
        "on-air",
        [from - BAR / 2.0, top, BAR, (bottom - top).max(1.5)],
        "",
    );
    let side = if to > from { 1.0 } else { -1.0 };
    let start = [from + side * BAR / 2.0, top.midpoint(bottom)];
    if !one.is_received {
        // What the receiver did not decode ends half-way.
        return down::lost(svg, start, [from.midpoint(to), bottom]);
    }
    down::arrow(svg, start, [to, bottom]);
}

/// What the transmissions of one sender are, beside it.
fn labels(svg: &mut Svg, frame: &Frame, all: &[AirTransmission], host: usize) {
    let own = all.iter().filter(|one| is_up(one) == (host == 0));
    let mut labels: Vec<Label> = own
        .map(|one| Label {
            text: label(one),
            tail: String::new(),
            is_faint: false,
            at_ms: one.at_ms,
        })
        .collect();
    labels.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    frame.labels(svg, host, &labels, ASIDE);
}

fn label(one: &AirTransmission) -> String {
    let bytes = one.bytes.map_or_else(String::new, |bytes| format!(" {bytes} B"));
    let repetitions = one.repetitions.filter(|count| *count > 1);
    let repetitions = repetitions.map_or_else(String::new, |count| format!(" ×{count}"));
    format!("{}{bytes}{repetitions}", one.what)
}

/// A transmission as one sentence.
fn told(one: &AirTransmission) -> String {
    let packet = one
        .packet
        .as_ref()
        .map_or_else(String::new, |packet| format!(", of {packet}"));
    format!(
        "{} {} on {} at {} ms for {} ms{packet}{}",
        label(one),
        one.direction,
        one.channel,
        number::trimmed(one.at_ms, 2),
        number::trimmed(one.duration_ms, 2),
        if one.is_received { "" } else { ", not decoded" }
    )
}

fn table(all: &[AirTransmission]) -> Grid {
    let head = [
        ("what", ""),
        ("at", "ms"),
        ("for", "ms"),
        ("after a wait of", "ms"),
        ("channel", ""),
        ("direction", ""),
        ("block", "B"),
        ("repetitions", ""),
        ("decoded", ""),
        ("packet", ""),
    ];
    let row = |one: &AirTransmission| {
        GridRow::plain(
            one.what.clone(),
            vec![
                number::trimmed(one.at_ms, 2),
                number::trimmed(one.duration_ms, 2),
                number::trimmed(one.waited_ms, 2),
                one.channel.clone(),
                one.direction.clone(),
                number::optional(one.bytes, |bytes| bytes.to_string()),
                number::optional(one.repetitions, |count| count.to_string()),
                if one.is_received { "yes" } else { "no" }.to_owned(),
                number::optional(one.packet.clone(), |packet| packet),
            ],
        )
    };
    Grid::new("Transmissions", &head, all.iter().map(row).collect())
}

fn data(all: &[AirTransmission]) -> String {
    let mut text =
        "at_ms,duration_ms,waited_ms,channel,direction,bytes,repetitions,what,packet,is_received\n"
            .to_owned();
    for one in all {
        let optional = |value: Option<u32>| value.map_or(String::new(), |value| value.to_string());
        text += &format!(
            "{},{},{},{},{},{},{},{},{},{}\n",
            one.at_ms,
            one.duration_ms,
            one.waited_ms,
            quoted(&one.channel),
            quoted(&one.direction),
            optional(one.bytes),
            optional(one.repetitions),
            quoted(&one.what),
            quoted(one.packet.as_deref().unwrap_or_default()),
            one.is_received
        );
    }
    text
}
