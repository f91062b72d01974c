//! The closing paragraph of a study, from its verdicts alone.

use std::collections::BTreeMap;

use crate::judge::Judged;
use crate::judge::count::numbers;
use crate::verdict::Verdict;

/// One sentence for each thing that the verdicts say together.
pub(super) fn paragraph(judged: &[Judged]) -> Vec<String> {
    let all: Vec<Verdict> = numbers(judged).map(|(_, _, verdict)| verdict).collect();
    let count = |verdict: Verdict| all.iter().filter(|known| **known == verdict).count();
    let missing = count(Verdict::NotRun);
    let mut sentences = vec![format!(
        "{} of {} published numbers and statements could be judged.",
        all.len() - missing,
        all.len()
    )];
    let say = |verdict: Verdict, text: &str| {
        let names = of_verdict(judged, verdict);
        (!names.is_empty()).then(|| format!("{} {text}: {}.", count(verdict), names.join(", ")))
    };
    sentences.extend(
        [
            say(
                Verdict::Impossible,
                "cannot have been measured as described, because a physical bound excludes them",
            ),
            say(Verdict::Contradicted, "point the other way here"),
            say(Verdict::Differs, "have the direction of ours and another size"),
            say(
                Verdict::ModelledOtherwise,
                "were measured there, and come to something else in our models",
            ),
            say(Verdict::NotSeparable, "cannot be told apart here"),
            say(
                Verdict::Undecidable,
                "need something that the source does not say",
            ),
            say(Verdict::Reproduced, "come out here too"),
        ]
        .into_iter()
        .flatten(),
    );
    for claim in judged {
        let under = claim.suspects.iter().filter(|suspect| suspect.comes_out > 0);
        sentences.extend(under.map(|suspect| format!("{} comes out under: {}.", claim.id, suspect.name)));
    }
    if missing > 0 {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, point, verdict) in numbers(judged) {
            if verdict == Verdict::NotRun {
                *reasons.entry(&point.why).or_default() += 1;
            }
        }
        let reasons: Vec<String> = reasons
            .iter()
            .map(|(why, count)| format!("{count} ({why})"))
            .collect();
        sentences.push(format!("Not run: {}.", reasons.join(", ")));
    }
    sentences
}

/// Claims with a point of this verdict, once each.
fn of_verdict(judged: &[Judged], verdict: Verdict) -> Vec<&str> {
    let meant = numbers(judged).filter(|(_, _, found)| *found == verdict);
    let mut names: Vec<&str> = Vec::new();
    for (claim, ..) in meant {
        let name = claim.id.split('-').next().unwrap_or(&claim.id);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Claims;
    use crate::evidence::Evidence;

    #[test]
    fn the_closing_paragraph_follows_from_the_verdicts() {
        let claims = "wirecost: 1\nstudy: test\nsource: a paper\nruns: {a: a.yaml}\nclaims:\n\
            - {id: L4-x, says: a, published: 1ms, bound: {flights: [SYN], rtt: 5ms}}\n\
            - {id: L4-y, says: b, published: 2ms, bound: {flights: [SYN], rtt: 5ms}}\n\
            - {id: S, says: c, published: 3, arithmetic: 1 + 2}\n\
            - {id: N, says: d, published: 3ms, value: a/response_time mean}\n\
            - {id: L4-z, says: b, published: 2ms, bound: {flights: [SYN], rtt: 5ms}}\n";
        let claims = Claims::read(claims).expect("claims");
        let judged = claims
            .judge(&Evidence::default(), &BTreeMap::new())
            .expect("verdicts");
        assert_eq!(
            paragraph(&judged),
            [
                "4 of 5 published numbers and statements could be judged.",
                "3 cannot have been measured as described, because a physical bound excludes them: L4.",
                "1 come out here too: S.",
                "Not run: 1 (no results of the run \"a\").",
            ]
        );
    }
}
