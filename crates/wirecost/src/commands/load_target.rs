//! `wirecost load-target`: the counting target of a load, in a separate process.

use std::process::ExitCode;

use wirecost_load::targets::sink;

use crate::exit::{self, Failure};
use crate::output;

/// Runs the command until its input ends.
pub fn run() -> Result<ExitCode, Failure> {
    let served = sink::serve(std::io::stdin().lock(), output::lines().lock());
    served.map_err(Failure::internal)?;
    Ok(ExitCode::from(exit::OK))
}
