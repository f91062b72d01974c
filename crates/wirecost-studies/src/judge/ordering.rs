//! Figures in an order, with what tells them apart.

use wirecost_stats::Judgement;

use super::compare;
use crate::amount::digits;
use crate::evidence::Figure;
use crate::reference::Reference;
use crate::verdict::Verdict;

/// Whether figures are in their order, the least first, and why.
pub(super) fn ordered(names: &[String], figures: &[Figure], apart: f64) -> (Verdict, String) {
    let compared = compare::adjacent(figures, apart);
    let name = |at: usize| names[at].as_str();
    // One pair that is certainly the other way round contradicts the order, however unclear the others are.
    let wrong = compared.iter().position(|pair| *pair == Judgement::More);
    let unclear = compared.iter().position(|pair| *pair != Judgement::Less);
    match (wrong, unclear) {
        (Some(at), _) => (
            Verdict::Contradicted,
            format!(
                "{} {} is above {} {}",
                name(at),
                figures[at].amount,
                name(at + 1),
                figures[at + 1].amount
            ),
        ),
        (None, Some(at)) => {
            let (pair, both) = ([name(at), name(at + 1)], [&figures[at], &figures[at + 1]]);
            (
                Verdict::NotSeparable,
                compare::undecided(compared[at], pair, both, apart),
            )
        }
        (None, None) => (
            Verdict::Reproduced,
            match apart > 0.0 {
                true => format!("every pair is in this order, by at least {}", percent(apart)),
                false => "every pair is in this order".to_owned(),
            },
        ),
    }
}

/// What tells the figures apart: the values of the dimensions in which they differ.
pub(super) fn telling(all: &[Reference]) -> Vec<String> {
    let tables: Vec<_> = all
        .iter()
        .map(|reference| reference.selector.to_table())
        .collect();
    let differs = |key: &String| tables.iter().any(|table| table.get(key) != tables[0].get(key));
    let name = |(table, reference): (&std::collections::BTreeMap<String, Vec<String>>, &Reference)| {
        let own: Vec<String> = table
            .iter()
            .filter(|(key, _)| differs(key))
            .map(|(_, values)| values.join("|"))
            .collect();
        // The same selector of two runs: only the runs differ.
        if own.is_empty() {
            reference.run.clone()
        } else {
            own.join(" ")
        }
    };
    tables.iter().zip(all).map(name).collect()
}

/// A share in per cent.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}
