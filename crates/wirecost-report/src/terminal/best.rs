//! The best of each group, for runs with too many cells for one row each.

use wirecost_proto::units::counted;
use wirecost_results::{Cell, Summary};

use super::layout::wrapped;
use super::notes;
use super::style::Style;
use crate::columns::{
    ALIKE, ALIKE_MEANS, Column, Contest, TOO_FEW, TOO_FEW_SAMPLES, ends_with_arrival, shown,
};
use crate::groups::Group;
use crate::names::{Names, is_modelled, is_secured};
use crate::number;
use crate::per::Per;

/// The largest number of groups that are shown.
const MOST: usize = 150;
const GAP: usize = 2;

/// A question about each group: heading, column, and which cells compete.
type Question = (&'static str, Column, fn(&Cell) -> bool);

/// The questions about groups; all-in bytes where a message has a share of the rest.
fn questions(cells: &[&Cell], per: Per) -> [Question; 4] {
    let all_in = Column::AllIn(per);
    let is_shown = shown(cells, per).contains(&all_in);
    let (bytes, cheapest, answered) = match (is_shown, per) {
        (false, _) => (Column::Total, "cheapest message, B", "cheapest answered, B"),
        (true, Per::Message) => (all_in, "cheapest all-in, B", "cheapest answered, B"),
        (true, Per::Day) => (all_in, "cheapest day", "cheapest answered"),
        (true, Per::Month) => (all_in, "cheapest month", "cheapest answered"),
        (true, Per::Year) => (all_in, "cheapest year", "cheapest answered"),
    };
    [
        (cheapest, bytes, |_| true),
        (answered, bytes, is_answered),
        ("fastest answer, ms", Column::Mean, is_answered),
        ("cheapest connect, B", Column::Connection, |cell| {
            cell.connect.is_some()
        }),
    ]
}

/// The lines of a run.
pub(super) fn lines(summary: &Summary, per: Per, style: &Style, width: usize) -> Vec<String> {
    let groups: Vec<Group<'_>> = Group::all(summary).iter().map(Group::charted).collect();
    let rows: Vec<(String, Vec<&Cell>)> = groups.iter().flat_map(kinds).collect();
    let simulated = groups.iter().flat_map(Group::iter).any(is_modelled);
    let engine = if simulated { ", simulated" } else { "" };
    let head = format!(
        "{} in {}{engine}: the best of each; report.html and summary.csv hold all",
        counted(summary.cells.len() as u64, "cell"),
        counted(groups.len() as u64, "group")
    );
    let all: Vec<&Cell> = groups.iter().flat_map(Group::iter).collect();
    let questions = questions(&all, per);
    let names = groups.first().map(|group| std::rc::Rc::clone(&group.names));
    let names = names.unwrap_or_default();
    let table: Vec<[String; 5]> = rows
        .iter()
        .take(MOST)
        .map(|(heading, cells)| row(heading, cells, &questions, &names))
        .collect();
    let headings = questions.map(|(heading, _, _)| heading.to_owned());
    let [a, b, c, d] = headings;
    let table = columns([String::new(), a, b, c, d], &table, width);
    let mut lines = vec![style.bold(&number::clipped(&head, width))];
    lines.extend(table);
    if rows.len() > MOST {
        lines.push(format!("and {}", counted((rows.len() - MOST) as u64, "more row")));
    }
    lines.push(String::new());
    let notes = [format!(
        "{ALIKE}N: N others with {ALIKE_MEANS}; {TOO_FEW}N: {TOO_FEW_SAMPLES} N others from it"
    )];
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

/// The cells of a group that compete; plain and secured stacks apart.
fn kinds<'a>(group: &Group<'a>) -> Vec<(String, Vec<&'a Cell>)> {
    if !group.has_both_protections() {
        return vec![(group.heading.clone(), group.iter().collect())];
    }
    let kind = |(name, secured): (&str, bool)| {
        let cells = group.iter().filter(|cell| is_secured(cell) == secured);
        (format!("{}, {name}", group.heading), cells.collect())
    };
    [("plain", false), ("encrypted", true)].map(kind).into()
}

fn row(heading: &str, cells: &[&Cell], questions: &[Question; 4], names: &Names) -> [String; 5] {
    let [a, b, c, d] = questions.map(|(_, column, competes)| answer(cells, names, column, competes));
    [heading.to_owned(), a, b, c, d]
}

/// The best of the competing cells, its value, and the number of others without a difference of note from it, or that the samples
/// do not tell from it.
fn answer(cells: &[&Cell], names: &Names, column: Column, competes: fn(&Cell) -> bool) -> String {
    let cells: Vec<&Cell> = cells.iter().copied().filter(|cell| competes(cell)).collect();
    let (mark, tied) = match column.contest(&cells) {
        // No cell competes: all are invalid, or are answered where others only arrive.
        Contest::Nothing => return number::NONE.to_owned(),
        Contest::Best(cells) | Contest::NoDifference(cells) => (ALIKE, cells),
        Contest::TooFew(cells) => (TOO_FEW, cells),
    };
    let Some((first, others)) = tied.split_first() else {
        return number::NONE.to_owned();
    };
    let tie = match others.len() {
        0 if mark == ALIKE => String::new(),
        others => format!(" {mark}{others}"),
    };
    let value = if column == Column::Mean {
        // Without its interval.
        number::optional(column.value(first), number::millis)
    } else {
        column.text(first)
    };
    format!("{} {value}{tie}", names.contender(first))
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
            // The last column needs no gap behind it; the first stays, since without names the rows say nothing.
            if edge > width + GAP && !line.is_empty() {
                break;
            }
            line += &format!("{text:<column$}{:GAP$}", "");
        }
        number::clipped(line.trim_end(), width)
    };
    all.iter().map(line).collect()
}
