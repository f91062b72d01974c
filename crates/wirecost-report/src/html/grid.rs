//! The data of tables.

use serde::Serialize;
use wirecost_results::Cell;

use crate::columns::{Column, Rank};
use crate::groups::Group;
use crate::names::is_modelled;
use crate::number;

/// The largest number of rows of a table.
pub(crate) const ROWS: usize = 1_000;

/// A table: a header, and rows that begin with a name.
#[derive(Serialize)]
pub(crate) struct Grid {
    pub(crate) caption: String,
    /// Name and unit of each column, the name's own included.
    pub(crate) head: Vec<(String, String)>,
    rows: Vec<GridRow>,
    /// The number of rows that are left out.
    beyond: usize,
}

/// One row.
#[derive(Serialize)]
pub(crate) struct GridRow {
    name: String,
    /// Whether its figures must not be used.
    invalid: bool,
    /// Why it has no figures; empty if it has some.
    not_run: String,
    /// Whether it was simulated.
    modelled: bool,
    /// The key columns.
    keys: Vec<String>,
    entries: Vec<Entry>,
}

/// One value.
#[derive(Serialize)]
struct Entry {
    text: String,
    marks: String,
    best: bool,
}

impl GridRow {
    /// A row of plain values.
    pub(crate) fn plain(name: String, values: Vec<String>) -> Self {
        let entry = |text| Entry {
            text,
            marks: String::new(),
            best: false,
        };
        Self {
            name,
            invalid: false,
            not_run: String::new(),
            modelled: false,
            keys: Vec::new(),
            entries: values.into_iter().map(entry).collect(),
        }
    }
}

/// A column of plain values: name, unit, and the value of a row.
pub(crate) type ValueColumn<T> = (&'static str, &'static str, fn(&T) -> String);

impl Grid {
    /// A table with a column of names, called `first`, and other columns of plain values.
    pub(crate) fn from_rows<T>(
        caption: &str,
        first: &'static str,
        columns: &[ValueColumn<T>],
        rows: impl Iterator<Item = (String, T)>,
    ) -> Self {
        let units = columns.iter().map(|(name, unit, _)| (*name, *unit));
        let head: Vec<(&str, &str)> = std::iter::once((first, "")).chain(units).collect();
        let row = |(name, of): (String, T)| {
            GridRow::plain(name, columns.iter().map(|(.., value)| value(&of)).collect())
        };
        Self::new(caption, &head, rows.map(row).collect())
    }

    /// A table of plain values; `head` is name and unit of each column.
    pub(crate) fn new(caption: &str, head: &[(&str, &str)], mut rows: Vec<GridRow>) -> Self {
        let beyond = rows.len().saturating_sub(ROWS);
        rows.truncate(ROWS);
        let own = |(name, unit): &(&str, &str)| ((*name).to_owned(), (*unit).to_owned());
        Self {
            caption: caption.to_owned(),
            head: head.iter().map(own).collect(),
            rows,
            beyond,
        }
    }
}

/// The main table of a group, with all columns of the terminal table.
pub(crate) fn figures(group: &Group<'_>) -> Grid {
    let names = &group.names;
    let cells: Vec<&Cell> = group.iter().collect();
    let columns = Column::all();
    let ranks: Vec<Vec<Rank>> = columns.iter().map(|column| column.ranks(&cells)).collect();
    let row = |(index, cell): (usize, &&Cell)| {
        let entry = |(column, ranks): (&Column, &Vec<Rank>)| entry(*column, cell, ranks[index]);
        GridRow {
            name: names.in_table(cell),
            modelled: is_modelled(cell),
            keys: names.keys().iter().map(|key| names.value(*key, cell)).collect(),
            invalid: !cell.valid && cell.not_run.is_none(),
            not_run: number::plain(cell.not_run.as_deref().unwrap_or_default()),
            entries: columns.iter().zip(&ranks).map(entry).collect(),
        }
    };
    let head: Vec<(&str, &str)> = std::iter::once(("stack", ""))
        .chain(names.keys().iter().map(|key| key.heading()))
        .chain(columns.iter().map(|column| column.heading()))
        .collect();
    Grid::new(&group.heading, &head, cells.iter().enumerate().map(row).collect())
}

fn entry(column: Column, cell: &Cell, rank: Rank) -> Entry {
    Entry {
        text: column.text(cell),
        marks: column.marks(cell, rank),
        best: rank.is_among_the_best(),
    }
}
