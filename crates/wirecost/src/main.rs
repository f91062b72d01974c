//! The `wirecost` command line, with one module per command.
//!
//! Data goes to stdout, everything else to stderr. A command ends with an exit code of [`exit`] and, if it failed, with
//! one sentence and one hint.

#![expect(
    unreachable_pub,
    reason = "a binary crate: pub marks what a module offers to the others"
)]

mod arguments;
mod commands;
mod exit;
mod http;
mod load_view;
mod login;
mod output;
mod progress;
mod prometheus;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use commands::catalog;
use exit::Failure;

fn main() -> ExitCode {
    output::concluded(run())
}

fn run() -> Result<ExitCode, Failure> {
    // Words that are not UTF-8 are read by clap itself; these are for hints alone.
    let words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if let Some(page) = arguments::topic(&words) {
        output::bytes(page.as_bytes());
        return Ok(ExitCode::from(exit::OK));
    }
    let arguments = match Arguments::from_words(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            if let Some(refusal) = arguments::refusal(&error, &words) {
                return Err(refusal);
            }
            // If stderr is closed, the exit code still reports the failure.
            drop(error.print());
            return Ok(ExitCode::from(exit::USAGE));
        }
        // The user asked for help or the version, which go to stdout.
        Err(error) => {
            output::print(|_| error.print());
            return Ok(ExitCode::from(exit::OK));
        }
    };
    // Before anything starts: what this process makes must not outlive a notebook that is closed.
    wirecost_live::process::end_with_parent().map_err(Failure::internal)?;
    match arguments.command {
        Command::Compare(arguments) => commands::compare::run(*arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::New(arguments) => commands::new::run(&arguments),
        Command::Schema(arguments) => commands::new::schema(&arguments),
        Command::Choose(arguments) => commands::choose::run(*arguments),
        Command::Ui(arguments) => commands::ui::run(&arguments),
        Command::WhatIf(arguments) => commands::what_if::run(&arguments),
        Command::Cost(arguments) => commands::cost::run(&arguments),
        Command::Link(arguments) => commands::link::run(&arguments),
        Command::Load(arguments) => commands::load::run(&arguments),
        Command::Nbiot(arguments) => commands::nbiot::run(&arguments),
        Command::Pcap(arguments) => commands::pcap::run(&arguments),
        Command::Probe(arguments) => commands::probe::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Store(arguments) => commands::store::run(&arguments),
        Command::Agent(arguments) => commands::agent::run(&arguments),
        Command::LoadTarget => commands::load_target::run(),
        Command::LoadWorker => commands::load_worker::run(),
        Command::Links(arguments) => catalog::run(&catalog::LINKS, &arguments),
        Command::Devices(arguments) => catalog::run(&catalog::DEVICES, &arguments),
        Command::Tariffs(arguments) => catalog::tariffs(&arguments),
        Command::Merge(arguments) => commands::merge::run(&arguments),
        Command::Object(arguments) => commands::object::run(&arguments),
        Command::Study(arguments) => commands::study::run(&arguments),
        Command::Claims(arguments) => commands::claims::run(&arguments),
        Command::Budget(arguments) => commands::budget::run(&arguments),
        Command::Diff(arguments) => commands::diff::run(&arguments),
        Command::Completions(arguments) => commands::completions::run(&arguments),
        Command::Man(arguments) => commands::completions::man(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
    }
}
