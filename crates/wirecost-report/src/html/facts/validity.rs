//! The validity of cells.

use serde::Serialize;
use wirecost_results::{Cell, Summary};

use super::Name;
use crate::html::MANY;

/// The largest number of cells that are listed.
const LISTED: usize = 200;

/// Every cell with its remarks; in a long run, only the cells with remarks.
#[derive(Serialize)]
pub(super) struct Validity {
    listed: Vec<Remarks>,
    /// Valid cells without a remark that are not listed.
    unremarkable: usize,
    /// Cells with a remark that are not listed.
    beyond: usize,
}

/// The validity of one cell, and its remarks.
#[derive(Serialize)]
struct Remarks {
    name: String,
    /// `valid`, `not run` or `INVALID`.
    verdict: &'static str,
    remarks: Vec<String>,
}

impl Validity {
    /// The cells of a run.
    pub(super) fn of(summary: &Summary, name: &Name) -> Self {
        let all = &summary.cells;
        let is_listed = |cell: &&Cell| all.len() <= MANY || !cell.valid || !cell.warnings.is_empty();
        let listed = all.iter().filter(is_listed);
        let count = listed.clone().count();
        Self {
            listed: listed.take(LISTED).map(|cell| remarks(cell, name)).collect(),
            unremarkable: all.len() - count,
            beyond: count.saturating_sub(LISTED),
        }
    }
}

fn remarks(cell: &Cell, name: &Name) -> Remarks {
    let warnings = cell.warnings.iter().map(|warning| warning.text.clone());
    Remarks {
        name: name.of(cell),
        verdict: match (&cell.not_run, cell.valid) {
            (Some(_), _) => "not run",
            (None, true) => "valid",
            (None, false) => "INVALID",
        },
        remarks: cell.not_run.iter().cloned().chain(warnings).collect(),
    }
}
