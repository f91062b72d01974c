//! Figures over the time of a load: seconds to the right, shaded phases, lines with names at their ends.

use super::bands::Band;
use crate::csv::quoted;
use crate::html::Figure;
use crate::html::ends::{self, End};
use crate::html::svg::{Anchor, Svg, fitted};
use crate::number;

const TOP: f64 = 30.0;
const SPAN: f64 = 150.0;
const LEFT: f64 = 52.0;
/// The width of the names of lines.
const NAMES: f64 = 104.0;
/// Above this number of decades only powers of ten are labelled.
const DECADES: f64 = 2.0;

/// A line over time, with gaps at missing values.
pub(super) struct Line {
    pub(super) label: String,
    /// Its colour.
    pub(super) number: usize,
    /// Seconds and value.
    pub(super) points: Vec<(f64, Option<f64>)>,
}

impl Line {
    /// The least and the largest value.
    pub(super) fn range(lines: &[Self]) -> Option<[f64; 2]> {
        let values = lines
            .iter()
            .flat_map(|line| &line.points)
            .filter_map(|(_, value)| *value);
        let fold = |range: Option<[f64; 2]>, value: f64| match range {
            None => Some([value, value]),
            Some([least, most]) => Some([least.min(value), most.max(value)]),
        };
        values.fold(None, fold)
    }

    /// The name and the largest value as text, or that there is none.
    fn told(&self, words: impl Fn(f64) -> String) -> String {
        match Self::range(std::slice::from_ref(self)) {
            Some([_, most]) => format!("{}: at most {}", self.label, words(most)),
            None => format!("{}: no value", self.label),
        }
    }
}

/// The lines as a figure; `write` formats a value with its unit.
pub(super) fn figure(
    name: &str,
    bands: &[Band],
    lines: &[Line],
    (scale, unit): (Scale, &str),
    write: impl Fn(f64) -> String,
) -> Figure {
    let told = |line: &Line| line.told(&write);
    let draw = |width: f64| {
        let mut plot = TimePlot::new(bands, scale, unit, width);
        plot.lines(lines, told);
        let all: Vec<String> = lines.iter().map(told).collect();
        plot.svg.finish(name, &all.join(". "))
    };
    Figure::new(draw, csv(lines))
}

/// Lines of several loads as a figure: the names may be long, and the loads have no phases in common.
pub(super) fn of_series(
    name: &str,
    lines: &[Line],
    (scale, unit): (Scale, &str),
    write: impl Fn(f64) -> String,
) -> Figure {
    let told = |line: &Line| line.told(&write);
    let seconds = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|(second, _)| *second));
    let end = seconds.fold(1.0, f64::max);
    let draw = |width: f64| {
        let labels = lines.iter().map(|line| line.label.as_str());
        let mut plot = TimePlot {
            svg: Svg::new(width, 0.0),
            right: ends::right(labels, width),
            scale,
            span: [0.0, end],
            height: SPAN.max(lines.len() as f64 * ends::LINE),
        };
        plot.svg = Svg::new(width, plot.bottom() + 34.0);
        plot.value_axis(unit);
        plot.time_axis();
        plot.lines(lines, told);
        let all: Vec<String> = lines.iter().map(told).collect();
        plot.svg.finish(name, &all.join(". "))
    };
    Figure::new(draw, csv_of_series(lines, unit))
}

/// A row for each point of each line.
fn csv_of_series(lines: &[Line], unit: &str) -> String {
    let mut text = format!("series,second,{unit}\n");
    for line in lines {
        for (second, value) in &line.points {
            let value = value.map_or(String::new(), |value| number::trimmed(value, 6));
            text += &format!(
                "{},{},{value}\n",
                quoted(&line.label),
                number::trimmed(*second, 1)
            );
        }
    }
    text
}

fn csv(lines: &[Line]) -> String {
    let names: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
    let mut text = format!("second,{}\n", names.join(","));
    let count = lines.first().map_or(0, |line| line.points.len());
    for index in 0..count {
        let value = |line: &Line| line.points[index].1.map(|value| number::trimmed(value, 6));
        let values: Vec<String> = lines.iter().map(|line| value(line).unwrap_or_default()).collect();
        let at = number::trimmed(lines[0].points[index].0, 1);
        text += &format!("{at},{}\n", values.join(","));
    }
    text
}

/// The scale of values.
#[derive(Clone, Copy)]
pub(super) enum Scale {
    /// From 0.
    Linear { most: f64 },
    /// By powers of ten; logarithms of both ends.
    Logarithmic { ends: [f64; 2] },
}

impl Scale {
    /// The scale for times: linear unless the longest is more than thirty times the shortest.
    pub(super) fn for_times(range: [f64; 2]) -> Self {
        let [least, most] = range;
        if least > 0.0 && most > 30.0 * least {
            Self::Logarithmic {
                ends: [least.log10() - 0.05, most.log10() + 0.05],
            }
        } else {
            Self::linear(most)
        }
    }

    /// A linear scale up to `most`.
    pub(super) const fn linear(most: f64) -> Self {
        Self::Linear {
            most: if most > 0.0 { most * 1.06 } else { 1.0 },
        }
    }

    fn share(self, value: f64) -> f64 {
        match self {
            Self::Linear { most } => value / most,
            Self::Logarithmic { ends: [least, most] } => {
                ((value.max(f64::MIN_POSITIVE).log10() - least) / (most - least)).max(0.0)
            }
        }
    }

    fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { most } => {
                let step = number::nice_step(most, 4.0);
                (0..=(most / step).floor() as u32)
                    .map(|k| f64::from(k) * step)
                    .collect()
            }
            Self::Logarithmic { ends: [least, most] } => {
                let factors: &[f64] = if most - least > DECADES {
                    &[1.0]
                } else {
                    &[1.0, 2.0, 5.0]
                };
                let decades = least.floor() as i32..=most.ceil() as i32;
                decades
                    .flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)))
                    .filter(|tick| (least..=most).contains(&tick.log10()))
                    .collect()
            }
        }
    }
}

/// The geometry of a figure of one width.
pub(super) struct TimePlot {
    pub(super) svg: Svg,
    pub(super) right: f64,
    scale: Scale,
    /// The axis of time, in seconds.
    span: [f64; 2],
    /// The length of the axis of values.
    height: f64,
}

impl TimePlot {
    /// An empty plot: phases shaded, axes drawn.
    pub(super) fn new(bands: &[Band], scale: Scale, unit: &str, width: f64) -> Self {
        let begin = bands
            .iter()
            .map(|band| band.span[0])
            .fold(f64::INFINITY, f64::min);
        let end = bands.iter().map(|band| band.span[1]).fold(0.0, f64::max);
        let begin = if begin.is_finite() { begin } else { 0.0 };
        let mut plot = Self {
            svg: Svg::new(width, TOP + SPAN + 34.0),
            right: width - NAMES,
            scale,
            span: [begin, end.max(begin + 1.0)],
            height: SPAN,
        };
        plot.shade(bands);
        plot.value_axis(unit);
        plot.time_axis();
        plot
    }

    /// The position of a second.
    pub(super) fn x(&self, second: f64) -> f64 {
        let [begin, end] = self.span;
        LEFT + (second - begin) / (end - begin) * (self.right - LEFT)
    }

    /// The position of a value.
    pub(super) fn y(&self, value: f64) -> f64 {
        TOP + self.height * (1.0 - self.scale.share(value))
    }

    /// The lower edge of the axis of values.
    const fn bottom(&self) -> f64 {
        TOP + self.height
    }

    fn shade(&mut self, bands: &[Band]) {
        /// Size of the phases' names.
        const FONT: f64 = 10.5;
        for (index, band) in bands.iter().enumerate() {
            let [from, to] = band.span.map(|second| self.x(second));
            let class = if index % 2 == 0 { "band" } else { "band odd" };
            let title = format!(
                "{}, {} to {} s",
                band.name,
                trim(band.span[0]),
                trim(band.span[1])
            );
            self.svg
                .rect(class, [from, TOP, (to - from).max(0.5), self.height], &title);
            let name = fitted(&band.name, FONT, to - from - 4.0);
            if name.chars().count() > 1 {
                self.svg
                    .text("tick", Anchor::Start, [from + 3.0, TOP - 4.0], &name);
            }
        }
    }

    fn value_axis(&mut self, unit: &str) {
        self.svg.text("muted", Anchor::Start, [2.0, 12.0], unit);
        for tick in self.scale.ticks() {
            let y = self.y(tick);
            let is_axis = tick == 0.0;
            self.svg
                .line(if is_axis { "axis" } else { "grid" }, [LEFT, y], [self.right, y]);
            self.svg
                .text("tick", Anchor::End, [LEFT - 5.0, y + 3.5], &short(tick));
        }
    }

    fn time_axis(&mut self) {
        let [begin, end] = self.span;
        let step = number::nice_step(end - begin, (self.right - LEFT) / 60.0).max(1.0);
        let first = (begin / step).ceil() as u64;
        for k in first..=(end / step).floor() as u64 {
            let second = k as f64 * step;
            let x = self.x(second);
            let bottom = self.bottom();
            self.svg.line("grid", [x, bottom], [x, bottom + 4.0]);
            let text = format!("{} s", trim(second));
            self.svg.text("tick", Anchor::Middle, [x, bottom + 16.0], &text);
        }
    }

    /// Draws lines and names them.
    fn lines(&mut self, lines: &[Line], describe: impl Fn(&Line) -> String) {
        let mut named = Vec::new();
        for line in lines {
            let class = format!("curve {}", ends::class(line.number));
            let title = describe(line);
            let runs = line.points.split(|(_, value)| value.is_none());
            for run in runs.filter(|run| !run.is_empty()) {
                let points: Vec<[f64; 2]> = run
                    .iter()
                    .filter_map(|(second, value)| Some([self.x(*second), self.y((*value)?)]))
                    .collect();
                match points.as_slice() {
                    [alone] => {
                        self.svg
                            .circle(&format!("dot {}", ends::class(line.number)), *alone, 1.6, &title)
                    }
                    points => self.svg.polyline(&class, points, &title),
                }
            }
            let last = line
                .points
                .iter()
                .rev()
                .find_map(|(second, value)| Some((*second, (*value)?)));
            if let Some((second, value)) = last {
                named.push(End {
                    label: line.label.clone(),
                    number: line.number,
                    at: [self.x(second), self.y(value)],
                });
            }
        }
        ends::draw(&mut self.svg, named, self.right, [TOP, TOP + self.height]);
    }
}

fn trim(value: f64) -> String {
    number::trimmed(value, 1)
}

/// A value at an axis: thousands as k, millions as M.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", number::trimmed(v / 1e6, 2)),
        v if v >= 1e4 => format!("{}k", number::trimmed(v / 1e3, 1)),
        v => number::trimmed(v, 4),
    }
}
