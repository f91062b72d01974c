//! Several loads second by second: one figure for each quantity, with one line for each load.

use serde::Serialize;
use wirecost_results::curves::{Curve, CurveKind};
use wirecost_results::load::{Load, LoadSummary};
use wirecost_results::rate_search::RateSearch;
use wirecost_results::seconds::SecondRow;

use super::bands::{self, Slot, middle, per_second};
use super::timeline::Acknowledged;
use super::timeplot::{self, Quantity};
use super::{DRAWN, percentiles, usage};
use crate::chart::{Figure, Scale, ends, lines};
use crate::html::charts::curves::{self, Series};
use crate::html::shown::{self, Chart, Section, Shown, Subject};
use crate::load::{LoadResults, words};
use crate::number;

/// The figures of several loads; those without anything to draw are absent.
#[derive(Serialize)]
pub(super) struct Matrix {
    /// The drawn loads.
    keys: Vec<Key>,
    /// The text that says which loads are drawn, if not all are.
    drawn: Option<String>,
    /// The charts, each with the anchor of its section.
    pub(super) charts: Vec<(&'static str, Shown)>,
}

/// Several loads.
pub(super) struct Several;

impl Subject for Several {
    type Of<'a> = OfSeveral<'a>;
}

/// What the charts of several loads are made of.
pub(super) struct OfSeveral<'a> {
    results: &'a LoadResults,
    loads: Vec<Drawn<'a>>,
}

/// The line of a load.
#[derive(Serialize)]
struct Key {
    /// The class of its colour.
    class: String,
    /// Its number in the figures, and its name.
    label: String,
}

/// A load with its place in the results.
struct Drawn<'a> {
    index: usize,
    load: &'a Load,
    label: String,
    slots: Vec<Slot>,
}

impl Matrix {
    /// The figures of the loads of a run; `None` for a run of one load.
    pub(super) fn from_results(results: &LoadResults, labels: &[String]) -> Option<Self> {
        let summary = &results.summary;
        if summary.loads.len() < 2 {
            return None;
        }
        let (indexes, told) = chosen(summary);
        let drawn = |(number, index): (usize, usize)| {
            let load = &summary.loads[index];
            let (slots, _) = bands::slots(load, index, &results.seconds);
            let label = format!("{number} {}", labels[index]);
            Drawn {
                index,
                load,
                label,
                slots,
            }
        };
        let loads: Vec<Drawn<'_>> = (1..).zip(indexes).map(drawn).collect();
        let key = |(number, load): (usize, &Drawn<'_>)| Key {
            class: ends::class(number),
            label: load.label.clone(),
        };
        Some(Self {
            keys: loads.iter().enumerate().map(key).collect(),
            drawn: told,
            charts: shown::all(CHARTS, &OfSeveral { results, loads }),
        })
    }
}

/// The indexes of the loads to draw, and a caption if some are left out: the first ones are drawn, or one load at each
/// relevant bound of each search.
fn chosen(summary: &LoadSummary) -> (Vec<usize>, Option<String>) {
    let count = summary.loads.len();
    if !summary.searches.is_empty() {
        let keys = summary.searches.iter().flat_map(border_keys);
        let of_key = |key: &str| summary.loads.iter().position(|load| load.key == key);
        let mut indexes: Vec<usize> = keys.filter_map(of_key).collect();
        indexes.truncate(DRAWN);
        let told = "drawn: of each search the first trial at each relevant bound";
        return (indexes, Some(told.to_owned()));
    }
    let told = (count > DRAWN)
        .then(|| format!("drawn: the first {DRAWN} of {count} loads; intervals.csv holds all"));
    ((0..count.min(DRAWN)).collect(), told)
}

fn border_keys(search: &RateSearch) -> impl Iterator<Item = &str> {
    let rates = [search.relevant_lower_bound, search.relevant_upper_bound];
    rates.into_iter().flatten().filter_map(|rate| {
        let mut trials = search.trials.iter();
        trials
            .find(|trial| trial.rate == rate)
            .map(|trial| trial.key.as_str())
    })
}

/// The charts of several loads, in the order of the page. A new one has its lines here.
pub(super) const CHARTS: &[Chart<Several>] = &[
    over_time(|of| {
        rates("Acknowledged rate", "messages/s").shown(
            lines(&of.loads, acknowledged),
            "Acknowledged messages of each second (delivered, where nothing answers)",
        )
    }),
    over_time(|of| {
        let plot = Plot {
            name: "99th percentile by second",
            unit: "ms",
            write: |value| format!("{} ms", number::latency(value * 1e6)),
            scale: timeplot::for_times,
        };
        plot.shown(
            lines(&of.loads, tail),
            "99th percentile of the response (of the delivery, where nothing answers), by the second of the intended send",
        )
    }),
    over_time(|of| {
        rates("Messages that were not acknowledged", "messages/s").shown(
            lines(&of.loads, missing),
            "Messages that were refused, failed, late, lost or of unknown end, by the second of the intended send",
        )
    }),
    over_time(|of| {
        rates("Connects per second", "connects/s").shown(
            lines(&of.loads, connects),
            "Established connections of each second, of loads without messages",
        )
    }),
    over_time(|of| {
        usages("CPU time of the target", "% of a CPU").shown(
            of.usage(|row| usage::share(row, row.target_cpu_ns)),
            "CPU time of the target by wall time, all its processes together",
        )
    }),
    over_time(|of| {
        usages("CPU time of the generator", "% of a CPU").shown(
            of.usage(|row| usage::share(row, Some(row.generator_cpu_ns))),
            "CPU time of the generator by wall time, all its processes together",
        )
    }),
    over_time(|of| {
        usages("Resident memory of the target", "MB").shown(
            of.usage(|row| Some(row.target_resident_bytes? as f64 / 1e6)),
            "Resident memory of the target",
        )
    }),
    Chart {
        section: Section::Of("latency"),
        show: |of| {
            let words = "Times by percentile, of the main phase of each load whose figures may be used";
            Some(Shown::new(latency(&of.results.curves, &of.loads)?, words))
        },
    },
];

/// A chart in the section of what was counted second by second.
const fn over_time(show: fn(&OfSeveral<'_>) -> Option<Shown>) -> Chart<Several> {
    let section = Section::Of("timeline");
    Chart { section, show }
}

/// A figure before its lines are known.
struct Plot {
    name: &'static str,
    unit: &'static str,
    /// A value as text.
    write: fn(f64) -> String,
    scale: fn([f64; 2]) -> Scale,
}

/// Rates of messages or connects.
const fn rates(name: &'static str, unit: &'static str) -> Plot {
    Plot {
        name,
        unit,
        write: |value| format!("{}/s", number::rate(value)),
        scale: |[_, most]| Scale::from_zero(most),
    }
}

/// CPU or memory.
const fn usages(name: &'static str, unit: &'static str) -> Plot {
    Plot {
        name,
        unit,
        write: |value| number::trimmed(value, 1),
        scale: |[_, most]| Scale::from_zero(most),
    }
}

impl Plot {
    /// The figure; `None` without a value.
    fn shown(&self, lines: Vec<lines::Curve>, words: &str) -> Option<Shown> {
        let quantity = Quantity {
            name: self.name,
            scale: (self.scale)(timeplot::range_of(&lines)?),
            unit: self.unit,
            write: &self.write,
        };
        Some(Shown::new(timeplot::of_series(&quantity, lines), words))
    }
}

impl OfSeveral<'_> {
    /// A line of CPU time or memory for each load.
    fn usage(&self, value: usage::Value) -> Vec<lines::Curve> {
        lines(&self.loads, |load| {
            usage::points(&self.results.usage, load.index, value)
        })
    }
}

/// A line for each load that has a value.
fn lines(loads: &[Drawn<'_>], points: impl Fn(&Drawn<'_>) -> Vec<(f64, Option<f64>)>) -> Vec<lines::Curve> {
    let line = |(number, load): (usize, &Drawn<'_>)| timeplot::line(&load.label, number, points(load));
    let mut lines: Vec<lines::Curve> = loads.iter().enumerate().map(line).collect();
    lines.retain(|line| line.points.iter().any(|(_, value)| value.is_some()));
    lines
}

fn acknowledged(load: &Drawn<'_>) -> Vec<(f64, Option<f64>)> {
    let counted = Acknowledged::from_slots(&load.slots);
    let value = |slot: &Slot| {
        let has_messages = slot.row.outcomes.offered + counted.count(&slot.row) > 0;
        let rate = per_second(counted.span(slot), counted.count(&slot.row));
        (middle(counted.span(slot)), rate.filter(|_| has_messages))
    };
    load.slots.iter().map(value).collect()
}

/// The 99th percentile of each second of valid phases, in milliseconds.
fn tail(load: &Drawn<'_>) -> Vec<(f64, Option<f64>)> {
    let value = |slot: &Slot| {
        let phase = load.load.phases.get(slot.row.phase as usize);
        let times = slot.row.response_p99_ns.or(slot.row.delay_p99_ns);
        let valid = times.filter(|_| phase.is_some_and(|phase| phase.valid));
        (middle(slot.drawn()), valid.map(|nanos| nanos as f64 / 1e6))
    };
    load.slots.iter().map(value).collect()
}

/// The messages of each second that were not acknowledged; nothing if all were.
fn missing(load: &Drawn<'_>) -> Vec<(f64, Option<f64>)> {
    let count = |row: &SecondRow| {
        let outcomes = &row.outcomes;
        outcomes.refused + outcomes.failed + outcomes.late + outcomes.lost + outcomes.unknown
    };
    // A line along zero for each good load would hide the others.
    if load.slots.iter().all(|slot| count(&slot.row) == 0) {
        return Vec::new();
    }
    let value = |slot: &Slot| {
        let rate = per_second(slot.offering, count(&slot.row));
        (
            middle(slot.drawn()),
            rate.filter(|_| slot.row.outcomes.offered > 0),
        )
    };
    load.slots.iter().map(value).collect()
}

/// The connects of each second; nothing for a load with messages, whose devices connect once.
fn connects(load: &Drawn<'_>) -> Vec<(f64, Option<f64>)> {
    let is_message = |slot: &Slot| {
        let phase = load.load.phases.get(slot.row.phase as usize);
        slot.row.outcomes.offered > 0
            && phase.is_some_and(|phase| matches!(phase.name.as_str(), "publish" | "request"))
    };
    if load.slots.iter().any(is_message) {
        return Vec::new();
    }
    let value = |slot: &Slot| {
        (
            middle(slot.span),
            per_second(slot.span, slot.row.connects.established),
        )
    };
    load.slots.iter().map(value).collect()
}

/// The percentile curve of the main phase of each load.
fn latency(all: &[Curve], loads: &[Drawn<'_>]) -> Option<Figure> {
    let series = |(number, drawn): (usize, &Drawn<'_>)| {
        let main = words::main_phase(drawn.load).filter(|phase| phase.valid)?;
        let phase = drawn
            .load
            .phases
            .iter()
            .position(|phase| std::ptr::eq(phase, main))?;
        let curve_of = |kind: CurveKind| {
            let mut own = all
                .iter()
                .filter(|curve| curve.load == drawn.index && curve.phase == phase);
            own.find(|curve| curve.kind == kind && curve.steps.len() > 1)
        };
        let kinds = [CurveKind::Response, CurveKind::Delay, CurveKind::Connect];
        let curve = kinds.into_iter().find_map(curve_of)?;
        let n = words::judged(main)?.times.n as usize;
        Some(Series {
            label: drawn.label.clone(),
            number,
            n,
            points: percentiles(&curve.steps, n as f64),
        })
    };
    let series: Vec<Series> = loads.iter().enumerate().filter_map(series).collect();
    (!series.is_empty()).then(|| curves::of_series(&series, "Times by percentile, one line for each load"))
}
