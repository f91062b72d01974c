//! The tables and exports of reports in NB-IoT cells.
//!
//! - [`table()`]: the points of a run on a terminal; [`sensitivity`]: their knees
//! - [`export`]: `summary.csv` and `summary.md`
//! - `html`: `report.html`
//! - [`targets`]: the model's validation

pub mod export;
mod html;
mod table;
mod what_if;

use std::fmt::Write as _;
use std::path::PathBuf;

use wirecost_results::RunFolder;
use wirecost_results::nbiot::{NbiotSummary, Target};

use crate::ReportError;
pub use html::{page, write_page};
pub use table::{sensitivity, table};

/// Reads a results folder and writes its `summary.csv`, `summary.md` and `report.html`.
///
/// # Errors
/// `summary.json` is missing, of another version or unreadable; the folder cannot be written to.
pub fn write_all(folder: &RunFolder) -> Result<(), ReportError> {
    let summary: NbiotSummary = folder.read_json("summary.json")?;
    folder.write_derived("summary.csv", export::csv(&summary).as_bytes())?;
    folder.write_derived("summary.md", export::markdown(&summary).as_bytes())?;
    write_page(folder)
}

/// What a person opens first of a results folder: its page or, without one, its table; `None` where nothing was written.
pub fn main_file(folder: &RunFolder) -> Option<PathBuf> {
    let files = ["report.html", "summary.md"].map(|name| folder.file(name));
    files.into_iter().find(|path| path.exists())
}

/// Everything that a terminal shows of a run.
pub fn text(summary: &NbiotSummary) -> String {
    let mut text = table(summary);
    what_if::kept(&mut text, &summary.points);
    what_if::differences(&mut text, &summary.points);
    if !summary.sensitivity.is_empty() {
        text = format!("{text}\n{}", sensitivity(&summary.sensitivity));
    }
    text + &crate::terminal::threshold_lines(&summary.thresholds)
}

/// The targets with their numbers.
pub fn targets(targets: &[Target]) -> String {
    let mut text = String::new();
    for target in targets {
        let verdict = if target.passed { "ok" } else { "fails" };
        let bounds = match target.bounds.most {
            // A target without an upper bound has this one, as JSON has no infinity.
            f64::MAX => format!("at least {}", number(target.bounds.least)),
            most => format!("{} to {}", number(target.bounds.least), number(most)),
        };
        let value = format!("{} {}", number(target.value), target.unit);
        writeln!(
            text,
            "{verdict:<6}{:<52}{value:>18}   allowed: {bounds}",
            target.name
        )
        .ok();
    }
    let passed = targets.iter().filter(|target| target.passed).count();
    writeln!(text, "{passed} of {} targets are met", targets.len()).ok();
    text
}

/// A number with at most four places.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirecost_results::nbiot::TargetBounds;

    #[test]
    fn a_target_shows_its_number_and_what_is_allowed() {
        let target = |value: f64, most| Target {
            name: "peak uplink, 12 tones".into(),
            unit: "kbit/s".into(),
            value,
            expected: 62.5,
            bounds: TargetBounds { least: 62.495, most },
            passed: value >= 62.495,
        };
        let text = targets(&[target(62.5, 62.505), target(60.0, f64::MAX)]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("ok    peak uplink, 12 tones"), "{text}");
        assert!(
            lines[0].ends_with("62.5 kbit/s   allowed: 62.495 to 62.505"),
            "{text}"
        );
        assert!(
            lines[1].ends_with("60 kbit/s   allowed: at least 62.495"),
            "{text}"
        );
        assert_eq!(lines[2], "1 of 2 targets are met");
    }
}
