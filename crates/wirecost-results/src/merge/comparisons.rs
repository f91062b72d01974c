//! Cells of comparisons of several folders.

use std::collections::BTreeMap;

use serde_json::json;

use super::{MergeError, Order, Scenarios, check_same, copy_facts, places};
use crate::assemble::{Collected, Part, agree_with};
use crate::cells::CellFile;
use crate::folder::RunFolder;
use crate::journal::{self, Entry};
use crate::summary::Summary;
use crate::time::rfc3339;

pub(super) fn merge(order: Order<'_>) -> Result<Summary, MergeError> {
    let Order {
        sources,
        into,
        command,
        scenarios,
        ended,
    } = order;
    let summaries = sources
        .iter()
        .map(|source| source.read_json::<Summary>("summary.json"));
    let summaries: Vec<Summary> = summaries.collect::<Result<_, _>>()?;
    let Some(first) = summaries.first() else {
        return Err(MergeError::TooFew);
    };
    for (source, summary) in sources.iter().zip(&summaries) {
        check_same(&json!(first.scenario), &json!(summary.scenario), source)?;
    }
    copy_facts(sources, into)?;
    let mut collected = Collected::default();
    for (index, (entry, mut file)) in cells(sources, &summaries, scenarios)?.into_iter().enumerate() {
        // It is that with a cell of its own folder, and is made anew with the neighbour that the cell has here.
        file.cell.agreement = None;
        agree_with(&mut file.cell, collected.cells.last());
        file.write(into)?;
        journal::append(into, &entry)?;
        collected.add(Part::new(into, index, file)?);
    }
    let Collected {
        cells,
        ladders,
        samples,
    } = collected;
    into.write_json("ladder.json", &ladders)?;
    into.write("samples.csv", samples.as_bytes())?;
    let mut summary = Summary {
        command,
        interrupted: summaries.iter().any(|summary| summary.interrupted),
        cells,
        ..first.clone()
    };
    summary.count_frames();
    summary.thresholds = scenarios.judge_comparison(&summary, into);
    into.write_json("summary.json", &summary)?;
    let at = rfc3339(ended);
    let interrupted = summary.interrupted;
    journal::append(into, &Entry::Ended { at, interrupted })?;
    Ok(summary)
}

/// The cells of all folders in the order of the scenario, without duplicates, with their lines of the journal.
fn cells(
    sources: &[RunFolder],
    summaries: &[Summary],
    scenarios: &dyn Scenarios,
) -> Result<Vec<(Entry, CellFile)>, MergeError> {
    let places = places(&sources[0], scenarios)?;
    let mut cells: BTreeMap<(usize, String), (Entry, CellFile)> = BTreeMap::new();
    for (source, summary) in sources.iter().zip(summaries) {
        for cell in &summary.cells {
            // The summary of a killed run may name a cell whose file was never written.
            if !CellFile::is_there(source, &cell.key) {
                continue;
            }
            let file = CellFile::read(source, &cell.key)?;
            // A cell that the scenario of the first folder does not have goes to the end.
            let place = places.get(&cell.key).copied().unwrap_or(usize::MAX);
            let entry = Entry::of_cell(place, cell, summary.scenario.samples());
            // Two folders with the same cell have the same question: the first answer is taken.
            cells.entry((place, cell.key.clone())).or_insert((entry, file));
        }
    }
    Ok(cells.into_values().collect())
}
