//! The judged limits of a budget, as JSON and as JUnit XML.

use serde_json::{Value, json};
use wirecost_report::junit::{Case, CaseVerdict, document};
use wirecost_scenario::Place;
use wirecost_scenario::budget::BudgetLimit;

use super::cause::MovedBytes;

/// A budget after its runs.
pub struct JudgedBudget {
    /// The name of the budget.
    pub name: String,
    /// Whether there is an earlier run to compare with.
    pub has_before: bool,
    /// Its scenarios and its capture, in the order of the file.
    pub parts: Vec<BudgetPart>,
}

/// A scenario, or the capture.
pub struct BudgetPart {
    /// Its name.
    pub name: String,
    /// What else differs from the earlier run: its settings, and the version of the program.
    pub changes: Vec<String>,
    /// Its limits, once for each cell.
    pub rows: Vec<Row>,
    /// The thresholds of the scenario itself that failed.
    pub failed: Vec<String>,
}

/// A limit on the figure of one cell.
pub struct Row {
    /// The cell, or the device of the capture.
    pub of: String,
    /// The limit.
    pub limit: BudgetLimit,
    /// The earlier figure in base units.
    pub before: Option<f64>,
    /// The figure in base units.
    pub after: f64,
    /// Whether the limit holds; `None` where there is no earlier figure to be above of.
    pub holds: Option<bool>,
    /// What moved the bytes that the figure is of.
    pub causes: Vec<MovedBytes>,
}

impl JudgedBudget {
    /// Every limit with its part.
    pub fn rows(&self) -> impl Iterator<Item = (&BudgetPart, &Row)> {
        self.parts.iter().flat_map(BudgetPart::rows_of)
    }

    /// The limits that are missed.
    pub fn missed(&self) -> impl Iterator<Item = (&BudgetPart, &Row)> {
        self.rows().filter(|(_, row)| row.holds == Some(false))
    }

    /// Whether nothing is missed.
    pub fn holds(&self) -> bool {
        self.missed().next().is_none() && self.parts.iter().all(|part| part.failed.is_empty())
    }

    /// The answer in a sentence, without a full stop.
    pub fn answer(&self) -> String {
        let (all, missed) = (self.rows().count(), self.missed().count());
        let unjudged = self.rows().filter(|(_, row)| row.holds.is_none()).count();
        let mut text = match missed {
            0 => format!("{}: {} of {all} limits hold", self.name, all - unjudged),
            missed => format!("{}: {missed} of {all} limits missed", self.name),
        };
        if unjudged > 0 {
            text += &format!("; {unjudged} not judged, without an earlier figure");
        }
        let failed: usize = self.parts.iter().map(|part| part.failed.len()).sum();
        if failed > 0 {
            text += &format!("; {failed} thresholds of scenarios failed");
        }
        text
    }

    /// All limits as JSON.
    pub fn json(&self) -> Value {
        let row = |(part, row): (&BudgetPart, &Row)| {
            json!({
                "scenario": part.name,
                "of": row.of,
                "metric": row.limit.name,
                "figure": row.limit.aggregation.name(),
                "limit": row.limit.text,
                "line": match row.limit.place { Place::Line(line) => Some(line), _ => None },
                "before": row.before,
                "after": row.after,
                "holds": row.holds,
                "causes": row.causes.iter().map(MovedBytes::json).collect::<Vec<Value>>(),
            })
        };
        let changes = self
            .parts
            .iter()
            .map(|part| (part.name.clone(), json!(part.changes)));
        let failed = self.parts.iter().flat_map(|part| &part.failed);
        json!({
            "budget": self.name,
            "version": env!("CARGO_PKG_VERSION"),
            "holds": self.holds(),
            "answer": self.answer(),
            "limits": self.rows().map(row).collect::<Vec<Value>>(),
            "changes": serde_json::Map::from_iter(changes),
            "failed_thresholds": failed.collect::<Vec<&String>>(),
        })
    }
}

impl BudgetPart {
    fn rows_of(&self) -> impl Iterator<Item = (&Self, &Row)> {
        self.rows.iter().map(move |row| (self, row))
    }
}

impl Row {
    /// The figure, what it was, and its limit.
    pub fn said(&self) -> String {
        let after = self.limit.shown(self.after);
        let before = self
            .before
            .map(|before| format!(", before {}", self.limit.shown(before)));
        format!(
            "{} {} is {after}{}; the limit is {}",
            self.of,
            self.limit.figure_name(),
            before.unwrap_or_default(),
            self.limit.text
        )
    }

    /// The change from the earlier figure; empty without one, or where it is the same.
    pub fn change(&self) -> String {
        let Some(before) = self.before.filter(|before| *before != self.after) else {
            return String::new();
        };
        let sign = if self.after > before { "+" } else { "-" };
        let part = (self.after / before - 1.0) * 100.0;
        let relative = if part.is_finite() {
            format!(" ({part:+.1} %)")
        } else {
            String::new()
        };
        format!(
            "{sign}{}{relative}",
            self.limit.shown((self.after - before).abs())
        )
    }

    /// `holds`, `missed` or `not judged`.
    pub const fn verdict(&self) -> &'static str {
        match self.holds {
            Some(true) => "holds",
            Some(false) => "missed",
            None => "not judged",
        }
    }
}

/// The limits as JUnit XML: a suite for each scenario.
pub fn junit(judged: &JudgedBudget) -> String {
    let case = |part: &BudgetPart, row: &Row| Case {
        class: format!("wirecost.budget.{}", part.name),
        name: format!("{} {} {}", row.of, row.limit.figure_name(), row.limit.text),
        seconds: 0.0,
        verdict: match row.holds {
            Some(true) => CaseVerdict::Pass,
            Some(false) => CaseVerdict::Failure(
                std::iter::once(row.said())
                    .chain(why(part, row))
                    .collect::<Vec<_>>()
                    .join("; "),
            ),
            None => CaseVerdict::Skipped("there is no earlier figure".to_owned()),
        },
    };
    let failed = |part: &BudgetPart, text: &String| Case {
        class: format!("wirecost.budget.{}.threshold", part.name),
        name: text.clone(),
        seconds: 0.0,
        verdict: CaseVerdict::Failure(text.clone()),
    };
    let suites = judged.parts.iter().map(|part| {
        let rows = part.rows.iter().map(|row| case(part, row));
        let failed = part.failed.iter().map(|text| failed(part, text));
        (part.name.as_str(), rows.chain(failed).collect())
    });
    document(&judged.name, &suites.collect::<Vec<(&str, Vec<Case>)>>())
}

/// What moved a figure: bytes by layer and cause, then settings; nothing where it did not move.
pub fn why(part: &BudgetPart, row: &Row) -> Vec<String> {
    let causes = row.causes.iter().map(ToString::to_string);
    let is_moved = row.before.is_some_and(|before| before != row.after);
    let changes = part.changes.iter().filter(|_| is_moved).cloned();
    causes.chain(changes).collect()
}
