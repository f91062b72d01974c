//! Builds the files of a comparison from the files of its cells.

use crate::columns::Row as _;
use crate::warning::{Warning, WarningKind};
use crate::{Cell, CellFile, Ladder, ResultsError, RunFolder, SampleRow, agreement};

/// Compares a live cell with the cell before it, if that is the simulated cell of the same question.
pub fn agree_with(live: &mut Cell, before: Option<&Cell>) {
    let question = |cell: &Cell| {
        let (stack, start) = (cell.stack.clone(), cell.start.clone());
        let rhythm = (cell.messages_per_connection, cell.interval_ns);
        (
            stack,
            start,
            cell.payload_bytes,
            rhythm,
            cell.link.up.clone(),
            cell.link.down.clone(),
        )
    };
    let is_pair = |before: &&Cell| {
        let engines = (before.engine.as_str(), live.engine.as_str());
        // Another server may send other bytes: only the same one must agree.
        engines == ("sim", "live") && live.target == before.target && question(before) == question(live)
    };
    let simulated = before.filter(is_pair);
    live.warnings
        // The cell may come from an earlier folder, where it was compared with another simulation.
        .retain(|warning| warning.kind != WarningKind::SimulationDiffers);
    agree(live, simulated);
}

/// Compares a live cell with the simulated one, if both were run. A difference is a warning that leaves the figures
/// valid.
fn agree(live: &mut Cell, simulated: Option<&Cell>) {
    let ran = |cell: &Cell| cell.not_run.is_none() && cell.message.is_some();
    let Some(simulated) = simulated.filter(|simulated| ran(simulated) && ran(live)) else {
        return;
    };
    let agreement = agreement::compare(live, simulated);
    if let Some(difference) = &agreement.first_difference {
        let text = format!("the simulation says otherwise: {difference}");
        let warning = Warning::note(WarningKind::SimulationDiffers, text);
        live.warnings.push(warning);
    }
    live.agreement = Some(agreement);
}

/// The contents of the files of the cells, in the order of the summary.
pub struct Collected {
    /// The cells.
    pub cells: Vec<Cell>,
    /// Their ladders.
    pub ladders: Vec<Ladder>,
    /// `samples.csv`.
    pub samples: String,
}

impl Default for Collected {
    fn default() -> Self {
        Self {
            cells: Vec::new(),
            ladders: Vec::new(),
            samples: SampleRow::head() + "\n",
        }
    }
}

impl Collected {
    /// Adds the part of the next cell.
    pub fn add(&mut self, part: Part) {
        self.cells.push(part.cell);
        self.ladders.extend(part.ladder);
        self.samples += &part.samples;
    }
}

/// The contribution of one cell to the files of the comparison.
pub struct Part {
    /// The cell.
    pub cell: Cell,
    ladder: Option<Ladder>,
    /// Its lines of `samples.csv`.
    samples: String,
}

impl Part {
    /// The part of cell `index`, read from its file.
    ///
    /// # Errors
    /// The file cannot be read, or the file system refuses.
    pub fn read(folder: &RunFolder, index: usize, key: &str) -> Result<Self, ResultsError> {
        Self::new(folder, index, CellFile::read(folder, key)?)
    }

    /// The part of cell `index`; its times go to files in `latency`.
    ///
    /// # Errors
    /// A row has other columns than this version's, or the file system refuses.
    pub fn new(folder: &RunFolder, index: usize, file: CellFile) -> Result<Self, ResultsError> {
        // Lines of other columns would make `samples.csv` unreadable.
        file.rows(folder)?;
        file.times.write(folder, index, &file.cell)?;
        let samples = file.lines(index);
        let numbered = |ladder| Ladder {
            cell: Some(index as u64),
            ..ladder
        };
        Ok(Self {
            cell: file.cell,
            ladder: file.ladder.map(numbered),
            samples,
        })
    }
}
