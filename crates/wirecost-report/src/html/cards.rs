//! The verdict cards: who is best, and among whom. Bytes and round trips are exact, so a winner is a winner; times are
//! noisy, so those that cannot be told apart from the fastest are named with it.

use serde::Serialize;
use wirecost_lab::results::Cell;

use super::scope::Scope;
use crate::columns::{Column, Rank};
use crate::groups::Group;
use crate::names::Names;

/// One question and its answers.
#[derive(Serialize)]
pub(super) struct Card {
    title: &'static str,
    verdicts: Vec<Verdict>,
    /// Why there is no answer, where there is none.
    nothing: &'static str,
}

/// The answer among the cells of one scope.
#[derive(Serialize)]
struct Verdict {
    scope: &'static str,
    winners: String,
    value: String,
    unit: &'static str,
    /// Those that the winner cannot be told apart from; empty where it can.
    inseparable: String,
}

/// The cards of a group.
pub(super) fn all(group: &Group<'_>) -> Vec<Card> {
    let names = &group.names;
    let cells: Vec<&Cell> = group.iter().filter(|cell| cell.not_run.is_none()).collect();
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
            let mut verdicts: Vec<Verdict> = scopes
                .iter()
                .filter_map(|scope| verdict(column, unit, *scope, &cells, names))
                .collect();
            verdicts.dedup_by(|b, a| a.winners == b.winners);
            Card {
                title,
                verdicts,
                nothing: nothing(column, &cells),
            }
        })
        .collect()
}

/// Why no cell answers a question.
fn nothing(column: Column, cells: &[&Cell]) -> &'static str {
    let are_valid = cells.iter().any(|cell| cell.valid);
    if column == Column::FirstMessage && are_valid {
        "not counted: packets are lost or resent, or devices share a link"
    } else {
        "no valid cell"
    }
}

/// The answer among the valid cells of a scope; null where there is none.
fn verdict(
    column: Column,
    unit: &'static str,
    scope: Scope,
    cells: &[&Cell],
    names: &Names,
) -> Option<Verdict> {
    let cells: Vec<&Cell> = cells.iter().copied().filter(|cell| scope.holds(cell)).collect();
    let ranks = column.ranks(&cells);
    let of_rank = |wanted: Rank| -> Vec<&Cell> {
        let ranked = cells.iter().zip(&ranks).filter(|(_, rank)| **rank == wanted);
        ranked.map(|(cell, _)| *cell).collect()
    };
    let best = of_rank(Rank::Best);
    Some(Verdict {
        scope: scope.words(),
        value: column.text(best.first()?),
        unit,
        winners: listed(&best, names),
        inseparable: listed(&of_rank(Rank::Inseparable), names),
    })
}

fn listed(cells: &[&Cell], names: &Names) -> String {
    cells
        .iter()
        .map(|cell| names.label(cell))
        .collect::<Vec<_>>()
        .join(", ")
}
