//! Maps of a sweep: the cheapest stack over loss x size, over RTT x size, over rate x size.
//!
//! A field of a map shows the winner, its figure and its margin over the second, or that there is no difference of note, or that the
//! samples are too few to tell. Buttons choose the values of the other varied quantities.

mod metric;

use std::collections::BTreeMap;

use serde::Serialize;
use wirecost_results::Cell;
use wirecost_stats::{Estimate, Judgement};

use super::controls::{Control, Controls, panel_classes};
use super::scope::Kind;
use super::sweep::{Dimension, Slice, Sweep, Value};
use crate::chart::ends;
use crate::columns::{ALIKE, NO_DIFFERENCE, TOO_FEW, TOO_FEW_SAMPLES};
use crate::csv::quoted;
use crate::number;
use metric::Metric;

/// The word of a field whose stacks have equal figures.
const EQUAL: &str = "equal";

/// The maps of a run.
#[derive(Serialize)]
pub(super) struct HeatMaps {
    engine: &'static str,
    /// Letter, style and name of each stack that wins anywhere.
    legend: Vec<(String, String, String)>,
    maps: Vec<HeatMap>,
}

/// One pair of axes.
#[derive(Serialize)]
struct HeatMap {
    title: String,
    controls: Vec<Control>,
    panels: Vec<Panel>,
}

/// The map of one metric at one value of every quantity that is not an axis.
#[derive(Serialize)]
struct Panel {
    classes: String,
    caption: String,
    corner: String,
    head: Vec<String>,
    rows: Vec<(String, Vec<Place>)>,
    data: String,
}

/// One field of a map.
#[derive(Default, Serialize)]
struct Place {
    class: String,
    /// Letters of the winner, or of the stacks that do not differ significantly.
    mark: String,
    /// The smallest figure.
    value: String,
    name: String,
    margin: String,
    /// The figures, as the tooltip.
    detail: String,
}

impl HeatMaps {
    /// The maps of every pair of axes that vary.
    pub(super) fn from_sweep(sweep: &Sweep<'_>) -> Self {
        let axes = axes(sweep);
        let maps: Vec<HeatMap> = axes
            .iter()
            .enumerate()
            .map(|(number, axes)| HeatMap::from_sweep(sweep, *axes, number))
            .collect();
        let contender =
            |(number, name): (usize, &String)| (letter(number), ends::class(number), name.clone());
        Self {
            engine: sweep.engine,
            legend: sweep.contenders.iter().enumerate().map(contender).collect(),
            maps,
        }
    }

    /// The buttons of all maps.
    pub(super) fn controls(&self) -> impl Iterator<Item = &Control> {
        self.maps.iter().flat_map(|map| &map.controls)
    }
}

/// The pairs of axes, down and across: every varied quantity with size if sizes vary, else every pair of varied
/// quantities. A quantity that varies alone has an axis of one value beside it.
fn axes(sweep: &Sweep<'_>) -> Vec<[Dimension; 2]> {
    let varies = |dimension: &Dimension| sweep.values(*dimension).is_some();
    let link = [Dimension::Loss, Dimension::Rtt, Dimension::Rate];
    let link: Vec<Dimension> = link.into_iter().filter(varies).collect();
    match (&link[..], varies(&Dimension::Size)) {
        ([], true) => vec![[Dimension::Rtt, Dimension::Size]],
        // A map needs two axes.
        ([only], false) => vec![[*only, Dimension::Size]],
        (_, true) => link
            .into_iter()
            .map(|dimension| [dimension, Dimension::Size])
            .collect(),
        (_, false) => {
            let pairs = link.iter().enumerate().flat_map(|(place, down)| {
                let others = link.iter().skip(place + 1);
                others.map(move |across| [*down, *across])
            });
            pairs.collect()
        }
    }
}

/// Plain stacks and secured ones compete apart, where the run has both.
fn kinds(sweep: &Sweep<'_>) -> &'static [Kind] {
    let is_secured = |(_, cell): &(usize, &Cell)| Kind::Secured.holds(cell);
    if sweep.cells.iter().any(is_secured) && !sweep.cells.iter().all(is_secured) {
        &[Kind::Plain, Kind::Secured]
    } else {
        &[Kind::Any]
    }
}

impl HeatMap {
    fn from_sweep(sweep: &Sweep<'_>, axes: [Dimension; 2], number: usize) -> Self {
        let [down, across] = axes;
        let fixed = sweep.varied_besides(&axes);
        let metrics = metric::all();
        let figures: Vec<Figures<'_>> = metrics
            .iter()
            .map(|metric| Figures::from_sweep(sweep, metric))
            // One cell has nothing to be compared with.
            .filter(|figures| figures.by_cell.len() > 1)
            .collect();
        let kinds = kinds(sweep);
        let mut controls = Controls::new("map", number);
        controls.choose("by", figures.iter().map(|figures| figures.metric.name.to_owned()));
        for (dimension, values) in &fixed {
            controls.choose(dimension.name(), values.iter().map(|value| value.text.clone()));
        }
        if kinds.len() > 1 {
            controls.choose("stacks", ["plain", "encrypted"].into_iter().map(str::to_owned));
        }
        let slices = sweep.slices(&fixed);
        let panel = |(metric, figures): (usize, &Figures<'_>)| -> Vec<Panel> {
            let of_slice = |slice: &Slice<'_>| -> Vec<Panel> {
                let of_kind = |(place, kind): (usize, &Kind)| {
                    let place = [place];
                    let last = if kinds.len() > 1 { &place[..] } else { &[] };
                    let classes = [&[metric], slice.chosen.as_slice(), last].concat();
                    Panel::from_slice((slice, *kind), sweep, figures, axes, panel_classes(&classes))
                };
                kinds.iter().enumerate().map(of_kind).collect()
            };
            slices.iter().flat_map(of_slice).collect()
        };
        Self {
            title: format!("Over {} and {}", down.name(), across.name()),
            controls: controls.finish(),
            panels: figures.iter().enumerate().flat_map(panel).collect(),
        }
    }
}

/// One metric of every cell that has it, by the cell's index in the summary.
struct Figures<'a> {
    metric: &'a Metric,
    by_cell: BTreeMap<usize, Estimate>,
}

impl<'a> Figures<'a> {
    fn from_sweep(sweep: &Sweep<'_>, metric: &'a Metric) -> Self {
        let of_cell = |(index, cell): &(usize, &Cell)| {
            let estimate = metric.read(cell)?;
            Some((*index, estimate))
        };
        Self {
            metric,
            by_cell: sweep.cells.iter().filter_map(of_cell).collect(),
        }
    }
}

impl Panel {
    fn from_slice(
        (slice, kind): (&Slice<'_>, Kind),
        sweep: &Sweep<'_>,
        figures: &Figures<'_>,
        axes: [Dimension; 2],
        classes: String,
    ) -> Self {
        let [downs, acrosses] = axes.map(|dimension| sweep.all_values(dimension));
        let metric = figures.metric;
        let mut contests: BTreeMap<(Value, Value), Vec<Standing>> = BTreeMap::new();
        for (index, cell) in slice.cells.iter().filter(|(_, cell)| kind.holds(cell)) {
            if let Some(estimate) = figures.by_cell.get(index) {
                let [down, across] = axes.map(|dimension| dimension.read(cell));
                let standing = Standing {
                    contender: sweep.contender(cell),
                    estimate: *estimate,
                };
                contests.entry((down, across)).or_default().push(standing);
            }
        }
        let mut data = header(axes, metric);
        let mut row = |down: &Value| {
            let mut place = |across: &Value| {
                let contest = Contest::from_standings(
                    contests
                        .remove(&(down.clone(), across.clone()))
                        .unwrap_or_default(),
                );
                data += &contest.csv(sweep, [down, across]);
                contest.place(sweep, metric)
            };
            (down.text.clone(), acrosses.iter().map(&mut place).collect())
        };
        let rows: Vec<(String, Vec<Place>)> = downs.iter().map(&mut row).collect();
        let fixed = slice.words.iter().map(|word| format!(", {word}"));
        Self {
            classes,
            caption: format!(
                "Least {} ({}), {}{}{}",
                metric.name,
                metric.unit,
                metric.scope.words(),
                kind.words(),
                fixed.collect::<String>()
            ),
            corner: format!("{} ↓ {} →", axes[0].name(), axes[1].name()),
            head: acrosses.iter().map(|value| value.text.clone()).collect(),
            rows,
            data,
        }
    }
}

/// The figure of one stack in one field.
#[derive(Clone, Copy)]
struct Standing {
    contender: usize,
    estimate: Estimate,
}

/// The figures of all stacks in one field, the smallest first.
struct Contest(Vec<Standing>);

/// What the samples tell of the first figure of a field.
enum Answer<'a> {
    /// It is less than all others.
    Differs,
    /// These are exactly equal to it.
    Equal(Vec<&'a Standing>),
    /// These have no difference of note from it.
    Alike(Vec<&'a Standing>),
    /// Nobody knows whether it is less than these.
    TooFew(Vec<&'a Standing>),
}

impl Answer<'_> {
    const fn words(&self) -> &'static str {
        match self {
            Self::Differs => "differs",
            Self::Equal(_) => EQUAL,
            Self::Alike(_) => NO_DIFFERENCE,
            Self::TooFew(_) => TOO_FEW_SAMPLES,
        }
    }
}

impl Contest {
    fn from_standings(mut standings: Vec<Standing>) -> Self {
        standings.sort_by(|a, b| a.estimate.value.total_cmp(&b.estimate.value));
        Self(standings)
    }

    /// The first, the second, and what the samples tell of the first.
    fn result(&self) -> Option<(&Standing, Option<&Standing>, Answer<'_>)> {
        let (first, others) = self.0.split_first()?;
        let judged = |wanted: &[Judgement]| -> Vec<&Standing> {
            let others = others.iter();
            others
                .filter(|other| wanted.contains(&first.estimate.against(&other.estimate)))
                .collect()
        };
        let unknown = judged(&[Judgement::TooFew]);
        let alike = judged(&[Judgement::Alike]);
        let equal = judged(&[Judgement::Equal]);
        let answer = match () {
            // First: while one is not told from the best, nobody is the winner.
            () if !unknown.is_empty() => Answer::TooFew(unknown),
            () if !alike.is_empty() => Answer::Alike(judged(&[Judgement::Alike, Judgement::Equal])),
            () if !equal.is_empty() => Answer::Equal(equal),
            () => Answer::Differs,
        };
        Some((first, others.first(), answer))
    }

    fn place(&self, sweep: &Sweep<'_>, metric: &Metric) -> Place {
        let Some((first, second, answer)) = self.result() else {
            return Place {
                mark: number::NONE.to_owned(),
                ..Place::default()
            };
        };
        let said = |standing: &Standing| said(standing, sweep, metric);
        let words = answer.words();
        let (sign, tied) = match answer {
            Answer::Differs => {
                let margin = second.map(|second| margin(first, second)).unwrap_or_default();
                let next = second.map(|second| format!("; next {} ({margin})", said(second)));
                return Place {
                    class: ends::class(first.contender),
                    mark: letter(first.contender),
                    value: metric.write(first.estimate.value),
                    name: name(sweep, first.contender),
                    detail: said(first) + &next.unwrap_or_default(),
                    margin,
                };
            }
            Answer::Equal(tied) => ("=", tied),
            Answer::Alike(tied) => (ALIKE, tied),
            Answer::TooFew(tied) => (TOO_FEW, tied),
        };
        let tied_said: Vec<String> = tied.iter().map(|standing| said(standing)).collect();
        Place {
            class: "even".to_owned(),
            mark: tie_mark(first, &tied, sign),
            value: metric.write(first.estimate.value),
            name: words.to_owned(),
            margin: String::new(),
            detail: format!("{}; {words}: {}", said(first), tied_said.join(", ")),
        }
    }

    /// The line of the field in the data of the panel.
    fn csv(&self, sweep: &Sweep<'_>, at: [&Value; 2]) -> String {
        let fields = |standing: Option<&Standing>| match standing {
            None => ",,,".to_owned(),
            Some(Standing { contender, estimate }) => {
                let [low, high] = estimate
                    .known_interval()
                    .map_or_else(Default::default, |ends| ends.map(|end| end.to_string()));
                format!(
                    "{},{},{low},{high}",
                    quoted(&name(sweep, *contender)),
                    estimate.value
                )
            }
        };
        let Some((first, second, answer)) = self.result() else {
            return String::new();
        };
        format!(
            "{},{},{},{},{}\n",
            quoted(&at[0].text),
            quoted(&at[1].text),
            fields(Some(first)),
            fields(second),
            answer.words()
        )
    }
}

/// The head of a panel's data; times in nanoseconds.
fn header(axes: [Dimension; 2], metric: &Metric) -> String {
    let unit = if metric.unit == "ms" { "ns" } else { metric.unit };
    let fields = |who: &str| format!("{who},{who}_{unit},{who}_low_{unit},{who}_high_{unit}");
    format!(
        "{},{},{},{},verdict\n",
        axes[0].name(),
        axes[1].name(),
        fields("least"),
        fields("next")
    )
}

fn name(sweep: &Sweep<'_>, contender: usize) -> String {
    sweep.contenders.get(contender).cloned().unwrap_or_default()
}

/// Letter, name, figure and interval.
fn said(standing: &Standing, sweep: &Sweep<'_>, metric: &Metric) -> String {
    let write = |value| metric.write(value);
    let interval = match standing.estimate.known_interval() {
        None => ", too few samples for an interval".to_owned(),
        Some([low, high]) if low == high => String::new(),
        Some([low, high]) => format!(", {} to {}", write(low), write(high)),
    };
    format!(
        "{} {} {} {}{interval}",
        letter(standing.contender),
        name(sweep, standing.contender),
        write(standing.estimate.value),
        metric.unit
    )
}

/// The letters of up to three stacks, and the number of others.
fn tie_mark(first: &Standing, tied: &[&Standing], sign: &str) -> String {
    const NAMED: usize = 2;
    let others = tied.iter().take(NAMED).map(|standing| letter(standing.contender));
    let letters: Vec<String> = std::iter::once(letter(first.contender)).chain(others).collect();
    let more = match tied.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" +{more}"),
    };
    letters.join(sign) + &more
}

/// The margin of the first over the second.
fn margin(first: &Standing, second: &Standing) -> String {
    let (least, next) = (first.estimate.value, second.estimate.value);
    let percent = 100.0 * (next - least) / least;
    match percent {
        p if !p.is_finite() => format!("+{}", number::bytes(next - least)),
        p if p < 0.1 => "+<0.1 %".to_owned(),
        p if p < 10.0 => format!("+{p:.1} %"),
        p if p < 1_000.0 => format!("+{p:.0} %"),
        _ => format!("×{:.0}", next / least),
    }
}

/// A, B, ..., Z, A1, B1, ...
fn letter(number: usize) -> String {
    const LETTERS: usize = 26;
    let letter = char::from(b'A' + (number % LETTERS) as u8);
    match number / LETTERS {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

#[cfg(test)]
mod tests;
