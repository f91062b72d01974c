//! The emulator's throughput and its side effects: packets per second, CPU per packet, added round-trip time.
//!
//! Every case runs in its own process, because namespaces must exist before any thread starts. `--test` runs each case
//! for an instant. An argument runs the cases whose name contains it.

#![allow(clippy::disallowed_macros, reason = "a bench prints its figures")]

#[path = "forwarder/cases.rs"]
mod cases;
#[path = "forwarder/link.rs"]
mod link;

use std::process::{Command, ExitCode};

use cases::{Case, Effort};

const CASE: &str = "WIRECOST_BENCH_CASE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let effort = if arguments.iter().any(|argument| argument == "--test") {
        Effort::Smoke
    } else {
        Effort::Full
    };
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let cases = Case::all();
    if let Ok(name) = std::env::var(CASE) {
        return run_here(cases.iter().find(|case| case.name() == name), effort);
    }
    println!("{}", cases::HEADER);
    let chosen = cases
        .iter()
        .filter(|case| filter.is_none_or(|filter| case.name().contains(filter.as_str())));
    for case in chosen {
        if !run_apart(case, effort) {
            return ExitCode::FAILURE;
        }
    }
    println!("{}", cases::recorder(effort));
    ExitCode::SUCCESS
}

fn run_here(case: Option<&Case>, effort: Effort) -> ExitCode {
    let Some(case) = case else {
        return ExitCode::FAILURE;
    };
    match case.run(effort) {
        Ok(row) => println!("{row}"),
        Err(reason) => println!("{:<26} not run: {reason}", case.name()),
    }
    ExitCode::SUCCESS
}

fn run_apart(case: &Case, effort: Effort) -> bool {
    let program = std::env::current_exe().expect("the path of this program");
    let mut command = Command::new(program);
    command.env(CASE, case.name());
    if effort == Effort::Smoke {
        command.arg("--test");
    }
    command.status().expect("a process").success()
}
