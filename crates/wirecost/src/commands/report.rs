//! `wirecost report`: the report of a results folder, made again.

use std::process::ExitCode;

use wirecost_lab::results::RunFolder;

use crate::arguments::ReportArguments;
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command.
pub fn run(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let folder = RunFolder::open(&arguments.run);
    let internal = |error| Failure::new(exit::INTERNAL, error);
    if wirecost_report::load::is_load(&folder) {
        wirecost_report::load::write_all(&folder).map_err(internal)?;
    } else {
        folder.read()?;
        wirecost_report::write_all(&folder).map_err(internal)?;
    }
    output::data(format_args!("{}\n", folder.file("report.html").display()));
    Ok(ExitCode::from(exit::OK))
}
