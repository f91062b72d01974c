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
    rates: Grid,
}

/// The searches of a run.
pub(super) fn all(summary: &LoadSummary) -> Vec<Search> {
    let of_one = |of: &RateSearch| Search {
        name: number::plain(&of.name),
        conclusion: search::conclusion(of),
        limit: search::limit(of),
        rates: rates(of),
    };
    summary.searches.iter().map(of_one).collect()
}

/// A card for each search.
pub(super) fn cards(summary: &LoadSummary) -> impl Iterator<Item = Card> {
    summary.searches.iter().map(|of| Card {
        title: "Highest rate",
        value: number::optional(of.rate, number::rate),
        unit: "messages/s",
        winner: search::conclusion(of),
        scope: number::plain(&of.name),
        alarm: of.rate.is_none(),
    })
}

/// A row for each tried rate.
fn rates(of: &RateSearch) -> Grid {
    let columns: [ValueColumn<(&RateSearch, AtRate)>; 4] = [
        ("loads held", "", |(_, at)| {
            format!("{} of {}", at.held, at.loads())
        }),
        ("worst figure", "ms", |(of, at)| {
            search::figure(search::worst(of, at.rate))
        }),
        ("bottleneck", "", |(of, at)| search::bottleneck(of, at.rate)),
        ("why not", "", |(of, at)| search::reason(of, at.rate)),
    ];
    let all = AtRate::all(&of.trials);
    let rows = all
        .into_iter()
        .map(|at| (format!("{}/s", number::rate(at.rate)), (of, at)));
    Grid::of("Tried rates", "offered", &columns, rows)
}
