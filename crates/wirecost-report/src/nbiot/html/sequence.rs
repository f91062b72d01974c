//! One device over the air: the device on the left, the cell on the right, time downwards.

use serde::Serialize;
use wirecost_results::nbiot::sequence::AirTransmission;

use crate::csv::quoted;
use crate::html::Figure;
use crate::html::grid::{Grid, GridRow};
use crate::html::svg::{Anchor, Svg, fitted, spread};
use crate::number;

const TOP: f64 = 30.0;
const TICKS: f64 = 40.0;
const FONT: f64 = 10.5;
const LINE: f64 = 13.0;
const LEAST_SPAN: f64 = 320.0;
/// Width of a transmission on the line of its sender.
const BAR: f64 = 8.0;
/// Above this number of transmissions the others are in the table alone.
const DRAWN: usize = 120;

/// The message sequence.
#[derive(Serialize)]
pub(super) struct Sequence {
    figure: Figure,
    legend: Vec<(String, &'static str)>,
    table: Grid,
    /// The text that says how many are drawn, if not all are.
    drawn: String,
    words: String,
}

/// The channels, in the order of their colours.
const CHANNELS: [&str; 5] = ["NPRACH", "NPDCCH", "NPDSCH", "NPUSCH format 1", "NPUSCH format 2"];

impl Sequence {
    /// The sequence; `None` without a transmission.
    pub(super) fn of(all: &[AirTransmission]) -> Option<Self> {
        let last = all.iter().map(end).fold(0.0, f64::max);
        let drawn = &all[..all.len().min(DRAWN)];
        let on_air: f64 = all.iter().map(|one| one.duration_ms).sum();
        (!all.is_empty()).then(|| Self {
            figure: Figure::new(|width| draw(drawn, width), data(all)),
            legend: CHANNELS
                .into_iter()
                .enumerate()
                .map(|(index, name)| (format!("k{index}"), name))
                .collect(),
            table: table(all),
            drawn: match all.len() > DRAWN {
                true => format!("Drawn are the first {DRAWN} of {} transmissions.", all.len()),
                false => String::new(),
            },
            words: format!(
                "{} transmissions within {} ms, {} ms of them on the air",
                all.len(),
                number::trimmed(last, 0),
                number::trimmed(on_air, 0)
            ),
        })
    }
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

/// The geometry of a figure of one width.
struct Axis {
    width: f64,
    device: f64,
    cell: f64,
    span: f64,
    from_ms: f64,
    length_ms: f64,
}

impl Axis {
    fn new(all: &[AirTransmission], width: f64) -> Self {
        let labels = |up| all.iter().filter(|one| is_up(one) == up).count();
        let from_ms = all.iter().map(|one| one.at_ms).fold(0.0, f64::min);
        Self {
            width,
            device: width * 0.40,
            cell: width * 0.64,
            span: LEAST_SPAN.max(labels(true).max(labels(false)) as f64 * LINE),
            from_ms,
            length_ms: (all.iter().map(end).fold(0.0, f64::max) - from_ms).max(1.0),
        }
    }

    fn y(&self, ms: f64) -> f64 {
        TOP + (ms - self.from_ms) / self.length_ms * self.span
    }

    const fn bottom(&self) -> f64 {
        TOP + self.span
    }
}

fn draw(all: &[AirTransmission], width: f64) -> String {
    let axis = Axis::new(all, width);
    let mut svg = Svg::new(width, axis.bottom() + 12.0);
    ticks(&mut svg, &axis);
    for (x, name) in [(axis.device, "device"), (axis.cell, "cell")] {
        svg.text("muted", Anchor::Middle, [x, 12.0], name);
        svg.line("life", [x, TOP - 8.0], [x, axis.bottom() + 6.0]);
    }
    for one in all {
        let class = format!("air {}", class(one));
        svg.group(&class, &told(one), |svg| transmission(svg, &axis, one));
    }
    labels(&mut svg, &axis, all, true);
    labels(&mut svg, &axis, all, false);
    let told: Vec<String> = all.iter().map(told).collect();
    svg.finish("One device over the air", &told.join(". "))
}

fn ticks(svg: &mut Svg, axis: &Axis) {
    svg.text("muted", Anchor::End, [TICKS - 6.0, 12.0], "ms");
    let step = number::nice_step(axis.length_ms, 10.0);
    let first = (axis.from_ms / step).ceil() as i64;
    let last = ((axis.from_ms + axis.length_ms) / step).floor() as i64;
    for ms in (first..=last).map(|index| index as f64 * step) {
        let y = axis.y(ms);
        svg.line("grid", [TICKS, y], [axis.width, y]);
        svg.text(
            "tick",
            Anchor::End,
            [TICKS - 6.0, y + 3.5],
            &number::trimmed(ms, 1),
        );
    }
}

/// A bar as long as the transmission on the line of the sender, and an arrow to where the receiver has it whole.
fn transmission(svg: &mut Svg, axis: &Axis, one: &AirTransmission) {
    let (from, to) = match is_up(one) {
        true => (axis.device, axis.cell),
        false => (axis.cell, axis.device),
    };
    let (top, bottom) = (axis.y(one.at_ms), axis.y(end(one)));
    svg.rect(
        "on-air",
        [from - BAR / 2.0, top, BAR, (bottom - top).max(1.5)],
        "",
    );
    let side = if to > from { 1.0 } else { -1.0 };
    let start = [from + side * BAR / 2.0, top.midpoint(bottom)];
    if !one.is_received {
        return lost(svg, start, [from.midpoint(to), bottom]);
    }
    let head = [to, bottom];
    svg.line("shaft", start, head);
    let barb = |up: f64| [head[0] - side * 6.0, head[1] + up * 3.0];
    svg.polyline("head", &[barb(1.0), head, barb(-1.0)], "");
}

/// The arrow of what the receiver did not decode ends half-way with a cross.
fn lost(svg: &mut Svg, start: [f64; 2], end: [f64; 2]) {
    svg.line("shaft", start, end);
    let corner = |x: f64, y: f64| [end[0] + x * 4.0, end[1] + y * 4.0];
    svg.line("cross", corner(-1.0, -1.0), corner(1.0, 1.0));
    svg.line("cross", corner(-1.0, 1.0), corner(1.0, -1.0));
}

/// What the transmissions of one direction are, beside their sender.
fn labels(svg: &mut Svg, axis: &Axis, all: &[AirTransmission], up: bool) {
    let mut own: Vec<&AirTransmission> = all.iter().filter(|one| is_up(one) == up).collect();
    own.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    let wanted: Vec<f64> = own.iter().map(|one| axis.y(one.at_ms)).collect();
    let (line, side, anchor, room) = match up {
        true => (axis.device, -1.0, Anchor::End, axis.device - TICKS - 18.0),
        false => (axis.cell, 1.0, Anchor::Start, axis.width - axis.cell - 18.0),
    };
    let placed = spread(&wanted, LINE, [TOP, axis.bottom()]);
    for ((one, wanted), placed) in own.iter().zip(wanted).zip(placed) {
        svg.line(
            "leader",
            [line + side * BAR / 2.0, wanted],
            [line + side * 14.0, placed],
        );
        let text = fitted(&label(one), FONT, room);
        svg.text("packet", anchor, [line + side * 17.0, placed + 3.5], &text);
    }
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
