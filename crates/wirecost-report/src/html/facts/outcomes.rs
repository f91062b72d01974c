//! The outcomes of the offered messages where some did not arrive, or were sent again.

use wirecost_proto::units::counted;
use wirecost_results::{Cell, Section, Summary};

use super::super::grid::{Grid, ValueColumn};
use super::{Name, run};
use crate::number;

/// One row per cell some of whose messages did not arrive or were sent again.
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
    // Where all was acknowledged there is nothing to explain.
    let rows = run(summary).filter(|cell| has_exception(cell));
    let rows = rows.map(|cell| (name.tell(cell), cell));
    Grid::from_rows("How the offered messages ended", "cell", &columns[..count], rows)
}

/// The messages of cells without a row.
pub(super) fn others(summary: &Summary) -> String {
    let cells = run(summary).filter(|cell| !has_exception(cell));
    let (count, messages) = cells.fold((0, 0), |(count, messages), cell| {
        (count + 1, messages + cell.outcomes.offered)
    });
    if count == 0 {
        return String::new();
    }
    let (messages, cells) = (counted(messages, "message"), counted(count, "cell"));
    format!(
        "{messages} of {cells} all arrived, or were acknowledged where the stack acknowledges; none was sent again."
    )
}

fn has_exception(cell: &Cell) -> bool {
    let outcomes = &cell.outcomes;
    outcomes.acknowledged + outcomes.delivered != outcomes.offered || sent_again(cell) != [0.0; 2]
}

/// IP bytes of retransmissions per message, up and down.
fn sent_again(cell: &Cell) -> [f64; 2] {
    let causes = |section: &Section| section.by_cause.get("retransmission").copied();
    let again = cell.message.as_ref().and_then(causes).unwrap_or_default();
    [again.up, again.down]
}
