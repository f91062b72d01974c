//! `summary.md`: the terminal table's columns as GitHub-flavoured Markdown.

use wirecost_proto::units::counted;
use wirecost_results::{Cell, Summary};

use crate::columns::{Column, EARLY, INSEPARABLE, LOW_N, Rank, TO_ARRIVAL};
use crate::groups::Group;
use crate::names::Names;
use crate::{figures, number};

/// The summary as GitHub-flavoured Markdown: a table per payload size and link, best values bold, warnings below.
pub fn markdown(summary: &Summary) -> String {
    let names = &Names::of(summary);
    let groups = Group::all(summary);
    let tables: Vec<String> = groups.iter().map(table).collect();
    let footnote = format!(
        "Bold: best. `{INSEPARABLE}` not separable from the best, `{LOW_N}` low n and not ranked, `{TO_ARRIVAL}` time until \
         arrival, because nothing answers, `{EARLY}` early data, which shares its packets with the handshake.\n"
    );
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
    let command = format!(
        "\n```sh\n{}\n```\n",
        number::plain(&summary.command).replace("```", "'''")
    );
    tables.join("\n") + "\n" + &footnote + &differences + &varying + &warnings + &command
}

fn table(group: &Group<'_>) -> String {
    let names = &group.names;
    let cells: Vec<&Cell> = group.iter().collect();
    let ranks = Column::ALL.map(|column| column.ranks(&cells));
    let head: String = Column::ALL
        .iter()
        .map(|column| heading(column.heading()))
        .collect();
    let rule = "--:|".repeat(Column::ALL.len());
    let rows = cells.iter().enumerate().map(|(index, cell)| {
        let values = Column::ALL
            .iter()
            .zip(&ranks)
            .map(|(column, ranks)| value(*column, cell, ranks[index]));
        let keys = names
            .keys()
            .iter()
            .map(|key| format!(" {} |", escaped(&names.value(*key, cell))));
        let values = keys.chain(values).collect::<String>();
        format!("| {} |{values}\n", name(names, cell))
    });
    let rows: String = rows.collect();
    let keys: String = names.keys().iter().map(|key| heading(key.heading())).collect();
    let key_rule = ":--|".repeat(names.keys().len());
    format!(
        "### {}\n\n| stack |{keys}{head}\n|:--|{key_rule}{rule}\n{rows}",
        group.heading
    )
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
    let marks = marks.replace(INSEPARABLE, "\\~");
    match rank {
        Rank::Best => format!(" **{text}**{marks} |"),
        Rank::Inseparable | Rank::Behind | Rank::Unsure | Rank::Unranked => format!(" {text}{marks} |"),
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
