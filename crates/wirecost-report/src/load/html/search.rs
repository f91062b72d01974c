//! The searches for the highest rate.

use serde::Serialize;
use wirecost_results::load::LoadSummary;
use wirecost_results::rate_search::{AtRate, RateSearch};

use super::cards::Card;
use crate::html::grid::{Grid, ValueColumn};
use crate::load::words::search;
use crate::number;

/// A search with its tried rates.
#[derive(Serialize)]
pub(super) struct Search {
    name: String,
    conclusion: String,
    limit: Option<String>,
    goal: String,
    rates: Grid,
}

/// The searches of a run.
pub(super) fn all(summary: &LoadSummary) -> Vec<Search> {
    let of_one = |of: &RateSearch| Search {
        name: number::plain(&of.name),
        conclusion: search::conclusion(of),
        limit: search::limit(of),
        goal: search::goal(of),
        rates: rates(of),
    };
    summary.searches.iter().map(of_one).collect()
}

/// A card for each search.
pub(super) fn cards(summary: &LoadSummary) -> impl Iterator<Item = Card> {
    summary.searches.iter().map(|of| Card {
        title: if of.ended_by_generator {
            "At least"
        } else {
            "Highest rate"
        },
        value: number::optional(of.conditional_throughput, number::rate),
        unit: "messages/s",
        winner: search::conclusion(of),
        scope: number::plain(&of.name),
        alarm: of.conditional_throughput.is_none() || of.ended_by_generator,
    })
}

/// A row for each tried rate.
fn rates(of: &RateSearch) -> Grid {
    let columns: [ValueColumn<(&RateSearch, AtRate)>; 4] = [
        ("good trials", "", |(_, at)| {
            format!("{} of {}", at.good, at.trials())
        }),
        ("worst figure", "ms", |(of, at)| search::worst(of, at.rate)),
        ("bottleneck", "", |(of, at)| search::bottleneck(of, at.rate)),
        ("why not", "", |(of, at)| search::reason(of, at.rate)),
    ];
    let all = AtRate::all(&of.trials);
    let rows = all
        .into_iter()
        .map(|at| (format!("{}/s", number::rate(at.rate)), (of, at)));
    Grid::from_rows("Tried rates", "offered", &columns, rows)
}
