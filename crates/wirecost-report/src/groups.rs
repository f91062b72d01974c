//! Cells that may be compared: they have the same payload size, link and schedule.

use std::rc::Rc;

use wirecost_results::{Cell, Readings, Summary};

use crate::figures::{link_words, time};
use crate::names::{Names, is_modelled, is_secured};

/// The cells of one payload size, link and schedule. Both engines of a stack are side by side.
pub(crate) struct Group<'a> {
    /// Each cell with its index in the summary.
    pub(crate) cells: Vec<(usize, &'a Cell)>,
    /// Size, link and schedule as text: `128 B, rtt 25ms`.
    pub(crate) heading: String,
    /// The names of its cells.
    pub(crate) names: Rc<Names>,
}

impl<'a> Group<'a> {
    /// The groups of a run, in the order of their first cells.
    pub(crate) fn all(summary: &'a Summary) -> Vec<Self> {
        let names = Rc::new(Names::from_summary(summary));
        let mut groups: Vec<Self> = Vec::new();
        for indexed in summary.cells.iter().enumerate() {
            match groups.iter_mut().find(|group| group.has_place_for(indexed.1)) {
                Some(group) => group.cells.push(indexed),
                None => groups.push(Self::starting_with(indexed, &names)),
            }
        }
        groups.iter_mut().for_each(Self::sort);
        groups
    }

    fn starting_with((index, cell): (usize, &'a Cell), names: &Rc<Names>) -> Self {
        Self {
            heading: heading(cell),
            cells: vec![(index, cell)],
            names: Rc::clone(names),
        }
    }

    fn has_place_for(&self, cell: &Cell) -> bool {
        let of_one_kind = |other: &Cell| {
            other.messages_per_connection == cell.messages_per_connection && have_one_place(other, cell)
        };
        self.cells.first().is_some_and(|(_, first)| of_one_kind(first))
    }

    /// Moves secured stacks behind plain ones, and the simulated cell of a stack and start behind the live one.
    fn sort(&mut self) {
        let of_one_name = |a: &Cell, b: &Cell| a.stack == b.stack && a.start == b.start;
        let cells: Vec<&Cell> = self.iter().collect();
        let first = |cell: &Cell| cells.iter().position(|other| of_one_name(cell, other));
        self.cells
            .sort_by_cached_key(|(_, cell)| (is_secured(cell), first(cell), is_modelled(cell)));
    }

    /// The cells without their indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a Cell> {
        self.cells.iter().map(|(_, cell)| *cell)
    }

    /// Whether there are plain and secured stacks.
    pub(crate) fn has_both_protections(&self) -> bool {
        self.iter().any(is_secured) && !self.iter().all(is_secured)
    }

    /// Whether there are cells of both engines.
    pub(crate) fn has_both_engines(&self) -> bool {
        self.iter().any(is_modelled) && !self.iter().all(is_modelled)
    }

    /// The cells that figures show. They are of one engine, because medians of two engines must not be mixed: live
    /// cells, unless none of them ran.
    pub(crate) fn charted(&self) -> Self {
        let ran_live = self
            .iter()
            .any(|cell| !is_modelled(cell) && cell.not_run.is_none());
        let simulates = !ran_live && self.iter().any(is_modelled);
        let cells = self.cells.iter().copied();
        Self {
            cells: cells.filter(|(_, cell)| is_modelled(cell) == simulates).collect(),
            heading: self.heading.clone(),
            names: Rc::clone(&self.names),
        }
    }
}

/// The common properties of the cells of a group, as text.
pub(crate) fn heading(cell: &Cell) -> String {
    let readings = cell.readings.as_ref();
    let readings = readings.map(|readings| format!("{readings}: "));
    format!(
        "{}{} B, {}{}",
        readings.unwrap_or_default(),
        cell.payload_bytes,
        link_words(&cell.link),
        rhythm(cell)
    )
}

/// Whether both cells have the same payload, link and interval.
pub(crate) fn have_one_place(one: &Cell, other: &Cell) -> bool {
    other.payload_bytes == one.payload_bytes
        && alike(other.readings.as_ref(), one.readings.as_ref())
        && other.interval_ns == one.interval_ns
        && other.keep_alive_s == one.keep_alive_s
        && other.link.up == one.link.up
        && other.link.down == one.link.down
}

/// Whether both cells carry the same readings, or neither carries any.
fn alike(one: Option<&Readings>, other: Option<&Readings>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.is_like(other),
        (None, None) => true,
        _ => false,
    }
}

/// The messages of a connection and their interval, if they differ from the default.
fn rhythm(cell: &Cell) -> String {
    let each = match cell.messages_per_connection {
        1 => String::new(),
        messages => format!(", {messages} messages each"),
    };
    let interval = cell.interval_ns.map(|nanos| format!(", one per {}", time(nanos)));
    let keep_alive = cell
        .keep_alive_s
        .map(|seconds| format!(", keep-alive {seconds} s"));
    each + &interval.unwrap_or_default() + &keep_alive.unwrap_or_default()
}
