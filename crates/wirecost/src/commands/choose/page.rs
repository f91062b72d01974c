//! `choice.md`: the choice for a design document.

use super::rows::Row;
use super::table::{asked, heads, line, notes};
use super::{Inputs, Verified};
use crate::commands::command_line;

/// The requirements, the ranking, what it is modelled by, and how to repeat it.
pub(super) fn page(inputs: &Inputs<'_>, rows: &[Row], verified: &[Verified]) -> String {
    let best = rows.first().filter(|row| row.is_met());
    let answer = best.map_or_else(
        || "No stack meets the requirements.".to_owned(),
        |row| format!("**{}** ({}).", row.stack, row.way),
    );
    let heads = heads(inputs);
    let mut text = format!("# Stack for {}\n\n{answer}\n\n", asked(inputs));
    text.push_str(&format!("| {} |\n", heads.join(" | ")));
    text.push_str(&format!("|{}\n", "---|".repeat(heads.len())));
    for row in rows {
        text.push_str(&format!("| {} |\n", line(inputs, row).join(" | ")));
    }
    text.push('\n');
    for note in notes(inputs, rows, verified)
        .iter()
        .filter(|note| !note.is_empty())
    {
        text.push_str(&format!("- {}\n", note.trim_start_matches("* ")));
    }
    text.push_str(&format!("\nRepeat it with `{}`.\n", command_line::recorded()));
    text
}
