//! Terminal tables, exports and the HTML report: pure functions of a results folder.
//!
//! - [`capture`]: what pages show of a capture
//! - [`chart`]: the kit that all charts are made of
//! - [`terminal`]: the table on a terminal
//! - [`export`]: `summary.csv` and `summary.md`
//! - [`html`]: `report.html`, one file that asks nothing of the network
//! - [`junit`]: test cases for continuous integration
//! - [`choice`]: which stack was chosen, for a design document
//! - [`link`]: the same for a program's run
//! - [`load`]: the same for loads; [`nbiot`]: tables and `report.html` of reports in NB-IoT cells; [`sequence`]: one device over
//!   the air
//! - [`own`]: a reader's own run or capture, as a part of the page of `wirecost ui`
//! - [`standalone`]: the figures of a page as files of their own
//!
//! [`write_all`] reads a folder and writes all three into it. The parts that they share are `columns` (the value of a
//! column, its text, its ranking), `figures` (bytes by layer of a cell), `groups` (cells that may be compared), `names`
//! (the names of cells), [`per`] (what all-in bytes are of), `conclusion` (the figures in a sentence), [`csv`] and [`number`] (the format of quantities).
//!
//! ```
//! use wirecost_results::Summary;
//! use wirecost_report::export;
//!
//! fn as_markdown(summary: &Summary) -> String {
//!     export::markdown(summary)
//! }
//! ```

// A new column must not be written as another one: the compiler lists the matches that it is missing in.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod capture;
pub mod chart;
pub mod choice;
mod columns;
mod conclusion;
pub mod csv;
mod error;
mod explain;
pub mod export;
mod figures;
mod groups;
pub mod html;
pub mod junit;
pub mod link;
pub mod load;
mod names;
pub mod nbiot;
pub mod number;
pub mod own;
pub mod per;
mod readings;
pub mod residual;
pub mod rows;
pub mod sequence;
mod settings;
pub mod standalone;
pub mod terminal;

use wirecost_results::RunFolder;

pub use error::ReportError;
pub use figures::link_words;

/// Reads a results folder and writes its `summary.csv`, `summary.md` and `report.html`.
///
/// # Errors
/// A file of the folder is missing, of another version or unreadable; the folder cannot be written to.
pub fn write_all(folder: &RunFolder) -> Result<(), ReportError> {
    let results = folder.read()?;
    folder.write_derived("summary.csv", export::csv(&results.summary).as_bytes())?;
    folder.write_derived("summary.md", export::markdown(&results.summary).as_bytes())?;
    folder.write_derived("report.html", html::report(&results)?.as_bytes())?;
    Ok(())
}
