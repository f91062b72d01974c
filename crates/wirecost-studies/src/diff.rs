//! What changed between two results folders, of one version or of two.
//!
//! A figure is exact where no sample of either run differs in it, or where both simulated the same seed: any difference is a change.
//! Others change where their samples, or their intervals over repeated runs, tell so and the change exceeds its tolerance
//! ([`judged`]). All such tests of a comparison together miss the truth in [`judged::MISS`] of the comparisons of equal programs.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use wirecost_results::catalogue::Aggregation;
use wirecost_results::catalogue::Metric;
use wirecost_scenario::selector::{DEVICE, HOP, Labels};

use crate::evidence::{Evidence, Figure, Refused};
use crate::gate::Gate;
use crate::reference::Reference;

pub mod judged;

use judged::{Pair, Verdict};

/// The names of the two runs in the evidence.
pub const RUNS: [&str; 2] = ["old", "new"];

/// What is not compared: what was asked for, validity, which is told first, and a month, which follows from the other bytes.
const NOT_COMPARED: [Metric; 5] = [
    Metric::MonthBytes,
    Metric::ScheduleLag,
    Metric::Offered,
    Metric::OfferedRate,
    Metric::Valid,
];

/// What changed, and what could not be judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Cell by cell.
    pub changes: Vec<Change>,
    /// Cells and phases whose figures cannot be used in one of the runs.
    pub invalid: Vec<Invalid>,
    /// Metrics of which some figures were not judged, because they have no interval.
    pub unjudged: Vec<&'static str>,
}

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// A figure.
    Figure {
        /// The cell or phase: its dimensions that tell it apart from the others.
        of: String,
        /// The metric.
        metric: String,
        /// Its figure in the first run; null if it has none.
        old: Option<String>,
        /// Its figure in the second run; null if it has none.
        new: Option<String>,
        /// The second figure over the first, minus 1; null without both.
        relative: Option<f64>,
    },
    /// Cells, or all cells of a stack, that only one of the runs has.
    Only {
        /// The cell or phase, or the stack.
        of: String,
        /// `old` or `new`.
        run: &'static str,
        /// How many of them.
        cells: usize,
        /// Why the other run does not have it; null if it was not asked for.
        why: Option<String>,
    },
}

/// A cell or phase whose figures cannot be used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Invalid {
    /// The cell or phase.
    pub of: String,
    /// `old` or `new`.
    pub run: &'static str,
    /// What makes it invalid, in the words of its run.
    pub why: String,
}

/// A cell or phase with its engine.
type Subject = (Labels, String);

/// All changes from [`RUNS`]`[0]` to `[1]`, in the order of the cells.
pub fn compare(evidence: &Evidence, gate: &Gate) -> Comparison {
    let matching = Matching::from_evidence(evidence);
    let names = telling(&matching.subjects);
    let (mut changes, invalid) = matching.told(&names);
    let mut pairs: Vec<(usize, Pair)> = Vec::new();
    let compared = Metric::ALL.iter().copied();
    for metric in compared.filter(|metric| !NOT_COMPARED.contains(metric)) {
        for (aggregation, tolerance) in gate.figures(metric) {
            let [old, new] = RUNS.map(|run| matching.figures(evidence, run, metric, aggregation));
            for (index, subject) in matching.subjects.iter().enumerate() {
                let both = [old.get(subject).cloned(), new.get(subject).cloned()];
                if matching.is_comparable(index) && both.iter().any(Option::is_some) {
                    let pair = Pair::new(
                        metric,
                        aggregation,
                        tolerance,
                        &subject.0,
                        both,
                        &matching.setting,
                    );
                    pairs.push((index, pair));
                }
            }
        }
    }
    // Counted before the first verdict: each test has its part of the whole error rate (Bonferroni), which the number of all decides.
    let tests = pairs.iter().filter(|(_, pair)| pair.is_tested()).count();
    let mut unjudged = BTreeSet::new();
    // Metrics were walked through one after the other; a reader wants all of a cell together.
    pairs.sort_by_key(|(index, _)| *index);
    for (index, pair) in &pairs {
        match pair.verdict(tests) {
            Verdict::Same => {}
            Verdict::Unjudged => drop(unjudged.insert(pair.metric.name())),
            Verdict::Changed => changes.push(told(names[*index].clone(), pair)),
        }
    }
    Comparison {
        changes,
        invalid,
        unjudged: unjudged.into_iter().collect(),
    }
}

/// Whether the two runs have a cell or phase in common.
pub fn has_common(evidence: &Evidence) -> bool {
    let matching = Matching::from_evidence(evidence);
    (0..matching.subjects.len()).any(|index| matching.presence[index].iter().all(|there| *there))
}

/// What both runs measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Whether both have the same seed.
    pub is_same_seed: bool,
    /// The least number of replications of points in NB-IoT cells.
    pub replications: Option<u64>,
}

/// The cells and phases of both runs by the dimensions that both know: a version may have more than the other.
struct Matching {
    dimensions: BTreeSet<&'static str>,
    subjects: Vec<Subject>,
    /// Whether each run has it.
    presence: Vec<[bool; 2]>,
    /// Why each run has no figures of it that can be used.
    refused: Vec<[Option<Refused>; 2]>,
    setting: Setting,
}

impl Matching {
    fn from_evidence(evidence: &Evidence) -> Self {
        let runs = RUNS.map(|run| evidence.subjects(run));
        let keys = |subjects: &[Subject]| -> BTreeSet<&'static str> {
            subjects
                .iter()
                .flat_map(|(labels, _)| labels.keys().copied())
                .collect()
        };
        let [old, new] = [0, 1].map(|run| keys(&runs[run]));
        // A dimension that only one version of the program labels must not make all cells differ.
        let mut dimensions: BTreeSet<&'static str> = old.intersection(&new).copied().collect();
        // Subjects of figures by hop or by device file: no label of the run itself.
        dimensions.extend([HOP, DEVICE]);
        let [seed, other_seed] = RUNS.map(|run| evidence.seed(run));
        let replications = RUNS.iter().filter_map(|run| evidence.replications(run));
        let mut matching = Self {
            dimensions,
            subjects: Vec::new(),
            presence: Vec::new(),
            refused: Vec::new(),
            setting: Setting {
                is_same_seed: seed.is_some() && seed == other_seed,
                // The smaller number: an interval of few replications is wide, whatever the other run has.
                replications: replications.min(),
            },
        };
        for (run, subjects) in runs.into_iter().enumerate() {
            for subject in subjects {
                let index = matching.index(subject);
                matching.presence[index][run] = true;
            }
            for (subject, why) in evidence.refusals(RUNS[run]) {
                let index = matching.index(subject);
                matching.refused[index][run] = Some(why);
            }
        }
        matching
    }

    fn projected(&self, (mut labels, engine): Subject) -> Subject {
        labels.retain(|key, _| self.dimensions.contains(key));
        (labels, engine)
    }

    fn index(&mut self, subject: Subject) -> usize {
        let subject = self.projected(subject);
        if let Some(index) = self.subjects.iter().position(|known| *known == subject) {
            return index;
        }
        self.subjects.push(subject);
        self.presence.push([false; 2]);
        self.refused.push([None, None]);
        self.subjects.len() - 1
    }

    fn is_comparable(&self, index: usize) -> bool {
        self.presence[index] == [true; 2] && self.refused[index].iter().all(Option::is_none)
    }

    fn figures(
        &self,
        evidence: &Evidence,
        run: &str,
        metric: Metric,
        aggregation: Aggregation,
    ) -> BTreeMap<Subject, Figure> {
        let all = evidence.all(&Reference::to_all(run, metric, aggregation));
        all.into_iter()
            .map(|(subject, figure)| (self.projected(subject), figure))
            .collect()
    }

    /// What only one run has, and what cannot be used in one. A stack that only one run has is told once.
    fn told(&self, names: &[String]) -> (Vec<Change>, Vec<Invalid>) {
        let (mut only, mut invalid) = (Vec::new(), Vec::new());
        let mut told = BTreeSet::new();
        for (index, name) in names.iter().enumerate() {
            let Some(run) = self.only(index) else {
                invalid.extend(self.invalid(index, name));
                continue;
            };
            let (of, cells) = self.only_together(index, run, name);
            if told.insert(of.clone()) {
                let run = RUNS[run];
                let why = self.not_run(index);
                only.push(Change::Only { of, run, cells, why });
            }
        }
        (only, invalid)
    }

    /// The stack with its cells, where the run alone has all of them; else the one cell.
    fn only_together(&self, index: usize, run: usize, name: &str) -> (String, usize) {
        let stack = self.stack(index);
        let alike = self.of_stack(stack);
        match alike.iter().all(|other| self.only(*other) == Some(run)) {
            true => (stack.to_owned(), alike.len()),
            false => (name.to_owned(), 1),
        }
    }

    /// Why a run did not run it.
    fn not_run(&self, index: usize) -> Option<String> {
        let mut refused = self.refused[index].iter().flatten();
        refused.find_map(|why| match why {
            Refused::NotRun(why) => Some(why.clone()),
            Refused::Invalid(_) => None,
        })
    }

    fn invalid<'a>(&'a self, index: usize, name: &'a str) -> impl Iterator<Item = Invalid> + 'a {
        let runs = RUNS.iter().zip(&self.refused[index]);
        runs.filter_map(move |(run, refused)| match refused {
            Some(Refused::Invalid(why)) => Some(Invalid {
                of: name.to_owned(),
                run,
                why: why.clone(),
            }),
            Some(Refused::NotRun(_)) | None => None,
        })
    }

    /// The run that alone has it; `None` if both or none have.
    fn only(&self, index: usize) -> Option<usize> {
        let ran = [0, 1].map(|run| {
            self.presence[index][run] && !matches!(self.refused[index][run], Some(Refused::NotRun(_)))
        });
        match ran {
            [true, false] => Some(0),
            [false, true] => Some(1),
            [true, true] | [false, false] => None,
        }
    }

    fn stack(&self, index: usize) -> &str {
        self.subjects[index].0.get("stack").map_or("", String::as_str)
    }

    fn of_stack(&self, stack: &str) -> Vec<usize> {
        (0..self.subjects.len())
            .filter(|index| self.stack(*index) == stack)
            .collect()
    }
}

fn told(of: String, pair: &Pair) -> Change {
    let (metric, [old, new]) = pair.shown();
    let relative = old
        .zip(new)
        .map(|(old, new)| new.value / old.value - 1.0)
        // From zero, any change is infinitely large.
        .filter(|relative| relative.is_finite());
    Change::Figure {
        of,
        metric,
        old: old.map(|old| old.to_string()),
        new: new.map(|new| new.to_string()),
        relative,
    }
}

/// The dimensions in which the subjects differ, and the engine.
fn telling(subjects: &[Subject]) -> Vec<String> {
    let differs = |key: &str| {
        subjects
            .iter()
            .any(|(labels, _)| labels.get(key) != subjects[0].0.get(key))
    };
    let name = |(labels, engine): &Subject| {
        let own = labels
            .iter()
            .filter(|(key, _)| **key != "engine" && (**key == "stack" || differs(key)));
        let own: Vec<&str> = own.map(|(_, value)| value.as_str()).collect();
        format!("{} ({engine})", own.join(" "))
    };
    subjects.iter().map(name).collect()
}

/// The changes as an entry of a changelog, a line for each.
pub fn text(changes: &[Change]) -> String {
    match changes {
        [] => "nothing changed beyond its interval\n".to_owned(),
        changes => changes.iter().map(line).collect(),
    }
}

fn line(change: &Change) -> String {
    let missing = || "no figure".to_owned();
    match change {
        Change::Figure {
            of,
            metric,
            old,
            new,
            relative,
        } => {
            let by = relative.map(|relative| format!(" ({:+.1} %)", relative * 100.0));
            format!(
                "- {of}: {metric} from {} to {}{}\n",
                old.clone().unwrap_or_else(missing),
                new.clone().unwrap_or_else(missing),
                by.unwrap_or_default()
            )
        }
        Change::Only { of, run, cells, why } => {
            let cells = match cells {
                1 => String::new(),
                cells => format!(" ({cells} cells)"),
            };
            let why = why
                .as_ref()
                .map(|why| format!(": the other one did not run it: {why}"));
            format!(
                "- {of}: in the {run} run alone{cells}{}\n",
                why.unwrap_or_default()
            )
        }
    }
}

#[cfg(test)]
mod tests;
