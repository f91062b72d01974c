//! The outcomes of the offered messages, and retransmitted bytes.

use wirecost_results::{Cell, Section, Summary};

use super::super::grid::{Grid, ValueColumn};
use super::{Name, run};
use crate::number;

/// One row per cell that ran.
pub(super) fn table(summary: &Summary, name: &Name) -> Grid {
    let any_again = run(summary).any(|cell| sent_again(cell) != [0.0; 2]);
    // The last column is shown only with retransmissions.
    let columns: [ValueColumn<&Cell>; 10] = [
        ("offered", "", |cell| cell.outcomes.offered.to_string()),
        ("acknowledged", "", |cell| cell.outcomes.acknowledged.to_string()),
        ("delivered", "", |cell| cell.outcomes.delivered.to_string()),
        ("refused", "", |cell| cell.outcomes.refused.to_string()),
        ("failed", "", |cell| cell.outcomes.failed.to_string()),
        ("late", "", |cell| cell.outcomes.late.to_string()),
        ("unknown", "", |cell| cell.outcomes.unknown.to_string()),
        ("lost", "", |cell| cell.outcomes.lost.to_string()),
        ("sum", "", |cell| match cell.outcomes.add_up() {
            true => "= offered".to_owned(),
            false => "≠ offered".to_owned(),
        }),
        ("sent again", "B/msg, up / down", |cell| {
            let [up, down] = sent_again(cell).map(|bytes| number::trimmed(bytes, 2));
            format!("{up} / {down}")
        }),
    ];
    let count = columns.len() - usize::from(!any_again);
    let rows = run(summary).map(|cell| (name.of(cell), cell));
    Grid::of("How the offered messages ended", "cell", &columns[..count], rows)
}

/// Wire bytes of retransmissions per message, up and down.
fn sent_again(cell: &Cell) -> [f64; 2] {
    let causes = |section: &Section| section.by_cause.get("retransmission").copied();
    let again = cell.message.as_ref().and_then(causes).unwrap_or_default();
    [again.up, again.down]
}
