//! The table on a terminal: the conclusion in words, then one row per stack, never wrapped.
//!
//! Columns that say nothing about the run are left out. If the width does not suffice, others are dropped in this order:
//! header-to-payload ratio, goodput, packets, the mean with its interval, p99, round trips to the first
//! acknowledgement, round trips, the bar, bytes per connection, the total, the agreement of live and simulated figures,
//! the median response time. The stack, its bytes up and down, and its all-in bytes always stay; a name that is still too
//! long is clipped. A run of many cells shows only the best of each group.

mod bar;
mod best;
mod layout;
mod legend;
pub mod listing;
pub mod load;
mod notes;
mod style;
mod thresholds;

use wirecost_results::threshold::Threshold;
use wirecost_results::{Cell, Summary};

use crate::columns::{Column, Rank, shown};
use crate::conclusion;
use crate::figures::samples;
use crate::groups::Group;
use crate::html::pays_off;
use crate::names::{Names, is_secured};
use crate::number;
use crate::per::Per;
use crate::rows::Rows;
use layout::{Layout, Row, wrapped};
use style::Style;

/// Above this number of rows the table shows only the best of each group.
const MANY: usize = 96;

/// The lines of a paragraph in `width` characters, broken between words; all but the first indented. Each has its line end.
pub fn paragraph(text: &str, width: usize) -> String {
    finished(wrapped(text, width))
}

/// What the terminal allows: the caller asks it, so that the same table can be written elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether escape sequences for colour and bold may be used.
    pub color: bool,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            width: 100,
            color: false,
        }
    }
}

/// What a table shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The rows of a stack that both engines ran.
    pub rows: Rows,
    /// What all-in bytes are of.
    pub per: Per,
}

/// [`table_of`] with one row per stack, and all-in bytes per message.
pub fn table(summary: &Summary, options: &TableOptions) -> String {
    table_of(summary, options, Contents::default())
}

/// The conclusion, then the run as a table of rows grouped by payload size, link and schedule, with legend, footnotes,
/// warnings, validity and thresholds below. A run of more than 96 rows has one row per group with the best cells.
pub fn table_of(summary: &Summary, options: &TableOptions, contents: Contents) -> String {
    let style = Style::new(options.color);
    let rows = contents.rows.select(summary);
    let conclusion = conclusion::sentences(&rows, contents.per, pays_off(&rows));
    let conclusion = conclusion.iter().flat_map(|text| wrapped(text, options.width));
    let mut lines: Vec<String> = conclusion.map(|line| style.bold(&line)).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.extend(match rows.cells.len() {
        // Nobody compares hundreds of rows in a terminal; the page and the CSV file have them all.
        many if many > MANY => best::lines(summary, contents.per, &style, options.width),
        _ => cells(summary, &rows, options, contents.per, &style),
    });
    let has_invalid = summary
        .cells
        .iter()
        // A cell that was not run is no invalid figure.
        .any(|cell| cell.not_run.is_none() && !cell.valid);
    lines.extend(thresholds::lines(
        &summary.thresholds,
        has_invalid,
        &style,
        options.width,
    ));
    finished(lines)
}

/// A row for each cell of `run`, and the notes below. `summary` has the cells without a row too.
fn cells(summary: &Summary, run: &Summary, options: &TableOptions, per: Per, style: &Style) -> Vec<String> {
    let all: Vec<&Cell> = run.cells.iter().collect();
    let columns = shown(&all, per);
    let groups: Vec<(Group<'_>, Vec<Row>)> = Group::all(run)
        .into_iter()
        .map(|group| {
            let rows = rows(&group, &columns);
            (group, rows)
        })
        .collect();
    let rows = groups.iter().flat_map(|(_, rows)| rows);
    let layout = Layout::fit(&Names::from_summary(run), &columns, rows, options.width);
    let mut lines = Vec::new();
    for (group, rows) in &groups {
        lines.push(style.bold(&number::clipped(&heading(run, group), options.width)));
        lines.extend(layout.head(style));
        lines.extend(block(group, rows, &layout, style));
        lines.push(String::new());
    }
    let notes = notes::Notes {
        summary,
        run,
        layout: &layout,
        columns: &columns,
    };
    lines.extend(notes.below(style, options.width));
    lines
}

/// The rows of a group; plain and secured stacks, which are ranked apart, under a heading each.
fn block(group: &Group<'_>, rows: &[Row], layout: &Layout, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut kind = None;
    for (cell, row) in group.iter().zip(rows) {
        let secured = is_secured(cell);
        if group.has_both_protections() && kind != Some(secured) {
            kind = Some(secured);
            let heading = if secured { "encrypted:" } else { "plain:" };
            lines.push(style.faint(heading));
        }
        lines.push(layout.row(row, style));
    }
    lines
}

fn finished(lines: Vec<String>) -> String {
    lines
        .iter()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

fn heading(summary: &Summary, group: &Group<'_>) -> String {
    format!("{}, {}", group.heading, samples(&summary.scenario))
}

/// A group's rows, each value ranked among the cells of the group.
fn rows(group: &Group<'_>, columns: &[Column]) -> Vec<Row> {
    let cells: Vec<&Cell> = group.iter().collect();
    let ranks: Vec<Vec<Rank>> = columns.iter().map(|column| column.ranks(&cells)).collect();
    let scale = bar::Scale::from_cells(&cells);
    let row = |(index, cell): (usize, &&Cell)| {
        let ranked = columns.iter().zip(&ranks);
        let ranked = ranked.map(|(column, ranks)| (*column, ranks[index]));
        Row::new(cell, &group.names, ranked, scale)
    };
    cells.iter().enumerate().map(row).collect()
}
/// The lines of judged thresholds, without colour; nothing without thresholds.
pub(crate) fn threshold_lines(thresholds: &[Threshold]) -> String {
    const WIDTH: usize = 100;
    let lines = thresholds::lines(thresholds, false, &Style::new(false), WIDTH);
    lines.iter().map(|line| format!("{line}\n")).collect()
}
