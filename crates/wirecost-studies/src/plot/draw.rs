//! A plot as SVG: lines with bands of their 95 % intervals, published numbers as diamonds.

use std::fmt::Write as _;

use super::{Drawing, Line};
use crate::amount::{Amount, Dimension, Published};
use crate::claims::Plot;
use crate::strip::escaped;

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 392.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 232.0;
/// Colours of lines in the style sheet: `line-0` to `line-6`.
pub(crate) const COLOURS: usize = 7;
/// The least distance of two labels to the right.
const LABEL_WIDTH: f64 = 44.0;

/// One axis: its ends, and where they are drawn.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
    from: f64,
    to: f64,
}

impl Scale {
    fn of(numbers: impl Iterator<Item = f64>, is_log: bool, from: f64, to: f64) -> Option<Self> {
        let usable = numbers.filter(|number| number.is_finite() && (*number > 0.0 || !is_log));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
            (low.min(number), high.max(number))
        });
        if low > high {
            return None;
        }
        let (low, high) = match is_log {
            true => (low / 1.3, high * 1.3),
            false if low < 0.0 => {
                let margin = (high - low).max(1.0) * 0.05;
                (low - margin, high + margin)
            }
            false => (0.0, if high > 0.0 { high * 1.05 } else { 1.0 }),
        };
        Some(Self {
            low,
            high,
            is_log,
            from,
            to,
        })
    }

    fn at(self, number: f64) -> f64 {
        let share = match self.is_log {
            true => (number.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => (number - self.low) / (self.high - self.low),
        };
        self.from + share * (self.to - self.from)
    }

    /// Round numbers within the axis.
    fn ticks(self) -> Vec<f64> {
        if !self.is_log {
            let raw = (self.high - self.low) / 4.0;
            let power = 10f64.powf(raw.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
            let step = step.into_iter().find(|step| *step >= raw).unwrap_or(raw);
            let first = (self.low / step).ceil() as i64;
            let last = (self.high / step).floor() as i64;
            return (first..=last).map(|count| count as f64 * step).collect();
        }
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        all.filter(|tick| *tick >= self.low && *tick <= self.high)
            .collect()
    }
}

/// The scale with its ends in the unit of its ticks.
fn in_unit(scale: Scale, dimension: Dimension) -> Scale {
    Scale {
        low: scale.low / dimension.step(),
        high: scale.high / dimension.step(),
        ..scale
    }
}

/// Both axes of a plot.
#[derive(Clone, Copy, Debug)]
struct Axes {
    x: Scale,
    y: Scale,
    is_number: bool,
}

impl Axes {
    fn of(plot: &Plot, drawing: &Drawing) -> Option<Self> {
        let is_number = drawing.values.iter().all(|value| number(value).is_some());
        let places = drawing.values.iter().enumerate();
        let x = places.map(|(at, value)| number(value).filter(|_| is_number).unwrap_or(at as f64 + 1.0));
        let of_line = |line: &Line| {
            let ours = line
                .ours
                .values()
                .flat_map(|figure| figure.ends().into_iter().chain([figure.amount.value]));
            let published = line
                .published
                .values()
                .flatten()
                .map(|(_, number)| number.amount.value);
            ours.chain(published).collect::<Vec<f64>>()
        };
        Some(Self {
            x: Scale::of(x, plot.is_log_x && is_number, LEFT, RIGHT)?,
            y: Scale::of(drawing.lines.iter().flat_map(of_line), plot.is_log_y, BOTTOM, TOP)?,
            is_number,
        })
    }

    /// Where a value of the dimension to the right is.
    fn x(self, drawing: &Drawing, value: &str) -> f64 {
        let place = drawing
            .values
            .iter()
            .position(|known| known == value)
            .unwrap_or_default();
        let number = number(value).filter(|_| self.is_number);
        self.x.at(number.unwrap_or(place as f64 + 1.0))
    }
}

/// The number that a value of a dimension is, if it is one.
fn number(value: &str) -> Option<f64> {
    Published::read(value).ok().map(|number| number.amount.value)
}

/// The plot; empty if there is nothing to draw. `colour` is the number of a line's colour in the style sheet.
pub(crate) fn svg(plot: &Plot, drawing: &Drawing, colour: &dyn Fn(&str) -> usize) -> String {
    let Some(axes) = Axes::of(plot, drawing) else {
        return String::new();
    };
    let title = escaped(&plot.title);
    let mut svg =
        format!("<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">");
    draw_axes(&mut svg, axes, drawing, dimension(drawing));
    for line in &drawing.lines {
        draw_line(&mut svg, axes, drawing, line, colour(&line.name));
    }
    svg.push_str("</svg>");
    svg
}

fn dimension(drawing: &Drawing) -> Dimension {
    let of_line = |line: &Line| {
        let ours = line.ours.values().next().map(|figure| figure.amount.dimension);
        ours.or_else(|| Some(line.published.values().flatten().next()?.1.amount.dimension))
    };
    drawing.lines.iter().find_map(of_line).unwrap_or_default()
}

fn draw_axes(svg: &mut String, axes: Axes, drawing: &Drawing, dimension: Dimension) {
    for tick in in_unit(axes.y, dimension)
        .ticks()
        .into_iter()
        .map(|tick| tick * dimension.step())
    {
        let y = axes.y.at(tick);
        // Writing to a text cannot fail.
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 5.0,
            y + 3.5,
            Amount::new(tick, dimension)
        );
    }
    let mut places: Vec<(f64, &String)> = drawing
        .values
        .iter()
        .map(|value| (axes.x(drawing, value), value))
        .collect();
    places.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut last = f64::NEG_INFINITY;
    for (x, value) in places {
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{x:.1}\" y1=\"{BOTTOM}\" x2=\"{x:.1}\" y2=\"{:.0}\"/>",
            BOTTOM + 4.0
        );
        if x - last < LABEL_WIDTH {
            continue;
        }
        last = x;
        let anchor = if x > RIGHT - 16.0 { "end" } else { "middle" };
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{}</text>",
            BOTTOM + 17.0,
            escaped(value)
        );
    }
}

fn draw_line(svg: &mut String, axes: Axes, drawing: &Drawing, line: &Line, colour: usize) {
    let mut ours: Vec<_> = line
        .ours
        .iter()
        .map(|(value, figure)| (axes.x(drawing, value), value, figure))
        .collect();
    ours.sort_by(|one, other| one.0.total_cmp(&other.0));
    let upper = ours.iter().map(|(x, _, figure)| (*x, figure.ends()[1]));
    let lower = ours.iter().rev().map(|(x, _, figure)| (*x, figure.ends()[0]));
    let corners = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let texts = points.map(|(x, number)| format!("{x:.1},{:.1}", axes.y.at(number)));
        texts.collect::<Vec<_>>().join(" ")
    };
    let _ = write!(svg, "<g class=\"line-{colour}\">");
    if ours.len() > 1 {
        let band = corners(&mut upper.chain(lower));
        let path = corners(&mut ours.iter().map(|(x, _, figure)| (*x, figure.amount.value)));
        let _ = write!(
            svg,
            "<polygon class=\"band\" points=\"{band}\"/><polyline points=\"{path}\"/>"
        );
    }
    let name = escaped(&line.name);
    for (x, value, figure) in &ours {
        let y = axes.y.at(figure.amount.value);
        let text = format!("{name}, {}: {} here", escaped(value), figure.amount);
        let _ = write!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{text}</title></circle>"
        );
    }
    for (value, numbers) in &line.published {
        let x = axes.x(drawing, value);
        for (claim, number) in numbers {
            let y = axes.y.at(number.amount.value) - 5.0;
            let text = format!(
                "{name}, {}: published {number} ({})",
                escaped(value),
                escaped(claim)
            );
            let _ = write!(
                svg,
                "<path class=\"diamond\" d=\"M{x:.1} {y:.1}l5 5-5 5-5-5z\"><title>{text}</title></path>"
            );
        }
    }
    svg.push_str("</g>");
}
