//! Which columns fit, how wide each is, and rows drawn accordingly.

use wirecost_results::Cell;

use super::bar::{self, Scale};
use super::style::Style;
use crate::columns::{Column, Rank};
use crate::figures::{ByLayer, message_bytes, together};
use crate::names::{Key, Names, marked};
use crate::number;

pub(super) const GAP: usize = 2;
const BAR_LEAST: usize = BAR_HEADING.len();
const BAR_MOST: usize = 48;
const LABEL_LEAST: usize = 8;
const BAR_HEADING: &str = "bytes by layer";

/// A part of the table that can be dropped.
#[derive(Clone, Copy)]
enum Dropped {
    Column(Column),
    /// The columns of the catalogue, all of them.
    Figures,
    Bar,
    Key(Key),
}

/// The order in which parts are dropped if the width does not suffice.
const DROP_ORDER: [Dropped; 13] = [
    Dropped::Column(Column::Ratio),
    Dropped::Column(Column::Goodput),
    Dropped::Column(Column::Packets),
    Dropped::Column(Column::Mean),
    Dropped::Column(Column::P99),
    Dropped::Column(Column::FirstMessage),
    Dropped::Column(Column::RoundTrips),
    Dropped::Bar,
    Dropped::Column(Column::Connection),
    Dropped::Column(Column::Total),
    Dropped::Figures,
    Dropped::Key(Key::Agreement),
    Dropped::Column(Column::P50),
];

/// One cell of the run, ready to be drawn.
pub(super) struct Row {
    label: String,
    /// The columns between the name and the figures.
    keys: Vec<String>,
    valid: bool,
    content: Content,
}

enum Content {
    NotRun(String),
    Figures {
        entries: Vec<Entry>,
        bytes: ByLayer,
        scale: Scale,
    },
}

struct Entry {
    text: String,
    marks: String,
    best: bool,
}

impl Row {
    /// The row of `cell`, with its rank in each column.
    pub(super) fn new(
        cell: &Cell,
        names: &Names,
        ranked: impl Iterator<Item = (Column, Rank)>,
        scale: Scale,
    ) -> Self {
        let content = match &cell.not_run {
            Some(reason) => Content::NotRun(format!("not run: {}", number::plain(reason))),
            None => Content::Figures {
                entries: ranked
                    .map(|(column, rank)| Entry::new(column, cell, rank))
                    .collect(),
                bytes: together(&message_bytes(cell).unwrap_or_default()),
                scale,
            },
        };
        Self {
            label: marked(names.in_table(cell), cell),
            keys: names.keys().iter().map(|key| names.value(*key, cell)).collect(),
            // A cell that did not run has no figure that could be invalid, and says so itself.
            valid: cell.valid || cell.not_run.is_some(),
            content,
        }
    }

    fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::NotRun(_) => &[],
            Content::Figures { entries, .. } => entries,
        }
    }
}

impl Entry {
    fn new(column: Column, cell: &Cell, rank: Rank) -> Self {
        Self {
            text: column.text(cell),
            marks: column.marks(cell, rank),
            best: rank.is_among_the_best(),
        }
    }
}

/// The width in characters of a column's values and of their marks.
#[derive(Clone, Copy, Default)]
struct Widths {
    text: usize,
    marks: usize,
}

impl Widths {
    fn measure(index: usize, column: Column, rows: &[&Row]) -> Self {
        let (name, unit) = column.heading();
        let least = Self {
            text: chars(name).max(chars(unit)),
            marks: 0,
        };
        let widen = |width: Self, entry: &Entry| Self {
            text: width.text.max(chars(&entry.text)),
            marks: width.marks.max(chars(&entry.marks)),
        };
        rows.iter()
            .filter_map(|row| row.entries().get(index))
            .fold(least, widen)
    }

    const fn total(self) -> usize {
        GAP + self.text + self.marks
    }
}

/// The columns that fit, and their widths.
pub(super) struct Layout {
    label: usize,
    /// Heading, unit and characters of the columns between the name and the figures.
    keys: Vec<(&'static str, &'static str, usize)>,
    /// Each column with its place in a row's entries.
    columns: Vec<(usize, Column, Widths)>,
    bar: Option<usize>,
    width: usize,
}

impl Layout {
    /// The layout of all `rows`, whose entries are those of `columns`, in `width` characters.
    pub(super) fn fit<'a>(
        names: &Names,
        columns: &[Column],
        rows: impl Iterator<Item = &'a Row>,
        width: usize,
    ) -> Self {
        let rows: Vec<&Row> = rows.collect();
        let label = rows
            .iter()
            .map(|row| chars(&row.label))
            .fold(chars("stack"), usize::max);
        let columns = columns.iter().enumerate();
        let columns = columns.map(|(index, column)| (index, *column, Widths::measure(index, *column, &rows)));
        let key = |(index, key): (usize, &Key)| {
            let (name, unit) = key.heading();
            let values = rows.iter().filter_map(|row| row.keys.get(index));
            let widest = values
                .map(|value| chars(value))
                .fold(chars(name).max(chars(unit)), usize::max);
            (name, unit, widest)
        };
        let mut layout = Self {
            label,
            keys: names.keys().iter().enumerate().map(key).collect(),
            columns: columns.collect(),
            bar: Some(BAR_LEAST),
            width,
        };
        // First: the bar takes what is left of the width, and would hide columns of figures otherwise.
        layout.drop_columns();
        layout.widen_bar();
        layout
    }

    fn drop_columns(&mut self) {
        for dropped in DROP_ORDER {
            if self.total() <= self.width {
                return;
            }
            match dropped {
                Dropped::Column(column) => self.columns.retain(|(_, placed, _)| *placed != column),
                Dropped::Figures => {
                    let is_own = |column: &Column| !matches!(column, Column::Figure(_));
                    self.columns.retain(|(_, placed, _)| is_own(placed));
                }
                Dropped::Bar => self.bar = None,
                // Only the last key is ever dropped.
                Dropped::Key(key) => self.keys.retain(|(name, _, _)| *name != key.heading().0),
            }
        }
        let excess = self.total().saturating_sub(self.width);
        self.label = self.label.saturating_sub(excess).max(LABEL_LEAST);
    }

    fn widen_bar(&mut self) {
        let room = self.width.saturating_sub(self.total());
        self.bar = self.bar.map(|bar| (bar + room).min(BAR_MOST));
    }

    fn total(&self) -> usize {
        let columns: usize = self.columns.iter().map(|(_, _, widths)| widths.total()).sum();
        self.names() + columns + self.bar.map_or(0, |bar| GAP + bar)
    }

    /// The width of label and keys.
    fn names(&self) -> usize {
        let keys: usize = self.keys.iter().map(|(_, _, width)| GAP + width).sum();
        self.label + keys
    }

    /// Label and keys, padded to the widths of their columns.
    fn name<'a>(&self, label: &str, keys: impl Iterator<Item = &'a str>) -> String {
        let keys = self.keys.iter().zip(keys);
        let keys: String = keys
            .map(|((_, _, width), key)| " ".repeat(GAP) + &left(key, *width))
            .collect();
        left(&number::clipped(label, self.label), self.label) + &keys
    }

    /// Whether the column is shown.
    pub(super) fn has(&self, column: Column) -> bool {
        self.columns.iter().any(|(_, placed, _)| *placed == column)
    }

    /// Whether the column between names and figures is shown.
    pub(super) fn has_key(&self, key: Key) -> bool {
        self.keys.iter().any(|(name, _, _)| *name == key.heading().0)
    }

    /// Whether the bar is drawn.
    pub(super) const fn has_bar(&self) -> bool {
        self.bar.is_some()
    }

    /// The names of those of `columns` that are dropped.
    pub(super) fn hidden(&self, names: &Names, columns: &[Column]) -> Vec<&'static str> {
        let left_out = columns.iter().filter(|column| !self.has(**column));
        let keys = names.keys().iter().map(|key| key.heading().0);
        let keys = keys.filter(|name| !self.keys.iter().any(|(placed, _, _)| placed == name));
        keys.chain(left_out.map(|column| column.heading().0)).collect()
    }

    /// Whether the reason why a cell was not run fits into its row.
    pub(super) fn shows_reason(&self, reason: &str) -> bool {
        self.names() + GAP + chars("not run: ") + chars(reason) <= self.width
    }

    /// The two lines above the rows: names, then units.
    pub(super) fn head(&self, style: &Style) -> [String; 2] {
        let line = |first: String, bar: &str, part: fn((&'static str, &'static str)) -> &'static str| {
            let mut line = first;
            for (_, column, widths) in &self.columns {
                let text = part(column.heading());
                line += &format!(
                    "{:GAP$}{text:>width$}{:marks$}",
                    "",
                    "",
                    width = widths.text,
                    marks = widths.marks
                );
                line += &self.after_bytes(*column, |width| left(bar, width));
            }
            line
        };
        let units = self.name("", self.keys.iter().map(|(_, unit, _)| *unit));
        let units = line(units, "", |(_, unit)| unit);
        let names = self.name("stack", self.keys.iter().map(|(name, _, _)| *name));
        let names = line(names, BAR_HEADING, |(name, _)| name);
        [names, style.faint(&units)]
    }

    /// One row.
    pub(super) fn row(&self, row: &Row, style: &Style) -> String {
        let label = self.name(&row.label, row.keys.iter().map(String::as_str));
        let label = if row.valid { label } else { style.alarm(&label) };
        match &row.content {
            Content::NotRun(reason) => {
                let room = self.width.saturating_sub(self.names() + GAP);
                format!(
                    "{label}{:GAP$}{}",
                    "",
                    style.faint(&number::clipped(reason, room))
                )
            }
            Content::Figures {
                entries,
                bytes,
                scale,
            } => label + &self.figures(entries, bytes, *scale, style),
        }
    }

    fn figures(&self, entries: &[Entry], bytes: &ByLayer, scale: Scale, style: &Style) -> String {
        let column = |(index, column, widths): &(usize, Column, Widths)| {
            let entry = &entries[*index];
            let pad = " ".repeat(GAP + widths.text - chars(&entry.text));
            let text = if entry.best {
                style.bold(&entry.text)
            } else {
                entry.text.clone()
            };
            let bar = self.after_bytes(*column, |width| {
                bar::draw(scale.parts(bytes, width), width, style)
            });
            pad + &text + &left(&entry.marks, widths.marks) + &bar
        };
        self.columns.iter().map(column).collect()
    }

    /// The bar follows the last column of the bytes of a message.
    fn after_bytes(&self, column: Column, draw: impl FnOnce(usize) -> String) -> String {
        match self.bar {
            Some(width) if column == Column::Total => " ".repeat(GAP) + &draw(width),
            _ => String::new(),
        }
    }
}

/// The lines of `text`, broken between words so that none is longer than `width`; all but the first indented.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    number::broken(text, width, "  ")
}

pub(super) fn left(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

pub(super) fn chars(text: &str) -> usize {
    text.chars().count()
}
