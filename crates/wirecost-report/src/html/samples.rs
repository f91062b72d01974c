//! The rows of `samples.csv` by cell.

use std::collections::BTreeMap;

use wirecost_results::SampleRow;

/// The rows of each cell of a run.
pub(crate) struct Samples<'a>(BTreeMap<u64, Vec<&'a SampleRow>>);

impl<'a> Samples<'a> {
    /// The rows by the index of their cell.
    pub(super) fn from_rows(rows: &'a [SampleRow]) -> Self {
        let mut by_cell: BTreeMap<u64, Vec<&SampleRow>> = BTreeMap::new();
        for row in rows {
            by_cell.entry(row.cell).or_default().push(row);
        }
        Self(by_cell)
    }

    /// The rows of the cell of this index in the summary.
    pub(super) fn of_cell(&self, index: usize) -> &[&'a SampleRow] {
        self.0.get(&(index as u64)).map_or(&[], Vec::as_slice)
    }
}
