//! A frame with two axes: grid lines, round numbers and the names of the quantities, with room for names at the right.

use super::Scale;
use super::ends::{self, End};
use super::svg::{Anchor, Svg, fitted, text_width};
use crate::number;

/// Size of the labels of axes.
const FONT: f64 = 10.5;
/// Pixels above the frame: the name of the upward axis, and the names of shades below it.
const ABOVE: [f64; 2] = [22.0, 34.0];
/// Pixels below the frame: labels, and the name of the axis below them.
const BELOW: [f64; 2] = [22.0, 40.0];
/// Pixels beside the frame where it has no names at the right.
const BESIDE: f64 = 14.0;
/// The least distance of the labels of the upward axis.
const LABEL: f64 = 12.0;
/// Pixels of the axis to the right for each of its labels.
const TICK: f64 = 60.0;

/// An axis: its scale, and what is written at it.
#[derive(Clone, Debug)]
pub struct Axis {
    scale: Scale,
    name: String,
    write: fn(f64) -> String,
    /// Where its labels are; `None`: at round numbers.
    labels: Option<Vec<(f64, String)>>,
}

impl Axis {
    /// An axis with round numbers. `name` is its quantity or unit.
    pub fn new(scale: Scale, name: impl Into<String>) -> Self {
        Self {
            scale,
            name: name.into(),
            write: number::short,
            labels: None,
        }
    }

    /// Writes its numbers in another way.
    pub fn written(self, write: fn(f64) -> String) -> Self {
        Self { write, ..self }
    }

    /// Has these labels, ascending, as far as there is room.
    pub fn labelled(self, labels: Vec<(f64, String)>) -> Self {
        Self {
            labels: Some(labels),
            ..self
        }
    }

    fn ticks(&self, most: f64) -> Vec<(f64, String)> {
        let round = || {
            let ticks = self.scale.ticks(most).into_iter();
            ticks.map(|tick| (tick, (self.write)(tick))).collect()
        };
        self.labels.clone().unwrap_or_else(round)
    }
}

/// A part of the axis to the right, such as a phase or a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// What it is called.
    pub name: String,
    /// From where to where.
    pub span: [f64; 2],
    /// The class of its colour; two shades of grey in turn without one.
    pub class: Option<String>,
    /// The tooltip.
    pub title: String,
}

/// A chart with two axes under construction.
pub(crate) struct Plot {
    /// What is drawn so far.
    pub(crate) svg: Svg,
    /// Left, top, right and bottom edge of the frame.
    frame: [f64; 4],
    across: Scale,
    up: Scale,
}

impl Plot {
    /// Axes and shades in a figure of a width, with a frame of a height, and room for `names` at its right.
    pub(crate) fn new(
        [across, up]: [&Axis; 2],
        bands: &[Band],
        names: &[&str],
        [width, height]: [f64; 2],
    ) -> Self {
        let ticks = up.ticks(5.0);
        let widest = ticks.iter().map(|(_, text)| text_width(text, FONT));
        let left = widest.fold(24.0, f64::max) + 8.0;
        let top = ABOVE[usize::from(!bands.is_empty())];
        // Names at the ends of many curves need more height than the curves.
        let bottom = top + height.max(names.len() as f64 * ends::LINE);
        let right = match names.is_empty() {
            true => width - BESIDE,
            false => ends::right(names.iter().copied(), width),
        };
        let below = BELOW[usize::from(!across.name.is_empty())];
        let mut plot = Self {
            svg: Svg::new(width, bottom + below),
            frame: [left, top, right, bottom],
            across: across.scale,
            up: up.scale,
        };
        plot.shade(bands);
        plot.across_axis(across);
        plot.up_axis(&ticks, &up.name);
        plot
    }

    /// The position of a point; what is beyond an axis is at its end.
    pub(crate) fn place(&self, [across, up]: [f64; 2]) -> [f64; 2] {
        let [left, top, right, bottom] = self.frame;
        [
            left + self.across.share(across) * (right - left),
            bottom - self.up.share(up) * (bottom - top),
        ]
    }

    fn shade(&mut self, bands: &[Band]) {
        let [_, top, _, bottom] = self.frame;
        for (index, band) in bands.iter().enumerate() {
            let [from, to] = band.span.map(|end| self.place([end, 0.0])[0]);
            let grey = if index % 2 == 0 { "" } else { " odd" };
            let class = band
                .class
                .as_deref()
                .map_or_else(|| format!("band{grey}"), |class| format!("band {class}"));
            // Half a pixel at least, so that a short phase is still seen.
            let place = [from, top, (to - from).max(0.5), bottom - top];
            self.svg.rect(&class, place, &band.title);
            let name = fitted(&band.name, FONT, to - from - 4.0);
            if name.chars().count() > 1 {
                self.svg
                    .text("tick", Anchor::Start, [from + 3.0, top - 4.0], &name);
            }
        }
    }

    fn across_axis(&mut self, axis: &Axis) {
        let [left, top, right, bottom] = self.frame;
        let mut free = f64::NEG_INFINITY;
        for (tick, text) in axis.ticks((right - left) / TICK) {
            let [x, _] = self.place([tick, 0.0]);
            self.svg.line("grid", [x, top], [x, bottom]);
            let half = text_width(&text, FONT) / 2.0;
            // A tick without room keeps its line and loses its number: two over one another are unreadable.
            if x - half > free {
                self.svg.text("tick", Anchor::Middle, [x, bottom + 15.0], &text);
                free = x + half + 4.0;
            }
        }
        self.svg.line("axis", [left, bottom], [right, bottom]);
        if !axis.name.is_empty() {
            let at = [left.midpoint(right), bottom + 32.0];
            self.svg.text("muted", Anchor::Middle, at, &axis.name);
        }
    }

    fn up_axis(&mut self, ticks: &[(f64, String)], name: &str) {
        let [left, top, right, bottom] = self.frame;
        self.svg.text("muted", Anchor::Start, [0.0, 11.0], name);
        let mut free = f64::INFINITY;
        for (tick, text) in ticks {
            let [_, y] = self.place([0.0, *tick]);
            self.svg.line("grid", [left, y], [right, y]);
            if y <= free {
                self.svg.text("tick", Anchor::End, [left - 6.0, y + 3.5], text);
                free = y - LABEL;
            }
        }
        self.svg.line("axis", [left, top], [left, bottom]);
    }

    /// A dashed line upwards with a name.
    pub(crate) fn limit(&mut self, value: f64, name: &str) {
        if !self.across.contains(value) {
            return;
        }
        let [_, top, right, bottom] = self.frame;
        let [x, _] = self.place([value, 0.0]);
        self.svg.line("limit", [x, top], [x, bottom]);
        let (anchor, side) = match x + text_width(name, FONT) + 6.0 < right {
            true => (Anchor::Start, 4.0),
            false => (Anchor::End, -4.0),
        };
        self.svg.text("tick", anchor, [x + side, bottom - 6.0], name);
    }

    /// The names at the ends of curves.
    pub(crate) fn ends(&mut self, ends: Vec<End>) {
        let [_, top, right, bottom] = self.frame;
        ends::draw(&mut self.svg, ends, right, [top, bottom]);
    }

    /// The names of areas, from the top down, each beside a square of its class.
    pub(crate) fn keys<'a>(&mut self, keys: impl Iterator<Item = (String, &'a str)>) {
        let [_, top, right, _] = self.frame;
        for (index, (class, name)) in keys.enumerate() {
            let [x, y] = [right + 8.0, top + 10.0 + 16.0 * index as f64];
            self.svg.rect(&class, [x, y - 8.0, 9.0, 9.0], "");
            self.svg.text("tick", Anchor::Start, [x + 13.0, y], name);
        }
    }
}
