//! `wirecost agent`: parts of a load whose coordinator is on another machine.

use std::io;
use std::process::ExitCode;

use wirecost_files::{FileFault, Input};
use wirecost_live::limits;
use wirecost_live::signals::Interrupt;
use wirecost_load::parts::agents::agent::{self, AgentContext, AgentError, Ended};
use wirecost_load::parts::agents::join_file::JoinFile;

use crate::arguments::AgentArguments;
use crate::exit::{self, Failure};
use crate::output;

/// The longest name of an agent, in characters.
const LONGEST_NAME: usize = 64;

/// Runs the command until the coordinator has no more work.
pub fn run(arguments: &AgentArguments) -> Result<ExitCode, Failure> {
    let file = read(arguments)?;
    let is_name = |name: &String| !name.is_empty() && name.chars().count() <= LONGEST_NAME;
    if !arguments.name.as_ref().is_none_or(is_name) {
        return Err(Failure::usage(format!(
            "--name has 1 to {LONGEST_NAME} characters"
        )));
    }
    let interrupt = Interrupt::install()?;
    // Before the first allocation of devices: it changes how memory is given back.
    limits::spare_memory();
    let context = AgentContext {
        version: env!("CARGO_PKG_VERSION"),
        name: arguments.name.clone(),
        interrupted: &|| interrupt.is_set(),
        note: &mut |line| output::note(line),
    };
    match agent::run(&file, context).map_err(failed)? {
        Ended::Dismissed => Ok(ExitCode::from(exit::OK)),
        Ended::Interrupted => Ok(ExitCode::from(exit::INTERRUPTED)),
    }
}

fn read(arguments: &AgentArguments) -> Result<JoinFile, Failure> {
    let path = &arguments.join;
    let unreadable = |error: FileFault| {
        Failure::usage(format!("--join: cannot read {}: {error}", path.display()))
            .with_hint("wirecost load URL --agents N --listen ADDRESS:PORT writes it")
    };
    let text = match output::is_stdout(path) {
        true => Input::JoinFile.text_of(io::stdin()),
        false => Input::JoinFile.text(path),
    };
    let text = text.map_err(unreadable)?;
    JoinFile::read(&text).map_err(|error| {
        Failure::usage(format!("--join: {}: {error}", path.display()))
            .with_hint("copy the join file that the coordinator of this run has written, unchanged")
    })
}

fn failed(error: AgentError) -> Failure {
    let (code, hint) = match &error {
        AgentError::Unreachable { .. } => (
            exit::UNREACHABLE,
            "a coordinator listens until its load has ended; check --listen there, and firewalls in between",
        ),
        AgentError::OtherRun(_) => (
            exit::REFUSED,
            "each run writes a join file of its own: copy the new one",
        ),
        AgentError::Refused(_) => (
            exit::REFUSED,
            "a join file is good for one run and for as many agents as it has",
        ),
        AgentError::Gone { .. } => (
            exit::UNREACHABLE,
            "its load has ended here; see what the coordinator says",
        ),
        AgentError::Machine(_) => (exit::PRIVILEGE, "/proc must be readable"),
        AgentError::Entropy(_) => (exit::INTERNAL, "the system's random number generator is needed"),
    };
    Failure::new(code, &error).with_hint(hint)
}
