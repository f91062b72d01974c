//! `cells/<key>.json`: the results of one cell. The file is on disk before the journal names it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::cell_times::CellTimes;
use super::columns::Row as _;
use super::folder::{CELLS, ResultsError, RunFolder};
use super::summary::Cell;
use super::traffic::CellTraffic;
use super::{Ladder, SampleRow};

/// The results of one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CellFile {
    /// Its figures.
    pub cell: Cell,
    /// The packets of one of its devices, if a device finished.
    pub ladder: Option<Ladder>,
    /// The packets of its first devices, in cells with an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<CellTraffic>,
    /// One row of `samples.csv` per device. The first column is unused here.
    pub samples: Vec<String>,
    /// The times that the cell counts, of all messages and connects: a row has the first of its device alone.
    #[serde(default)]
    pub times: CellTimes,
}

impl CellFile {
    /// The results of a cell with a row per device.
    pub fn new(cell: Cell, times: CellTimes, rows: &[SampleRow], ladder: Option<Ladder>) -> Self {
        Self {
            cell,
            ladder,
            traffic: None,
            samples: rows.iter().map(SampleRow::line).collect(),
            times,
        }
    }

    /// The rows of its devices.
    ///
    /// # Errors
    /// A row has other columns than this version's.
    pub fn rows(&self, folder: &RunFolder) -> Result<Vec<SampleRow>, ResultsError> {
        let row = |line: &String| {
            SampleRow::from_line(line).ok_or_else(|| ResultsError::Format {
                path: folder.file(&name(&self.cell.key)),
                reason: format!("a sample has other columns: {line:?}"),
            })
        };
        self.samples.iter().map(row).collect()
    }

    /// Its lines of `samples.csv` as cell `index`, one per device.
    pub fn lines(&self, index: usize) -> String {
        let mut lines = String::with_capacity(self.samples.iter().map(|line| line.len() + 8).sum());
        for line in &self.samples {
            let rest = line.split_once(',').map_or("", |(_, rest)| rest);
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{index},{rest}");
        }
        lines
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write(&self, folder: &RunFolder) -> Result<(), ResultsError> {
        folder.write_json(&name(&self.cell.key), self)
    }

    /// Whether the folder holds the cell with this key.
    pub fn is_there(folder: &RunFolder, key: &str) -> bool {
        folder.file(&name(key)).exists()
    }

    /// Reads the cell with this key.
    ///
    /// # Errors
    /// The file cannot be read, or another version wrote it.
    pub fn read(folder: &RunFolder, key: &str) -> Result<Self, ResultsError> {
        folder.read_json(&name(key))
    }
}

/// The name of the file of a cell or a load.
pub(super) fn name(key: &str) -> String {
    format!("{CELLS}/{key}.json")
}
