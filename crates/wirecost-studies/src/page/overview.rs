//! What the verdicts of a page say together: a board of all claims, and those that a reader will want to see first.

use std::collections::BTreeSet;

use serde::Serialize;

use super::claim::why;
use super::{Shown, class};
use crate::amount::digits;
use crate::claims::List;
use crate::judge::{Judged, JudgedPoint};
use crate::strip;
use crate::verdict::Verdict;

/// The most rows of each list.
const ROWS: usize = 6;

/// The claims of a study, each with the gravest verdict of its parts.
#[derive(Serialize)]
pub(super) struct Board<'a> {
    study: &'a str,
    claims: Vec<Square<'a>>,
    recomputed: Vec<Square<'a>>,
    further: Vec<Square<'a>>,
}

#[derive(Serialize)]
struct Square<'a> {
    name: &'a str,
    /// The part with the gravest verdict.
    id: &'a str,
    says: &'a str,
    verdict: &'static str,
    class: String,
}

impl<'a> Board<'a> {
    pub(super) fn from_study(study: &Shown<'a>) -> Self {
        let of = |list: List| squares(study.judged.iter().filter(|claim| claim.list == list));
        Self {
            study: &study.claims.study,
            claims: of(List::Claims),
            recomputed: of(List::Recomputed),
            further: of(List::Further),
        }
    }
}

fn squares<'a>(parts: impl Iterator<Item = &'a Judged>) -> Vec<Square<'a>> {
    let mut groups: Vec<(&str, (Verdict, &Judged))> = Vec::new();
    for judged in parts {
        let Some(verdict) = counted(judged) else {
            continue;
        };
        let name = group(&judged.id);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            // One square for each claim of the publication: of its rows, the gravest.
            Some((_, gravest)) if verdict < gravest.0 => *gravest = (verdict, judged),
            Some(_) => {}
            None => groups.push((name, (verdict, judged))),
        }
    }
    // R2 before R10.
    let number = |name: &str| {
        name.trim_start_matches(char::is_alphabetic)
            .parse()
            .unwrap_or(u32::MAX)
    };
    groups.sort_by_key(|(name, _)| number(name));
    let square = |(name, (verdict, judged)): (&'a str, (Verdict, &'a Judged))| Square {
        name,
        id: &judged.id,
        says: &judged.says,
        verdict: verdict.name(),
        class: class(verdict),
    };
    groups.into_iter().map(square).collect()
}

/// The gravest verdict of the numbers of a claim, or of the points of a row that is listed apart. None of a row that judges others' again.
fn counted(judged: &Judged) -> Option<Verdict> {
    let points = judged.points.iter();
    match judged.list {
        List::Claims => points.filter_map(|point| point.number).min(),
        List::Recomputed | List::Further => points.map(|point| point.verdict).min(),
    }
}

/// A claim among those to see first.
#[derive(Serialize)]
pub(super) struct First<'a> {
    study: &'a str,
    id: &'a str,
    says: String,
    /// The reason of the verdict, in a few words.
    why: String,
    strip: String,
}

/// The published numbers that are farthest beyond what is possible, one of each claim of a publication.
pub(super) fn impossible<'a>(studies: &[Shown<'a>]) -> Vec<First<'a>> {
    let mut found: Vec<(f64, &str, &Judged, &JudgedPoint)> = Vec::new();
    for study in studies {
        for (judged, point) in points(study, Verdict::Impossible) {
            if let (Some(published), Some(bound)) = (point.published_value, point.bound_value) {
                // By ratio, so that times and bytes can be sorted together.
                let distance = (bound.value / published.value).ln().abs();
                found.push((distance, &study.claims.study, judged, point));
            }
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut seen = BTreeSet::new();
    // The bound and the published number are the same in a claim and in the row that recomputes it.
    found.retain(|(distance, study, ..)| seen.insert((*study, distance.to_bits())));
    let mut groups = BTreeSet::new();
    // One claim with many points would fill the list.
    found.retain(|(_, study, judged, _)| groups.insert((*study, group(&judged.id))));
    let first = |(distance, study, judged, point): (f64, &'a str, &'a Judged, &'a JudgedPoint)| {
        let times = distance.exp();
        // "1.2 times off" is read as more than twice; 20 % is not.
        let times = if times < 2.0 {
            format!("{:.0} % off", (times - 1.0) * 100.0)
        } else {
            format!("{} times off", digits(times))
        };
        First {
            study,
            id: &judged.id,
            says: said(judged, point),
            why: format!(
                "{times}: {} is published. {}",
                point.published.as_deref().unwrap_or_default(),
                why(point)
            ),
            strip: strip::svg(
                point,
                strip::scale(std::iter::once(point)),
                judged.dimension,
                true,
            ),
        }
    };
    found.into_iter().take(ROWS).map(first).collect()
}

/// The claims whose direction is the other one here.
pub(super) fn contradicted<'a>(studies: &[Shown<'a>]) -> Vec<First<'a>> {
    let mut first = Vec::new();
    for study in studies {
        let mut groups = BTreeSet::new();
        for (judged, point) in points(study, Verdict::Contradicted) {
            if groups.insert(group(&judged.id)) {
                first.push(First {
                    study: &study.claims.study,
                    id: &judged.id,
                    says: said(judged, point),
                    why: why(point),
                    strip: String::new(),
                });
            }
        }
    }
    first.truncate(ROWS);
    first
}

/// The set-ups under which a published figure comes out after all.
pub(super) fn explained<'a>(studies: &[Shown<'a>]) -> Vec<First<'a>> {
    let mut first = Vec::new();
    for study in studies {
        for judged in study.judged {
            let suspects = judged.suspects.iter().filter(|suspect| suspect.comes_out > 0);
            first.extend(suspects.map(|suspect| First {
                study: &study.claims.study,
                id: &judged.id,
                says: judged.says.clone(),
                why: format!("{}.", suspect.sentence()),
                strip: String::new(),
            }));
        }
    }
    first.truncate(ROWS);
    first
}

/// The numbers of a verdict, in the order of the claims.
fn points<'a>(study: &Shown<'a>, verdict: Verdict) -> impl Iterator<Item = (&'a Judged, &'a JudgedPoint)> {
    let of = move |judged: &'a Judged| {
        let is_counted =
            move |point: &&JudgedPoint| point.number == Some(verdict) && point.verdict == verdict;
        let points = judged.points.iter().filter(is_counted);
        points.map(move |point| (judged, point))
    };
    study.judged.iter().flat_map(of)
}

/// What a publication says of a point.
fn said(judged: &Judged, point: &JudgedPoint) -> String {
    let at: Vec<String> = point
        .at
        .iter()
        .map(|(name, value)| format!(", {name} {value}"))
        .collect();
    format!("{}{}", judged.says, at.concat())
}

fn group(id: &str) -> &str {
    id.split('-').next().unwrap_or(id)
}
