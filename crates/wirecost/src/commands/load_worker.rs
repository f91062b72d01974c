//! `wirecost load-worker`: some parts of a load, which starts it as a process of its own.

use std::process::ExitCode;

use wirecost_live::environment::OpenFiles;
use wirecost_live::limits;
use wirecost_load::workers::worker;

use crate::exit::{self, Failure};
use crate::output;

/// Runs the command until there are no more orders.
pub fn run() -> Result<ExitCode, Failure> {
    let internal = |error: &dyn std::fmt::Display| Failure::new(exit::INTERNAL, error);
    OpenFiles::raise().map_err(|error| internal(&error))?;
    limits::spare_memory();
    worker::run(std::io::stdin().lock(), output::lines()).map_err(|error| internal(&error))?;
    Ok(ExitCode::from(exit::OK))
}
