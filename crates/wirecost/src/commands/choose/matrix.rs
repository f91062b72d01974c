//! The decision matrix of several use cases: what each one takes, why, and what comes next.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wirecost_proto::units::counted;
use wirecost_report::terminal::listing::{Head, Listing};
use wirecost_report::terminal::paragraph;

use super::rows::Row;
use super::sentence::brief;
use super::{Decision, table};

/// The heads of the columns.
pub(super) const HEADS: [&str; 5] = ["use case", "best", "its figures", "excluded", "alternative"];

/// The matrix for a terminal of `width` columns.
pub(super) fn table(decisions: &[Decision<'_>], width: usize) -> String {
    let listing = Listing {
        heads: HEADS.map(Head::name).to_vec(),
        rows: decisions.iter().map(line).collect(),
    };
    let mut text = listing.draw(width, "choice.md");
    let mut notes: Vec<String> = Vec::new();
    for decision in decisions {
        for note in table::basis(&decision.inputs) {
            // Most use cases rest on the same assumptions.
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes.extend(decision.verified.iter().map(|verified| {
            let name = decision.name.as_deref().unwrap_or_default();
            format!("{name}: {}", table::verdict(verified))
        }));
    }
    for note in notes {
        text.push_str(&paragraph(&note, width));
    }
    text
}

/// The row of a use case.
pub(super) fn line(decision: &Decision<'_>) -> Vec<String> {
    let rows = &decision.rows;
    let named = |row: &Row| format!("{}, {}", row.stack, row.way.name());
    let figures = |row: &Row| brief(&decision.inputs, row).join(", ");
    let best = rows.first().filter(|row| row.is_met());
    let next = rows.iter().filter(|row| row.is_met()).nth(1);
    let (answer, its) = match (best, rows.first()) {
        (Some(best), _) => (named(best), figures(best)),
        // "none" alone helps nobody: what the nearest lacks says which requirement to drop.
        (None, Some(nearest)) => (
            "none".to_owned(),
            format!("nearest {}: {}", named(nearest), nearest.fails.join("; ")),
        ),
        (None, None) => ("none".to_owned(), String::new()),
    };
    let alternative = next.map_or_else(String::new, |next| {
        let mark = next
            .beside_first()
            .map_or_else(String::new, |words| format!("{words}: "));
        format!("{mark}{}: {}", named(next), figures(next))
    });
    vec![
        decision.name.clone().unwrap_or_default(),
        answer,
        its,
        excluded(rows),
        alternative,
    ]
}

/// How many rows each requirement excludes.
fn excluded(rows: &[Row]) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let named = rows
        .iter()
        .flat_map(|row| &row.fails)
        .filter_map(|fail| fail.split(':').next());
    for name in named {
        *counts.entry(name).or_default() += 1;
    }
    if counts.is_empty() {
        return "none".to_owned();
    }
    let texts: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{count} by {name}"))
        .collect();
    format!("of {}: {}", counted(rows.len() as u64, "row"), texts.join(", "))
}

/// The choices as JSON.
pub(super) fn json(decisions: &[Decision<'_>]) -> Value {
    let cases = decisions.iter().map(|decision| {
        let mut choice = table::json(decision);
        choice["name"] = json!(decision.name);
        choice
    });
    json!({ "use_cases": cases.collect::<Vec<Value>>() })
}
