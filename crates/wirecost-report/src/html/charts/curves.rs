//! Latency percentile curves on HdrHistogram's axis: percentile p is at log10(1 / (1 - p)), so that every additional
//! nine takes the same width.

use wirecost_proto::units::counted;
use wirecost_results::summary::Times;
use wirecost_results::{Cell, SampleRow};

use super::Drawn;
use crate::chart::lines::{Curve, LineChart};
use crate::chart::plot::Axis;
use crate::chart::{Figure, Scale};
use crate::columns::{TO_ARRIVAL, ends_with_arrival};
use crate::csv::quoted;
use crate::groups::Group;
use crate::html::samples::Samples;
use crate::html::shown::{Chart, Section, Shown};
use crate::number;

/// The percentiles at the axis, as shares.
const TICKS: [(f64, &str); 6] = [
    (0.0, "0 %"),
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
];
/// The least length of the axis of time. In virtual time all samples may be equal.
const LEAST_MS: f64 = 0.1;

/// Response times from the intended send.
pub(super) const LATENCY: Chart<Drawn> = Chart {
    section: Section::Of("latency"),
    show: |of| {
        let figure = figure(&of.group, of.samples, Origin::Zero);
        let words =
            "Response time by percentile; → marks unacknowledged stacks: one-way delay to the last byte";
        Some(Shown::new(figure, words))
    },
};

/// The variation of the times.
pub(super) const TAIL: Chart<Drawn> = Chart {
    section: Section::Of("latency"),
    show: |of| match varies(&of.group) {
        true => Some(Shown::new(
            figure(&of.group, of.samples, Origin::Fastest),
            "The same curves above each stack's fastest sample: delay variation and tail",
        )),
        false => Some(Shown {
            words: "The messages of each stack all took the same time.".to_owned(),
            ..Shown::default()
        }),
    },
};

/// Whether the messages of a stack took different times.
fn varies(group: &Group<'_>) -> bool {
    let times = group
        .iter()
        .filter_map(|cell| cell.message.as_ref()?.response_time_ns.as_ref());
    times.into_iter().any(|times| times.min != times.max)
}

/// The origin of response times.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// From the intended send.
    Zero,
    /// The fastest sample of the stack. The rest is delay variation.
    Fastest,
}

/// The response times of one stack, and its colour.
pub(crate) struct Series {
    pub(crate) label: String,
    pub(crate) number: usize,
    /// Samples.
    pub(crate) n: usize,
    /// (log10(1 / (1 - p)), milliseconds), ascending.
    pub(crate) points: Vec<(f64, f64)>,
}

/// The curves of a group.
fn figure(group: &Group<'_>, samples: &Samples<'_>, origin: Origin) -> Figure {
    let series = series(group, samples, origin);
    let name = match origin {
        Origin::Zero => "Response time by percentile",
        Origin::Fastest => "Response time above the stack's fastest, by percentile",
    };
    of_series(&series, &format!("{name}, {}", group.heading))
}

/// The curves of any series.
pub(crate) fn of_series(series: &[Series], name: &str) -> Figure {
    let chart = chart(series, name);
    Figure::new(|width| chart.draw(width), data(series))
}

fn series(group: &Group<'_>, samples: &Samples<'_>, origin: Origin) -> Vec<Series> {
    let of_cell = |(number, (index, cell)): (usize, &(usize, &Cell))| {
        let times = cell.message.as_ref()?.response_time_ns.as_ref()?;
        let rows = of_samples(samples.of_cell(*index));
        // A row has the first message of a connection alone.
        let points = match rows.len() as u64 == times.n {
            true => rows,
            false => of_quantiles(times),
        };
        let first = match origin {
            Origin::Zero => 0.0,
            Origin::Fastest => points.first()?.1,
        };
        let mark = if ends_with_arrival(cell) { TO_ARRIVAL } else { "" };
        Some(Series {
            label: group.names.marked_label(cell) + mark,
            number,
            n: times.n as usize,
            points: points
                .into_iter()
                .map(|(nines, ns)| (nines, (ns - first) / 1e6))
                .collect(),
        })
    };
    let run = |(_, (_, cell)): &(usize, &(usize, &Cell))| cell.not_run.is_none();
    let series = group.cells.iter().enumerate().filter(run).filter_map(of_cell);
    series.filter(|series| !series.points.is_empty()).collect()
}

/// Each sample in nanoseconds, p at the middle of the sample's share.
fn of_samples(rows: &[&SampleRow]) -> Vec<(f64, f64)> {
    let mut nanos: Vec<u64> = rows.iter().filter_map(|row| row.response_time_ns).collect();
    nanos.sort_unstable();
    let n = nanos.len() as f64;
    let point = |(index, nanos): (usize, &u64)| ((n / (n - index as f64 - 0.5)).log10(), *nanos as f64);
    nanos.iter().enumerate().map(point).collect()
}

/// The points of a cell whose rows do not have all of its times, such as one with a shared link or with many messages per
/// connection: the extremes and the quantiles of the summary.
fn of_quantiles(times: &Times) -> Vec<(f64, f64)> {
    let quantiles = [
        (0.5, times.p50),
        (0.9, times.p90),
        (0.95, times.p95),
        (0.99, times.p99),
    ];
    let least = (0.0, times.min as f64);
    let most = ((2.0 * times.n as f64).log10(), times.max as f64);
    let between = quantiles
        .into_iter()
        .filter_map(|(share, nanos): (f64, Option<u64>)| Some((-(1.0 - share).log10(), nanos? as f64)));
    std::iter::once(least).chain(between).chain([most]).collect()
}

fn chart(series: &[Series], name: &str) -> LineChart {
    let samples = series.iter().map(|series| series.n).max().unwrap_or(1).max(1);
    let nines = (2.0 * samples as f64).log10();
    let last = series.iter().filter_map(|series| series.points.last());
    let most = last.map(|(_, millis)| *millis).fold(LEAST_MS, f64::max);
    let ticks = TICKS.map(|(share, text)| (-(1.0 - share).log10(), text.to_owned()));
    let ticks = ticks.into_iter().filter(|(at, _)| *at <= nines);
    let across = Axis::new(Scale::linear(0.0, nines), "percentile").labelled(ticks.collect());
    let up = Axis::new(Scale::from_zero(most), "ms");
    let curve = |series: &Series| Curve {
        title: summary(series),
        ..Curve::from_points(series.label.clone(), series.number, series.points.iter().copied())
    };
    LineChart::new(name, across, up).with(series.iter().map(curve).collect())
}

fn summary(series: &Series) -> String {
    let half = 2f64.log10();
    let ends = [series.points.first(), series.points.last()];
    let [least, most] = ends.map(|end| end.map_or(0.0, |(_, millis)| *millis));
    let median = series.points.iter().find(|(nines, _)| *nines >= half - 1e-9);
    let median = median.map_or(most, |(_, millis)| *millis);
    let [least, median, most] = [least, median, most].map(|ms| number::millis(ms * 1e6));
    format!(
        "{}: {least} to {most} ms, median {median} ms, {}",
        series.label,
        counted(series.n as u64, "sample")
    )
}

fn data(series: &[Series]) -> String {
    let mut csv = "stack,percentile,ms\n".to_owned();
    for series in series {
        for (nines, millis) in &series.points {
            let percentile = 100.0 * (1.0 - 10f64.powf(-nines));
            csv += &format!("{},{percentile:.4},{millis:.6}\n", quoted(&series.label));
        }
    }
    csv
}
