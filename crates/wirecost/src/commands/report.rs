//! `wirecost report`: rebuilds the report of a results folder.

use std::process::ExitCode;

use wirecost_report::ReportError;
use wirecost_results::RunFolder;

use crate::arguments::ReportArguments;
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command.
pub fn run(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let folder = RunFolder::open(&arguments.run);
    let written = if wirecost_report::load::is_load(&folder) {
        wirecost_report::load::write_all(&folder)
    } else {
        wirecost_report::write_all(&folder)
    };
    written.map_err(|error| match error {
        ReportError::Results(error) => error.into(),
        error @ (ReportError::Template(_) | ReportError::Link(_)) => Failure::new(exit::INTERNAL, error),
    })?;
    output::data(format_args!("{}\n", folder.file("report.html").display()));
    Ok(ExitCode::from(exit::OK))
}
