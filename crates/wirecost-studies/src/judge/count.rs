//! Counts a published number, or a statement without one, once.
//!
//! The same number may be judged several times: with the built-in server and with others, or by another computation. Such a row names the
//! claims that it judges `again`, and the number has one verdict.

use std::collections::BTreeMap;

use super::{Judged, JudgedPoint};
use crate::claims::List;
use crate::verdict::Verdict;

/// A point: the indices of its claim and of itself.
type Place = (usize, usize);

/// Gives each number its verdict, at the point that has it first.
pub(super) fn count(judged: &mut [Judged]) {
    let mut numbers: BTreeMap<Place, Vec<Verdict>> = BTreeMap::new();
    for (index, claim) in judged
        .iter()
        .enumerate()
        .filter(|(_, claim)| claim.list == List::Claims)
    {
        let of = |name: &String| {
            let at = judged.iter().position(|other| other.id == *name)?;
            let points = 0..judged[at].points.len();
            Some(points.map(move |point| (at, point)))
        };
        let origins: Option<Vec<_>> = claim.again.iter().map(of).collect();
        let origins: Vec<Place> = origins.into_iter().flatten().flatten().collect();
        for (at, point) in claim.points.iter().enumerate() {
            // A row one of whose claims is not among those that were asked for counts itself: the places of the others would be wrong.
            let place = origins.get(at).copied().unwrap_or((index, at));
            numbers.entry(place).or_default().push(point.verdict);
        }
    }
    for ((claim, point), verdicts) in numbers {
        judged[claim].points[point].number = Some(of_rows(&verdicts));
    }
}

/// The verdict of a number by all its rows: the kindest of those that decide it. A row that leaves the number open has a reading, or a
/// measurement, that nothing excludes: then it is not impossible, whatever the other rows say.
fn of_rows(verdicts: &[Verdict]) -> Verdict {
    let all = verdicts.iter().copied();
    let open = || all.clone().filter(|verdict| !verdict.is_decided()).min();
    let decided = all.clone().filter(|verdict| verdict.is_decided()).max();
    match decided {
        Some(Verdict::Impossible) => open().unwrap_or(Verdict::Impossible),
        Some(verdict) => verdict,
        None => open().unwrap_or(Verdict::NotRun),
    }
}

/// Every number with its verdict, in the order of the claims.
pub fn numbers(judged: &[Judged]) -> impl Iterator<Item = (&Judged, &JudgedPoint, Verdict)> {
    judged.iter().flat_map(|claim| {
        let points = claim.points.iter();
        points.filter_map(move |point| Some((claim, point, point.number?)))
    })
}

/// The points of the lists that are no claims of the publication.
pub fn apart(judged: &[Judged]) -> impl Iterator<Item = &JudgedPoint> {
    let rows = judged.iter().filter(|claim| claim.list != List::Claims);
    rows.flat_map(|claim| &claim.points)
}

/// `2 impossible, 5 reproduced`, the gravest first.
pub fn by_verdict(verdicts: impl Iterator<Item = Verdict>) -> String {
    let verdicts: Vec<Verdict> = verdicts.collect();
    let count = |wanted: Verdict| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    let counts = Verdict::ALL.into_iter().map(|verdict| (count(verdict), verdict));
    let present = counts.filter(|(count, _)| *count > 0);
    present
        .map(|(count, verdict)| format!("{count} {verdict}"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_rows_the_kindest_that_decides_counts() {
        use Verdict::{Contradicted, Differs, Impossible, NotRun, Reproduced, Undecidable};
        for (rows, verdict) in [
            (vec![Differs, Reproduced], Reproduced),
            (vec![Impossible, Differs], Differs),
            (vec![Impossible, Impossible], Impossible),
            (vec![Contradicted, NotRun], Contradicted),
            // One row has something that no bound excludes.
            (vec![Impossible, Undecidable], Undecidable),
            (vec![Impossible, NotRun], NotRun),
            (vec![Impossible, Undecidable, Differs], Differs),
            (vec![Undecidable, NotRun], Undecidable),
            (vec![NotRun], NotRun),
        ] {
            assert_eq!(of_rows(&rows), verdict, "{rows:?}");
        }
    }
}
