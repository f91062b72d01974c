//! Throughput and time against clients and against offered load, over the loads of a matrix.
//!
//! The knee of a series is the highest offered load that the target still bore: at least 99 % of it was carried and the
//! median time was at most twice that of the least offered load. It is marked only where a higher load of the series
//! breaks that rule.

use serde::Serialize;
use wirecost_results::load::Load;

use crate::export::quoted;
use crate::html::Figure;
use crate::html::ends::{self, End};
use crate::html::logplot::{LogPlot, TOP};
use crate::html::svg::Svg;
use crate::load::words::{self, Fact};
use crate::number;

/// Share of the offered load that must be carried up to the knee.
const CARRIED: f64 = 0.99;
/// How many times the median at the least load a median may be up to the knee.
const SLOWER: f64 = 2.0;

/// What the axis to the right is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    Clients,
    Offered,
}

impl Axis {
    const fn name(self) -> &'static str {
        match self {
            Self::Clients => "clients",
            Self::Offered => "offered messages/s",
        }
    }

    const fn fact(self) -> Fact {
        match self {
            Self::Clients => Fact::Devices,
            Self::Offered => Fact::Offer,
        }
    }

    fn of(self, load: &Load) -> Option<f64> {
        match self {
            Self::Clients => Some(load.clients as f64),
            Self::Offered => words::main_phase(load)?.offered_rate,
        }
    }
}

/// Both figures against one axis.
#[derive(Serialize)]
pub(super) struct Scaling {
    axis: &'static str,
    throughput: Figure,
    time: Figure,
    /// The knee of each series that has one, in words.
    knees: Vec<String>,
}

/// Loads that differ in the axis alone.
struct Series {
    label: String,
    number: usize,
    points: Vec<Point>,
}

/// One load.
struct Point {
    at: f64,
    carried: f64,
    /// Median and 99th percentile in milliseconds; absent where they must not be used.
    times: [Option<f64>; 2],
}

impl Scaling {
    /// The figures for each axis along which at least three loads differ.
    pub(super) fn all(loads: &[Load]) -> Vec<Self> {
        [Axis::Offered, Axis::Clients]
            .into_iter()
            .filter_map(|axis| Self::of(loads, axis))
            .collect()
    }

    fn of(loads: &[Load], axis: Axis) -> Option<Self> {
        let series = series(loads, axis);
        let series: Vec<Series> = series
            .into_iter()
            .filter(|series| series.points.len() > 1)
            .collect();
        if series.iter().map(|series| series.points.len()).max()? < 3 {
            return None;
        }
        let knees = match axis {
            Axis::Offered => series.iter().filter_map(knee_words).collect(),
            Axis::Clients => Vec::new(),
        };
        Some(Self {
            axis: axis.name(),
            throughput: throughput(&series, axis),
            time: time(&series, axis),
            knees,
        })
    }
}

fn series(loads: &[Load], axis: Axis) -> Vec<Series> {
    let labels = words::labels_without(loads, Some(axis.fact()));
    let mut all: Vec<Series> = Vec::new();
    for (load, label) in loads.iter().zip(labels) {
        let Some(point) = point(load, axis) else {
            continue;
        };
        match all.iter_mut().find(|series| series.label == label) {
            Some(series) => series.points.push(point),
            None => all.push(Series {
                label,
                number: all.len(),
                points: vec![point],
            }),
        }
    }
    for series in &mut all {
        series.points.sort_by(|a, b| a.at.total_cmp(&b.at));
        series.points.dedup_by(|a, b| a.at == b.at);
    }
    all
}

fn point(load: &Load, axis: Axis) -> Option<Point> {
    let phase = words::main_phase(load).filter(|_| load.not_run.is_none())?;
    let times = words::judged(phase)
        .filter(|_| phase.valid)
        .map(|(_, times)| times);
    let millis = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64 / 1e6);
    Some(Point {
        at: axis.of(load).filter(|at| *at > 0.0)?,
        carried: phase.carried_rate?,
        times: [
            millis(times.and_then(|times| times.p50)),
            millis(times.and_then(|times| times.p99)),
        ],
    })
}

/// The index of the knee.
fn knee(points: &[Point]) -> Option<usize> {
    let first = points.iter().find_map(|point| point.times[0])?;
    let bears = |point: &Point| {
        point.carried >= CARRIED * point.at && point.times[0].is_some_and(|median| median <= SLOWER * first)
    };
    let broken = points.iter().position(|point| !bears(point))?;
    broken.checked_sub(1)
}

fn knee_words(series: &Series) -> Option<String> {
    let point = &series.points[knee(&series.points)?];
    Some(format!(
        "{}: knee at {}/s offered, {}/s carried, median {} ms",
        series.label,
        number::rate(point.at),
        number::rate(point.carried),
        number::optional(point.times[0], |millis| number::latency(millis * 1e6))
    ))
}

fn throughput(series: &[Series], axis: Axis) -> Figure {
    let curves: Vec<Curve> = series
        .iter()
        .map(|series| Curve {
            label: series.label.clone(),
            class: ends::class(series.number),
            number: series.number,
            points: series
                .points
                .iter()
                .map(|point| (point.at, point.carried))
                .collect(),
            knee: knee(&series.points).filter(|_| axis == Axis::Offered),
        })
        .collect();
    figure("Carried load", "messages/s", axis, &curves)
}

fn time(series: &[Series], axis: Axis) -> Figure {
    let mut curves = Vec::new();
    for series in series {
        for (index, quantile) in ["p50", "p99"].into_iter().enumerate() {
            let number = if index == 0 {
                series.number
            } else {
                ends::again(series.number)
            };
            let points = series.points.iter();
            curves.push(Curve {
                label: format!("{} {quantile}", series.label),
                class: ends::class(number),
                number,
                points: points
                    .filter_map(|point| Some((point.at, point.times[index]?)))
                    .collect(),
                knee: None,
            });
        }
    }
    curves.retain(|curve| !curve.points.is_empty());
    figure("Time", "ms", axis, &curves)
}

/// A curve of a figure.
struct Curve {
    label: String,
    class: String,
    number: usize,
    points: Vec<(f64, f64)>,
    knee: Option<usize>,
}

fn figure(name: &str, unit: &str, axis: Axis, curves: &[Curve]) -> Figure {
    let places = || {
        curves
            .iter()
            .flat_map(|curve| curve.points.iter().map(|(at, _)| *at))
    };
    let least = places().fold(f64::INFINITY, f64::min);
    let most = places().fold(0.0, f64::max).max(least * 1.01);
    let values = || {
        curves
            .iter()
            .flat_map(|curve| curve.points.iter().map(|(_, value)| *value))
    };
    let labels: Vec<&str> = curves.iter().map(|curve| curve.label.as_str()).collect();
    let mut ticks: Vec<f64> = places().collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    let ticks: Vec<(f64, String)> = ticks.into_iter().map(|at| (at, number::rate(at))).collect();
    let title = format!("{name} against {}", axis.name());
    let draw = |width: f64| {
        let plot = LogPlot::new([least, most], values(), &labels, width);
        let mut svg = Svg::new(width, plot.height());
        plot.value_axis(&mut svg, &ticks, axis.name());
        plot.cost_axis(&mut svg, unit);
        curves
            .iter()
            .for_each(|curve| draw_curve(&mut svg, &plot, curve, unit));
        let named = curves.iter().filter_map(|curve| end(curve, &plot)).collect();
        ends::draw(&mut svg, named, plot.right, [TOP, plot.bottom()]);
        svg.finish(&title, &labels.join(", "))
    };
    Figure::new(draw, csv(curves, axis, unit))
}

fn draw_curve(svg: &mut Svg, plot: &LogPlot, curve: &Curve, unit: &str) {
    let places: Vec<[f64; 2]> = curve
        .points
        .iter()
        .map(|(at, value)| [plot.x(*at), plot.y(*value)])
        .collect();
    svg.polyline(&format!("curve {}", curve.class), &places, &curve.label);
    for (index, (place, (at, value))) in places.iter().zip(&curve.points).enumerate() {
        let is_knee = curve.knee == Some(index);
        let mark = if is_knee { ", the knee" } else { "" };
        let title = format!(
            "{}: {} {unit} at {}{mark}",
            curve.label,
            number::trimmed(*value, 3),
            number::rate(*at)
        );
        let radius = if is_knee { 6.0 } else { 2.6 };
        svg.circle(&format!("mark {}", curve.class), *place, radius, &title);
    }
}

fn end(curve: &Curve, plot: &LogPlot) -> Option<End> {
    let (at, value) = curve.points.last()?;
    Some(End {
        label: curve.label.clone(),
        number: curve.number,
        at: [plot.x(*at), plot.y(*value)],
    })
}

fn csv(curves: &[Curve], axis: Axis, unit: &str) -> String {
    let mut text = format!("series,{},{unit}\n", axis.name());
    for curve in curves {
        for (at, value) in &curve.points {
            text += &format!("{},{at},{}\n", quoted(&curve.label), number::trimmed(*value, 6));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: f64, carried: f64, median: f64) -> Point {
        Point {
            at,
            carried,
            times: [Some(median), None],
        }
    }

    #[test]
    fn the_knee_is_the_last_load_that_was_borne() {
        let rising = [point(1e3, 1e3, 0.1), point(1e4, 1e4, 0.15), point(1e5, 6e4, 0.18)];
        assert_eq!(knee(&rising), Some(1));
        let slow = [point(1e3, 1e3, 0.1), point(1e4, 1e4, 0.21)];
        assert_eq!(knee(&slow), Some(0));
    }

    #[test]
    fn without_a_load_that_is_too_much_there_is_no_knee() {
        assert_eq!(knee(&[point(1e3, 1e3, 0.1), point(1e4, 1e4, 0.1)]), None);
        assert_eq!(knee(&[point(1e3, 500.0, 0.1), point(1e4, 500.0, 0.1)]), None);
        assert_eq!(knee(&[]), None);
    }
}
