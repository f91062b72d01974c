//! `wirecost load`: many devices against one target.

pub mod agents;
pub mod loads;
pub mod options;
mod shape;

use std::process::ExitCode;

use wirecost_live::signals::Interrupt;
use wirecost_scenario::Scenario;
use wirecost_scenario::find_max::FindMax;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::thresholds::Thresholds;

use crate::arguments::LoadArguments;
use crate::commands::job::{Job, JobFolder};
use crate::exit::Failure;
use loads::LoadJob;

/// Runs the command.
pub fn run(arguments: &LoadArguments) -> Result<ExitCode, Failure> {
    let loads = options::loads(arguments)?;
    let interrupt = Interrupt::install()?;
    let mut stacks: Vec<String> = loads.iter().map(|load| load.stack.to_string()).collect();
    // Loads of one stack follow one another: the name would repeat it.
    stacks.dedup();
    if let Some(find_max) = &arguments.find_max {
        can_search(find_max, &loads)?;
    }
    let mut scenario = Scenario {
        find_max: arguments.find_max.clone(),
        ..Scenario::loads(loads.clone())
    };
    scenario.thresholds = Thresholds::of_flags(&arguments.threshold, &scenario.work)?;
    let output = &arguments.output;
    let loads = LoadJob {
        job: Job {
            scenario: &scenario,
            place: JobFolder::new(
                output.resume.as_deref(),
                output.out.as_deref(),
                output.resume_changed,
            ),
            quiet: output.quiet,
            interrupt,
        },
        name: format!("load {}", stacks.join(",")),
        shard: None,
        loads: &loads,
        output,
        agents: &arguments.agents,
    };
    loads.run().map(ExitCode::from)
}

/// Refuses loads whose highest rate cannot be found.
fn can_search(find_max: &FindMax, loads: &[LoadOptions]) -> Result<(), Failure> {
    match loads.iter().find_map(|load| find_max.cannot_search(load)) {
        Some(why) => Err(Failure::usage(format!("--find-max: {why}"))),
        None => Ok(()),
    }
}
