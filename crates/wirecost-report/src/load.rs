//! The output about loads: the final table, exports, `report.html`.
//!
//! - [`crate::terminal::load`]: the table at the end of a run
//! - [`csv()`], [`markdown()`], [`junit()`]: `summary.csv`, `summary.md`, `junit.xml`
//! - [`html()`] makes `report.html`
//!
//! All of them are pure functions of [`LoadResults`], hence of a results folder.

mod csv;
mod html;
mod junit;
mod markdown;
pub(crate) mod words;

use std::path::Path;

use serde_json::Value;
use wirecost_files::Input;
use wirecost_results::columns::Row;
use wirecost_results::curves::{Curve, CurveKind};
use wirecost_results::load::LoadSummary;
use wirecost_results::profile::Folded;
use wirecost_results::seconds::SecondRow;
use wirecost_results::usage::UsageRow;
use wirecost_results::{ResultsError, RunFolder};

use crate::ReportError;
pub use csv::{csv, hops_csv};
pub use html::report as html;
pub use junit::{Absent, junit};
pub use markdown::markdown;
pub use wirecost_results::load::is_load;
pub use words::time;

/// Everything that a report of loads reads from its results folder.
#[derive(Clone, Debug)]
pub struct LoadResults {
    /// `summary.json`.
    pub summary: LoadSummary,
    /// `env.json`, as any JSON.
    pub environment: Value,
    /// `scenario.resolved.yaml`; empty if there is none.
    pub scenario: String,
    /// `intervals.csv`.
    pub seconds: Vec<SecondRow>,
    /// `usage.csv`; empty if there is none.
    pub usage: Vec<UsageRow>,
    /// `latency/*.hgrm`, those that are there.
    pub curves: Vec<Curve>,
    /// The folded stacks of targets, each with the index of its load.
    pub profiles: Vec<(usize, Folded)>,
}

impl LoadResults {
    /// Reads a results folder.
    ///
    /// # Errors
    /// A file is missing, cannot be read or is not of this version; distributions, profile and scenario may be
    /// missing.
    pub fn read(folder: &RunFolder) -> Result<Self, ReportError> {
        let summary: LoadSummary = folder.read_json("summary.json")?;
        // Folders of older versions have none.
        let usage = match folder.file("usage.csv").exists() {
            true => rows(folder, "usage.csv")?,
            false => Vec::new(),
        };
        Ok(Self {
            environment: folder.read_json("env.json")?,
            scenario: folder.read_text("scenario.resolved.yaml").unwrap_or_default(),
            seconds: rows(folder, "intervals.csv")?,
            usage,
            curves: curves(folder, &summary),
            profiles: profiles(folder, &summary),
            summary,
        })
    }
}

/// Reads a results folder of loads and writes its `summary.csv`, `summary.md`, `junit.xml` and `report.html`.
///
/// # Errors
/// A file of the folder is missing, of another version or unreadable; the folder cannot be written to.
pub fn write_all(folder: &RunFolder) -> Result<(), ReportError> {
    let results = LoadResults::read(folder)?;
    folder.write_derived("summary.csv", csv(&results.summary).as_bytes())?;
    if let Some(hops) = hops_csv(&results.summary) {
        folder.write_derived("hops.csv", hops.as_bytes())?;
    }
    folder.write_derived("summary.md", markdown(&results.summary).as_bytes())?;
    folder.write_derived("junit.xml", junit(&results.summary, &[]).as_bytes())?;
    folder.write_derived("report.html", html(&results)?.as_bytes())?;
    Ok(())
}

fn rows<R: Row>(folder: &RunFolder, name: &str) -> Result<Vec<R>, ResultsError> {
    R::read(&folder.read_text(name)?).map_err(|line| ResultsError::Format {
        path: folder.file(name),
        reason: format!("line {line} has other columns"),
    })
}

fn curves(folder: &RunFolder, summary: &LoadSummary) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (load, entry) in summary.loads.iter().enumerate() {
        for phase in 0..entry.phases.len() {
            for kind in CurveKind::ALL {
                // Only times that a phase has are written.
                let Ok(text) = folder.read_text(&kind.file(load, phase)) else {
                    continue;
                };
                let steps = Curve::steps_of(&text);
                curves.push(Curve {
                    load,
                    phase,
                    kind,
                    steps,
                });
            }
        }
    }
    curves
}

/// Reads the profiles. A path outside the folder is not followed.
fn profiles(folder: &RunFolder, summary: &LoadSummary) -> Vec<(usize, Folded)> {
    let inside = |name: &str| !Path::new(name).is_absolute() && !name.split('/').any(|part| part == "..");
    let read = |(load, name): (usize, &String)| {
        let text = Input::Results.text(&folder.file(name)).ok()?;
        Some((load, Folded::read(&text)))
    };
    let named = summary.loads.iter().enumerate();
    named
        .filter_map(|(load, entry)| Some((load, entry.profile.as_ref()?)))
        .filter(|(_, name)| inside(name))
        .filter_map(read)
        .collect()
}
