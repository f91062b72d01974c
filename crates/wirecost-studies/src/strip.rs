//! A point of a claim as a strip: the impossible region shaded, our interval a bar, the published number a diamond.

use std::fmt::Write as _;

use crate::amount::{Amount, Dimension};
use crate::judge::JudgedPoint;

/// The size of a strip in its own units.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 36.0;
/// The height of a strip without labels.
const BAR: f64 = 20.0;
/// The least width of a bar.
const THIN: f64 = 4.0;

/// A logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// An axis with room for every number of these points; `None` if there is nothing to draw.
    pub(crate) fn of<'a>(points: impl Iterator<Item = &'a JudgedPoint>) -> Option<Self> {
        let numbers = points.flat_map(|point| {
            let ends = point.ours_interval.into_iter().flatten();
            let single = [point.published_value, point.bound_value, point.ours_value];
            let amounts = single.into_iter().flatten().chain(ends);
            amounts.map(|amount| amount.value).collect::<Vec<_>>()
        });
        let positive = numbers.filter(|number| *number > 0.0 && number.is_finite());
        let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), |(low, high), number| {
            (low.min(number), high.max(number))
        });
        // A third of a decade on either side.
        (high > 0.0).then(|| Self {
            low: low / 2.0,
            high: high * 2.0,
        })
    }

    fn x(self, number: f64) -> f64 {
        let span = (self.high / self.low).ln();
        ((number / self.low).ln() / span).clamp(0.0, 1.0) * WIDTH
    }

    /// Round numbers on the axis: powers of ten, and their double and fivefold if there are few.
    fn ticks(self, unit: f64) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let first = (self.low / unit).log10().floor() as i32;
        let last = (self.high / unit).log10().ceil() as i32;
        let all =
            (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power) * unit));
        let within: Vec<f64> = all.filter(|tick| *tick > self.low && *tick < self.high).collect();
        let stride = within.len().div_ceil(7).max(1);
        within.into_iter().step_by(stride).collect()
    }
}

/// The strip of a point as SVG; empty if it has neither a published number nor a bound. Of several strips on one axis,
/// the last one has the labels.
pub(crate) fn svg(point: &JudgedPoint, axis: Option<Axis>, dimension: Dimension, has_labels: bool) -> String {
    let has_number = point.published_value.is_some() || point.bound_value.is_some();
    let Some(axis) = axis.filter(|_| has_number) else {
        return String::from("<span></span>");
    };
    let height = if has_labels { HEIGHT } else { BAR };
    let mut svg = format!(
        "<svg class=\"strip\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
        label(point)
    );
    if let Some(bound) = point.bound_value {
        let x = axis.x(bound.value);
        let (from, width) = match point.is_upper_bound {
            true => (x, WIDTH - x),
            false => (0.0, x),
        };
        rect(&mut svg, "forbidden", from, 0.0, width, BAR);
    }
    for tick in axis.ticks(dimension.step()) {
        let x = axis.x(tick);
        // Writing to a text cannot fail.
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{BAR}\"/>"
        );
        if has_labels {
            let text = Amount::new(tick, dimension);
            let (y, anchor) = (BAR + 12.0, anchor(x));
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{text}</text>"
            );
        }
    }
    if let Some(ours) = point.ours_value.filter(|ours| ours.value > 0.0) {
        let ends = point.ours_interval.unwrap_or([ours; 2]);
        let [low, high] = ends.map(|end| axis.x(end.value));
        let width = (high - low).max(THIN);
        rect(
            &mut svg,
            "ours",
            f64::midpoint(low, high) - width / 2.0,
            5.0,
            width,
            10.0,
        );
    }
    if let Some(published) = point.published_value.filter(|published| published.value > 0.0) {
        let x = axis.x(published.value);
        let middle = BAR / 2.0;
        let _ = write!(
            svg,
            "<path class=\"published\" d=\"M{x:.1} {:.0}l6 6-6 6-6-6z\"/>",
            middle - 6.0
        );
    }
    svg.push_str("</svg>");
    svg
}

/// Labels at the ends stay within the strip.
fn anchor(x: f64) -> &'static str {
    if x < 20.0 {
        "start"
    } else if x > WIDTH - 20.0 {
        "end"
    } else {
        "middle"
    }
}

fn rect(svg: &mut String, class: &str, x: f64, y: f64, width: f64, height: f64) {
    let _ = write!(
        svg,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\"/>"
    );
}

/// The strip in words, for those who do not see it. Its texts are numbers with units.
fn label(point: &JudgedPoint) -> String {
    let parts = [
        ("published", &point.published),
        ("bound", &point.bound),
        ("ours", &point.ours),
    ];
    let texts = parts
        .iter()
        .filter_map(|(name, text)| Some(format!("{name} {}", text.as_ref()?)));
    escaped(&texts.collect::<Vec<_>>().join(", "))
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}
