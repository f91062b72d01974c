//! The judged limits for a terminal: the answer, what is missed and why, and all figures.

use super::judged::{JudgedBudget, Row, why};

/// The most lines that say what moved a figure.
const MOST_CAUSES: usize = 8;

/// The answer, what is missed, and the table.
pub fn table(judged: &JudgedBudget) -> String {
    let mut text = judged.answer() + "\n";
    for (part, row) in judged.missed() {
        text += &format!("missed: {}: {}\n", part.name, row.said());
        for line in why(part, row).iter().take(MOST_CAUSES) {
            text += &format!("  {line}\n");
        }
    }
    for part in &judged.parts {
        for failed in &part.failed {
            text += &format!("failed: {}: threshold {failed}\n", part.name);
        }
    }
    let heads = [
        "", "scenario", "of", "figure", "limit", "before", "after", "change",
    ]
    .map(str::to_owned);
    let rows = judged.rows().map(|(part, row)| cells(&part.name, row));
    let lines: Vec<[String; 8]> = std::iter::once(heads).chain(rows).collect();
    let widths: [usize; 8] = std::array::from_fn(|column| {
        let of = lines.iter().map(|line| line[column].chars().count());
        of.max().unwrap_or_default()
    });
    text += "\n";
    for line in &lines {
        let padded = line.iter().zip(widths).enumerate();
        let padded: Vec<String> = padded
            .map(|(column, (cell, width))| match column {
                5.. => format!("{cell:>width$}"),
                _ => format!("{cell:<width$}"),
            })
            .collect();
        text += padded.join("  ").trim_end();
        text += "\n";
    }
    text
}

fn cells(part: &str, row: &Row) -> [String; 8] {
    [
        row.verdict().to_owned(),
        part.to_owned(),
        row.of.clone(),
        row.limit.figure_name(),
        row.limit.text.clone(),
        row.before
            .map_or_else(|| "-".to_owned(), |before| row.limit.shown(before)),
        row.limit.shown(row.after),
        row.change(),
    ]
}
