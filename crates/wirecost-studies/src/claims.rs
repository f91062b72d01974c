//! Claims of a publication as data: `claims.yaml`.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
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

/// A list of claims. Only what the publication claims is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum List {
    /// What the publication claims.
    Claims,
    /// Its numbers, held against one another and against bounds.
    Recomputed,
    /// What it does not claim: later work that it names, and questions of our own.
    Further,
}

impl List {
    /// Every list, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Claims, Self::Recomputed, Self::Further];

    /// Its key in a file of claims.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Claims => "claims",
            Self::Recomputed => "recomputed",
            Self::Further => "further",
        }
    }
}

/// One claim. It has a point for each combination of the values in `for`.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// Its line in the file.
    pub at: Place,
    /// The list that it is in.
    pub list: List,
    /// A hash of all that its verdict follows from, beside the published numbers: 16 hexadecimal digits. Other words have the same one.
    pub rule: String,
    /// The claims whose numbers it judges again, in their order: with another server, or by another computation.
    pub again: Vec<String>,
    /// What the publication says, in our words.
    pub says: String,
    /// Where in the publication.
    pub place: String,
    /// The points.
    pub points: Vec<Point>,
    /// The tolerance of the published number as a share; `None` for the usual one.
    pub within: Option<f64>,
    /// The share by which two figures differ at least if their order is of note.
    pub apart: f64,
    /// By what the publication measured it, where ours may be modelled: `by a current clamp`.
    pub measured: Option<String>,
    /// What the publication leaves out and the comparison needs.
    pub lacks: Vec<String>,
    /// Why the text cannot mean anything else than its readings.
    pub no_other_reading: Option<String>,
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
    /// What the text can mean: at least one. A claim that leaves nothing open has one without a name.
    pub readings: Vec<TextReading>,
    /// Figures that are shown beside the result, and judge nothing.
    pub beside: Vec<Reference>,
}

impl Point {
    /// The figures that it asks for, those beside the result included.
    pub fn references(&self) -> Vec<&Reference> {
        let of_readings = self.readings.iter();
        let judged = of_readings.flat_map(|reading| reading.question.references());
        judged.chain(&self.beside).collect()
    }

    /// What the text means at first sight: the first of its readings.
    pub fn first(&self) -> &TextReading {
        &self.readings[0]
    }
}

/// One thing that the text can mean where it leaves something open.
#[derive(Clone, Debug, PartialEq)]
pub struct TextReading {
    /// What it takes the text to say: `twenty messages in flight`. Empty where the claim names no readings.
    pub name: String,
    /// What is measured under it.
    pub question: Question,
    /// The physical bound on the published number under it.
    pub bound: Option<Bound>,
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
    /// Curves have their peaks, falls or means in this order.
    Curves(Box<Curves>),
    /// No figure of ours: there is only the bound, or what it needs is not there.
    Unmeasured,
}

/// Curves over a dimension, in the order of their positions, the least first.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// The figure of each curve.
    pub of: Vec<Reference>,
    /// The dimension.
    pub over: String,
    /// What is compared.
    pub at: Position,
}

/// A position of a curve.
#[derive(Clone, Debug, PartialEq)]
pub enum Position {
    /// The value of the dimension at which the figure is largest.
    Peak,
    /// The value from which on it is below a limit.
    Below(Published),
    /// The mean of the figure over all values.
    Mean,
}

/// How a figure changes over a dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// The figure.
    pub of: Reference,
    /// The figure that it is divided by; `None`: it is meant itself.
    pub by: Option<Reference>,
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

/// A limit that figures keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The figures: at least one, each of which keeps it.
    pub of: Vec<Reference>,
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
    /// The folder of its results, as a person reads it.
    pub folder: String,
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
        let folder = match self.set.is_empty() {
            // Without changes it is the claim's own run, which need not be run twice.
            true => folder_name(base),
            false => folder_name(&format!("{base}-{}", self.name)),
        };
        NeededRun {
            name,
            folder,
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
    /// The claims of a list.
    pub fn in_list(&self, list: List) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(move |claim| claim.list == list)
    }

    /// Names of the publication's claims, once each: `L3` for `L3-mqtt-128B` and `L3-coap-10kB`.
    pub fn names(&self) -> BTreeSet<&str> {
        self.in_list(List::Claims).map(Claim::group).collect()
    }

    /// Names of what is recomputed from published numbers, notes included.
    pub fn recomputed(&self) -> BTreeSet<&str> {
        let notes = self.notes.iter().map(|note| group(&note.id));
        self.in_list(List::Recomputed)
            .map(Claim::group)
            .chain(notes)
            .collect()
    }

    /// Names of what the publication does not claim.
    pub fn further(&self) -> BTreeSet<&str> {
        self.in_list(List::Further)
            .map(|claim| claim.id.as_str())
            .collect()
    }

    /// Leaves out the suspects and their runs. They change no verdict.
    pub fn leave_suspects(&mut self) {
        self.claims.iter_mut().for_each(|claim| claim.suspects.clear());
    }

    /// How many figures are judged: one for each point.
    pub fn figures(&self) -> usize {
        self.claims.iter().map(|claim| claim.points.len()).sum()
    }

    /// How many published numbers, and statements without one, are judged: each once, however many rows judge it.
    pub fn numbers(&self) -> usize {
        let first = self.in_list(List::Claims).filter(|claim| claim.again.is_empty());
        first.map(|claim| claim.points.len()).sum()
    }

    /// Two runs whose results would be in one folder.
    pub fn in_one_folder(&self) -> Option<[NeededRun; 2]> {
        let mut runs = self.needed();
        runs.sort_by(|one, other| one.folder.cmp(&other.folder));
        let pair = runs.windows(2).find(|pair| pair[0].folder == pair[1].folder)?;
        Some([pair[0].clone(), pair[1].clone()])
    }

    /// The runs that these claims need.
    pub fn needed(&self) -> Vec<NeededRun> {
        let mut runs: Vec<NeededRun> = self.claims.iter().flat_map(Claim::runs).collect();
        once(&mut runs);
        runs
    }
}

/// Leaves each run once: suspects of several claims may be the same set-up under other names.
fn once(runs: &mut Vec<NeededRun>) {
    runs.sort_unstable();
    runs.dedup_by(|one, other| one.name == other.name);
}

/// The most letters of a folder's name.
const LONGEST_NAME: usize = 60;

/// The name of a folder as a person reads it: letters and digits, the rest as single hyphens, whole words up to 60 letters.
fn folder_name(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_');
    let words = name.split(|letter: char| !is_plain(letter));
    let mut folder = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if folder.len() + 1 + word.len() > LONGEST_NAME && !folder.is_empty() {
            break;
        }
        if !folder.is_empty() {
            folder.push('-');
        }
        folder.push_str(word);
    }
    folder
}

/// The part of a name before its first hyphen.
pub(crate) fn group(id: &str) -> &str {
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
        let names = references.iter().map(|reference| &reference.run);
        let own = names.map(|run| NeededRun {
            name: run.clone(),
            folder: folder_name(run),
            base: run.clone(),
            set: Vec::new(),
        });
        let first = self
            .points
            .iter()
            .flat_map(|point| point.first().question.references());
        // A suspect explains the number as the text is read first: its other readings are not tried with it.
        let first: Vec<&Reference> = first.collect();
        let changed = |suspect: &Suspect| {
            let meant = first.iter().filter(|reference| suspect.applies_to(reference));
            meant
                .map(|reference| suspect.run(&reference.run))
                .collect::<Vec<_>>()
        };
        let mut runs: Vec<NeededRun> = own.chain(self.suspects.iter().flat_map(changed)).collect();
        once(&mut runs);
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
            Self::Trend(trend) => std::iter::once(&trend.of).chain(&trend.by).collect(),
            Self::Limit(limit) => limit.of.iter().collect(),
            Self::Curves(curves) => curves.of.iter().collect(),
            Self::Model(model) => model.references().collect(),
            Self::Arithmetic { .. } | Self::Unmeasured => Vec::new(),
        }
    }

    /// The dimension over which its figures are taken, if there is one.
    pub fn over(&self) -> Option<&str> {
        match self {
            Self::Trend(trend) => Some(&trend.over),
            Self::Curves(curves) => Some(&curves.over),
            Self::Value(_)
            | Self::Ratio(_)
            | Self::Order(_)
            | Self::Limit(_)
            | Self::Arithmetic { .. }
            | Self::Model(_)
            | Self::Unmeasured => None,
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
                by: trend.by.as_ref().map(&mut *change).transpose()?,
                ..trend.as_ref().clone()
            })),
            Self::Curves(curves) => Self::Curves(Box::new(Curves {
                of: curves.of.iter().map(change).collect::<Result<_, _>>()?,
                ..curves.as_ref().clone()
            })),
            Self::Limit(limit) => Self::Limit(Box::new(Limit {
                of: limit.of.iter().map(change).collect::<Result<_, _>>()?,
                ..limit.as_ref().clone()
            })),
            Self::Model(model) => Self::Model(Box::new(model.mapped(change)?)),
            Self::Arithmetic { .. } | Self::Unmeasured => self.clone(),
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
            Self::Curves(_) => "curves",
        }
    }
}
