//! What stands below the table: legend, footnotes that the table needs, warnings, validity.

use std::collections::BTreeMap;

use wirecost_lab::results::{Cell, Summary};

use super::bar;
use super::layout::{Layout, wrapped};
use super::style::Style;
use crate::columns::{Column, EARLY, INSEPARABLE, LOW_N, TO_ARRIVAL, ends_with_arrival};
use crate::figures::{self, INVALID, is_modelled};
use crate::groups::Group;
use crate::number::plain;

/// The lines below the table.
pub(super) fn below(summary: &Summary, layout: &Layout, style: &Style, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if layout.has_bar() {
        lines.push(bar::legend(style));
    }
    let footnotes = footnotes(summary)
        .into_iter()
        .chain(left_out(layout))
        .flat_map(|note| wrapped(&note, width));
    lines.extend(footnotes.map(|line| style.faint(&line)));
    let reasons = reasons(summary, layout)
        .into_iter()
        .chain(summary.cells.iter().filter_map(figures::varying_connect))
        .chain(figures::padded_connects(&summary.cells))
        .chain(shortfalls(summary))
        .chain(warnings(summary));
    lines.extend(reasons.flat_map(|reason| wrapped(&reason, width)));
    let invalid = invalid(summary)
        .into_iter()
        .flat_map(|reason| wrapped(&reason, width));
    lines.extend(invalid.map(|line| style.alarm(&line)));
    lines.push(verdict(summary));
    lines
}

fn footnotes(summary: &Summary) -> Vec<String> {
    let marks = all_marks(summary);
    let any = |applies: fn(&Cell) -> bool| summary.cells.iter().any(applies);
    let notes = [
        (
            marks.contains(EARLY),
            format!(
                "{EARLY} early data: the message shares its packets with the handshake, whose headers count as \
                 connection; not compared"
            ),
        ),
        (
            marks.contains(INSEPARABLE),
            format!("{INSEPARABLE} not separable from the best: the 95 % intervals overlap"),
        ),
        (
            marks.contains(LOW_N),
            format!("{LOW_N} low n: fewer than ten samples beyond the quantile"),
        ),
        (
            any(ends_with_arrival),
            format!(
                "{TO_ARRIVAL} nothing answers: time until the last byte arrived; compared apart from answers"
            ),
        ),
        (
            any(is_modelled),
            "(sim) modelled in virtual time, not measured".to_owned(),
        ),
    ];
    notes
        .into_iter()
        .filter(|(applies, _)| *applies)
        .map(|(_, note)| note)
        .collect()
}

fn left_out(layout: &Layout) -> Option<String> {
    let names = layout.left_out();
    (!names.is_empty()).then(|| {
        format!(
            "left out for want of width: {}; report.html has them",
            names.join(", ")
        )
    })
}

fn all_marks(summary: &Summary) -> String {
    let of_group = |group: Group<'_>| {
        let cells: Vec<&Cell> = group.iter().collect();
        let of_column = |column: Column| -> String {
            let ranked = cells.iter().zip(column.ranks(&cells));
            ranked.map(|(cell, rank)| column.marks(cell, rank)).collect()
        };
        Column::ALL.map(of_column).concat()
    };
    Group::all(summary).into_iter().map(of_group).collect()
}

/// The reasons that had no place in their rows.
fn reasons(summary: &Summary, layout: &Layout) -> Vec<String> {
    let reason = |cell: &Cell| {
        let reason = plain(cell.not_run.as_deref()?);
        let line = || format!("{} not run: {reason}", figures::label(cell));
        (!layout.shows_reason(&reason)).then(line)
    };
    summary.cells.iter().filter_map(reason).collect()
}

/// The cells in which a message ended otherwise than acknowledged or delivered, and how.
fn shortfalls(summary: &Summary) -> Vec<String> {
    let of_group = |group: Group<'_>| -> Vec<String> {
        let line = |cell: &Cell| {
            Some(format!(
                "{}, {}: {}",
                figures::label(cell),
                group.heading,
                shortfall(cell)?
            ))
        };
        group.iter().filter_map(line).collect()
    };
    Group::all(summary).into_iter().flat_map(of_group).collect()
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
    (!ended.is_empty()).then(|| format!("of {} messages {}", outcomes.offered, ended.join(", ")))
}

fn warnings(summary: &Summary) -> Vec<String> {
    gathered(summary, false)
        .map(|(text, cells)| format!("warning: {cells}: {text}"))
        .collect()
}

fn invalid(summary: &Summary) -> Vec<String> {
    gathered(summary, true)
        .map(|(text, cells)| format!("{INVALID} INVALID: {cells}: {text}"))
        .collect()
}

/// Each warning once, with the cells that it is about.
fn gathered(summary: &Summary, invalidates: bool) -> impl Iterator<Item = (String, String)> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for cell in &summary.cells {
        for warning in cell.warnings.iter().filter(|w| w.invalidates == invalidates) {
            let cells = texts.entry(plain(&warning.text)).or_default();
            let label = figures::label(cell);
            if !cells.contains(&label) {
                cells.push(label);
            }
        }
    }
    texts.into_iter().map(|(text, cells)| (text, cells.join(", ")))
}

fn verdict(summary: &Summary) -> String {
    let run = summary.cells.iter().filter(|cell| cell.not_run.is_none());
    let valid = run.clone().filter(|cell| cell.valid).count();
    let interrupted = if summary.interrupted { ", interrupted" } else { "" };
    let not_run = match summary.cells.len() - run.clone().count() {
        0 => String::new(),
        cells => format!(", {cells} not run"),
    };
    format!("valid: {valid} of {} cells{not_run}{interrupted}", run.count())
}
