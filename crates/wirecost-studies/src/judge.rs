//! Judges claims: the bound first, which needs no measurement, then what is missing, then the figures.
//!
//! - `outcome`: what the figures of a point come to
//! - [`rules`]: the rule of each kind of claim
//! - `curves`: that of peaks, falls and means of curves
//! - `trends`: that of figures that change with what is varied
//! - [`suspects`]: other set-ups under which the published figure may come out
//! - [`engines`]: what the figures of each engine alone come to
//! - [`count`]: published numbers, each once
//! - [`compare`]: what it takes to tell two figures apart
//! - [`readings`]: of what a text can mean, the reading that decides
//! - [`kept`]: verdicts that were written to a file

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wirecost_scenario::ScenarioError;

use crate::amount::{Amount, Dimension};
use crate::bound::Bound;
use crate::claims::{Claim, Claims, List, Point, Question, Shape, TextReading, group};
use crate::evidence::{Evidence, Figure, Missing};
use crate::reference::Reference;
use crate::verdict::Verdict;

pub mod compare;
pub mod count;
mod curves;
pub mod engines;
pub mod kept;
mod ordering;
mod outcome;
pub mod readings;
pub mod rules;
pub mod suspects;
mod trends;

pub use engines::ByEngine;
use outcome::{Margins, Outcome};
pub use readings::JudgedReading;
pub use suspects::JudgedSuspect;

/// A judged claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Its name.
    pub id: String,
    /// What the publication says, in our words.
    pub says: String,
    /// The list that it is in: `claims`, `recomputed` or `further`.
    pub list: List,
    /// The claims whose numbers it judges again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<String>,
    /// Where in the publication.
    #[serde(rename = "where")]
    pub place: String,
    /// `absolute`, `ratio`, `ordering`, `trend`, `curves` or `bound`.
    pub kind: String,
    /// A hash of the rule that it was judged by: of its formula, tolerance, bound and all else but words, as 16 hexadecimal digits. Empty in
    /// files that were written before there was one.
    #[serde(default)]
    pub rule: String,
    /// The dimension of the published numbers.
    #[serde(skip)]
    pub dimension: Dimension,
    /// The gravest verdict of its points.
    pub verdict: Verdict,
    /// The reason of that verdict, in one sentence.
    pub why: String,
    /// That rows of the claim hold under different readings, if they do: no one reading gives all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under_different: Option<String>,
    /// Why the text cannot mean anything else than its readings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_other_reading: Option<String>,
    /// The points, in the order of the file.
    pub points: Vec<JudgedPoint>,
    /// Other set-ups, and whether the published figure comes out under them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<JudgedSuspect>,
    /// The verdict that had to come out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Verdict>,
}

/// A judged point of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedPoint {
    /// The values of `for`.
    pub at: BTreeMap<String, String>,
    /// The published number, as printed.
    pub published: Option<String>,
    /// The unit of the numbers of the point, e.g. `s` or `B`; empty for ratios and other plain numbers.
    pub unit: String,
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
    /// The verdict of the published number, or of the statement, by all rows that judge it; absent where another row has it, and in
    /// lists that are no claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<Verdict>,
    /// Why, in one sentence.
    pub why: String,
    /// Why the published number is another one than ours or than its bound: arithmetic, or what ours is mostly spent on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the text can mean, where the claim says so. All above is of the reading that decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<JudgedReading>,
    /// What the figures of each engine alone come to, where both have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engines: Vec<ByEngine>,
    /// Why the engines do not come to the same, if they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engines_differ: Option<String>,
}

/// A figure behind a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub unit: String,
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
    pub modelled_by: Option<String>,
}

impl Judged {
    /// The claim of the publication that it is a part of: the name before the first hyphen.
    pub fn group(&self) -> &str {
        group(&self.id)
    }

    /// The point with the gravest verdict; of several, the one whose published number is farthest from its bound.
    pub fn worst_point(&self) -> Option<&JudgedPoint> {
        let gravest = self.points.iter().filter(|point| point.verdict == self.verdict);
        let distance = |point: &&JudgedPoint| {
            let [published, bound] = [point.published_value?, point.bound_value?];
            // As a logarithm: twice and half are equally far.
            Some((bound.value / published.value).ln().abs())
        };
        // `max_by` gives the last of equals: in reverse that is the first, which a reader meets first.
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
        let mut judged: Vec<Judged> = self.claims.iter().map(judge).collect::<Result<_, _>>()?;
        // After all verdicts: a number that several rows judge is decided by all of them together.
        count::count(&mut judged);
        readings::tell_different(&mut judged);
        Ok(judged)
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
        // A claim about several points holds only if it holds at each of them.
        let gravest = points.iter().min_by_key(|point| point.verdict);
        Ok(Judged {
            id: self.claim.id.clone(),
            says: self.claim.says.clone(),
            list: self.claim.list,
            again: self.claim.again.clone(),
            place: self.claim.place.clone(),
            kind: self
                .claim
                .points
                .first()
                .map_or("", |point| point.first().question.kind())
                .to_owned(),
            rule: self.claim.rule.clone(),
            dimension: self.claim.dimension(),
            verdict: gravest.map_or(Verdict::NotRun, |point| point.verdict),
            why: gravest.map(|point| point.why.clone()).unwrap_or_default(),
            under_different: None,
            no_other_reading: self.claim.no_other_reading.clone(),
            suspects: suspects.collect::<Result<_, _>>()?,
            expect: self.claim.expect,
            points,
        })
    }

    fn point(&self, point: &Point) -> Result<JudgedPoint, String> {
        let readings = point.readings.iter();
        let all = readings.map(|reading| self.reading(point, reading));
        let all = all.collect::<Result<Vec<readings::Read<'_>>, String>>()?;
        let decisive = readings::decisive(&all, point.published.as_ref());
        let readings::Read {
            reading,
            ref measured,
            verdict,
            ref why,
        } = all[decisive];
        let bound = reading.bound.as_ref();
        let result = measured.as_ref().ok();
        let engines = self.by_engines(point, &reading.question);
        let published = point.published.as_ref();
        let dimension = dimension(point, reading, result);
        let of_point = |value: f64| Amount::new(value, dimension);
        Ok(JudgedPoint {
            at: point.at.iter().cloned().collect(),
            published: published.map(ToString::to_string),
            unit: dimension.unit().to_owned(),
            published_value: published.map(|published| published.amount),
            bound_value: bound.map(|bound| bound.amount),
            bound: bound.map(|bound| bound.amount.to_string()),
            is_upper_bound: bound.is_some_and(|bound| bound.is_upper),
            bound_from: bound.map(|bound| bound.text.clone()),
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
            reason: reason(verdict, reading, result),
            verdict,
            number: None,
            why: readings::why(&all, decisive, why),
            readings: readings::listed(&all),
            engines_differ: engines::difference(&engines),
            engines,
        })
    }

    /// What a point comes to under one reading.
    fn reading<'a>(&self, point: &Point, reading: &'a TextReading) -> Result<readings::Read<'a>, String> {
        let measured = self.measured(point, &reading.question)?;
        let (verdict, why) = self.verdict(point, reading, &measured)?;
        Ok(readings::Read {
            reading,
            measured,
            verdict,
            why,
        })
    }

    /// The outcome of the rule of a question, or why a figure is missing.
    fn measured(&self, point: &Point, question: &Question) -> Result<Result<Outcome, String>, String> {
        if let Some(why) = self.claim.needs.iter().find_map(|need| self.absent.get(need)) {
            return Ok(Err(why.clone()));
        }
        self.by_rule(point, &self.asked(question)?)
    }

    /// The figures beside the result that were measured: `http1: late 26 %, refused 0 %; mqtt-qos0: late 0 %, refused 0 %`.
    fn beside(&self, point: &Point) -> Result<Option<String>, String> {
        let names = ordering::telling(&point.beside);
        let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
        for (name, reference) in names.iter().zip(&point.beside) {
            let text = match self.evidence.figure(reference) {
                Ok(figure) => rules::shown(&figure),
                // What stands beside decides nothing: its absence is no reason to leave the claim open.
                Err(Missing::NotRun(_)) => continue,
                Err(Missing::Wrong(why)) => return Err(format!("{}: {why}", self.claim.id)),
            };
            let text = format!("{} {text}", reference.metric.name().replace('_', " "));
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

    /// A question. Of values that are tried for what is left out, the first one is shown.
    fn asked(&self, question: &Question) -> Result<Question, String> {
        let explored = self.claim.explored.as_ref();
        match explored.and_then(|explored| explored.values.first()) {
            None => Ok(question.clone()),
            Some(value) => self.tried(question, value),
        }
    }

    /// A question where the dimension that is explored has this value.
    fn tried(&self, question: &Question, value: &str) -> Result<Question, String> {
        let dimension = self
            .claim
            .explored
            .as_ref()
            .map_or("", |explored| explored.dimension.as_str());
        let restrict = &mut |reference: &Reference| reference.restricted(dimension, value);
        question.mapped(restrict).map_err(|error| error.to_string())
    }

    fn by_rule(&self, point: &Point, question: &Question) -> Result<Result<Outcome, String>, String> {
        let margins = Margins {
            within: self.claim.within,
            apart: self.claim.apart,
        };
        match rules::outcome(point, question, margins, self.evidence) {
            Ok(outcome) => Ok(Ok(outcome.against(self.claim.measured.as_deref()))),
            Err(Missing::NotRun(why)) => Ok(Err(why)),
            Err(Missing::Wrong(why)) => Err(format!("{}: {why}", self.claim.id)),
        }
    }

    /// The first rule that applies. What the publication leaves out is open, whatever a bound says.
    fn verdict(
        &self,
        point: &Point,
        reading: &TextReading,
        measured: &Result<Outcome, String>,
    ) -> Result<(Verdict, String), String> {
        if self.claim.lacks.is_empty()
            && let Some(excluded) = excluded(point, reading, measured)
        {
            return Ok(excluded);
        }
        match measured {
            Err(why) => Ok((Verdict::NotRun, why.clone())),
            // Our own figure can agree by chance where the publication leaves out what it depends on.
            Ok(_) if !self.claim.lacks.is_empty() => self.undecidable(point, &reading.question),
            Ok(outcome) => Ok((outcome.verdict, outcome.why.clone())),
        }
    }

    /// The publication leaves something out. Where values for it are tried, their direction is said.
    fn undecidable(&self, point: &Point, question: &Question) -> Result<(Verdict, String), String> {
        let lacking = format!("the source does not give {}", listed(&self.claim.lacks));
        let Some(explored) = &self.claim.explored else {
            return Ok((Verdict::Undecidable, lacking));
        };
        let mut verdicts = Vec::new();
        for value in &explored.values {
            match self.by_rule(point, &self.tried(question, value)?)? {
                // One missing value could be the one with the other direction.
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

impl Claim {
    /// The dimension of its published numbers; where it has none, that of its bound.
    fn dimension(&self) -> Dimension {
        let of_point = |point: &Point| {
            let published = point
                .published
                .as_ref()
                .map(|published| published.amount.dimension);
            published.or_else(|| Some(point.first().bound.as_ref()?.amount.dimension))
        };
        self.points.iter().find_map(of_point).unwrap_or_default()
    }
}

/// `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        few => few.join(""),
    }
}

/// Why the published number cannot be under a reading. Of a figure that is said to be constant, it is our own at the first value. A
/// bound that follows from other numbers of the publication contradicts these, and makes nothing impossible.
fn excluded(
    point: &Point,
    reading: &TextReading,
    measured: &Result<Outcome, String>,
) -> Option<(Verdict, String)> {
    let bound = reading.bound.as_ref()?;
    let verdict = match bound.is_of_numbers {
        true => Verdict::Contradicted,
        false => Verdict::Impossible,
    };
    if let Some(published) = &point.published {
        let side = if bound.is_upper { "more" } else { "less" };
        let Bound { amount, text, .. } = bound;
        let why = || match bound.is_of_numbers {
            true => format!("other numbers of the source allow no {side} than {amount}: {text}"),
            false => text.clone(),
        };
        // A published number is judged itself; what we measure does not make it more or less possible.
        return bound.excludes(published).then(|| (verdict, why()));
    }
    let is_constant = matches!(&reading.question, Question::Trend(trend) if trend.shape == Shape::Constant);
    let first = measured.as_ref().ok()?.figures.first().filter(|_| is_constant)?;
    let is_beyond = match bound.is_upper {
        true => first.amount.value > bound.amount.value,
        false => first.amount.value < bound.amount.value,
    };
    let is_of_unit = first.amount.dimension == bound.amount.dimension;
    (is_beyond && is_of_unit).then(|| {
        let why = format!(
            "{} would have to hold throughout, and it takes {}",
            first.amount, bound.text
        );
        (verdict, why)
    })
}

/// Why the published number is another one, as far as the numbers say it.
fn reason(verdict: Verdict, reading: &TextReading, measured: Option<&Outcome>) -> Option<String> {
    if verdict == Verdict::Reproduced || verdict == Verdict::NotRun {
        return None;
    }
    let is_arithmetic = matches!(reading.question, Question::Arithmetic { .. });
    let is_of_numbers = reading.bound.as_ref().is_some_and(|bound| bound.is_of_numbers);
    let is_beyond = verdict == Verdict::Impossible || (verdict == Verdict::Contradicted && is_of_numbers);
    let bound = is_beyond.then(|| {
        let side = reading.bound.as_ref().is_some_and(|bound| bound.is_upper);
        if side {
            "above its bound"
        } else {
            "below its bound"
        }
    });
    let of_figure = |figure: &Figure| {
        let model = figure.model?;
        Some(match model.share * 100.0 {
            // It would be printed as 100 %.
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
fn dimension(point: &Point, reading: &TextReading, result: Option<&Outcome>) -> Dimension {
    let published = point
        .published
        .as_ref()
        .map(|published| published.amount.dimension);
    let bound = || Some(reading.bound.as_ref()?.amount.dimension);
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
        unit: figure.amount.dimension.unit().to_owned(),
        interval: figure
            .interval
            .map(|ends| ends.map(|end| Amount::new(end, figure.amount.dimension))),
        exact: figure.is_exact,
        engine: figure.engine.clone(),
        n: figure.n,
        modelled_by: figure.model.map(|model| model.device.to_owned()),
    }
}

#[cfg(test)]
mod tests;
