//! The notes below the table: legend, footnotes, warnings, validity.

use std::collections::{BTreeMap, BTreeSet};

use wirecost_proto::units::counted;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_results::{Cell, Summary};

use super::layout::{Layout, wrapped};
use super::listing::hidden_note;
use super::style::Style;
use super::{bar, legend};
use crate::columns::Column;
use crate::groups::{Group, heading};
use crate::names::{INVALID, Names, distinct, is_modelled};
use crate::number::{self, plain};
use crate::{explain, figures, readings, settings};

/// The largest number of lines of one kind.
const MOST: usize = 12;
/// The same in a long run.
const FEW: usize = 3;

/// The lines below the best of a long run. A remark on many cells names the first one and the number of others.
pub(super) fn below_best(summary: &Summary, style: &Style, width: usize) -> Vec<String> {
    let names = &Names::from_summary(summary);
    let few = |lines| capped(lines, FEW);
    let remarks = [
        few(differences(summary, names)),
        few(shortfalls(summary, names)),
        few(full_queues(summary, names)),
        by_kind(summary, names, false),
    ];
    let remarks = remarks.into_iter().flatten();
    let mut lines: Vec<String> = remarks.flat_map(|remark| wrapped(&remark, width)).collect();
    let invalid = by_kind(summary, names, true);
    let invalid = invalid.iter().flat_map(|reason| wrapped(reason, width));
    lines.extend(invalid.map(|line| style.alarm(&line)));
    lines.push(verdict(summary));
    lines
}

/// One line per kind of warning: its text for the first cell, and the number of other cells.
fn by_kind(summary: &Summary, names: &Names, invalidates: bool) -> Vec<String> {
    let mut kinds: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for cell in &summary.cells {
        for warning in told(cell, invalidates) {
            let first = || {
                format!(
                    "{}, {}: {}",
                    names.label(cell),
                    heading(cell),
                    plain(&warning.text)
                )
            };
            // In a long run the same warning comes hundreds of times, and would push the figures off the screen.
            kinds.entry(warning.kind.name()).or_insert_with(|| (0, first())).0 += 1;
        }
    }
    let sign = if invalidates {
        format!("{INVALID} INVALID")
    } else {
        "warning".to_owned()
    };
    let line = |(_, (count, first)): (&str, (usize, String))| match count {
        1 => format!("{sign}: {first}"),
        count => format!(
            "{sign}: {first} (and {} alike)",
            counted(count as u64 - 1, "more cell")
        ),
    };
    kinds.into_iter().map(line).collect()
}

/// What the notes are about.
pub(super) struct Notes<'a> {
    /// The run.
    pub(super) summary: &'a Summary,
    /// The run with the cells that have a row.
    pub(super) run: &'a Summary,
    pub(super) layout: &'a Layout,
    /// The columns that say something; the layout may hide some.
    pub(super) columns: &'a [Column],
}

impl Notes<'_> {
    /// The lines below the table.
    pub(super) fn below(&self, style: &Style, width: usize) -> Vec<String> {
        let (run, layout) = (self.run, self.layout);
        let names = &Names::from_summary(run);
        let mut lines = Vec::new();
        if layout.has_bar() {
            lines.push(bar::legend(style));
        }
        let legend = legend::lines(run, self.columns, layout, names);
        let legend = legend.into_iter().chain(self.hidden(names));
        let legend = legend.flat_map(|note| wrapped(&note, width));
        lines.extend(legend.map(|line| style.faint(&line)));
        let remarks = [
            differences(run, names),
            self.reasons(names),
            varying_connects(run, names),
            explain::lines(names, &run.cells),
            readings::lines(names, &run.cells),
            settings::lines(names, run),
            shortfalls(run, names),
            full_queues(run, names),
            warnings(run, names),
        ];
        let remarks = remarks.into_iter().flat_map(|lines| capped(lines, MOST));
        lines.extend(remarks.flat_map(|remark| wrapped(&remark, width)));
        let invalid = capped(invalid(self.summary, &Names::from_summary(self.summary)), MOST);
        let invalid = invalid.into_iter().flat_map(|reason| wrapped(&reason, width));
        lines.extend(invalid.map(|line| style.alarm(&line)));
        lines.extend(wrapped(&verdict(self.summary), width));
        lines
    }

    /// The columns that the terminal is too narrow for.
    fn hidden(&self, names: &Names) -> Option<String> {
        let hidden = self.layout.hidden(names, self.columns);
        hidden_note(&hidden, "report.html")
    }

    /// The reasons that do not fit into their rows, or whose rows the simulated cells have.
    fn reasons(&self, names: &Names) -> Vec<String> {
        let reason = |cell: &Cell| {
            let reason = plain(cell.not_run.as_deref()?);
            let is_told = if self.run.cells.contains(cell) {
                self.layout.shows_reason(&reason)
            } else {
                is_modelled(cell)
            };
            (!is_told).then(|| format!("{} not run: {reason}", names.label(cell)))
        };
        self.summary.cells.iter().filter_map(reason).collect()
    }
}

/// The first connects of each stack that differ between samples.
fn varying_connects(run: &Summary, names: &Names) -> Vec<String> {
    let mut told = BTreeSet::new();
    let varying = run
        .cells
        .iter()
        .filter_map(|cell| Some((names.label(cell), figures::varying_connect(names, cell)?)));
    let first = varying.filter(|(label, _)| told.insert(label.clone()));
    first.map(|(_, text)| text).collect()
}

/// The first lines of a long list, and the number of others.
fn capped(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let beyond = lines.len().saturating_sub(most);
    if beyond > 0 {
        lines.truncate(most);
        lines.push(format!("  and {beyond} more of these; report.html has them"));
    }
    lines
}

/// The first differences between live and simulated cells, by the numbers in the agreement column.
fn differences(summary: &Summary, names: &Names) -> Vec<String> {
    let line = |(number, text, cells): (String, String, Vec<&Cell>)| {
        let others = match cells.len().saturating_sub(1) {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        let first = cells.first().map(|cell| names.label(cell)).unwrap_or_default();
        format!("{number} {first}{others}: {text}")
    };
    names.differences(&summary.cells).into_iter().map(line).collect()
}

/// The cells with messages that were neither acknowledged nor delivered, with the outcomes.
fn shortfalls(summary: &Summary, names: &Names) -> Vec<String> {
    let of_group = |group: Group<'_>| -> Vec<String> {
        let line = |cell: &Cell| {
            Some(format!(
                "{}, {}: {}",
                names.label(cell),
                group.heading,
                shortfall(cell)?
            ))
        };
        group.iter().filter_map(line).collect()
    };
    Group::all(summary).into_iter().flat_map(of_group).collect()
}

/// The cells in which a queue was full, with the retransmitted bytes.
fn full_queues(summary: &Summary, names: &Names) -> Vec<String> {
    let line = |cell: &Cell| {
        let achieved = cell.link.achieved.as_ref()?;
        let dropped = [achieved.queue_dropped_up, achieved.queue_dropped_down].map(Option::unwrap_or_default);
        let again = cell.message.as_ref()?.by_cause.get("retransmission");
        let again = again.map_or(0.0, |bytes| bytes.up + bytes.down);
        (dropped != [0, 0]).then(|| {
            format!(
                "{}, {}: a full queue refused {} up and {} down; {} B/msg were sent again",
                names.label(cell),
                heading(cell),
                counted(dropped[0], "packet"),
                dropped[1],
                number::trimmed(again, 1)
            )
        })
    };
    summary.cells.iter().filter_map(line).collect()
}

fn shortfall(cell: &Cell) -> Option<String> {
    let outcomes = &cell.outcomes;
    let otherwise = [
        (outcomes.lost, "lost"),
        (outcomes.late, "late"),
        (outcomes.refused, "refused"),
        (outcomes.failed, "not sent"),
        (outcomes.unknown, "never answered"),
    ];
    let ended = otherwise.iter().filter(|(number, _)| *number > 0);
    let ended: Vec<String> = ended.map(|(number, how)| format!("{number} {how}")).collect();
    (!ended.is_empty()).then(|| format!("of {} {}", counted(outcomes.offered, "message"), ended.join(", ")))
}

fn warnings(summary: &Summary, names: &Names) -> Vec<String> {
    gathered(summary, names, false)
        .map(|(text, cells)| format!("warning: {cells}: {text}"))
        .collect()
}

fn invalid(summary: &Summary, names: &Names) -> Vec<String> {
    gathered(summary, names, true)
        .map(|(text, cells)| format!("{INVALID} INVALID: {cells}: {text}"))
        .collect()
}

/// The warnings of a cell, without those that are footnotes.
fn told(cell: &Cell, invalidates: bool) -> impl Iterator<Item = &Warning> {
    let told = move |warning: &&Warning| {
        warning.invalidates == invalidates && warning.kind != WarningKind::SimulationDiffers
    };
    cell.warnings.iter().filter(told)
}

/// Each warning once, with its cells.
fn gathered(summary: &Summary, names: &Names, invalidates: bool) -> impl Iterator<Item = (String, String)> {
    let mut texts: BTreeMap<String, Vec<&Cell>> = BTreeMap::new();
    for cell in &summary.cells {
        for warning in told(cell, invalidates) {
            texts.entry(plain(&warning.text)).or_default().push(cell);
        }
    }
    let ran: BTreeSet<String> = summary
        .cells
        .iter()
        .filter(|cell| cell.not_run.is_none())
        .map(|cell| names.label(cell))
        .collect();
    let all = ran.len();
    let is_matrix = Group::all(summary).len() > 1;
    texts.into_iter().map(move |(text, cells)| {
        let about = match cells[..] {
            // A figure of one cell among many of its stack.
            [cell] if is_matrix => format!("{}, {}", names.label(cell), heading(cell)),
            _ => listed(&distinct(cells.iter().map(|cell| names.label(cell))), all),
        };
        (text, about)
    })
}

/// The names of the first cells, or `every cell`.
fn listed(cells: &[String], all: usize) -> String {
    /// The largest number of cells that are named.
    const NAMED: usize = 6;
    match cells.len() {
        count if count > 1 && count == all => "every cell".to_owned(),
        0..=NAMED => cells.join(", "),
        count => format!("{} and {} more", cells[..NAMED].join(", "), count - NAMED),
    }
}

fn verdict(summary: &Summary) -> String {
    let run = summary.cells.iter().filter(|cell| cell.not_run.is_none());
    let valid = run.clone().filter(|cell| cell.valid).count();
    let interrupted = if summary.interrupted { ", interrupted" } else { "" };
    let not_run = match summary.cells.len() - run.clone().count() {
        0 => String::new(),
        cells => format!(", {cells} not run"),
    };
    let live = run.clone().filter(|cell| !is_modelled(cell)).count();
    let all = run.count();
    let engines = match all - live {
        0 => String::new(),
        simulated if simulated == all => String::new(),
        simulated => format!(" ({live} live, {simulated} simulated)"),
    };
    format!(
        "valid: {valid} of {}{engines}{not_run}{interrupted}",
        counted(all as u64, "cell")
    )
}
