//! Why a report could not be made.

use wirecost_results::ResultsError;

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The results folder cannot be read, or the report cannot be written into it.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The report's own template does not fit the results.
    #[error("the report's template does not fit the results: {0}")]
    Template(#[from] minijinja::Error),
    /// `link.json` is of another version.
    #[error("the link of link.json is not one of this version: {0}")]
    Link(serde_json::Error),
    /// The report of a capture is of another version.
    #[error("the report of link.json is not one of this version: {0}")]
    Capture(serde_json::Error),
}
