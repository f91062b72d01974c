//! The names of the cells of a run, and the key columns of tables.

use wirecost_results::summary::Agreement;
use wirecost_results::{Cell, Summary};

use crate::number;

/// The default start of connections.
const COLD: &str = "cold";
/// The target of a cell that runs against the built-in server.
const BUILTIN: &str = "builtin";
/// The mark of an invalid cell.
pub(crate) const INVALID: &str = "✗";
/// The reason why a threshold on an invalid figure fails.
pub(crate) const INVALID_FAILS: &str = "an INVALID figure does not pass, whatever its value";

/// The facts of a run that the names of its cells depend on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Names {
    /// Whether the run has a target other than the built-in server, so that simulated cells name theirs.
    has_target: bool,
    keys: Vec<Key>,
    /// The first differences between live and simulated cells, without duplicates, in the order of the run.
    differences: Vec<String>,
}

/// A column between the name and the figures of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// The start, if any cell does not start cold.
    Start,
    /// The engine, if both engines ran.
    Engine,
    /// Whether live and simulated packets are equal, and the ratio of the medians.
    Agreement,
}

impl Key {
    /// The name of the column, and the meaning of its values.
    pub(crate) const fn heading(self) -> (&'static str, &'static str) {
        match self {
            Self::Start => ("start", ""),
            Self::Engine => ("engine", ""),
            Self::Agreement => ("agrees", "live/sim"),
        }
    }
}

impl Names {
    /// The names of a run.
    pub(crate) fn from_summary(summary: &Summary) -> Self {
        let any = |applies: fn(&Cell) -> bool| summary.cells.iter().any(applies);
        let keys = [
            (any(|cell| cell.start != COLD), Key::Start),
            (
                // Where all cells are of one engine, a column with its name would say the same in each row.
                any(is_modelled) && !summary.cells.iter().all(is_modelled),
                Key::Engine,
            ),
            (any(|cell| cell.agreement.is_some()), Key::Agreement),
        ];
        Self {
            has_target: summary.scenario.target() != BUILTIN || any(|cell| cell.target != BUILTIN),
            keys: keys
                .into_iter()
                .filter(|(any, _)| *any)
                .map(|(_, key)| key)
                .collect(),
            differences: distinct(summary.cells.iter().filter_map(difference)),
        }
    }

    /// The columns between a cell's name and its figures.
    pub(crate) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The value of the cell in a key column.
    pub(crate) fn value(&self, key: Key, cell: &Cell) -> String {
        match key {
            Key::Start => number::plain(&cell.start),
            Key::Engine => number::plain(&cell.engine),
            Key::Agreement => match &cell.agreement {
                Some(agreement) => self.agreement(agreement),
                None if is_modelled(cell) => String::new(),
                None => number::NONE.to_owned(),
            },
        }
    }

    /// `=`, or `≠` with the number of its footnote, or neither under loss, and the ratio of the medians.
    fn agreement(&self, agreement: &Agreement) -> String {
        let sign = match (agreement.equal, &agreement.first_difference) {
            (true, _) => "=",
            (false, Some(_)) => "≠",
            (false, None) => "",
        };
        let note = difference_of(agreement).and_then(|text| self.differences.iter().position(|d| *d == text));
        let note = note.map(|index| raised(index + 1)).unwrap_or_default();
        let ratio = agreement.median_ratio.map(|ratio| number::digits(ratio, 3));
        let parts = [Some(format!("{sign}{note}")), ratio].into_iter().flatten();
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(" ")
    }

    /// The footnotes of the agreement column: number, difference, and the cells with this difference.
    pub(crate) fn differences<'a>(&self, cells: &'a [Cell]) -> Vec<(String, String, Vec<&'a Cell>)> {
        let note = |(index, text): (usize, &String)| {
            let differ = cells
                .iter()
                .filter(|cell| difference(cell).as_ref() == Some(text));
            (raised(index + 1), text.clone(), differ.collect())
        };
        self.differences.iter().enumerate().map(note).collect()
    }

    /// The stack of a cell, with start, target and engine if they are not the default.
    pub(crate) fn label(&self, cell: &Cell) -> String {
        self.contender(cell) + engine(cell)
    }

    /// The label without the engine: the same for the live cell and the simulated one.
    pub(crate) fn contender(&self, cell: &Cell) -> String {
        let start = match cell.start.as_str() {
            COLD => String::new(),
            start => format!(" {}", number::plain(start)),
        };
        number::plain(&cell.stack) + &start + &self.target(cell)
    }

    /// The label without the start.
    pub(crate) fn stack(&self, cell: &Cell) -> String {
        number::plain(&cell.stack) + &self.target(cell) + engine(cell)
    }

    /// The label without the properties that have key columns.
    pub(crate) fn in_table(&self, cell: &Cell) -> String {
        let engine = if self.keys.contains(&Key::Engine) {
            ""
        } else {
            engine(cell)
        };
        number::plain(&cell.stack) + &self.target(cell) + engine
    }

    /// The label, with the mark of an invalid cell.
    pub(crate) fn marked_label(&self, cell: &Cell) -> String {
        marked(self.label(cell), cell)
    }

    fn target(&self, cell: &Cell) -> String {
        let says_builtin = is_modelled(cell) && self.has_target;
        if cell.target == BUILTIN && !says_builtin {
            return String::new();
        }
        format!(" @{}", number::plain(&cell.target))
    }
}

/// Whether the cell was simulated.
pub(crate) fn is_modelled(cell: &Cell) -> bool {
    cell.engine == "sim"
}

/// Whether the stack protects its messages: by a channel, as protected objects, or because its transport does.
pub(crate) fn is_secured(cell: &Cell) -> bool {
    cell.stack.contains('+') || cell.stack.starts_with("http3")
}

fn engine(cell: &Cell) -> &'static str {
    if is_modelled(cell) { " (sim)" } else { "" }
}

/// `label`, with the mark of an invalid cell.
pub(crate) fn marked(label: String, cell: &Cell) -> String {
    if cell.valid || cell.not_run.is_some() {
        label
    } else {
        format!("{label} {INVALID}")
    }
}

fn difference(cell: &Cell) -> Option<String> {
    difference_of(cell.agreement.as_ref()?)
}

fn difference_of(agreement: &Agreement) -> Option<String> {
    agreement.first_difference.as_deref().map(number::plain)
}

/// The items, each once, in the order of their first.
pub(crate) fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}

/// The names, or how many there are where they are more than `most`: `5 stacks`.
pub(crate) fn few<S: std::borrow::Borrow<str>>(
    names: &[S],
    most: usize,
    separator: &str,
    noun: &str,
) -> String {
    if names.len() <= most {
        names.join(separator)
    } else {
        format!("{} {noun}", names.len())
    }
}

/// A number in superscript digits.
fn raised(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |c: char| {
        c.to_digit(10)
            .and_then(|digit| DIGITS.get(digit as usize).copied())
    };
    number.to_string().chars().filter_map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footnotes_are_numbered_above_nine() {
        assert_eq!(raised(1), "¹");
        assert_eq!(raised(120), "¹²⁰");
    }
}
