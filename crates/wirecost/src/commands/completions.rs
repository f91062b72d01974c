//! `wirecost completions` and `wirecost man`: the command line for shells and for man.

use std::path::Path;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_mangen::Man;
use wirecost_files::output::{PUBLIC, write_own};
use wirecost_stack::name;
use wirecost_studies::library;

use crate::arguments::{CompletionsArguments, ManArguments, shown_program};
use crate::commands::catalog::{DEVICES, LINKS, TARIFFS};
use crate::exit::Failure;
use crate::output;

/// Prints the completions of a shell.
pub fn run(arguments: &CompletionsArguments) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut with_names(shown_program()),
        "wirecost",
        &mut script,
    );
    output::bytes(&script);
    Ok(ExitCode::SUCCESS)
}

/// The program, whose options and arguments list the names that they take. What runs accepts files and URLs in their places, too.
fn with_names(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let listed = |argument: Arg| match names_of(&name, &argument) {
        Some(names) => argument.value_parser(PossibleValuesParser::new(names)),
        None => argument,
    };
    command.mut_args(listed).mut_subcommands(with_names)
}

/// The names of stacks, studies, links, devices or tariffs that an argument of a command takes.
pub fn names_of(command: &str, argument: &Arg) -> Option<Vec<String>> {
    let kinds = [LINKS, DEVICES, TARIFFS];
    let texts = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    if let Some(kind) = kinds.iter().find(|kind| kind.is_of(command, argument.get_long())) {
        return Some(texts(kind.names()));
    }
    if argument.get_long().is_some() {
        return None;
    }
    let words = argument.get_value_names().unwrap_or_default();
    match words.first()?.as_str() {
        "STACK" | "URL|STACK" => Some(name::all().collect()),
        "NAME" if command == "study" => {
            let verbs = ["list", "all"];
            Some(texts(verbs.into_iter().chain(library::names()).collect()))
        }
        _ => None,
    }
}

/// Prints a man page, or writes all of them.
pub fn man(arguments: &ManArguments) -> Result<ExitCode, Failure> {
    let mut program = shown_program();
    // clap adds the global options to the commands only when it is built.
    program.build();
    if let Some(folder) = &arguments.out {
        let created = std::fs::create_dir_all(folder);
        created.map_err(|error| output::unwritable("--out", folder, &error.into()))?;
        write_pages(&program, folder)?;
        output::note(format_args!("man -l {}", folder.join("wirecost.1").display()));
        return Ok(ExitCode::SUCCESS);
    }
    let command = match &arguments.command {
        None => &program,
        Some(name) => program.find_subcommand(name).ok_or_else(|| {
            Failure::usage(format!("there is no command {name:?}"))
                .with_hint("wirecost --help lists the commands")
        })?,
    };
    output::bytes(&page(command)?);
    Ok(ExitCode::SUCCESS)
}

/// The man page of a command.
fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let man = Man::new(command.clone()).source(concat!("wirecost ", env!("CARGO_PKG_VERSION")));
    man.render(&mut page).map_err(Failure::internal)?;
    Ok(page)
}

/// Writes the page of a command and those of its commands.
fn write_pages(command: &Command, folder: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = folder.join(format!("{name}.1"));
    let written = write_own(&path, page(command)?, PUBLIC);
    written.map_err(|error| output::unwritable("--out", &path, &error))?;
    let commands = command
        .get_subcommands()
        .filter(|command| command.get_name() != "help");
    commands
        .into_iter()
        .try_for_each(|command| write_pages(command, folder))
}
