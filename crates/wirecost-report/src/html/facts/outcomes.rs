//! The outcomes of the offered messages, and retransmitted bytes.

use wirecost_results::{Cell, Section, Summary};

use super::super::grid::{Grid, GridRow};
use super::{Name, run};
use crate::number;

/// The columns. The last one is shown only with retransmissions.
const HEAD: [(&str, &str); 11] = [
    ("cell", ""),
    ("offered", ""),
    ("acknowledged", ""),
    ("delivered", ""),
    ("refused", ""),
    ("failed", ""),
    ("late", ""),
    ("unknown", ""),
    ("lost", ""),
    ("sum", ""),
    ("sent again", "B/msg, up / down"),
];

/// One row per cell that ran.
pub(super) fn table(summary: &Summary, name: &Name) -> Grid {
    let any_again = run(summary).any(|cell| sent_again(cell) != [0.0; 2]);
    let columns = if any_again { HEAD.len() } else { HEAD.len() - 1 };
    let row = |cell: &Cell| {
        let mut values = values(cell);
        values.truncate(columns - 1);
        GridRow::plain(name.of(cell), values)
    };
    let rows = run(summary).map(row).collect();
    Grid::new("How the offered messages ended", &HEAD[..columns], rows)
}

fn values(cell: &Cell) -> Vec<String> {
    let o = &cell.outcomes;
    let ends = [
        o.offered,
        o.acknowledged,
        o.delivered,
        o.refused,
        o.failed,
        o.late,
        o.unknown,
        o.lost,
    ];
    let sum = if o.add_up() { "= offered" } else { "≠ offered" };
    let mut values: Vec<String> = ends.iter().map(u64::to_string).collect();
    values.push(sum.to_owned());
    let [up, down] = sent_again(cell).map(|bytes| number::trimmed(bytes, 2));
    values.push(format!("{up} / {down}"));
    values
}

/// Wire bytes of retransmissions per message, up and down.
fn sent_again(cell: &Cell) -> [f64; 2] {
    let causes = |section: &Section| section.by_cause.get("retransmission").copied();
    let again = cell.message.as_ref().and_then(causes).unwrap_or_default();
    [again.up, again.down]
}
