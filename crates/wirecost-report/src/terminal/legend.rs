//! The legend of the table: one line for each mark that it shows.

use wirecost_results::{Cell, Summary};

use super::layout::Layout;
use crate::columns::{
    ALIKE, ALIKE_MEANS, CUT_SHORT, Column, EARLY, LOW_N, TO_ARRIVAL, TOO_FEW, TOO_FEW_MEANS,
};
use crate::groups::Group;
use crate::names::{Key, Names, is_modelled};

/// The lines of the legend, unwrapped. `columns` are those that say something; the layout may hide some.
pub(super) fn lines(run: &Summary, columns: &[Column], layout: &Layout, names: &Names) -> Vec<String> {
    let visible: Vec<Column> = columns
        .iter()
        .copied()
        // A sign that no shown column has would be looked for in vain.
        .filter(|column| layout.has(*column))
        .collect();
    let (means, others): (Vec<Column>, Vec<Column>) =
        visible.iter().partition(|column| **column == Column::Mean);
    let (of_means, others) = (marks(run, &means), marks(run, &others));
    let has = |mark: &str| of_means.contains(mark) || others.contains(mark);
    let any = |applies: fn(&Cell) -> bool| run.cells.iter().any(applies);
    let notes = [
        (
            has(EARLY),
            format!(
                "{EARLY} early data, or sent behind the request to connect: the message shares packets with the connect, whose headers count as \
                 connection; not compared"
            ),
        ),
        (
            has(CUT_SHORT),
            format!("{CUT_SHORT} not all messages were sent: of those that were; not compared"),
        ),
        (has(ALIKE), format!("{ALIKE} {ALIKE_MEANS}")),
        (has(TOO_FEW), format!("{TOO_FEW} {TOO_FEW_MEANS}")),
        (
            // Two meanings of one sign: at a quantile it stands for few samples beyond it, at a mean for no interval.
            others.contains(LOW_N),
            format!("{LOW_N} low n: fewer than ten samples beyond the quantile"),
        ),
        (
            of_means.contains(LOW_N),
            format!("{LOW_N} at a mean: too few samples for its 95 % interval; nothing is ranked by it"),
        ),
        (
            has(TO_ARRIVAL),
            format!(
                "{TO_ARRIVAL} unacknowledged: one-way delay to the last byte; compared apart from answers"
            ),
        ),
        (
            any(is_modelled),
            "sim: modelled in virtual time on wirecost's own server, not measured; no CPU time".to_owned(),
        ),
        (
            any(contains_tls),
            "http3 has no plain form: QUIC contains TLS 1.3".to_owned(),
        ),
    ];
    let notes = notes.into_iter().filter(|(applies, _)| *applies);
    notes
        .map(|(_, note)| note)
        .chain(agreement(run, layout, names))
        .collect()
}

/// All marks in these columns.
fn marks(run: &Summary, columns: &[Column]) -> String {
    let of_group = |group: Group<'_>| {
        let cells: Vec<&Cell> = group.iter().collect();
        let of_column = |column: &Column| -> String {
            let ranked = cells.iter().zip(column.ranks(&cells));
            ranked.map(|(cell, rank)| column.marks(cell, rank)).collect()
        };
        columns.iter().map(of_column).collect::<String>()
    };
    Group::all(run).into_iter().map(of_group).collect()
}

fn contains_tls(cell: &Cell) -> bool {
    cell.stack == "http3"
}

/// The signs of the agreement column.
fn agreement(run: &Summary, layout: &Layout, names: &Names) -> Option<String> {
    let shown: Vec<String> = run
        .cells
        .iter()
        .map(|cell| names.value(Key::Agreement, cell))
        .collect();
    let has = |sign: &str| shown.iter().any(|value| value.starts_with(sign));
    let has_none = run
        .cells
        .iter()
        .filter_map(|cell| cell.agreement.as_ref())
        .any(|agreement| !agreement.equal && agreement.first_difference.is_none());
    let signs = [
        (has("="), "= packets and bytes of each phase are as simulated"),
        (has("≠"), "≠ they differ from the simulated ones"),
        (has_none, "no sign: not compared under loss"),
    ];
    let signs = signs.iter().filter(|(shown, _)| *shown);
    let signs: Vec<&str> = signs.map(|(_, text)| *text).collect();
    let has_ratio = run
        .cells
        .iter()
        .filter_map(|cell| cell.agreement.as_ref())
        .any(|agreement| agreement.median_ratio.is_some());
    let ratio = if has_ratio {
        "; the number: median response time, live by simulated"
    } else {
        ""
    };
    (layout.has_key(Key::Agreement) && !signs.is_empty()).then(|| signs.join(", ") + ratio)
}
