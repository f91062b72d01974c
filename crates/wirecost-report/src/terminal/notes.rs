//! The notes below the table: legend, footnotes, warnings, validity.

use std::collections::{BTreeMap, BTreeSet};

use wirecost_proto::units::counted;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_results::{Cell, Summary};

use super::bar;
use super::layout::{Layout, wrapped};
use super::style::Style;
use crate::columns::{Column, EARLY, INSEPARABLE, LOW_N, Rank, TO_ARRIVAL, ends_with_arrival};
use crate::figures;
use crate::groups::{Group, heading};
use crate::names::{INVALID, Key, Names, distinct, is_modelled};
use crate::number::{self, plain};

/// The largest number of lines of one kind.
const MOST: usize = 12;
/// The same in a long run.
const FEW: usize = 3;

/// The lines below the best of a long run. A remark on many cells names the first one and the number of others.
pub(super) fn below_best(summary: &Summary, style: &Style, width: usize) -> Vec<String> {
    let names = &Names::of(summary);
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

/// The lines below the table.
pub(super) fn below(summary: &Summary, layout: &Layout, style: &Style, width: usize) -> Vec<String> {
    let names = &Names::of(summary);
    let mut lines = Vec::new();
    if layout.has_bar() {
        lines.push(bar::legend(style));
    }
    let footnotes = footnotes(summary, names)
        .into_iter()
        .chain(left_out(layout, names))
        .flat_map(|note| wrapped(&note, width));
    lines.extend(footnotes.map(|line| style.faint(&line)));
    let varying = summary
        .cells
        .iter()
        .filter_map(|cell| figures::varying_connect(names, cell));
    let remarks = [
        differences(summary, names),
        reasons(summary, names, layout),
        varying.collect(),
        figures::padded_connects(names, &summary.cells)
            .into_iter()
            .collect(),
        shortfalls(summary, names),
        full_queues(summary, names),
        warnings(summary, names),
    ];
    let remarks = remarks.into_iter().flat_map(|lines| capped(lines, MOST));
    lines.extend(remarks.flat_map(|remark| wrapped(&remark, width)));
    let invalid = capped(invalid(summary, names), MOST)
        .into_iter()
        .flat_map(|reason| wrapped(&reason, width));
    lines.extend(invalid.map(|line| style.alarm(&line)));
    lines.push(verdict(summary));
    lines
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

fn footnotes(summary: &Summary, names: &Names) -> Vec<String> {
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
            any(|cell| Column::Mean.marks(cell, Rank::Unranked).contains(LOW_N)),
            format!("{LOW_N} at a mean: too few samples for its 95 % interval; nothing is ranked by it"),
        ),
        (
            any(ends_with_arrival),
            format!(
                "{TO_ARRIVAL} nothing answers: time until the last byte arrived; compared apart from answers"
            ),
        ),
        (
            any(is_modelled),
            "sim: modelled in virtual time on wirecost's own server, not measured; no CPU time".to_owned(),
        ),
        (
            names.keys().contains(&Key::Agreement),
            "= packets and bytes of each phase are as simulated, ≠ they differ, neither: not compared under loss; then the \
             medians, live by simulated"
                .to_owned(),
        ),
    ];
    notes
        .into_iter()
        .filter(|(applies, _)| *applies)
        .map(|(_, note)| note)
        .collect()
}

fn left_out(layout: &Layout, names: &Names) -> Option<String> {
    let left_out = layout.left_out(names);
    (!left_out.is_empty()).then(|| {
        format!(
            "left out for lack of width: {}; report.html has them",
            left_out.join(", ")
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

/// The reasons that do not fit into their rows.
fn reasons(summary: &Summary, names: &Names, layout: &Layout) -> Vec<String> {
    let reason = |cell: &Cell| {
        let reason = plain(cell.not_run.as_deref()?);
        let line = || format!("{} not run: {reason}", names.label(cell));
        (!layout.shows_reason(&reason)).then(line)
    };
    summary.cells.iter().filter_map(reason).collect()
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
    format!(
        "valid: {valid} of {}{not_run}{interrupted}",
        counted(run.count() as u64, "cell")
    )
}
