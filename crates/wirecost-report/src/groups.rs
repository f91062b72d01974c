//! Cells that may be compared: those of one payload size and one link.

use wirecost_lab::results::{Cell, Summary};

use crate::figures::link_words;

/// The cells of one payload size and one link, in the order of the run.
pub(crate) struct Group<'a> {
    /// Each cell with its index in the summary.
    pub(crate) cells: Vec<(usize, &'a Cell)>,
    /// Size and link in words: `128 B, rtt 25ms`.
    pub(crate) heading: String,
}

impl<'a> Group<'a> {
    /// The groups of a run, in the order in which the run first names them.
    pub(crate) fn all(summary: &'a Summary) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for indexed in summary.cells.iter().enumerate() {
            match groups.iter_mut().find(|group| group.has_place_for(indexed.1)) {
                Some(group) => group.cells.push(indexed),
                None => groups.push(Self::starting_with(indexed)),
            }
        }
        groups
    }

    fn starting_with((index, cell): (usize, &'a Cell)) -> Self {
        Self {
            heading: format!("{} B, {}", cell.payload_bytes, link_words(&cell.link)),
            cells: vec![(index, cell)],
        }
    }

    fn has_place_for(&self, cell: &Cell) -> bool {
        let of_one_kind = |other: &Cell| {
            other.payload_bytes == cell.payload_bytes
                && other.link.up == cell.link.up
                && other.link.down == cell.link.down
        };
        self.cells.first().is_some_and(|(_, first)| of_one_kind(first))
    }

    /// The cells without their indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a Cell> {
        self.cells.iter().map(|(_, cell)| *cell)
    }
}
