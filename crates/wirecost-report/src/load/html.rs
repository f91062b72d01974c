//! `report.html` of loads: verdict, time line, distributions, scaling, bottleneck, profile.

mod bands;
mod cards;
mod flame;
mod link;
mod matrix;
mod outcomes;
mod scaling;
mod search;
mod tables;
mod timeline;
mod timeplot;
mod usage;

use minijinja::value::Serde;
use serde::Serialize;
use wirecost_results::curves::{Curve, CurveKind};
use wirecost_results::load::{Load, LoadSummary};

use crate::chart::Figure;
use crate::chart::plot::Band;
use crate::html::charts::curves::{self, Series};
use crate::html::environment;
use crate::html::grid::Grid;
use crate::html::shown::{self, Chart, Section, Shown, Subject};
use crate::load::{LoadResults, words};
use crate::{ReportError, number};
use bands::Slot;
use cards::Card;
use flame::Flame;
use matrix::Matrix;
use scaling::Scaling;
use search::Search;
use wirecost_results::usage::UsageRow;

/// The largest number of loads that are drawn second by second.
const DRAWN: usize = 12;

/// Above this number of loads, tables with a row for each phase are collapsed.
const FEW: usize = 3;

/// The charts of a run of one load, in the order of the page; those of several are in `matrix`.
///
/// A new one is a file beside these with a `Chart`, and its lines here.
const CHARTS: &[Chart<OneLoad>] = &[
    timeline::RATE,
    timeline::TIMES,
    timeline::OUTCOMES,
    timeline::CONNECTS,
    timeline::CPU,
    timeline::MEMORY,
    LATENCY,
];

/// The subject of charts that show a load by itself.
struct OneLoad;

impl Subject for OneLoad {
    type Of<'a> = OfLoad<'a>;
}

/// What the charts of one load are made of.
struct OfLoad<'a> {
    /// Its number in the results.
    index: usize,
    load: &'a Load,
    curves: &'a [Curve],
    bands: Vec<Band>,
    /// Its seconds, merged if there are too many.
    slots: Vec<Slot>,
    /// Seconds of a slot.
    step: u64,
    /// CPU and memory; none where it has no seconds.
    usage: Vec<UsageRow>,
}

impl<'a> OfLoad<'a> {
    fn from_results(results: &'a LoadResults, index: usize, load: &'a Load) -> Self {
        let (slots, step) = bands::slots(load, index, &results.seconds);
        Self {
            index,
            load,
            curves: &results.curves,
            bands: bands::phases(load),
            usage: match slots.is_empty() {
                true => Vec::new(),
                false => usage::rows(&results.usage, index),
            },
            slots,
            step,
        }
    }
}

/// The report as one HTML file.
///
/// # Errors
/// The template does not fit the results, which is a fault of this crate.
pub fn report(results: &LoadResults) -> Result<String, ReportError> {
    let mut environment = environment()?;
    environment.add_template("load.html", include_str!("../../templates/load.html"))?;
    let summary = &results.summary;
    let labels = words::labels(&summary.loads);
    let views = summary.loads.iter().zip(&labels).enumerate();
    let loads: Vec<LoadView> = views
        .map(|(index, (load, label))| LoadView::from_results(results, index, load, label))
        .collect();
    let matrix = Matrix::from_results(results, &labels);
    let page = Page {
        css: [crate::html::STYLE, include_str!("../../templates/load.css")],
        js: include_str!("../../templates/report.js"),
        asked: asked(summary),
        is_interrupted: words::is_interrupted(summary),
        summary,
        cards: match summary.searches.is_empty() {
            true => cards::all(summary, &labels),
            false => search::cards(summary).collect(),
        },
        searches: search::all(summary),
        searches_over_runs: words::search::over_runs(&summary.searches),
        further: further(&matrix, &loads),
        matrix,
        loads,
        scaling: Scaling::all(&first_runs(summary)),
        repeats: tables::repeats(summary),
        table: tables::loads(&summary.loads, &labels),
        is_long: summary.loads.len() > FEW,
        figures: tables::figures(&summary.loads, &labels),
        outcomes: tables::outcomes(&summary.loads, &labels),
        reasons: tables::reasons(&summary.loads, &labels),
        connects: tables::connects(&summary.loads, &labels),
        honesty: tables::honesty(&summary.loads, &labels),
        sides: tables::sides(&summary.loads, &labels),
        settings: words::all_settings(&summary.loads, &labels),
        agents: words::agents::all_agents(&summary.loads, &labels),
        link: link::table(&summary.loads, &labels),
        link_kept: link::kept(&summary.loads, &labels),
        remarks: tables::remarks(&summary.loads, &labels),
        thresholds: tables::thresholds(summary),
        machine: tables::machine(&results.environment),
        scenario: number::plain_lines(&results.scenario),
    };
    Ok(environment.get_template("load.html")?.render(Serde(&page))?)
}

/// The sections that charts have of their own.
fn further(matrix: &Option<Matrix>, loads: &[LoadView]) -> Vec<(&'static str, &'static str)> {
    match matrix {
        Some(matrix) => shown::own_sections(matrix::CHARTS, &matrix.charts),
        None => shown::own_sections(CHARTS, loads.iter().flat_map(|load| &load.charts)),
    }
}

/// The loads, of each repeated one the first run.
fn first_runs(summary: &LoadSummary) -> Vec<Load> {
    let is_first = |load: &&Load| load.run_of.as_ref().is_none_or(|of| of.run == 1);
    summary.loads.iter().filter(is_first).cloned().collect()
}

/// The data of the template.
#[derive(Serialize)]
struct Page<'a> {
    css: [&'static str; 2],
    js: &'static str,
    asked: String,
    is_interrupted: bool,
    summary: &'a LoadSummary,
    cards: Vec<Card>,
    /// The searches for the highest rate.
    searches: Vec<Search>,
    /// What the searches of each repeated load say together.
    searches_over_runs: Vec<String>,
    /// The figures of several loads.
    matrix: Option<Matrix>,
    loads: Vec<LoadView>,
    /// Anchor and title of each section that charts have of their own.
    further: Vec<(&'static str, &'static str)>,
    scaling: Vec<Scaling>,
    /// Repeated loads over their runs.
    repeats: Vec<Grid>,
    /// A row for each of several loads.
    table: Grid,
    /// Whether tables with a row for each phase are collapsed.
    is_long: bool,
    figures: Grid,
    outcomes: Grid,
    reasons: Grid,
    connects: Grid,
    honesty: Grid,
    sides: Grid,
    /// The label of each load whose target has settings, and the settings.
    settings: Vec<(String, String)>,
    /// The label of each load with agents, and a line about them.
    agents: Vec<(String, String)>,
    link: Option<Grid>,
    /// The label of each load with a link, and the accuracy of the link.
    link_kept: Vec<(String, String)>,
    remarks: Vec<(&'static str, String)>,
    thresholds: Grid,
    machine: Vec<(String, String)>,
    scenario: String,
}

/// The parts that are about one load.
#[derive(Serialize)]
struct LoadView {
    label: String,
    /// Why its times must not be used; empty if they may.
    invalid: String,
    /// Its charts, each with the anchor of its section. Only in a run of one load: several have those of the matrix.
    charts: Vec<(&'static str, Shown)>,
    /// Seconds that are one point.
    step: u64,
    /// Whether it was counted second by second.
    is_counted: bool,
    flame: Option<Flame>,
}

impl LoadView {
    fn from_results(results: &LoadResults, index: usize, load: &Load, label: &str) -> Self {
        let profile = results.profiles.iter().find(|(of, _)| *of == index);
        let is_alone = results.summary.loads.len() == 1;
        let alone = is_alone.then(|| OfLoad::from_results(results, index, load));
        let charts = alone.as_ref().map(|of| shown::all(CHARTS, of));
        Self {
            label: label.to_owned(),
            invalid: words::invalid_somewhere(load).unwrap_or_default(),
            charts: charts.unwrap_or_default(),
            is_counted: alone.as_ref().is_some_and(|of| !of.slots.is_empty()),
            step: alone.map_or(1, |of| of.step),
            flame: profile.and_then(|(_, folded)| Flame::from_folded(folded)),
        }
    }
}

/// Times by percentile.
const LATENCY: Chart<OneLoad> = Chart {
    section: Section::Of("latency"),
    show: |of| {
        let words = "Times by percentile, of phases whose figures may be used";
        Some(Shown::new(latency(of.curves, of.index, of.load)?, words))
    },
};

/// The percentile curves of the valid phases of a load, for each kind of time but the schedule lag.
fn latency(all: &[Curve], index: usize, load: &Load) -> Option<Figure> {
    let kinds = [
        CurveKind::Response,
        CurveKind::Service,
        CurveKind::Delay,
        CurveKind::Connect,
    ];
    let mut series: Vec<Series> = Vec::new();
    let of_load =
        |curve: &&Curve| curve.load == index && kinds.contains(&curve.kind) && curve.steps.len() > 1;
    for curve in all.iter().filter(of_load) {
        let phase = load.phases.get(curve.phase)?;
        let times = match curve.kind {
            CurveKind::Response => &phase.response_time_ns,
            CurveKind::Service => &phase.service_time_ns,
            CurveKind::Delay => &phase.one_way_delay_ns,
            CurveKind::Connect => &phase.connect_time_ns,
            CurveKind::Lag => continue,
        };
        let n = times.as_ref().map_or(0, |times| times.n as usize);
        // A curve of an invalid phase would be compared with the others, whatever a remark says.
        if n == 0 || !phase.valid {
            continue;
        }
        series.push(Series {
            label: words::kind_in(phase, curve.kind),
            number: series.len(),
            n,
            points: percentiles(&curve.steps, n as f64),
        });
    }
    let name = format!("Times by percentile, {}", words::headline(load));
    (!series.is_empty()).then(|| curves::of_series(&series, &name))
}

/// Shares as nines, nanoseconds as milliseconds. The last sample is in the middle of its own share.
fn percentiles(steps: &[(f64, f64)], n: f64) -> Vec<(f64, f64)> {
    let most = (2.0 * n).log10();
    let point = |(share, nanos): &(f64, f64)| {
        let nines = if *share < 1.0 {
            -(1.0 - share).log10()
        } else {
            most
        };
        (nines.min(most), nanos / 1e6)
    };
    steps.iter().map(point).collect()
}

/// The question of the run, in one sentence.
fn asked(summary: &LoadSummary) -> String {
    match summary.loads.as_slice() {
        [] => "Nothing was run.".into(),
        [load] => words::headline(load),
        loads => {
            // The same stack is there once for each rate, size and number of devices.
            let stacks: std::collections::BTreeSet<&str> =
                loads.iter().map(|load| load.stack.as_str()).collect();
            let stacks: Vec<&str> = stacks.into_iter().collect();
            let modelled = if loads.iter().any(Load::is_modelled) {
                ", modelled in virtual time"
            } else {
                ""
            };
            number::plain(&format!(
                "{} loads of {}, one after the other{modelled}",
                loads.len(),
                stacks.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_chart_of_its_lists() {
        let template = include_str!("../../templates/load.html");
        shown::assert_shown(template, CHARTS);
        shown::assert_shown(template, matrix::CHARTS);
    }
}
