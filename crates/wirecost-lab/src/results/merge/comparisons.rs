//! Cells of comparisons of several folders.

use std::collections::BTreeMap;

use serde_json::json;

use super::demands::Demands;
use super::{MergeError, check_same, copy_facts, places};
use crate::compare::finish::{Collected, Part, agree_with};
use crate::results::cells::CellFile;
use crate::results::folder::RunFolder;
use crate::results::journal::{self, Entry};
use crate::results::summary::Summary;
use crate::results::time::rfc3339;

pub(super) fn merge(
    sources: &[RunFolder],
    into: &RunFolder,
    command: String,
    demands: &Demands,
) -> Result<Summary, MergeError> {
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
    for (index, (entry, mut file)) in cells(sources, &summaries)?.into_iter().enumerate() {
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
    summary.thresholds = demands.of_comparison(&summary);
    into.write_json("summary.json", &summary)?;
    let at = rfc3339(std::time::SystemTime::now());
    let interrupted = summary.interrupted;
    journal::append(into, &Entry::Ended { at, interrupted })?;
    Ok(summary)
}

/// The cells of all folders in the order of the whole run, each one once, with the lines of the journal that say so.
fn cells(sources: &[RunFolder], summaries: &[Summary]) -> Result<Vec<(Entry, CellFile)>, MergeError> {
    let places = sources.first().map(places).transpose()?.unwrap_or_default();
    let mut cells: BTreeMap<(usize, String), (Entry, CellFile)> = BTreeMap::new();
    for (source, summary) in sources.iter().zip(summaries) {
        for cell in &summary.cells {
            if !CellFile::is_there(source, &cell.key) {
                continue;
            }
            let file = CellFile::read(source, &cell.key)?;
            let place = places.get(&cell.key).copied().unwrap_or(usize::MAX);
            let entry = Entry::of_cell(place, cell, summary.scenario.samples);
            cells.entry((place, cell.key.clone())).or_insert((entry, file));
        }
    }
    Ok(cells.into_values().collect())
}
