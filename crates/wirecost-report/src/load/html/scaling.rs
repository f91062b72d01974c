//! Throughput and time against clients and against offered load, over the loads of a matrix.
//!
//! The knee of a series is the highest offered load that the target sustained: at least 99 % of it was acknowledged, and the
//! median time was at most twice that of the lowest load. It is marked only if a higher load of the series breaks this
//! rule.

use serde::Serialize;
use wirecost_results::load::Load;

use crate::chart::lines::{Curve, LineChart, Mark};
use crate::chart::plot::Axis as PlotAxis;
use crate::chart::{Figure, Scale, ends};
use crate::csv::quoted;
use crate::load::words::{self, Fact};
use crate::number;

/// Share of the offered load that must be acknowledged up to the knee.
const ACKNOWLEDGED: f64 = 0.99;
/// How many times the median at the least load a median may be up to the knee.
const SLOWER: f64 = 2.0;

/// The quantity of the axis to the right.
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

    fn read(self, load: &Load) -> Option<f64> {
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
    /// The knees as text.
    knees: Vec<String>,
}

/// Loads that differ only in the quantity of the axis.
struct Series {
    label: String,
    number: usize,
    points: Vec<Point>,
}

/// One load.
struct Point {
    at: f64,
    /// The acknowledged rate.
    rate: f64,
    /// Median and 99th percentile in milliseconds; `None` if they must not be used.
    times: [Option<f64>; 2],
}

impl Scaling {
    /// The figures for each axis along which at least three loads differ.
    pub(super) fn all(loads: &[Load]) -> Vec<Self> {
        [Axis::Offered, Axis::Clients]
            .into_iter()
            .filter_map(|axis| Self::from_loads(loads, axis))
            .collect()
    }

    fn from_loads(loads: &[Load], axis: Axis) -> Option<Self> {
        let series = series(loads, axis);
        let series: Vec<Series> = series
            .into_iter()
            .filter(|series| series.points.len() > 1)
            .collect();
        // Two points are a line whatever the target does.
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
        // The rate is counted either way; the times of an invalid phase are the generator's.
        .filter(|_| phase.valid)
        .map(|timed| timed.times);
    let millis = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64 / 1e6);
    Some(Point {
        at: axis.read(load).filter(|at| *at > 0.0)?,
        rate: phase.carried_rate?,
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
        point.rate >= ACKNOWLEDGED * point.at && point.times[0].is_some_and(|median| median <= SLOWER * first)
    };
    let broken = points.iter().position(|point| !bears(point))?;
    broken.checked_sub(1)
}

fn knee_words(series: &Series) -> Option<String> {
    let point = &series.points[knee(&series.points)?];
    Some(format!(
        "{}: knee at {}/s offered, {}/s acknowledged, median {} ms",
        series.label,
        number::rate(point.at),
        number::rate(point.rate),
        number::optional(point.times[0], |millis| number::latency(millis * 1e6))
    ))
}

fn throughput(series: &[Series], axis: Axis) -> Figure {
    let unit = "messages/s";
    let curve = |series: &Series| {
        let points = series.points.iter().map(|point| (point.at, point.rate));
        let knee = knee(&series.points).filter(|_| axis == Axis::Offered);
        curve(series.label.clone(), series.number, points.collect(), knee, unit)
    };
    figure(
        "Acknowledged rate",
        unit,
        axis,
        series.iter().map(curve).collect(),
    )
}

fn time(series: &[Series], axis: Axis) -> Figure {
    let mut curves = Vec::new();
    for series in series {
        let numbers = [series.number, ends::again(series.number)];
        for (index, (quantile, number)) in ["p50", "p99"].into_iter().zip(numbers).enumerate() {
            let points = series.points.iter();
            let points = points.filter_map(|point| Some((point.at, point.times[index]?)));
            let label = format!("{} {quantile}", series.label);
            curves.push(curve(label, number, points.collect(), None, "ms"));
        }
    }
    curves.retain(|curve| !curve.points.is_empty());
    figure("Time", "ms", axis, curves)
}

/// A curve with a mark at each load.
fn curve(label: String, number: usize, points: Vec<(f64, f64)>, knee: Option<usize>, unit: &str) -> Curve {
    let mark = |(index, (at, value)): (usize, &(f64, f64))| {
        let is_knee = knee == Some(index);
        let words = if is_knee { ", the knee" } else { "" };
        let (text, place) = (number::trimmed(*value, 3), number::rate(*at));
        Mark {
            at: (*at, *value),
            number,
            radius: if is_knee { 6.0 } else { 2.6 },
            title: format!("{label}: {text} {unit} at {place}{words}"),
        }
    };
    Curve {
        title: label.clone(),
        marks: points.iter().enumerate().map(mark).collect(),
        ..Curve::from_points(label.clone(), number, points.iter().copied())
    }
}

fn figure(name: &str, unit: &str, axis: Axis, curves: Vec<Curve>) -> Figure {
    let mut places: Vec<f64> = curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(|(at, _)| *at))
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let least = places.first().copied().unwrap_or(1.0);
    // One place alone would be an axis without length.
    let most = places.last().copied().unwrap_or(0.0).max(least * 1.01);
    let values = curves.iter().flat_map(|curve| &curve.points);
    let values = Scale::logarithmic_around(values.filter_map(|(_, value)| *value));
    let labels = places.into_iter().map(|at| (at, number::rate(at)));
    let across = PlotAxis::new(Scale::logarithmic(least, most), axis.name()).labelled(labels.collect());
    let data = csv(&curves, axis, unit);
    let name = format!("{name} against {}", axis.name());
    let chart = LineChart::new(name, across, PlotAxis::new(values, unit)).with(curves);
    Figure::new(|width| chart.draw(width), data)
}

fn csv(curves: &[Curve], axis: Axis, unit: &str) -> String {
    let mut text = format!("series,{},{unit}\n", axis.name());
    for curve in curves {
        for (at, value) in &curve.points {
            let value = number::optional(*value, |value| number::trimmed(value, 6));
            text += &format!("{},{at},{value}\n", quoted(&curve.label));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: f64, rate: f64, median: f64) -> Point {
        Point {
            at,
            rate,
            times: [Some(median), None],
        }
    }

    #[test]
    fn the_knee_is_the_last_load_that_was_sustained() {
        let rising = [point(1e3, 1e3, 0.1), point(1e4, 1e4, 0.15), point(1e5, 6e4, 0.18)];
        assert_eq!(knee(&rising), Some(1));
        let slow = [point(1e3, 1e3, 0.1), point(1e4, 1e4, 0.21)];
        assert_eq!(knee(&slow), Some(0));
    }

    #[test]
    fn without_an_overload_there_is_no_knee() {
        assert_eq!(knee(&[point(1e3, 1e3, 0.1), point(1e4, 1e4, 0.1)]), None);
        assert_eq!(knee(&[point(1e3, 500.0, 0.1), point(1e4, 500.0, 0.1)]), None);
        assert_eq!(knee(&[]), None);
    }
}
