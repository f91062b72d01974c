//! `summary.md`: the conclusion, and the terminal table's rows and columns, as GitHub-flavoured Markdown.

use wirecost_proto::units::counted;
use wirecost_results::{Cell, Summary};

use crate::columns::{
    ALIKE, ALIKE_MEANS, CUT_SHORT, Column, EARLY, LOW_N, Rank, TO_ARRIVAL, TOO_FEW, TOO_FEW_MEANS, shown,
};
use crate::groups::Group;
use crate::html::pays_off;
use crate::names::{Names, is_secured};
use crate::per::Per;
use crate::rows::Rows;
use crate::{conclusion, explain, figures, number, readings, settings};

/// The summary as GitHub-flavoured Markdown: a table per payload size and link, best values bold, warnings below.
pub fn markdown(summary: &Summary) -> String {
    let command = &summary.command;
    let summary = &Rows::One.select(summary);
    let names = &Names::from_summary(summary);
    let groups = Group::all(summary);
    let all: Vec<&Cell> = summary.cells.iter().collect();
    let columns = shown(&all, Per::Message);
    let tables: Vec<String> = groups.iter().map(|group| table(group, &columns)).collect();
    let conclusion = conclusion::sentences(summary, Per::Message, pays_off(summary));
    let conclusion: String = conclusion
        .iter()
        .map(|text| format!("**{}**\n\n", escaped(text)))
        .collect();
    let tables = conclusion + &tables.join("\n");
    let footnote = footnote(&tables);
    let explanations = explain::lines(names, &summary.cells);
    let explanations: String = explanations
        .iter()
        .chain(&readings::lines(names, &summary.cells))
        .chain(&settings::lines(names, summary))
        .map(|text| format!("\n- {}\n", escaped(text)))
        .collect();
    let varying = summary
        .cells
        .iter()
        .filter_map(|cell| figures::varying_connect(names, cell));
    let varying: String = varying.map(|text| format!("\n- {}\n", escaped(&text))).collect();
    let differences = names.differences(&summary.cells);
    let differences: String = differences
        .iter()
        .map(|(number, text, cells)| {
            format!(
                "\n- {number} {} ({})\n",
                escaped(text),
                counted(cells.len() as u64, "cell")
            )
        })
        .collect();
    let warnings: String = summary
        .cells
        .iter()
        .flat_map(|cell| warnings(names, cell))
        .collect();
    // A command of a stranger's folder must not end the block and write Markdown of its own.
    let command = format!("\n```sh\n{}\n```\n", number::plain(command).replace("```", "'''"));
    tables + "\n" + &footnote + &differences + &varying + &explanations + &warnings + &command
}

/// The meanings of the marks in these tables.
fn footnote(tables: &str) -> String {
    let marks = [
        (
            "**",
            "Bold: best, or without a difference of note from it".to_owned(),
        ),
        ("\\~", format!("`{ALIKE}` {ALIKE_MEANS}")),
        (TOO_FEW, format!("`{TOO_FEW}` {TOO_FEW_MEANS}")),
        (
            CUT_SHORT,
            format!("`{CUT_SHORT}` not all messages were sent: of those that were; not compared"),
        ),
        (LOW_N, format!("`{LOW_N}` low n and not ranked")),
        (
            TO_ARRIVAL,
            format!("`{TO_ARRIVAL}` unacknowledged: one-way delay to the last byte"),
        ),
        (
            EARLY,
            format!(
                "`{EARLY}` early data, or sent behind the request to connect: the message shares packets with the connect"
            ),
        ),
    ];
    // Only marks that are there: a legend of all is longer than a small table.
    let shown = marks.into_iter().filter(|(mark, _)| tables.contains(mark));
    let meanings: Vec<String> = shown.map(|(_, meaning)| meaning).collect();
    if meanings.is_empty() {
        String::new()
    } else {
        meanings.join(". ") + ".\n"
    }
}

fn table(group: &Group<'_>, columns: &[Column]) -> String {
    let names = &group.names;
    let cells: Vec<&Cell> = group.iter().collect();
    let ranks: Vec<Vec<Rank>> = columns.iter().map(|column| column.ranks(&cells)).collect();
    let head: String = columns.iter().map(|column| heading(column.heading())).collect();
    let rule = "--:|".repeat(columns.len());
    let rows = cells.iter().enumerate().map(|(index, cell)| {
        let values = columns
            .iter()
            .zip(&ranks)
            .map(|(column, ranks)| value(*column, cell, ranks[index]));
        let keys = names
            .keys()
            .iter()
            .map(|key| format!(" {} |", escaped(&names.value(*key, cell))));
        let values = keys.chain(values).collect::<String>();
        let kind = kind(group, index, columns.len() + names.keys().len());
        format!("{kind}| {} |{values}\n", name(names, cell))
    });
    let rows: String = rows.collect();
    let keys: String = names.keys().iter().map(|key| heading(key.heading())).collect();
    let key_rule = ":--|".repeat(names.keys().len());
    format!(
        "### {}\n\n| stack |{keys}{head}\n|:--|{key_rule}{rule}\n{rows}",
        group.heading
    )
}

/// The row before the first plain and the first secured stack, which are ranked apart; empty before others.
fn kind(group: &Group<'_>, index: usize, columns: usize) -> String {
    let secured: Vec<bool> = group.iter().map(is_secured).collect();
    let before = index.checked_sub(1).map(|before| secured[before]);
    if !group.has_both_protections() || before == Some(secured[index]) {
        return String::new();
    }
    let name = if secured[index] { "encrypted" } else { "plain" };
    format!("| *{name}* |{}\n", " |".repeat(columns))
}

fn heading((name, unit): (&str, &str)) -> String {
    if unit.is_empty() {
        format!(" {name} |")
    } else {
        format!(" {name} ({unit}) |")
    }
}

fn value(column: Column, cell: &Cell, rank: Rank) -> String {
    let text = column.text(cell);
    let marks = column.marks(cell, rank);
    // The mark is escaped, because two tildes would be a strike-through.
    let marks = marks.replace(ALIKE, "\\~");
    if rank.is_among_the_best() {
        format!(" **{text}**{marks} |")
    } else {
        format!(" {text}{marks} |")
    }
}

fn name(names: &Names, cell: &Cell) -> String {
    let label = escaped(&names.in_table(cell));
    match &cell.not_run {
        Some(reason) => format!("{label} (not run: {})", escaped(reason)),
        None if cell.valid => label,
        None => format!("{label} (INVALID)"),
    }
}

fn warnings(names: &Names, cell: &Cell) -> Vec<String> {
    let line =
        |text: &str, kind: &str| format!("\n- {kind}: {}: {}\n", escaped(&names.label(cell)), escaped(text));
    let kind = |invalidates| if invalidates { "INVALID" } else { "warning" };
    cell.warnings
        .iter()
        .map(|warning| line(&warning.text, kind(warning.invalidates)))
        .collect()
}

pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in number::plain(text).chars() {
        match c {
            '<' => out += "&lt;",
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}
