//! The verdict cards: the best cells by several questions. Exact values have one winner. Times, and bytes under loss,
//! are noisy: the cards name all cells that are not separable from the best, by the same intervals as in the maps.

use serde::Serialize;
use wirecost_results::{Cell, SampleRow};

use super::estimate;
use super::samples::Samples;
use super::scope::{Kind, Scope};
use crate::columns::{ANYTHING, Column, Entry, Rank};
use crate::groups::Group;
use crate::names::Names;

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
    /// Cells that are not separable from the winner.
    inseparable: String,
}

/// A question: its title, column and unit, and which cells compete.
type Question = (&'static str, Column, &'static str, [Scope; 2]);

const TIMES: [Scope; 2] = [Scope::Answered, Scope::Arrived];
const QUESTIONS: [Question; 4] = [
    (
        "Cheapest message",
        Column::Total,
        "B",
        [Scope::All, Scope::Answered],
    ),
    ("Fastest response", Column::Mean, "ms", TIMES),
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
        TIMES,
    ),
];

/// The cards of a group.
pub(super) fn all(group: &Group<'_>, samples: &Samples<'_>) -> Vec<Card> {
    let names = &group.names;
    let cells = group.cells.iter().copied();
    let cells: Vec<(usize, &Cell)> = cells.filter(|(_, cell)| cell.not_run.is_none()).collect();
    let kinds: &[Kind] = if group.has_both_protections() {
        &[Kind::Plain, Kind::Secured]
    } else {
        &[Kind::Any]
    };
    QUESTIONS
        .into_iter()
        .map(|(title, column, unit, scopes)| {
            let entries: Vec<Entry<'_>> = cells
                .iter()
                .map(|(index, cell)| (*cell, interval(column, cell, samples.of_cell(*index))))
                .collect();
            let of_kind = |kind: &Kind| {
                let entries = entries.iter().copied();
                let entries: Vec<Entry<'_>> = entries.filter(|(cell, _)| kind.holds(cell)).collect();
                let of_scope = |scope: &Scope| verdict((column, unit), (*kind, *scope), &entries, names);
                let mut verdicts: Vec<Verdict> = scopes.iter().filter_map(of_scope).collect();
                verdicts.dedup_by(|b, a| a.winners == b.winners);
                verdicts
            };
            let verdicts = kinds.iter().flat_map(of_kind).collect();
            Card {
                title,
                verdicts,
                nothing: nothing(column, &entries),
            }
        })
        .collect()
}

/// The 95 % interval of the value of a cell. For bytes that differ between samples it follows from the rows of
/// `samples.csv`; with too few rows any value is possible.
fn interval(column: Column, cell: &Cell, samples: &[&SampleRow]) -> Option<[f64; 2]> {
    let estimate = match column {
        Column::Total => estimate::message_bytes(cell, samples)?,
        Column::Connection => estimate::connection_bytes(cell, samples)?,
        Column::Up
        | Column::Down
        | Column::AllIn(_)
        | Column::Packets
        | Column::RoundTrips
        | Column::FirstMessage
        | Column::P50
        | Column::P99
        | Column::Mean
        | Column::Goodput
        | Column::Ratio => return column.interval(cell),
    };
    Some(estimate.interval.unwrap_or(ANYTHING))
}

/// Why no cell is the best.
fn nothing(column: Column, entries: &[Entry<'_>]) -> &'static str {
    if !entries.iter().any(|(cell, _)| cell.valid) {
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
    (kind, scope): (Kind, Scope),
    entries: &[Entry<'_>],
    names: &Names,
) -> Option<Verdict> {
    let entries = entries.iter().copied();
    let entries: Vec<Entry<'_>> = entries.filter(|(cell, _)| scope.holds(cell)).collect();
    let ranks = column.ranks_within(&entries);
    let of_rank = |wanted: &[Rank]| -> Vec<&Cell> {
        let ranked = entries
            .iter()
            .zip(&ranks)
            .filter(|(_, rank)| wanted.contains(rank));
        ranked.map(|((cell, _), _)| *cell).collect()
    };
    let scope = format!("{}{}", scope.words(), kind.words());
    let alike = of_rank(&[Rank::Alike]);
    if let [first, _, ..] = &alike[..] {
        return Some(Verdict {
            scope,
            value: column.text(first),
            unit,
            winners: "none: no significant difference".to_owned(),
            inseparable: listed(&of_rank(&[Rank::Unsure]), names),
        });
    }
    let best = of_rank(&[Rank::Best, Rank::Alike]);
    Some(Verdict {
        scope,
        value: column.text(best.first()?),
        unit,
        winners: listed(&best, names),
        inseparable: listed(&of_rank(&[Rank::Inseparable, Rank::Unsure]), names),
    })
}

fn listed(cells: &[&Cell], names: &Names) -> String {
    cells
        .iter()
        .map(|cell| names.label(cell))
        .collect::<Vec<_>>()
        .join(", ")
}
