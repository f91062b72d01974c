//! Columns of figures after a name, as many as fit.

use crate::number;
use crate::terminal::style::Style;

const GAP: usize = 2;

/// Rows of a name and `N` figures.
pub(super) struct Columns<const N: usize> {
    corner: &'static str,
    head: [&'static str; N],
    rows: Vec<Row<N>>,
    /// Columns in the order in which they are dropped.
    drop_order: Vec<usize>,
}

struct Row<const N: usize> {
    name: String,
    values: [String; N],
    note: &'static str,
    is_alarming: bool,
}

impl<const N: usize> Columns<N> {
    /// Columns without rows.
    pub(super) const fn new(corner: &'static str, head: [&'static str; N]) -> Self {
        Self {
            corner,
            head,
            rows: Vec::new(),
            drop_order: Vec::new(),
        }
    }

    /// Sets the order in which columns are dropped.
    pub(super) fn drop_order(&mut self, order: &[usize]) {
        self.drop_order = order.to_vec();
    }

    /// Adds a row.
    pub(super) fn row(&mut self, name: &str, values: [String; N]) {
        self.rows.push(Row {
            name: name.to_owned(),
            values,
            note: "",
            is_alarming: false,
        });
    }

    /// Sets the note after the figures of a row. It is shown if it fits.
    pub(super) fn note(&mut self, row: usize, text: &'static str) {
        if let Some(row) = self.rows.get_mut(row) {
            row.note = text;
        }
    }

    /// Marks the last row as invalid.
    pub(super) fn alarm(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.is_alarming = true;
        }
    }

    /// The lines. Names are `name` characters wide, or less if that does not fit.
    pub(super) fn lines(&self, name: usize, width: usize, style: &Style) -> Vec<String> {
        let widths: Vec<usize> = (0..N).map(|index| self.width(index)).collect();
        let mut kept: Vec<usize> = (0..N).collect();
        let total = |kept: &[usize]| name + kept.iter().map(|index| GAP + widths[*index]).sum::<usize>();
        for dropped in &self.drop_order {
            if total(&kept) > width {
                kept.retain(|index| index != dropped);
            }
        }
        let name = name.saturating_sub(total(&kept).saturating_sub(width)).max(6);
        let line = |first: &str, values: &dyn Fn(usize) -> String| {
            let cells = kept
                .iter()
                .map(|index| format!("{:GAP$}{:>wide$}", "", values(*index), wide = widths[*index]));
            let first = number::clipped(first, name);
            format!("{first:<name$}") + &cells.collect::<String>()
        };
        let head = style.faint(&line(self.corner, &|index| self.head[index].to_owned()));
        let rows = self.rows.iter().map(|row| {
            let text = line(&row.name, &|index| row.values[index].clone());
            let room = width.saturating_sub(text.chars().count());
            let note = match row.note {
                note if !note.is_empty() && note.chars().count() + 3 <= room => format!("   {note}"),
                _ => String::new(),
            };
            let text = if row.is_alarming { style.alarm(&text) } else { text };
            text + &style.faint(&note)
        });
        std::iter::once(head).chain(rows).collect()
    }

    fn width(&self, index: usize) -> usize {
        let values = self.rows.iter().map(|row| row.values[index].chars().count());
        values.fold(self.head[index].chars().count(), usize::max)
    }
}
