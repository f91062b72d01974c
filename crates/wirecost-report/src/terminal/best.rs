//! The best of each group, for runs with too many cells for one row each.

use wirecost_proto::units::counted;
use wirecost_results::{Cell, Summary};

use super::layout::wrapped;
use super::notes;
use super::style::Style;
use crate::columns::{Column, INSEPARABLE, Rank, ends_with_arrival};
use crate::groups::Group;
use crate::names::is_modelled;
use crate::number;

/// The largest number of groups that are shown.
const MOST: usize = 150;
const GAP: usize = 2;

/// A question about each group: heading, column, and which cells compete.
type Question = (&'static str, Column, fn(&Cell) -> bool);

const QUESTIONS: [Question; 4] = [
    ("cheapest message, B", Column::Total, |_| true),
    ("cheapest answered, B", Column::Total, is_answered),
    ("fastest answer, ms", Column::Mean, is_answered),
    ("cheapest connect, B", Column::Connection, |cell| {
        cell.connect.is_some()
    }),
];

/// The lines of a run.
pub(super) fn lines(summary: &Summary, style: &Style, width: usize) -> Vec<String> {
    let groups: Vec<Group<'_>> = Group::all(summary).iter().map(Group::charted).collect();
    let simulated = groups.iter().flat_map(Group::iter).any(is_modelled);
    let engine = if simulated { ", simulated" } else { "" };
    let head = format!(
        "{} in {}{engine}: the best of each; report.html and summary.csv hold all",
        counted(summary.cells.len() as u64, "cell"),
        counted(groups.len() as u64, "group")
    );
    let rows: Vec<[String; 5]> = groups.iter().take(MOST).map(row).collect();
    let headings = QUESTIONS.map(|(heading, _, _)| heading.to_owned());
    let [a, b, c, d] = headings;
    let table = columns([String::new(), a, b, c, d], &rows, width);
    let mut lines = vec![style.bold(&number::clipped(&head, width))];
    lines.extend(table);
    if groups.len() > MOST {
        lines.push(format!(
            "and {}",
            counted((groups.len() - MOST) as u64, "more group")
        ));
    }
    lines.push(String::new());
    let notes = [
        format!(
            "{INSEPARABLE}N: N others are not separable from it, as their 95 % intervals overlap or there are too few samples for one"
        ),
        "bytes under loss are means: the maps of report.html tell which are separable".to_owned(),
    ];
    lines.extend(
        notes
            .iter()
            .flat_map(|note| wrapped(note, width))
            .map(|line| style.faint(&line)),
    );
    lines.extend(notes::below_best(summary, style, width));
    lines
}

fn is_answered(cell: &Cell) -> bool {
    !ends_with_arrival(cell)
}

fn row(group: &Group<'_>) -> [String; 5] {
    let [a, b, c, d] = QUESTIONS.map(|(_, column, competes)| answer(group, column, competes));
    [group.heading.clone(), a, b, c, d]
}

/// The best of the competing cells, its value, and the number of cells that are not separable from it.
fn answer(group: &Group<'_>, column: Column, competes: fn(&Cell) -> bool) -> String {
    let cells: Vec<&Cell> = group.iter().filter(|cell| competes(cell)).collect();
    let ranks = column.ranks(&cells);
    let best = cells.iter().zip(&ranks).find(|(_, rank)| **rank == Rank::Best);
    let Some((best, _)) = best else {
        return number::NONE.to_owned();
    };
    let others = ranks
        .iter()
        .filter(|rank| matches!(rank, Rank::Best | Rank::Inseparable | Rank::Unsure))
        .count()
        - 1;
    let tie = if others == 0 {
        String::new()
    } else {
        format!(" {INSEPARABLE}{others}")
    };
    let write = if column == Column::Mean {
        number::millis
    } else {
        number::bytes
    };
    let value = number::optional(column.value(best), write);
    format!("{} {value}{tie}", group.names.contender(best))
}

/// The rows below their headings, columns dropped from the right where the width does not suffice.
fn columns(head: [String; 5], rows: &[[String; 5]], width: usize) -> Vec<String> {
    let all: Vec<&[String; 5]> = std::iter::once(&head).chain(rows).collect();
    let widths: [usize; 5] = std::array::from_fn(|column| {
        let widest = all.iter().map(|row| row[column].chars().count()).max();
        widest.unwrap_or(0)
    });
    let line = |row: &&[String; 5]| {
        let mut line = String::new();
        let mut edge = 0;
        for (text, column) in row.iter().zip(widths) {
            edge += column + GAP;
            if edge > width + GAP && !line.is_empty() {
                break;
            }
            line += &format!("{text:<column$}{:GAP$}", "");
        }
        number::clipped(line.trim_end(), width)
    };
    all.iter().map(line).collect()
}
