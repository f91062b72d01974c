//! Claims of a publication as data: `claims.yaml`.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use wirecost_scenario::Place;

use crate::amount::{Amount, Published};
use crate::bound::Bound;
use crate::model::Model;
use crate::reference::Reference;
use crate::verdict::Verdict;

/// The version of the format of claims.
pub const VERSION: u64 = 1;

/// What a publication says, and which of our figures stands against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims {
    /// The name of the study.
    pub study: String,
    /// The publication.
    pub source: String,
    /// What differs from the publication.
    pub setup: Vec<Difference>,
    /// The runs that figures are of: names with the files of their scenarios.
    pub runs: Vec<Run>,
    /// The claims, in the order of the file.
    pub claims: Vec<Claim>,
    /// The plots of the publication.
    pub plots: Vec<Plot>,
    /// The tables of the publication.
    pub tables: Vec<Grid>,
    /// What the publication says that is not a number.
    pub notes: Vec<Note>,
}

/// A run that figures are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its name in references.
    pub name: String,
    /// The file of its scenario, beside the claims.
    pub scenario: String,
    /// How long it took on the machine where the study was written; `None` where nobody has said so.
    pub takes: Option<Duration>,
    /// The same with the changes of a quick run.
    pub takes_quick: Option<Duration>,
}

/// A difference between the publication's set-up and ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What differs.
    pub differs: String,
    /// The publication's.
    pub source: String,
    /// Ours.
    pub ours: String,
    /// The quantities that it touches: `time`, `bytes`, `energy`.
    pub touches: Vec<String>,
}

/// A figure over a dimension, with one line for each value of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Its line in the file.
    pub at: Place,
    /// What it shows.
    pub title: String,
    /// The figure.
    pub of: Reference,
    /// The dimension to the right.
    pub over: String,
    /// The dimension with one line for each value.
    pub lines: String,
    /// Whether the axis to the right is logarithmic.
    pub is_log_x: bool,
    /// Whether the axis upwards is logarithmic.
    pub is_log_y: bool,
}

/// Figures of one dimension's values.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Its line in the file.
    pub at: Place,
    /// What it shows.
    pub title: String,
    /// The dimension with one row for each value.
    pub rows: String,
    /// The columns: their titles and figures.
    pub columns: Vec<(String, Reference)>,
}

/// What the publication says that is not a number: it has no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Its name.
    pub id: String,
    /// What the publication says.
    pub says: String,
    /// Where in the publication.
    pub place: String,
    /// What is wrong with it.
    pub why: String,
}

/// One claim. It has a point for each combination of the values in `for`.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// Its line in the file.
    pub at: Place,
    /// Whether it holds published numbers against one another or against a bound, beside the claims of the publication.
    pub is_recomputed: bool,
    /// What the publication says, in our words.
    pub says: String,
    /// Where in the publication.
    pub place: String,
    /// The points.
    pub points: Vec<Point>,
    /// The tolerance of the published number as a share; `None` for the usual one.
    pub within: Option<f64>,
    /// What the publication leaves out and the comparison needs.
    pub lacks: Vec<String>,
    /// Values that are tried for what is left out.
    pub explored: Option<Explored>,
    /// What must be there to measure it: `server:rabbitmq`, `command:nbiot`.
    pub needs: Vec<String>,
    /// Other set-ups under which the published figure may come out.
    pub suspects: Vec<Suspect>,
    /// The verdict that must come out, for claims of one's own.
    pub expect: Option<Verdict>,
}

/// A dimension that the publication leaves out, with values to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// The dimension.
    pub dimension: String,
    /// The values.
    pub values: Vec<String>,
}

/// One published number, or shape, and the figures that it is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The values of `for`.
    pub at: Vec<(String, String)>,
    /// The published number; `None` if only a shape or an order is published.
    pub published: Option<Published>,
    /// What is measured.
    pub question: Question,
    /// The physical bound on the published number.
    pub bound: Option<Bound>,
    /// Figures that are shown beside the result, and judge nothing.
    pub beside: Vec<Reference>,
}

impl Point {
    /// The figures that it asks for, those beside the result included.
    pub fn references(&self) -> Vec<&Reference> {
        let judged = self.question.references().into_iter();
        judged.chain(&self.beside).collect()
    }
}

/// What is measured for a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// The published number is of this figure.
    Value(Reference),
    /// The published number is the first figure divided by the second.
    Ratio(Box<[Reference; 2]>),
    /// The figures are in this order, the least first.
    Order(Vec<Reference>),
    /// A figure over all values of a dimension.
    Trend(Box<Trend>),
    /// A figure is below or above a limit.
    Limit(Box<Limit>),
    /// The published number follows from other published numbers.
    Arithmetic {
        /// The expression.
        text: String,
        /// Its result.
        result: Amount,
    },
    /// The published number is this expression of figures and of a device's powers.
    Model(Box<Model>),
    /// A run in NB-IoT cells has evaluated these statements.
    Checks(Vec<CheckReference>),
    /// No figure of ours: there is only the bound, or what it needs is not there.
    Unmeasured,
}

/// A statement that a run in NB-IoT cells has evaluated: `RUN/ID`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReference {
    /// The name of the run.
    pub run: String,
    /// The statement's name in `checks` of the summary: `A4`.
    pub id: String,
}

/// How a figure changes over a dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// The figure.
    pub of: Reference,
    /// The dimension.
    pub over: String,
    /// The shape.
    pub shape: Shape,
}

/// The shape of a trend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// All values are equal.
    Constant,
    /// The last value is larger than the first, and none is smaller than the one before.
    Grows,
    /// The last value is smaller than the first, and none is larger than the one before.
    Falls,
    /// The figure is an offset plus `slope` times the value of the dimension.
    Linear {
        /// The slope, in base units.
        slope: f64,
    },
}

/// A limit that a figure keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The figure.
    pub of: Reference,
    /// The limit.
    pub at: Published,
    /// Whether the figure is above the limit.
    pub is_above: bool,
}

/// Another set-up under which the published figure may come out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// What it is: `captured behind segmentation offload`.
    pub name: String,
    /// The run that is changed; `None` for the claim's own.
    pub run: Option<String>,
    /// Changes to its scenario: `KEY=VALUE`, as `--set` takes them.
    pub set: Vec<String>,
    /// The stack that the set-up applies to; the other figures are of the claim's own run. `None` for all.
    pub of: Option<String>,
}

/// A run that figures are of: one of `runs`, or a changed one for a suspect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededRun {
    /// Its name in references.
    pub name: String,
    /// The run that it changes, or its own name.
    pub base: String,
    /// The changes to the scenario.
    pub set: Vec<String>,
}

impl Suspect {
    /// The run of the suspect's figures where the claim's own are of `run`.
    pub fn run(&self, run: &str) -> NeededRun {
        let base = self.run.as_deref().unwrap_or(run);
        let name = match self.set.is_empty() {
            true => base.to_owned(),
            false => format!("{base}({})", self.set.join(",")),
        };
        NeededRun {
            name,
            base: base.to_owned(),
            set: self.set.clone(),
        }
    }

    /// Whether the set-up applies to a figure.
    pub fn applies_to(&self, reference: &Reference) -> bool {
        let stacks = reference.selector.to_table().remove("stack").unwrap_or_default();
        self.of.as_ref().is_none_or(|of| stacks.contains(of))
    }
}

impl Claims {
    /// Names of the publication's claims, once each: `L3` for `L3-mqtt-128B` and `L3-coap-10kB`.
    pub fn names(&self) -> BTreeSet<&str> {
        let own = self.claims.iter().filter(|claim| !claim.is_recomputed);
        own.map(Claim::group).collect()
    }

    /// Names of what is recomputed from published numbers, notes included.
    pub fn recomputed(&self) -> BTreeSet<&str> {
        let rows = self.claims.iter().filter(|claim| claim.is_recomputed);
        let notes = self.notes.iter().map(|note| group(&note.id));
        rows.map(Claim::group).chain(notes).collect()
    }

    /// How many figures are judged: one for each point.
    pub fn figures(&self) -> usize {
        self.claims.iter().map(|claim| claim.points.len()).sum()
    }

    /// The runs that these claims need.
    pub fn needed(&self) -> Vec<NeededRun> {
        let mut runs: Vec<NeededRun> = self.claims.iter().flat_map(Claim::runs).collect();
        runs.sort_unstable();
        runs.dedup();
        runs
    }
}

/// The part of a name before its first hyphen.
fn group(id: &str) -> &str {
    id.split('-').next().unwrap_or(id)
}

impl Claim {
    /// The claim of the publication that this one is a part of: the name before the first hyphen.
    pub fn group(&self) -> &str {
        group(&self.id)
    }

    /// Whether a name, as `--claim` takes it, means this claim.
    pub fn is_named(&self, name: &str) -> bool {
        self.id == name || self.group() == name
    }

    /// The runs that the figures of the claim are of, those of its suspects included.
    pub fn runs(&self) -> Vec<NeededRun> {
        let references: Vec<&Reference> = self.points.iter().flat_map(Point::references).collect();
        let checks = self.points.iter().flat_map(|point| point.question.checks());
        let names = references.iter().map(|reference| &reference.run);
        let own = names.chain(checks.map(|check| &check.run)).map(|run| NeededRun {
            name: run.clone(),
            base: run.clone(),
            set: Vec::new(),
        });
        let changed = |suspect: &Suspect| {
            let meant = references
                .iter()
                .filter(|reference| suspect.applies_to(reference));
            meant
                .map(|reference| suspect.run(&reference.run))
                .collect::<Vec<_>>()
        };
        let mut runs: Vec<NeededRun> = own.chain(self.suspects.iter().flat_map(changed)).collect();
        runs.sort_unstable();
        runs.dedup();
        runs
    }
}

impl Question {
    /// The figures that it asks for.
    pub fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Value(of) => vec![of],
            Self::Ratio(both) => both.iter().collect(),
            Self::Order(all) => all.iter().collect(),
            Self::Trend(trend) => vec![&trend.of],
            Self::Limit(limit) => vec![&limit.of],
            Self::Model(model) => model.references().collect(),
            Self::Arithmetic { .. } | Self::Checks(_) | Self::Unmeasured => Vec::new(),
        }
    }

    /// The statements that it asks for.
    pub fn checks(&self) -> &[CheckReference] {
        match self {
            Self::Checks(checks) => checks,
            _ => &[],
        }
    }

    /// The same question of changed figures.
    ///
    /// # Errors
    /// The change fails for one of them.
    pub fn mapped<E>(&self, change: &mut dyn FnMut(&Reference) -> Result<Reference, E>) -> Result<Self, E> {
        Ok(match self {
            Self::Value(of) => Self::Value(change(of)?),
            Self::Ratio(both) => Self::Ratio(Box::new([change(&both[0])?, change(&both[1])?])),
            Self::Order(all) => Self::Order(all.iter().map(change).collect::<Result<_, _>>()?),
            Self::Trend(trend) => Self::Trend(Box::new(Trend {
                of: change(&trend.of)?,
                ..trend.as_ref().clone()
            })),
            Self::Limit(limit) => Self::Limit(Box::new(Limit {
                of: change(&limit.of)?,
                ..limit.as_ref().clone()
            })),
            Self::Model(model) => Self::Model(Box::new(model.mapped(change)?)),
            Self::Arithmetic { .. } | Self::Checks(_) | Self::Unmeasured => self.clone(),
        })
    }

    /// The kind of claim.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Value(_) | Self::Model(_) | Self::Arithmetic { .. } => "absolute",
            Self::Ratio(_) => "ratio",
            Self::Order(_) => "ordering",
            Self::Trend(_) => "trend",
            Self::Limit(_) | Self::Unmeasured => "bound",
            Self::Checks(_) => "checks",
        }
    }
}
