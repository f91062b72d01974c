//! `wirecost completions` and `wirecost man`: the command line for shells and for man.

use std::path::Path;
use std::process::ExitCode;

use clap_mangen::Man;

use crate::arguments::{CompletionsArguments, ManArguments, program};
use crate::exit::Failure;
use crate::output;

/// Prints the completions of a shell.
pub fn run(arguments: &CompletionsArguments) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program(), "wirecost", &mut script);
    output::bytes(&script);
    Ok(ExitCode::SUCCESS)
}

/// Prints a man page, or writes all of them.
pub fn man(arguments: &ManArguments) -> Result<ExitCode, Failure> {
    if let Some(folder) = &arguments.out {
        return write_all(folder);
    }
    let mut program = program();
    program.build();
    let command = match &arguments.command {
        None => program,
        Some(name) => {
            let found = program
                .find_subcommand(name)
                .filter(|command| !command.is_hide_set());
            let missing = || {
                Failure::usage(format!("there is no command {name:?}"))
                    .with_hint("wirecost --help lists the commands")
            };
            found.ok_or_else(missing)?.clone()
        }
    };
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(Failure::internal)?;
    output::bytes(&page);
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for wirecost and for each command.
fn write_all(folder: &Path) -> Result<ExitCode, Failure> {
    let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(program(), folder));
    written.map_err(|error| output::unwritable("--out", folder, &error))?;
    output::note(format_args!("man -l {}", folder.join("wirecost.1").display()));
    Ok(ExitCode::SUCCESS)
}
