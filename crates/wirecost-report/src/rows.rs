//! Which cells have a row: one per stack, or both engines.

use wirecost_results::{Cell, Summary};

use crate::groups::Group;
use crate::names::is_modelled;

/// The rows of a stack that both engines ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// The live one, with its agreement; the simulated one where nothing was measured live.
    #[default]
    One,
    /// The live one and the simulated one.
    Both,
}

impl Rows {
    /// The run with the cells that have a row.
    pub(crate) fn select(self, summary: &Summary) -> Summary {
        if self == Self::Both {
            return summary.clone();
        }
        let mut has_row = vec![true; summary.cells.len()];
        for group in Group::all(summary) {
            for (index, cell) in &group.cells {
                has_row[*index] = !group.iter().any(|other| stands_for(other, cell));
            }
        }
        let cells = summary.cells.iter().zip(has_row);
        Summary {
            cells: cells
                .filter(|(_, has_row)| *has_row)
                .map(|(cell, _)| cell.clone())
                .collect(),
            ..summary.clone()
        }
    }
}

/// Whether `other` has the row of `cell`: of two engines the one that ran, live where both or neither did.
fn stands_for(other: &Cell, cell: &Cell) -> bool {
    let is_twin =
        other.stack == cell.stack && other.start == cell.start && is_modelled(other) != is_modelled(cell);
    let ran = |cell: &Cell| cell.not_run.is_none();
    is_twin
        && match (ran(other), ran(cell)) {
            (true, false) => true,
            (false, true) => false,
            _ => is_modelled(cell),
        }
}
