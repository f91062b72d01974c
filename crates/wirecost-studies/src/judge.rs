//! Judges claims: the bound first, which needs no measurement, then what is missing, then the figures.
//!
//! - `outcome`: what the figures of a point come to
//! - [`rules`]: the rule of each kind of claim
//! - `trends`: that of figures that change with what is varied
//! - [`suspects`]: other set-ups under which the published figure may come out
//! - [`engines`]: what the figures of each engine alone come to
//! - [`compare`]: what it takes to tell two figures apart

use std::collections::BTreeMap;

use serde::Serialize;
use wirecost_scenario::ScenarioError;

use crate::amount::{Amount, Dimension};
use crate::claims::{Claim, Claims, Point, Question, Shape};
use crate::evidence::{Evidence, Figure, Missing};
use crate::reference::Reference;
use crate::verdict::Verdict;

pub mod compare;
pub mod engines;
mod outcome;
pub mod rules;
pub mod suspects;
mod trends;

pub use engines::ByEngine;
use outcome::Outcome;
pub use suspects::JudgedSuspect;

/// A judged claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Its name.
    pub id: String,
    /// What the publication says, in our words.
    pub says: String,
    /// Where in the publication.
    #[serde(rename = "where")]
    pub place: String,
    /// `absolute`, `ratio`, `ordering`, `trend`, `bound` or `checks`.
    pub kind: String,
    /// The dimension of the published numbers.
    #[serde(skip)]
    pub dimension: Dimension,
    /// The gravest verdict of its points.
    pub verdict: Verdict,
    /// The reason of that verdict, in one sentence.
    pub why: String,
    /// The points, in the order of the file.
    pub points: Vec<JudgedPoint>,
    /// Other set-ups, and whether the published figure comes out under them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<JudgedSuspect>,
    /// The verdict that had to come out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Verdict>,
}

/// A judged point of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedPoint {
    /// The values of `for`.
    pub at: BTreeMap<String, String>,
    /// The published number, as printed.
    pub published: Option<String>,
    /// The unit of the numbers of the point, e.g. `s` or `B`; empty for ratios and other plain numbers.
    pub unit: &'static str,
    /// The published number.
    pub published_value: Option<Amount>,
    /// The bound.
    pub bound_value: Option<Amount>,
    /// The bound as text.
    pub bound: Option<String>,
    /// Whether the bound is the most possible figure.
    pub is_upper_bound: bool,
    /// How the bound comes about.
    pub bound_from: Option<String>,
    /// Our result as text; null without one.
    pub ours: Option<String>,
    /// Figures beside it that judge nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// Our result, where it is one number: the figure, or the ratio.
    pub ours_value: Option<Amount>,
    /// Its 95 % interval.
    pub ours_interval: Option<[Amount; 2]>,
    /// The figures that were compared.
    pub figures: Vec<FigureRecord>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub why: String,
    /// Why the published number is another one than ours or than its bound: arithmetic, or what ours is mostly spent on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the figures of each engine alone come to, where both have them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub engines: Vec<ByEngine>,
    /// Why the engines do not come to the same, if they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engines_differ: Option<String>,
}

/// A figure behind a verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureRecord {
    /// The text that refers to it.
    pub reference: String,
    /// The run that it is of.
    pub run: String,
    /// With its unit.
    pub text: String,
    /// The figure, as a number in `unit`.
    pub value: Amount,
    /// The unit of `value` and `interval`, e.g. `s` or `B`; empty for plain numbers.
    pub unit: &'static str,
    /// Its 95 % interval.
    pub interval: Option<[Amount; 2]>,
    /// Whether every sample has this value.
    pub exact: bool,
    /// `live` or `sim`.
    pub engine: String,
    /// Samples.
    pub n: u64,
    /// The device file by which it is modelled; absent for what was counted or measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modelled_by: Option<&'static str>,
}

impl Judged {
    /// The point with the gravest verdict; of several, the one whose published number is farthest from its bound.
    pub fn worst_point(&self) -> Option<&JudgedPoint> {
        let gravest = self.points.iter().filter(|point| point.verdict == self.verdict);
        let distance = |point: &&JudgedPoint| {
            let [published, bound] = [point.published_value?, point.bound_value?];
            Some((bound.value / published.value).ln().abs())
        };
        gravest.rev().max_by(|one, other| {
            distance(one)
                .partial_cmp(&distance(other))
                .unwrap_or(std::cmp::Ordering::Equal)
        })
    }
}

impl Claims {
    /// Judges every claim. `absent` has the reason for each thing of `needs` that is not there.
    ///
    /// # Errors
    /// A reference fits no cell of its run, or several: the claims are wrong, at the line of this claim.
    pub fn judge(
        &self,
        evidence: &Evidence,
        absent: &BTreeMap<String, String>,
    ) -> Result<Vec<Judged>, ScenarioError> {
        let judge = |claim: &Claim| {
            let court = Court {
                claim,
                evidence,
                absent,
            };
            court.judge().map_err(|why| {
                ScenarioError::new(&claim.at, why)
                    .with_hint("the selectors of a claim name one cell, or phase, of its run")
            })
        };
        self.claims.iter().map(judge).collect()
    }
}

/// One claim before its judgement.
#[derive(Clone, Copy, Debug)]
struct Court<'a> {
    claim: &'a Claim,
    evidence: &'a Evidence,
    absent: &'a BTreeMap<String, String>,
}

impl Court<'_> {
    fn judge(&self) -> Result<Judged, String> {
        let points = self.claim.points.iter().map(|point| self.point(point));
        let points = points.collect::<Result<Vec<JudgedPoint>, String>>()?;
        let suspects = self.claim.suspects.iter().map(|suspect| self.suspect(suspect));
        let gravest = points.iter().min_by_key(|point| point.verdict);
        Ok(Judged {
            id: self.claim.id.clone(),
            says: self.claim.says.clone(),
            place: self.claim.place.clone(),
            kind: self
                .claim
                .points
                .first()
                .map_or("", |point| point.question.kind())
                .to_owned(),
            dimension: self
                .claim
                .points
                .iter()
                .find_map(|point| {
                    let published = point
                        .published
                        .as_ref()
                        .map(|published| published.amount.dimension);
                    published.or_else(|| Some(point.bound.as_ref()?.amount.dimension))
                })
                .unwrap_or_default(),
            verdict: gravest.map_or(Verdict::NotRun, |point| point.verdict),
            why: gravest.map(|point| point.why.clone()).unwrap_or_default(),
            suspects: suspects.collect::<Result<_, _>>()?,
            expect: self.claim.expect,
            points,
        })
    }

    fn point(&self, point: &Point) -> Result<JudgedPoint, String> {
        let measured = self.measured(point)?;
        let outcome = self.verdict(point, &measured)?;
        let result = measured.as_ref().ok();
        let engines = self.by_engines(point);
        let published = point.published.as_ref();
        let dimension = dimension(point, result);
        let of_point = |value: f64| Amount::new(value, dimension);
        Ok(JudgedPoint {
            at: point.at.iter().cloned().collect(),
            published: published.map(ToString::to_string),
            unit: dimension.unit(),
            published_value: published.map(|published| published.amount),
            bound_value: point.bound.as_ref().map(|bound| bound.amount),
            bound: point.bound.as_ref().map(|bound| bound.amount.to_string()),
            is_upper_bound: point.bound.as_ref().is_some_and(|bound| bound.is_upper),
            bound_from: point.bound.as_ref().map(|bound| bound.text.clone()),
            ours: result
                .map(|outcome| outcome.ours.clone())
                .filter(|text| !text.is_empty()),
            beside: self.beside(point)?,
            ours_value: result.and_then(|outcome| outcome.value).map(of_point),
            ours_interval: result
                .and_then(|outcome| outcome.interval)
                .map(|ends| ends.map(of_point)),
            figures: result
                .map(|outcome| outcome.figures.iter().map(record).collect())
                .unwrap_or_default(),
            reason: reason(outcome.0, point, result),
            verdict: outcome.0,
            why: outcome.1,
            engines_differ: engines::difference(&engines),
            engines,
        })
    }

    /// The outcome of the point's own rule, or why a figure is missing.
    fn measured(&self, point: &Point) -> Result<Result<Outcome, String>, String> {
        if let Some(why) = self.claim.needs.iter().find_map(|need| self.absent.get(need)) {
            return Ok(Err(why.clone()));
        }
        self.by_rule(point, &self.asked(point)?)
    }

    /// The figures beside the result that were measured: `http1: late 26 %, refused 0 %; mqtt-qos0: late 0 %, refused 0 %`.
    fn beside(&self, point: &Point) -> Result<Option<String>, String> {
        let names = rules::telling(&point.beside);
        let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
        for (name, reference) in names.iter().zip(&point.beside) {
            let text = match self.evidence.figure(reference) {
                Ok(figure) => rules::shown(&figure),
                Err(Missing::NotRun(_)) => continue,
                Err(Missing::Wrong(why)) => return Err(format!("{}: {why}", self.claim.id)),
            };
            let text = format!("{} {text}", reference.metric.name.replace('_', " "));
            match groups.iter_mut().find(|(known, _)| known == name) {
                Some((_, texts)) => texts.push(text),
                None => groups.push((name, vec![text])),
            }
        }
        let groups = groups
            .iter()
            .map(|(name, texts)| format!("{name}: {}", texts.join(", ")));
        let text = groups.collect::<Vec<_>>().join("; ");
        Ok((!text.is_empty()).then_some(text))
    }

    /// The question of a point. Of values that are tried for what is left out, the first one is shown.
    fn asked(&self, point: &Point) -> Result<Question, String> {
        let explored = self.claim.explored.as_ref();
        match explored.and_then(|explored| explored.values.first()) {
            None => Ok(point.question.clone()),
            Some(value) => self.tried(point, value),
        }
    }

    /// The question of a point where the dimension that is explored has this value.
    fn tried(&self, point: &Point, value: &str) -> Result<Question, String> {
        let dimension = self
            .claim
            .explored
            .as_ref()
            .map_or("", |explored| explored.dimension.as_str());
        let restrict = &mut |reference: &Reference| reference.restricted(dimension, value);
        point.question.mapped(restrict).map_err(|error| error.to_string())
    }

    fn by_rule(&self, point: &Point, question: &Question) -> Result<Result<Outcome, String>, String> {
        match rules::outcome(point, question, self.claim.within, self.evidence) {
            Ok(outcome) => Ok(Ok(outcome)),
            Err(Missing::NotRun(why)) => Ok(Err(why)),
            Err(Missing::Wrong(why)) => Err(format!("{}: {why}", self.claim.id)),
        }
    }

    /// The first rule that applies.
    fn verdict(
        &self,
        point: &Point,
        measured: &Result<Outcome, String>,
    ) -> Result<(Verdict, String), String> {
        if let Some(why) = excluded(point, measured) {
            return Ok((Verdict::Impossible, why));
        }
        match measured {
            Err(why) => Ok((Verdict::NotRun, why.clone())),
            Ok(_) if !self.claim.lacks.is_empty() => self.undecidable(point),
            Ok(outcome) => Ok((outcome.verdict, outcome.why.clone())),
        }
    }

    /// The publication leaves something out. Where values for it are tried, their direction is said.
    fn undecidable(&self, point: &Point) -> Result<(Verdict, String), String> {
        let lacking = format!("the source does not give {}", listed(&self.claim.lacks));
        let Some(explored) = &self.claim.explored else {
            return Ok((Verdict::Undecidable, lacking));
        };
        let mut verdicts = Vec::new();
        for value in &explored.values {
            match self.by_rule(point, &self.tried(point, value)?)? {
                Err(why) => return Ok((Verdict::NotRun, why)),
                Ok(outcome) => verdicts.push(outcome.verdict),
            }
        }
        let tried = format!("{} from {}", explored.dimension, explored.values.join(", "));
        let all = |wanted: &[Verdict]| verdicts.iter().all(|verdict| wanted.contains(verdict));
        Ok(if all(&[Verdict::Contradicted]) {
            (
                Verdict::Contradicted,
                format!("{lacking}; the direction is the other one for {tried}"),
            )
        } else if all(&[Verdict::NotSeparable]) {
            (
                Verdict::Undecidable,
                format!("{lacking}; our interval holds no difference for {tried}"),
            )
        } else if all(&[Verdict::Reproduced, Verdict::Differs]) {
            (
                Verdict::Undecidable,
                format!("{lacking}; the direction is the same for {tried}"),
            )
        } else if !verdicts.contains(&Verdict::Contradicted) {
            (
                Verdict::Undecidable,
                format!("{lacking}; nothing contradicts the direction for {tried}"),
            )
        } else {
            (
                Verdict::Undecidable,
                format!("{lacking}; the direction depends on it, for {tried}"),
            )
        })
    }
}

/// `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        few => few.join(""),
    }
}

/// Why the published number cannot be. Of a figure that is said to be constant, it is our own at the first value.
fn excluded(point: &Point, measured: &Result<Outcome, String>) -> Option<String> {
    let bound = point.bound.as_ref()?;
    if let Some(published) = &point.published {
        return bound.excludes(published).then(|| bound.text.clone());
    }
    let is_constant = matches!(&point.question, Question::Trend(trend) if trend.shape == Shape::Constant);
    let first = measured.as_ref().ok()?.figures.first().filter(|_| is_constant)?;
    let is_below = first.amount.value < bound.amount.value;
    is_below.then(|| {
        format!(
            "{} would have to hold throughout, and it takes {}",
            first.amount, bound.text
        )
    })
}

/// Why the published number is another one, as far as the numbers say it.
fn reason(verdict: Verdict, point: &Point, measured: Option<&Outcome>) -> Option<String> {
    if verdict == Verdict::Reproduced || verdict == Verdict::NotRun {
        return None;
    }
    let is_arithmetic = matches!(point.question, Question::Arithmetic { .. });
    let bound = (verdict == Verdict::Impossible).then(|| {
        let side = point.bound.as_ref().is_some_and(|bound| bound.is_upper);
        if side {
            "above its bound"
        } else {
            "below its bound"
        }
    });
    let of_figure = |figure: &Figure| {
        let model = figure.model?;
        Some(match model.share * 100.0 {
            99.5.. => format!("ours is {} alone", model.mostly),
            percent => format!("ours is {percent:.0} % {}", model.mostly),
        })
    };
    let mostly = measured.and_then(|outcome| outcome.figures.iter().find_map(of_figure));
    let arithmetic = is_arithmetic.then(|| "arithmetic".to_owned());
    let parts: Vec<String> = bound
        .map(str::to_owned)
        .into_iter()
        .chain(arithmetic)
        .chain(mostly)
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What the numbers of a point are in: what is published of it, what bounds it, or the one figure that it is.
fn dimension(point: &Point, result: Option<&Outcome>) -> Dimension {
    let published = point
        .published
        .as_ref()
        .map(|published| published.amount.dimension);
    let bound = || Some(point.bound.as_ref()?.amount.dimension);
    let one = || match result?.figures.as_slice() {
        [figure] => Some(figure.amount.dimension),
        [] | [_, _, ..] => None,
    };
    published.or_else(bound).or_else(one).unwrap_or_default()
}

fn record(figure: &Figure) -> FigureRecord {
    FigureRecord {
        reference: figure.reference.clone(),
        run: figure.run.clone(),
        text: figure.amount.to_string(),
        value: figure.amount,
        unit: figure.amount.dimension.unit(),
        interval: figure
            .interval
            .map(|ends| ends.map(|end| Amount::new(end, figure.amount.dimension))),
        exact: figure.is_exact,
        engine: figure.engine.clone(),
        n: figure.n,
        modelled_by: figure.model.map(|model| model.device),
    }
}

#[cfg(test)]
mod tests;
