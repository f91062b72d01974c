//! `wirecost load-target`: the counting target of a load, which starts it as a process of its own.

use std::process::ExitCode;

use wirecost_lab::load::sink;

use crate::exit::{self, Failure};

/// Runs the command until there are no more orders.
pub fn run() -> Result<ExitCode, Failure> {
    let served = sink::serve(std::io::stdin().lock(), std::io::stdout().lock());
    served.map_err(|error| Failure::new(exit::INTERNAL, error))?;
    Ok(ExitCode::from(exit::OK))
}
