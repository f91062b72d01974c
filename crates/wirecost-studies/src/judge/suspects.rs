//! Suspects: other set-ups under which the published figure may come out. They never change a verdict.

use serde::{Deserialize, Serialize};

use super::Court;
use crate::amount::digits;
use crate::claims::{Point, Suspect};
use crate::evidence::Figure;
use crate::reference::Reference;
use crate::verdict::Verdict;

/// Another set-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedSuspect {
    /// What it is.
    pub name: String,
    /// What it changes in the scenario: `KEY=VALUE`.
    pub set: Vec<String>,
    /// Points at which the published figure comes out.
    pub comes_out: usize,
    /// The points of the claim, in their order.
    pub points: Vec<SuspectPoint>,
}

/// A point of a claim under another set-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuspectPoint {
    /// Our result under it; null where it was not run.
    pub ours: Option<String>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Whether the published figure comes out.
    pub comes_out: bool,
    /// The figures that the set-up changes.
    pub changes: Vec<Change>,
}

/// A figure with and without the other set-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The figure.
    pub reference: String,
    /// As the claim has it.
    pub without: String,
    /// Under the other set-up.
    pub with: String,
    /// How many times the second is in the first; null if the second is 0.
    pub times: Option<f64>,
}

impl JudgedSuspect {
    /// The result in one sentence, without a full stop.
    pub fn sentence(&self) -> String {
        let Self { name, points, .. } = self;
        // Of points that are alike, the one that the set-up changes most.
        let alike = points
            .iter()
            .rev()
            // The sentence says whether it comes out: a point of the other kind would contradict it.
            .filter(|point| point.comes_out == (self.comes_out > 0) && point.ours.is_some());
        let size = |point: &&SuspectPoint| point.changes.iter().map(Change::size).fold(0.0, f64::max);
        let Some(first) = alike.max_by(|one, other| size(one).total_cmp(&size(other))) else {
            let why = points.iter().find_map(|point| point.missing.as_deref());
            return format!("not run under: {name} ({})", why.unwrap_or("it has no points"));
        };
        let ours = first.ours.as_deref().unwrap_or_default();
        let mut text = match (self.comes_out, points.len()) {
            (0, _) => format!("does not come out under: {name} (ours {ours})"),
            (_, 1) => format!("comes out under: {name} (ours {ours})"),
            (count, all) => format!("comes out under: {name} at {count} of {all} points (ours {ours})"),
        };
        if let Some(change) = self.largest_change() {
            text.push_str(&format!("; {}", change.sentence()));
        }
        text
    }

    /// The figure that changes by the largest factor.
    fn largest_change(&self) -> Option<&Change> {
        let changes = self.points.iter().flat_map(|point| &point.changes);
        changes
            .filter(|change| change.size() > 0.01)
            .max_by(|one, other| one.size().total_cmp(&other.size()))
    }
}

impl Change {
    fn from_figures(without: &Figure, with: &Figure) -> Self {
        let times = without.amount.value / with.amount.value;
        Self {
            reference: without.reference.clone(),
            without: without.amount.to_string(),
            with: with.amount.to_string(),
            times: times.is_finite().then_some(times),
        }
    }

    /// How far the factor is from 1, as a logarithm.
    fn size(&self) -> f64 {
        self.times.map_or(0.0, |times| times.ln().abs())
    }

    /// `10.8 times less: 33,352 B without it, 3,080 B with it`.
    fn sentence(&self) -> String {
        let times = self.times.unwrap_or(1.0);
        let (factor, direction) = match times >= 1.0 {
            true => (times, "less"),
            false => (1.0 / times, "more"),
        };
        let Self { without, with, .. } = self;
        format!(
            "{} times {direction}: {without} without it, {with} with it",
            digits(factor)
        )
    }
}

impl Court<'_> {
    /// A suspect is judged by the rule of the published number alone.
    pub(super) fn suspect(&self, suspect: &Suspect) -> Result<JudgedSuspect, String> {
        let points = self.claim.points.iter().map(|point| self.under(point, suspect));
        let points = points.collect::<Result<Vec<SuspectPoint>, String>>()?;
        Ok(JudgedSuspect {
            name: suspect.name.clone(),
            set: suspect.set.clone(),
            comes_out: points.iter().filter(|point| point.comes_out).count(),
            points,
        })
    }

    fn under(&self, point: &Point, suspect: &Suspect) -> Result<SuspectPoint, String> {
        let asked = self.asked(&point.first().question)?;
        let change = &mut |reference: &Reference| -> Result<Reference, std::convert::Infallible> {
            Ok(moved(reference, suspect))
        };
        let Ok(question) = asked.mapped(change);
        let outcome = match self.by_rule(point, &question)? {
            Ok(outcome) => outcome,
            // A suspect changes no verdict: without its run the claim is judged all the same.
            Err(why) => return Ok(SuspectPoint::missing(why)),
        };
        let own = self
            .by_rule(point, &asked)?
            .map(|own| own.figures)
            .unwrap_or_default();
        Ok(SuspectPoint {
            comes_out: outcome.verdict == Verdict::Reproduced,
            changes: own
                .iter()
                .zip(&outcome.figures)
                // What the set-up does not change explains nothing.
                .filter(|(without, with)| without.amount != with.amount)
                .map(|(without, with)| Change::from_figures(without, with))
                .collect(),
            ours: Some(outcome.ours),
            missing: None,
        })
    }
}

impl SuspectPoint {
    fn missing(why: String) -> Self {
        Self {
            ours: None,
            missing: Some(why),
            comes_out: false,
            changes: Vec::new(),
        }
    }
}

/// The figure in the suspect's run, if the suspect applies to it.
fn moved(reference: &Reference, suspect: &Suspect) -> Reference {
    match suspect.applies_to(reference) {
        true => reference.in_run(&suspect.run(&reference.run).name),
        false => reference.clone(),
    }
}
