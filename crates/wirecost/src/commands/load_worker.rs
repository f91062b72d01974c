//! `wirecost load-worker`: some parts of a load, in a separate process.

use std::process::ExitCode;

use wirecost_live::environment::OpenFiles;
use wirecost_live::limits;
use wirecost_load::parts::workers::worker;

use crate::exit::{self, Failure};
use crate::output;

/// Runs the command until its input ends.
pub fn run() -> Result<ExitCode, Failure> {
    OpenFiles::raise().map_err(Failure::internal)?;
    limits::spare_memory();
    worker::run(std::io::stdin().lock(), output::lines()).map_err(Failure::internal)?;
    Ok(ExitCode::from(exit::OK))
}
