//! Whether a figure changed: by equality, by the ranks of its samples, or by intervals over repeated runs.

use wirecost_results::catalogue::Aggregation;
use wirecost_results::catalogue::{Metric, Quantity};
use wirecost_scenario::selector::Labels;
use wirecost_stats::estimate::MARGIN;
use wirecost_stats::{Judgement, mann_whitney, shares_differ, widening};

use super::Setting;
use crate::amount::Amount;
use crate::evidence::{Figure, SIM};
use crate::gate::Tolerance;

/// The share of comparisons of equal programs that tell a change: each of the tests of a comparison has its part of it (Bonferroni).
pub const MISS: f64 = 0.002;
/// How far times and rates that were measured live may move: a machine is never twice as busy with the same. In virtual
/// time it is the margin up to which no difference is of note.
pub const LIVE_TOLERANCE: f64 = 0.25;
/// From this number of equal samples on, another run of the same program has them too, even where packets are lost.
const ENOUGH: u64 = 5;
/// Values that differ by a rounding error are equal.
const ROUNDING: f64 = 1e-9;

/// A figure of both runs.
pub struct Pair {
    pub(super) metric: Metric,
    pub(super) aggregation: Aggregation,
    tolerance: Tolerance,
    pub(super) figures: [Option<Figure>; 2],
    basis: Basis,
}

/// What a pair is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Basis {
    /// Both are exact.
    Equality,
    /// Their samples.
    Ranks,
    /// How many messages ended so, of this many in each run.
    Shares([u64; 2]),
    /// Their intervals, each of this many independent values.
    Intervals(u64),
    /// What a limit allows: nothing says how far another run would be away.
    Value,
    /// Nothing says how far another run would be away, and no limit names it.
    Nothing,
}

/// What a pair comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It did not change, as far as can be told.
    Same,
    /// It changed.
    Changed,
    /// Nothing says how far another run of the same program would be away.
    Unjudged,
}

impl Pair {
    /// A figure of a cell or phase with these labels in both runs.
    pub fn new(
        metric: Metric,
        aggregation: Aggregation,
        tolerance: Tolerance,
        labels: &Labels,
        figures: [Option<Figure>; 2],
        setting: &Setting,
    ) -> Self {
        let basis = match &figures {
            [Some(old), Some(new)] => basis(metric, aggregation, tolerance, labels, [old, new], setting),
            // A figure that the same seed no longer has, or has now, is a change.
            [old, new] => match old.as_ref().or(new.as_ref()) {
                Some(one) if one.engine == SIM && setting.is_same_seed => Basis::Equality,
                _ => Basis::Nothing,
            },
        };
        Self {
            metric,
            aggregation,
            tolerance,
            figures,
            basis,
        }
    }

    /// Its name and both figures, as a person reads them: of bytes that ranks tell apart, the medians.
    pub fn shown(&self) -> (String, [Option<Amount>; 2]) {
        let amounts = self
            .figures
            .each_ref()
            .map(|figure| figure.as_ref().map(|figure| figure.amount));
        let named = |aggregation| format!("{} {}", self.metric.name(), Aggregation::names(&[aggregation]));
        match (self.basis, self.aggregation) {
            (Basis::Ranks, Aggregation::Mean) => {
                let median =
                    |figure: &Figure| Some(Amount::new(median(&figure.samples)?, figure.amount.dimension));
                let medians = self
                    .figures
                    .each_ref()
                    .map(|figure| figure.as_ref().and_then(median));
                (named(Aggregation::P50), medians)
            }
            (_, aggregation) => (named(aggregation), amounts),
        }
    }

    /// Whether it is judged by a test, which may miss the truth.
    pub fn is_tested(&self) -> bool {
        match self.basis {
            Basis::Ranks | Basis::Shares(_) | Basis::Intervals(_) => true,
            Basis::Equality | Basis::Value | Basis::Nothing => false,
        }
    }

    /// The verdict, being one of this many tests.
    pub fn verdict(&self, tests: usize) -> Verdict {
        let [Some(old), Some(new)] = &self.figures else {
            return match self.basis {
                Basis::Equality => Verdict::Changed,
                _ => Verdict::Unjudged,
            };
        };
        let moved = self.moved(old, new);
        let tolerance = self.part(old);
        let miss = MISS / tests.max(1) as f64;
        let is_seen = match self.basis {
            Basis::Equality => true,
            // Where nothing can be tested, equal values are still equal.
            Basis::Nothing if moved <= ROUNDING => false,
            Basis::Nothing => return Verdict::Unjudged,
            Basis::Value => true,
            Basis::Ranks => mann_whitney(&old.samples, &new.samples).is_some_and(|test| test.p < miss),
            Basis::Shares(of) => {
                let counted =
                    |figure: &Figure, all: u64| [(figure.amount.value * all as f64).round() as u64, all];
                shares_differ(counted(old, of[0]), counted(new, of[1])) < miss
            }
            Basis::Intervals(n) => is_apart(old, new, n, miss, tolerance),
        };
        // Both: a certain difference that is too small to matter is none, and so is a large one that may be chance.
        match is_seen && moved > tolerance + ROUNDING {
            true => Verdict::Changed,
            false => Verdict::Same,
        }
    }

    /// How far the figure moved: a share by parts of all messages, any other by parts of the earlier one.
    fn moved(&self, old: &Figure, new: &Figure) -> f64 {
        let distance = (new.amount.value - old.amount.value).abs();
        match distance > 0.0 {
            true if !self.is_share() => distance / old.amount.value.abs(),
            true | false => distance,
        }
    }

    fn is_share(&self) -> bool {
        self.metric.quantity_of(self.aggregation) == Quantity::Share
    }

    /// How far it may move.
    fn part(&self, old: &Figure) -> f64 {
        match self.tolerance {
            Tolerance::Given(part) => part,
            Tolerance::Usual if self.basis == Basis::Equality || self.metric.is_counted() => 0.0,
            Tolerance::Usual if old.engine == SIM || self.is_share() => MARGIN,
            Tolerance::Usual => LIVE_TOLERANCE,
        }
    }
}

fn basis(
    metric: Metric,
    aggregation: Aggregation,
    tolerance: Tolerance,
    labels: &Labels,
    figures: [&Figure; 2],
    setting: &Setting,
) -> Basis {
    let all = |is: fn(&Figure) -> bool| figures.iter().all(|figure| is(figure));
    let is_sim = all(|figure| figure.engine == SIM);
    // The same seed gives the same bytes and times: any difference is one of the programs.
    if is_sim && setting.is_same_seed {
        return Basis::Equality;
    }
    let n = figures[0].n.min(figures[1].n);
    let is_phase = labels.contains_key("phase");
    let is_cell = labels.contains_key("messages_per_connection");
    // Without loss even one sample says what all others would.
    let loses_nothing = is_cell && labels.get("link.loss").is_some_and(|loss| loss == "0%");
    if all(|figure| figure.is_exact) && (n >= ENOUGH || loses_nothing) {
        return Basis::Equality;
    }
    let have_samples = all(|figure| figure.samples.len() > 1);
    let have_intervals = all(|figure| figure.interval.is_some());
    // Of what was offered, as acknowledged, late and lost are.
    let is_of_messages = metric.quantity() == Quantity::Number && aggregation == Aggregation::Rate;
    // A share of counted messages has its distribution from the counts alone.
    if is_of_messages && !have_samples {
        return Basis::Shares(figures.map(|figure| figure.n));
    }
    let without_interval = match tolerance {
        // The bytes of a cell that differ are in its messages and connects, which have samples.
        Tolerance::Given(_) if is_cell && metric.is_counted() => Basis::Nothing,
        Tolerance::Given(_) => Basis::Value,
        Tolerance::Usual => Basis::Nothing,
    };
    // The samples of one live run say nothing about the next one, in which the machine may be busier.
    let is_told = metric.is_counted() || is_sim || tolerance != Tolerance::Usual;
    match () {
        () if is_cell && !is_told => Basis::Nothing,
        // Mann-Whitney compares samples by their ranks, which says something about medians and nothing about p99 or a maximum.
        () if is_cell && have_samples && (metric.is_counted() || aggregation == Aggregation::P50) => {
            Basis::Ranks
        }
        () if is_cell && have_intervals => Basis::Intervals(n),
        () if is_phase && have_samples && have_intervals => Basis::Intervals(n),
        () if !is_cell && !is_phase && have_intervals => {
            setting.replications.map_or(without_interval, Basis::Intervals)
        }
        () => without_interval,
    }
}

/// The upper median.
fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// Whether the intervals of both figures tell them apart where they are so wide that they miss the truth in a share `miss` of cases.
fn is_apart(old: &Figure, new: &Figure, n: u64, miss: f64, tolerance: f64) -> bool {
    let Some(factor) = widening(n, miss) else {
        return false;
    };
    let [old, new] = [old, new].map(|figure| figure.estimate().widened(factor));
    let margin = tolerance * old.value.abs();
    match old.plus(&new.scaled(-1.0)).as_difference(margin) {
        Judgement::Less | Judgement::More => true,
        Judgement::Equal | Judgement::Alike | Judgement::TooFew => false,
    }
}
