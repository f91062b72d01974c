//! `wirecost load`: many devices against one target.

pub mod job;
pub mod options;
mod shape;

use std::process::ExitCode;

use wirecost_live::signals::Interrupt;
use wirecost_scenario::Scenario;
use wirecost_scenario::thresholds::Thresholds;

use crate::arguments::LoadArguments;
use crate::exit::Failure;
use job::Job;

/// Runs the command.
pub fn run(arguments: &LoadArguments) -> Result<ExitCode, Failure> {
    let loads = options::loads(arguments)?;
    let interrupt = Interrupt::install()?;
    let mut stacks: Vec<String> = loads.iter().map(|load| load.stack.to_string()).collect();
    stacks.dedup();
    let scenario = Scenario::loads(loads.clone());
    let job = Job {
        name: format!("load {}", stacks.join(",")),
        shard: None,
        resolved: scenario.to_yaml(),
        loads: &loads,
        output: &arguments.output,
        thresholds: &Thresholds::default(),
    };
    job.run(interrupt).map(ExitCode::from)
}
