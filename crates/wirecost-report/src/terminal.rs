//! The table on a terminal: one row per cell, never wrapped.
//!
//! If the width does not suffice, columns are dropped in this order: header-to-payload ratio, goodput, packets, the
//! mean with its interval, p99, round trips, round trips to the first acknowledgement, the bar, bytes per connection,
//! the total, the agreement of live and simulated figures, the median response time. The stack and its bytes up and
//! down always stay; a name that is still too long is clipped. A run of many cells shows only the best of each group.

mod bar;
mod best;
mod layout;
pub mod load;
mod notes;
mod style;
mod thresholds;

use wirecost_results::{Cell, Summary};

use crate::columns::{Column, Rank};
use crate::figures::{link_words, samples};
use crate::groups::Group;
use crate::names::Names;
use crate::number;
use layout::{Layout, Row};
use style::Style;

/// Above this number of cells the table shows only the best of each group.
const MANY: usize = 96;

/// Options of the table.
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

/// The run as a table of one row per cell, grouped by payload size, link and schedule, with legend, footnotes,
/// warnings, validity and thresholds below. A run of more than 96 cells has one row per group with the best cells.
pub fn table(summary: &Summary, options: &TableOptions) -> String {
    let style = Style::new(options.color);
    let mut lines = match summary.cells.len() {
        many if many > MANY => best::lines(summary, &style, options.width),
        _ => cells(summary, options, &style),
    };
    let has_invalid = summary
        .cells
        .iter()
        .any(|cell| cell.not_run.is_none() && !cell.valid);
    lines.extend(thresholds::lines(
        &summary.thresholds,
        has_invalid,
        &style,
        options.width,
    ));
    finished(lines)
}

/// A row per cell, and the notes below.
fn cells(summary: &Summary, options: &TableOptions, style: &Style) -> Vec<String> {
    let groups: Vec<(Group<'_>, Vec<Row>)> = Group::all(summary)
        .into_iter()
        .map(|group| {
            let rows = rows(&group);
            (group, rows)
        })
        .collect();
    let layout = Layout::fit(
        &Names::of(summary),
        groups.iter().flat_map(|(_, rows)| rows),
        options.width,
    );
    let mut lines = Vec::new();
    for (group, rows) in &groups {
        lines.push(style.bold(&number::clipped(&heading(summary, group), options.width)));
        lines.extend(layout.head(style));
        lines.extend(rows.iter().map(|row| layout.row(row, style)));
        lines.push(String::new());
    }
    lines.extend(notes::below(summary, &layout, style, options.width));
    lines
}

fn finished(lines: Vec<String>) -> String {
    lines
        .iter()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// One cell in one line, for output that is not a terminal.
pub fn cell_line(cell: &Cell) -> String {
    let name = format!(
        "{} {} B, {}",
        Names::alone().label(cell),
        cell.payload_bytes,
        link_words(&cell.link)
    );
    if let Some(reason) = &cell.not_run {
        return format!("{name}: not run: {}", number::plain(reason));
    }
    let text = |column: Column| column.text(cell) + &column.marks(cell, Rank::Unranked);
    format!(
        "{name}: {} B/msg ({} up, {} down), {} B/connection, {} packets, {} RTTs, p50 {} ms, p99 {} ms, n {}, {}",
        text(Column::Total),
        text(Column::Up),
        text(Column::Down),
        text(Column::Connection),
        text(Column::Packets),
        text(Column::RoundTrips),
        text(Column::P50),
        text(Column::P99),
        cell.message.as_ref().map_or(0, |message| message.samples),
        if cell.valid { "valid" } else { "INVALID" },
    )
}

fn heading(summary: &Summary, group: &Group<'_>) -> String {
    format!("{}, {}", group.heading, samples(&summary.scenario))
}

/// A group's rows, each value ranked among the cells of the group.
fn rows(group: &Group<'_>) -> Vec<Row> {
    let cells: Vec<&Cell> = group.iter().collect();
    let ranks = Column::ALL.map(|column| column.ranks(&cells));
    let scale = bar::Scale::of(&cells);
    let row = |(index, cell): (usize, &&Cell)| {
        let ranks = ranks.each_ref().map(|ranks| ranks[index]);
        Row::new(cell, &group.names, ranks, scale)
    };
    cells.iter().enumerate().map(row).collect()
}
