//! `wirecost load`: many devices against one target.

pub mod job;
pub mod options;
mod shape;

use std::process::ExitCode;

use wirecost_lab::scenario::load::print::{Resolved, Secrets};
use wirecost_lab::scenario::thresholds::Thresholds;
use wirecost_live::signals::Interrupt;

use crate::arguments::LoadArguments;
use crate::exit::{self, Failure};
use job::Job;

/// Runs the command.
pub fn run(arguments: &LoadArguments) -> Result<ExitCode, Failure> {
    let options = options::options(arguments)?;
    let interrupt = Interrupt::install()?;
    let resolved = serde_saphyr::to_string(&Resolved::new(&options, Secrets::Hidden));
    let job = Job {
        name: format!("load {}", options.stack),
        shard: None,
        resolved: resolved.map_err(|error| Failure::new(exit::INTERNAL, error))?,
        loads: std::slice::from_ref(&options),
        output: &arguments.output,
        thresholds: &Thresholds::default(),
    };
    job.run(interrupt).map(ExitCode::from)
}
