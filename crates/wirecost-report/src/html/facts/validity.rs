//! The validity of cells.

use serde::Serialize;
use wirecost_proto::units::counted;
use wirecost_results::{Cell, Summary};

use super::Name;

/// The largest number of remarks that are listed.
const LISTED: usize = 200;
/// The largest number of cells that a remark names.
const NAMED: usize = 3;

/// Every remark with its cells.
#[derive(Serialize)]
pub(super) struct Validity {
    listed: Vec<Remarks>,
    /// Valid cells without a remark.
    unremarkable: usize,
    /// Remarks that are not listed.
    beyond: usize,
}

/// The validity of cells with the same remarks.
#[derive(Serialize)]
struct Remarks {
    name: String,
    /// `valid`, `not run` or `INVALID`.
    verdict: &'static str,
    remarks: Vec<String>,
}

impl Validity {
    /// The cells of a run.
    pub(super) fn from_summary(summary: &Summary, name: &Name) -> Self {
        let mut kinds: Vec<(&'static str, Vec<String>, Vec<&Cell>)> = Vec::new();
        let mut unremarkable = 0;
        for cell in &summary.cells {
            let (verdict, remarks) = remarks(cell);
            if verdict == "valid" && remarks.is_empty() {
                // Counted alone: a long run would bury the few cells with a remark.
                unremarkable += 1;
                continue;
            }
            match kinds
                .iter_mut()
                // One cause, such as a busy machine, marks many cells with the same words.
                .find(|kind| kind.0 == verdict && kind.1 == remarks)
            {
                Some(kind) => kind.2.push(cell),
                None => kinds.push((verdict, remarks, vec![cell])),
            }
        }
        Self {
            unremarkable,
            beyond: kinds.len().saturating_sub(LISTED),
            listed: kinds
                .into_iter()
                .take(LISTED)
                .map(|(verdict, remarks, cells)| Remarks {
                    name: named(&cells, name),
                    verdict,
                    remarks,
                })
                .collect(),
        }
    }
}

fn remarks(cell: &Cell) -> (&'static str, Vec<String>) {
    let verdict = match (&cell.not_run, cell.valid) {
        (Some(_), _) => "not run",
        (None, true) => "valid",
        (None, false) => "INVALID",
    };
    let warnings = cell.warnings.iter().map(|warning| warning.text.clone());
    (verdict, cell.not_run.iter().cloned().chain(warnings).collect())
}

/// The names of up to [`NAMED`] cells, or their number.
fn named(cells: &[&Cell], name: &Name) -> String {
    if cells.len() > NAMED {
        return counted(cells.len() as u64, "cell");
    }
    let names: Vec<String> = cells.iter().map(|cell| name.tell(cell)).collect();
    names.join("; ")
}
