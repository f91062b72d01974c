//! Latency percentile curves on HdrHistogram's axis: percentile p is at log10(1 / (1 - p)), so that every additional
//! nine takes the same width.

use wirecost_proto::units::counted;
use wirecost_results::summary::Times;
use wirecost_results::{Cell, SampleRow};

use super::Figure;
use super::ends::{self, End};
use super::samples::Samples;
use super::svg::{Anchor, Svg};
use crate::columns::{TO_ARRIVAL, ends_with_arrival};
use crate::csv::quoted;
use crate::groups::Group;
use crate::number;

const TOP: f64 = 14.0;
const SPAN: f64 = 270.0;
const HEIGHT: f64 = TOP + SPAN + 40.0;
const LEFT: f64 = 46.0;
/// Pixels between the labels of two percentiles.
const TICK: f64 = 36.0;

/// The least length of the axis of time. In virtual time all samples may be equal.
const LEAST_MS: f64 = 0.1;

/// The origin of response times.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
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
pub(crate) fn figure(group: &Group<'_>, samples: &Samples<'_>, origin: Origin) -> Figure {
    let series = series(group, samples, origin);
    let name = match origin {
        Origin::Zero => "Response time by percentile",
        Origin::Fastest => "Response time above the stack's fastest, by percentile",
    };
    of_series(&series, &format!("{name}, {}", group.heading))
}

/// The curves of any series.
pub(crate) fn of_series(series: &[Series], name: &str) -> Figure {
    Figure::new(|width| draw(series, name, width), data(series))
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

/// The geometry of a figure of one width.
struct Plot {
    right: f64,
    /// Largest log10(1 / (1 - p)).
    nines: f64,
    most_ms: f64,
}

impl Plot {
    fn new(series: &[Series], width: f64) -> Self {
        let samples = series.iter().map(|s| s.n).max().unwrap_or(1).max(1);
        let most = series
            .iter()
            .filter_map(|s| s.points.last())
            .map(|(_, millis)| *millis)
            .fold(0.0, f64::max);
        Self {
            right: ends::right(series.iter().map(|s| s.label.as_str()), width),
            nines: (2.0 * samples as f64).log10(),
            most_ms: (most * 1.04).max(LEAST_MS),
        }
    }

    fn x(&self, nines: f64) -> f64 {
        LEFT + nines / self.nines * (self.right - LEFT)
    }

    fn y(&self, millis: f64) -> f64 {
        TOP + SPAN * (1.0 - millis / self.most_ms)
    }
}

fn draw(series: &[Series], name: &str, width: f64) -> String {
    let plot = Plot::new(series, width);
    let mut svg = Svg::new(width, HEIGHT);
    percentile_axis(&mut svg, &plot);
    time_axis(&mut svg, &plot);
    for series in series {
        svg.polyline(
            &format!("curve {}", ends::class(series.number)),
            &thinned(series, &plot),
            &summary(series),
        );
    }
    labels(&mut svg, &plot, series);
    let description: Vec<String> = series.iter().map(summary).collect();
    svg.finish(name, &description.join(". "))
}

fn percentile_axis(svg: &mut Svg, plot: &Plot) {
    let ticks: [(f64, &str); 6] = [
        (0.0, "0"),
        (0.5, "50"),
        (0.9, "90"),
        (0.99, "99"),
        (0.999, "99.9"),
        (0.9999, "99.99"),
    ];
    let mut labelled = f64::NEG_INFINITY;
    for (share, text) in ticks {
        let nines = -(1.0 - share).log10();
        if nines > plot.nines {
            break;
        }
        let x = plot.x(nines);
        svg.line("grid", [x, TOP], [x, TOP + SPAN]);
        if x - labelled >= TICK {
            svg.text(
                "tick",
                Anchor::Middle,
                [x, TOP + SPAN + 15.0],
                &format!("{text} %"),
            );
            labelled = x;
        }
    }
    let middle = (LEFT + plot.right) / 2.0;
    svg.text("muted", Anchor::Middle, [middle, TOP + SPAN + 33.0], "percentile");
}

fn time_axis(svg: &mut Svg, plot: &Plot) {
    let step = number::nice_step(plot.most_ms, 6.0);
    let decimals = number::trimmed(step, 3)
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    for tick in 0..=(plot.most_ms / step).floor() as u64 {
        let millis = tick as f64 * step;
        let y = plot.y(millis);
        svg.line(
            if tick == 0 { "axis" } else { "grid" },
            [LEFT, y],
            [plot.right, y],
        );
        let text = if tick == 0 {
            "0 ms".to_owned()
        } else {
            format!("{millis:.decimals$}")
        };
        svg.text("tick", Anchor::End, [LEFT - 5.0, y + 3.5], &text);
    }
}

/// The curve's points, less those nearer than a pixel to the one before; the last always stays.
fn thinned(series: &Series, plot: &Plot) -> Vec<[f64; 2]> {
    let mut points: Vec<[f64; 2]> = Vec::new();
    for (nines, millis) in &series.points {
        let point = [plot.x(*nines), plot.y(*millis)];
        let near = |last: &[f64; 2]| (last[0] - point[0]).abs() < 1.0 && (last[1] - point[1]).abs() < 1.0;
        if !points.last().is_some_and(near) {
            points.push(point);
        }
    }
    let last = series
        .points
        .last()
        .map(|(nines, millis)| [plot.x(*nines), plot.y(*millis)]);
    points.extend(last);
    points
}

/// Each name beside the end of its curve.
fn labels(svg: &mut Svg, plot: &Plot, series: &[Series]) {
    let end = |series: &Series| {
        let (nines, millis) = series.points.last().copied().unwrap_or_default();
        End {
            label: series.label.clone(),
            number: series.number,
            at: [plot.x(nines), plot.y(millis)],
        }
    };
    ends::draw(
        svg,
        series.iter().map(end).collect(),
        plot.right,
        [TOP, TOP + SPAN],
    );
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
