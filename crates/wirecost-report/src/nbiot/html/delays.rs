//! The share of reports that have arrived after a time, by load and coverage level.

use serde::Serialize;
use wirecost_results::nbiot::{Delays as Counts, NbiotSummary, Point};

use super::choices::{Choice, Curve, load_words};
use crate::chart::lines::{Curve as Line, LineChart};
use crate::chart::plot::Axis;
use crate::chart::{Figure, Scale};
use crate::csv::quoted;
use crate::html::controls::{Control, Controls, panel_classes};
use crate::html::grid::{Grid, GridRow};
use crate::number;

/// Shares of the table.
const SHARES: [f64; 6] = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99];

/// The delays of a run: a panel per load and coverage level.
#[derive(Serialize)]
pub(super) struct Delays {
    pub(super) controls: Vec<Control>,
    panels: Vec<Panel>,
    /// Which curves are drawn, if not all.
    drawn: String,
}

/// The delays at one load on one coverage level, or on all.
#[derive(Serialize)]
struct Panel {
    classes: String,
    words: String,
    figure: Figure,
    table: Grid,
}

/// Which devices.
#[derive(Clone, Copy)]
enum Level {
    All,
    Only(usize),
}

impl Level {
    fn words(self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Only(level) => level.to_string(),
        }
    }

    /// Reports of devices of this level, over all replications.
    fn measured(self, point: &Point) -> u64 {
        let levels = point.delay_by_level.iter().enumerate();
        let own = levels.filter(|(level, _)| self.holds(*level));
        own.map(|(_, delay)| delay.measured).sum()
    }

    const fn holds(self, level: usize) -> bool {
        match self {
            Self::All => true,
            Self::Only(own) => own == level,
        }
    }

    /// Delays in ms and their counts, over all replications.
    fn delays(self, point: &Point) -> Counts {
        let mut merged = Counts::new();
        let runs = point.runs.iter();
        let levels = runs.flat_map(|run| run.delays_ms.iter().enumerate());
        for (_, delays) in levels.filter(|(level, _)| self.holds(*level)) {
            for (ms, count) in delays {
                *merged.entry(*ms).or_default() += count;
            }
        }
        merged
    }
}

/// The reports of one curve.
struct Series {
    label: String,
    number: usize,
    measured: u64,
    /// Delay in s and the share of reports that have arrived by then, ascending.
    steps: Vec<[f64; 2]>,
}

impl Series {
    fn from_curve(curve: &Curve<'_>, load: f64, level: Level) -> Option<Self> {
        let point = curve.at(load)?;
        let measured = level.measured(point);
        let mut arrived = 0;
        let steps = level.delays(point).into_iter().map(|(ms, count)| {
            arrived += count;
            [
                f64::from(ms.max(1)) / 1e3,
                arrived as f64 / measured.max(1) as f64,
            ]
        });
        Some(Self {
            label: curve.label.clone(),
            number: curve.number,
            measured,
            steps: steps.collect(),
        })
        .filter(|series| series.measured > 0)
    }

    /// The delay that this share of all reports does not exceed; `None` where fewer have arrived.
    fn quantile_s(&self, share: f64) -> Option<f64> {
        let mut steps = self.steps.iter();
        steps
            .find(|[_, arrived]| *arrived >= share)
            .map(|[delay, _]| *delay)
    }

    fn told(&self) -> String {
        let arrived = self.steps.last().map_or(0.0, |[_, share]| *share);
        let median = number::optional(self.quantile_s(0.5), |delay| format!("{delay:.2} s"));
        format!(
            "{}: median {median}, {} of {} reports arrived",
            self.label,
            number::percent(arrived),
            number::grouped(self.measured)
        )
    }
}

impl Delays {
    /// The delays of the first choice of curves: those of the network as given.
    pub(super) fn from_summary(summary: &NbiotSummary, choices: &[Choice<'_>]) -> Self {
        // With a panel for each load, level and change the page would be many times as long.
        let choice = &choices[0];
        let mut controls = Controls::new("delay", 0);
        let loads = choice.loads();
        let levels = levels(choice);
        let names = loads.iter().map(|load| load_words(*load));
        controls.choose_from(
            "reports per second and cell",
            names,
            loads.len().saturating_sub(1),
        );
        controls.choose("coverage level", levels.iter().map(|level| level.words()));
        let mut panels = Vec::new();
        for (row, load) in loads.iter().enumerate() {
            for (column, level) in levels.iter().enumerate() {
                let series = choice.curves.iter();
                let series: Vec<Series> = series
                    .filter_map(|curve| Series::from_curve(curve, *load, *level))
                    .collect();
                let level_words = match level {
                    Level::All => "all coverage levels".to_owned(),
                    Level::Only(level) => format!("coverage level {level}"),
                };
                let name = format!("{}, {level_words}", load_words(*load));
                panels.push(panel(&series, &name, summary.setting.deadline_s, &[row, column]));
            }
        }
        let drawn = match choices.len() {
            1 => String::new(),
            _ => "The curves are those of the network as given.".to_owned(),
        };
        Self {
            controls: controls.finish(),
            panels,
            drawn,
        }
    }
}

/// All levels together, and those that have devices, where there are several.
fn levels(choice: &Choice<'_>) -> Vec<Level> {
    let points = || choice.curves.iter().flat_map(|curve| &curve.points);
    let has_devices = |level: &Level| points().any(|point| level.measured(point) > 0);
    let own = (0..3).map(Level::Only).filter(has_devices);
    std::iter::once(Level::All).chain(own).collect()
}

fn panel(series: &[Series], name: &str, deadline_s: f64, place: &[usize]) -> Panel {
    let chart = chart(series, name, deadline_s);
    Panel {
        classes: panel_classes(place),
        words: format!("Share of reports that have arrived after a time, {name}"),
        figure: Figure::new(|width| chart.draw(width), data(series)),
        table: table(series, name),
    }
}

fn chart(series: &[Series], name: &str, deadline_s: f64) -> LineChart {
    let delays = || {
        let steps = series.iter().flat_map(|series| &series.steps);
        steps.map(|[delay, _]| *delay)
    };
    // A logarithmic axis needs a begin above zero, also without any delay.
    let least = delays().fold(1.0, f64::min);
    // The deadline has to be in sight, also where all arrive long before it.
    let most = delays().fold(deadline_s * 1.5, f64::max);
    // A curve goes on to the right edge.
    let curve = |series: &Series| {
        let last = series.steps.last().map(|[_, share]| (most, share * 100.0));
        let steps = series.steps.iter().map(|[delay, share]| (*delay, share * 100.0));
        Line {
            title: series.told(),
            ..Line::from_points(series.label.clone(), series.number, steps.chain(last))
        }
    };
    let across = Axis::new(
        Scale::logarithmic(least, most),
        "seconds from generation to arrival at the server",
    );
    let up = Axis::new(Scale::linear(0.0, 100.0), "% of reports");
    LineChart {
        limits: vec![(deadline_s, format!("{deadline_s} s"))],
        ..LineChart::new(format!("Delay, {name}"), across, up)
    }
    .with(series.iter().map(curve).collect())
}

fn table(series: &[Series], name: &str) -> Grid {
    let shares = SHARES.map(|share| format!("{} %", number::trimmed(share * 100.0, 1)));
    let quantiles = shares.iter().map(|share| (share.as_str(), "s"));
    let head: Vec<(&str, &str)> = [("stack", ""), ("reports", ""), ("arrived", "")]
        .into_iter()
        .chain(quantiles)
        .collect();
    let row = |series: &Series| {
        let arrived = series.steps.last().map_or(0.0, |[_, share]| *share);
        let delays =
            SHARES.map(|share| number::optional(series.quantile_s(share), |delay| number::trimmed(delay, 2)));
        let counts = [number::grouped(series.measured), number::percent(arrived)];
        GridRow::plain(series.label.clone(), counts.into_iter().chain(delays).collect())
    };
    let caption = format!("Time after which a share of all reports has arrived, {name}");
    Grid::new(&caption, &head, series.iter().map(row).collect())
}

/// One row per whole per cent of reports.
fn data(series: &[Series]) -> String {
    let mut text = "curve,percent_of_reports,delay_s\n".to_owned();
    for series in series {
        for percent in 1..=100 {
            let Some(delay) = series.quantile_s(f64::from(percent) / 100.0) else {
                break;
            };
            text += &format!("{},{percent},{delay}\n", quoted(&series.label));
        }
    }
    text
}
