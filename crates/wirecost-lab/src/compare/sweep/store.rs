//! Finished cells: first their figures are written, then their line in the journal.

use std::collections::BTreeSet;

use wirecost_results::journal::{self, Entry};
use wirecost_results::{CellFile, ResultsError, RunFolder};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::{Plan, identity};

use super::captures;
use crate::compare::simulated::CellResult;

/// The cells of a results folder.
pub(super) struct Store<'a> {
    folder: &'a RunFolder,
    options: &'a Options,
    /// Keys of the finished cells.
    finished: BTreeSet<String>,
}

impl<'a> Store<'a> {
    pub(super) const fn new(folder: &'a RunFolder, options: &'a Options, finished: BTreeSet<String>) -> Self {
        Self {
            folder,
            options,
            finished,
        }
    }

    /// Writes the number of cells to the journal.
    pub(super) fn plan(&self) -> Result<(), ResultsError> {
        let engines = self.options.engine.of_cells().len() as u64;
        let whole = Options {
            shard: None,
            ..self.options.clone()
        };
        let planned = Entry::Planned {
            cells: self.options.cells() * engines,
            of_all: whole.cells() * engines,
        };
        journal::append(self.folder, &planned)
    }

    /// Whether no cell is finished.
    pub(super) fn is_empty(&self) -> bool {
        self.finished.is_empty()
    }

    /// The cells of a plan that an engine still has to run.
    pub(super) fn missing(&self, plan: &Plan, engine: &str) -> Vec<usize> {
        let cells = plan.cells.iter().enumerate();
        let is_missing = |cell| !self.finished.contains(&identity::key(self.options, cell, engine));
        cells
            .filter(|(_, cell)| is_missing(cell))
            .map(|(index, _)| index)
            .collect()
    }

    /// Writes a cell. A cell with fewer samples than configured has figures, but is not finished.
    pub(super) fn put(&mut self, index: usize, file: CellFile) -> Result<(), ResultsError> {
        let cell = &file.cell;
        let engines = self.options.engine.of_cells();
        let place = engines.iter().position(|engine| *engine == cell.engine);
        let index = index * engines.len() + place.unwrap_or_default();
        let entry = Entry::of_cell(index, cell, u64::from(self.options.samples));
        file.write(self.folder)?;
        journal::append(self.folder, &entry)?;
        if entry.is_finished() {
            self.finished.insert(file.cell.key);
        }
        Ok(())
    }

    /// Writes a simulated cell with its packets.
    pub(super) fn put_simulated(&mut self, plan: &Plan, result: &CellResult) -> Result<(), ResultsError> {
        captures::write_part(self.folder, &plan.cells[result.index], result)?;
        let file = CellFile {
            traffic: result.traffic.clone(),
            ..CellFile::new(
                result.cell.clone(),
                result.times.clone(),
                &result.rows,
                result.ladder.clone(),
            )
        };
        self.put(result.index, file)
    }

    /// A file name for a capture that no other batch or run has used.
    pub(super) fn next_capture(&self) -> String {
        let numbered = (2..).map(|number| format!("capture/all-{number}.pcapng"));
        let mut names = std::iter::once("capture/all.pcapng".to_owned()).chain(numbered);
        let is_free = |name: &String| !self.folder.file(name).exists();
        names.find(is_free).unwrap_or_default()
    }
}
