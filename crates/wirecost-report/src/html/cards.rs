//! The verdict cards: the best cells by several questions, as their column tells them: all without a difference of note from the best,
//! or that the samples are too few to tell.
//! A run of several conditions has one set of cards, which count how often each stack is the best.

use serde::Serialize;
use wirecost_proto::units::counted;
use wirecost_results::Cell;

use super::scope::{Kind, Scope};
use crate::columns::{Column, Contest, NO_DIFFERENCE, TOO_FEW_SAMPLES};
use crate::groups::Group;
use crate::names::{Names, distinct};
use crate::number;

/// One question and its answers.
#[derive(Serialize)]
pub(super) struct Card {
    title: &'static str,
    verdicts: Vec<Verdict>,
    /// Why there is no answer; empty if there is one.
    nothing: &'static str,
}

/// The answer among the cells of one scope.
#[derive(Serialize)]
struct Verdict {
    scope: String,
    winners: String,
    value: String,
    unit: &'static str,
    /// What the samples do not tell; empty otherwise.
    beside: String,
    /// The best of the other conditions; empty in a run of one condition.
    elsewhere: String,
}

/// The cards of a run: the answers of its only condition, or how often each answer is given.
pub(super) fn all(groups: &[Group<'_>]) -> Vec<Card> {
    let mut cards: Vec<Vec<Card>> = Vec::new();
    for group in groups {
        let of_group = of_group(&group.charted());
        cards.resize_with(of_group.len(), Vec::new);
        cards
            .iter_mut()
            .zip(of_group)
            .for_each(|(all, card)| all.push(card));
    }
    cards.into_iter().filter_map(together).collect()
}

/// One card of the cards of all conditions.
fn together(cards: Vec<Card>) -> Option<Card> {
    let (title, nothing) = cards.first().map(|card| (card.title, card.nothing))?;
    if cards.len() == 1 {
        let mut only = cards.into_iter().next()?;
        // "All stacks" and "those with answers" often have the same winner: once is enough.
        only.verdicts.dedup_by(|b, a| a.winners == b.winners);
        return Some(only);
    }
    let verdicts = || cards.iter().flat_map(|card| &card.verdicts);
    let scopes = distinct(verdicts().map(|verdict| verdict.scope.clone()));
    let mut frequent: Vec<Verdict> = scopes
        .into_iter()
        .filter_map(|scope| {
            let winners = verdicts()
                .filter(|verdict| verdict.scope == scope)
                .map(|verdict| verdict.winners.clone());
            count(scope.clone(), &winners.collect::<Vec<_>>())
        })
        .collect();
    frequent.dedup_by(|b, a| (&a.winners, &a.value, &a.elsewhere) == (&b.winners, &b.value, &b.elsewhere));
    Some(Card {
        title,
        verdicts: frequent,
        nothing,
    })
}

/// How often each answer of a scope is given, the most frequent first.
fn count(scope: String, winners: &[String]) -> Option<Verdict> {
    /// The largest number of other answers that are named.
    const NAMED: usize = 3;
    let mut answers: Vec<(usize, String)> = distinct(winners.iter().cloned())
        .into_iter()
        .map(|name| (winners.iter().filter(|winner| **winner == name).count(), name))
        .collect();
    answers.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
    let (times, first) = answers.first()?.clone();
    let others = answers.iter().skip(1);
    let mut named: Vec<String> = others
        .take(NAMED)
        .map(|(times, name)| format!("{} in {times}", name.trim_start_matches("none: ")))
        .collect();
    if answers.len() > NAMED + 1 {
        named.push(counted((answers.len() - NAMED - 1) as u64, "other answer"));
    }
    Some(Verdict {
        scope,
        value: format!("{times} of {}", winners.len()),
        unit: "conditions",
        winners: first.trim_start_matches("none: ").to_owned(),
        beside: String::new(),
        elsewhere: named.join("; "),
    })
}

/// The cards of one condition.
fn of_group(group: &Group<'_>) -> Vec<Card> {
    let names = &group.names;
    let cells = group.iter();
    let cells: Vec<&Cell> = cells.filter(|cell| cell.not_run.is_none()).collect();
    // Plain and secured stacks are no rivals: security has a price by its nature.
    let kinds: &[Kind] = if group.has_both_protections() {
        &[Kind::Plain, Kind::Secured]
    } else {
        &[Kind::Any]
    };
    let times = [Scope::Answered, Scope::Arrived];
    let questions = [
        (
            "Cheapest message",
            Column::Total,
            "B",
            [Scope::All, Scope::Answered],
        ),
        ("Fastest response", Column::Mean, "ms", times),
        (
            "Cheapest connection",
            Column::Connection,
            "B",
            [Scope::All, Scope::Connected],
        ),
        (
            "Fewest round trips",
            Column::FirstMessage,
            "to the first acknowledgement",
            times,
        ),
    ];
    questions
        .into_iter()
        .map(|(title, column, unit, scopes)| {
            let verdict = |(kind, scope): (&Kind, &Scope)| {
                let competing = cells.iter().copied();
                let competing: Vec<&Cell> = competing
                    .filter(|cell| kind.holds(cell) && scope.holds(cell))
                    .collect();
                let scope = format!("{}{}", scope.words(), kind.words());
                verdict((column, unit), scope, &competing, names)
            };
            let pairs = kinds
                .iter()
                .flat_map(|kind| scopes.iter().map(move |scope| (kind, scope)));
            Card {
                title,
                verdicts: pairs.filter_map(verdict).collect(),
                nothing: nothing(column, &cells),
            }
        })
        .collect()
}

/// Why no cell is the best.
fn nothing(column: Column, cells: &[&Cell]) -> &'static str {
    if !cells.iter().any(|cell| cell.valid) {
        return "no valid cell";
    }
    let reasons = [
        (
            Column::FirstMessage,
            "not counted: packets are lost or resent, or devices share a link",
        ),
        (Column::Mean, "low n: no mean has a 95 % interval"),
    ];
    let reason = reasons.into_iter().find(|(of, _)| *of == column);
    reason.map_or("no valid cell", |(_, reason)| reason)
}

/// The answer among the valid cells of a scope; `None` without one.
fn verdict(
    (column, unit): (Column, &'static str),
    scope: String,
    cells: &[&Cell],
    names: &Names,
) -> Option<Verdict> {
    let (winners, value, beside) = match column.contest(cells) {
        Contest::Nothing => return None,
        Contest::Best(best) => (listed(&best, names), column.text(best.first()?), String::new()),
        Contest::NoDifference(alike) => (
            format!("none: {NO_DIFFERENCE}"),
            column.text(alike.first()?),
            String::new(),
        ),
        Contest::TooFew(unknown) => {
            let said = unknown
                .iter()
                .map(|cell| format!("{} {}", names.label(cell), column.text(cell)));
            let beside = said.collect::<Vec<_>>().join(", ");
            // The figure of any of them would stand there as the answer.
            (
                format!("none: {TOO_FEW_SAMPLES}"),
                number::NONE.to_owned(),
                beside,
            )
        }
    };
    Some(Verdict {
        scope,
        value,
        unit: if beside.is_empty() { unit } else { "" },
        winners,
        beside,
        elsewhere: String::new(),
    })
}

fn listed(cells: &[&Cell], names: &Names) -> String {
    cells
        .iter()
        .map(|cell| names.label(cell))
        .collect::<Vec<_>>()
        .join(", ")
}
