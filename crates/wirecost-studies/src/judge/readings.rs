//! Of what a text can mean, the reading that decides: the kindest to its author.
//!
//! A published number is impossible only if every reading is. One reading under which it comes out is enough to reproduce it; one that
//! nothing here measures, and that no bound excludes, leaves it undecidable.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Judged, JudgedPoint, Outcome};
use crate::amount::Published;
use crate::claims::TextReading;
use crate::verdict::Verdict;

/// A point under one reading.
pub(super) struct Read<'a> {
    pub(super) reading: &'a TextReading,
    /// What its figures come to, or why one is missing.
    pub(super) measured: Result<Outcome, String>,
    pub(super) verdict: Verdict,
    pub(super) why: String,
}

/// What a point comes to under a reading that the claim names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedReading {
    /// What it takes the text to say.
    pub name: String,
    /// The verdict under it.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub why: String,
    /// Our result under it; null without one.
    pub ours: Option<String>,
    /// The bound under it.
    pub bound: Option<String>,
    /// How the bound comes about.
    pub bound_from: Option<String>,
}

impl JudgedReading {
    /// `twenty in flight: ours is 100.2 % of the published; ours 19.61`.
    pub fn sentence(&self) -> String {
        let why = match (&self.bound, &self.bound_from) {
            (Some(bound), Some(from)) if self.verdict == Verdict::Impossible && *from == self.why => {
                format!("bound {bound}, {from}")
            }
            _ => self.why.clone(),
        };
        let ours = self.ours.as_ref().map(|ours| format!("; ours {ours}"));
        format!("{}: {why}{}", self.name, ours.unwrap_or_default())
    }
}

/// The index of the reading that decides. The verdicts are in the order of their gravity, so the last of them is the kindest; of
/// several with that verdict, the one whose bound, or whose result, is nearest to the published number decides.
pub(super) fn decisive(all: &[Read<'_>], published: Option<&Published>) -> usize {
    let nearness = |read: &Read<'_>| {
        let found = match read.verdict {
            Verdict::Impossible => read.reading.bound.as_ref()?.amount.value,
            _ => read.measured.as_ref().ok()?.value?,
        };
        // By ratio: half and twice are equally far away.
        let distance = (found / published?.amount.value).ln().abs();
        distance.is_finite().then_some(-distance)
    };
    // `max_by` keeps the last of equal ones: reversed, the reading that the claim names first.
    let kindest = all.iter().enumerate().rev().max_by(|(_, one), (_, other)| {
        let by_nearness = nearness(one).partial_cmp(&nearness(other));
        let by_nearness = by_nearness.unwrap_or(std::cmp::Ordering::Equal);
        let of_model = |read: &Read<'_>| match read.verdict {
            Verdict::ModelledOtherwise => read.measured.as_ref().ok().map(|outcome| outcome.of_model),
            _ => None,
        };
        let by_model = of_model(one).cmp(&of_model(other));
        one.verdict.cmp(&other.verdict).then(by_model).then(by_nearness)
    });
    kindest.map_or(0, |(index, _)| index)
}

/// The reason of the verdict, with the reading that it holds under.
pub(super) fn why(all: &[Read<'_>], decisive: usize, why: &str) -> String {
    let name = all[decisive].reading.name.as_str();
    match (name, all[decisive].verdict) {
        ("", _) => why.to_owned(),
        (_, Verdict::Impossible) => format!("under every reading; at best, {name}: {why}"),
        (_, Verdict::Reproduced) => format!("it holds under this reading, {name}: {why}"),
        (_, Verdict::Undecidable) => format!("open under this reading, {name}: {why}"),
        // A figure is missing, which says nothing about the text.
        (_, Verdict::NotRun) => why.to_owned(),
        (
            _,
            Verdict::Contradicted | Verdict::Differs | Verdict::ModelledOtherwise | Verdict::NotSeparable,
        ) => format!("it holds under no reading; at best, {name}: {why}"),
    }
}

/// Says of the rows of one claim that hold, but not under one reading of its text, that they do. Rows of one claim have the same part of
/// their names before the first hyphen, and name the same readings.
pub(super) fn tell_different(judged: &mut [Judged]) {
    let mut rows: BTreeMap<(String, Vec<String>), Vec<usize>> = BTreeMap::new();
    for (index, claim) in judged.iter().enumerate() {
        let names = |point: &JudgedPoint| {
            point
                .readings
                .iter()
                .map(|reading| reading.name.clone())
                .collect()
        };
        let names: Vec<String> = claim.points.first().map(names).unwrap_or_default();
        if !names.is_empty() {
            rows.entry((claim.group().to_owned(), names))
                .or_default()
                .push(index);
        }
    }
    for ((_, names), rows) in rows {
        let holding = rows
            .into_iter()
            .filter(|at| judged[*at].verdict == Verdict::Reproduced);
        let holding: Vec<usize> = holding.collect();
        let points = || holding.iter().flat_map(|at| &judged[*at].points);
        // Under one reading all of them hold: then nothing is wrong with taking the kindest for each.
        if names.iter().any(|name| points().all(|point| holds(point, name))) || points().count() < 2 {
            continue;
        }
        let ids: Vec<&str> = holding.iter().map(|at| judged[*at].id.as_str()).collect();
        let subject = match ids.as_slice() {
            [_] => "its points hold".to_owned(),
            [first @ .., last] => format!("{} and {last} hold", first.join(", ")),
            [] => continue,
        };
        let text =
            format!("{subject} under different readings: no one reading of the text gives all of them");
        for at in holding {
            judged[at].under_different = Some(text.clone());
        }
    }
}

fn holds(point: &JudgedPoint, name: &str) -> bool {
    let found = point.readings.iter().find(|reading| reading.name == name);
    found.is_some_and(|reading| reading.verdict == Verdict::Reproduced)
}

/// The readings that the claim names.
pub(super) fn listed(all: &[Read<'_>]) -> Vec<JudgedReading> {
    let named = all.iter().filter(|read| !read.reading.name.is_empty());
    let judged = |read: &Read<'_>| {
        let bound = read.reading.bound.as_ref();
        let ours = read.measured.as_ref().ok().map(|outcome| outcome.ours.clone());
        JudgedReading {
            name: read.reading.name.clone(),
            verdict: read.verdict,
            why: read.why.clone(),
            ours: ours.filter(|text| !text.is_empty()),
            bound: bound.map(|bound| bound.amount.to_string()),
            bound_from: bound.map(|bound| bound.text.clone()),
        }
    };
    named.map(judged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Question;
    use crate::judge::rules::tests::figure;

    #[test]
    fn of_readings_that_are_all_modelled_otherwise_the_kindest_model_decides() {
        let reading = TextReading {
            name: "a mode of the radio".to_owned(),
            question: Question::Unmeasured,
            bound: None,
        };
        let modelled = crate::model::Modelled {
            device: "a",
            mostly: "tails",
            share: 1.0,
        };
        let read = |verdict| {
            let figure = crate::evidence::Figure {
                model: Some(modelled),
                ..figure(1.0, 0.1)
            };
            let outcome = Outcome::new(verdict, String::new(), String::new()).with_figures(vec![figure]);
            let outcome = outcome.against(Some("by a current clamp"));
            Read {
                reading: &reading,
                verdict: outcome.verdict,
                measured: Ok(outcome),
                why: String::new(),
            }
        };
        let all = [
            Verdict::Contradicted,
            Verdict::NotSeparable,
            Verdict::Contradicted,
        ]
        .map(read);
        assert!(all.iter().all(|read| read.verdict == Verdict::ModelledOtherwise));
        assert_eq!(decisive(&all, None), 1);
    }
}
