//! The layout of the help: `--help` shows the options that most users need, `--help-all` every option with details.

use clap::{Arg, ArgAction, Command};

/// The headings of each large command, in order.
const HEADINGS: [(&str, &[&str]); 9] = [
    (
        "choose",
        &[
            "Readings",
            "Requirements",
            "Energy and money",
            "Link",
            "Security",
            "Measurement",
            "Results",
        ],
    ),
    (
        "what-if",
        &["Capture", "Energy and money", "Link", "Security", "Results"],
    ),
    (
        "compare",
        &[
            "Messages",
            "Connections and server",
            "Link",
            "Measurement",
            "Modelled NB-IoT cell (--link nbiot)",
            "Devices that share a link",
            "Results",
        ],
    ),
    ("run", &["Scenario", "Measurement", "Agents of a load", "Results"]),
    (
        "link",
        &["Server on the other side", "Link", "Measurement", "Results"],
    ),
    (
        "load",
        &[
            "Messages",
            "Connections",
            "Subscribers",
            "Target and generator",
            "Link between devices and target; each of these options adds it",
            "Results",
        ],
    ),
    ("probe", &["Message", "Connection", "Security", "Results"]),
    ("serve", &["Address and clients", "Security", "Output"]),
    ("nbiot", &["Reports", "Network", "Measurement", "Results"]),
];

/// Options that several commands have, of which only the `--help-all` of these commands shows them.
const FURTHER: [(&str, &[&str]); 2] = [
    ("load", &["readings", "user", "password", "password_file"]),
    ("run", &["per"]),
];

/// The program with the options of the help itself, and the options of those commands in order whose help can be asked for: each
/// move of an option moves all behind it, so that a command line pays for its own command alone.
pub fn arranged(program: Command, is_asked: impl Fn(&str) -> bool) -> Command {
    let mut program = super::doors::with_doors(program.disable_help_flag(true).disable_version_flag(true));
    for (name, further) in FURTHER.into_iter().filter(|(name, _)| is_asked(name)) {
        let hidden =
            |command: Command, option: &&str| command.mut_arg(option, |option| option.hide_short_help(true));
        program = program.mut_subcommand(name, |command| further.iter().fold(command, hidden));
    }
    let names: Vec<String> = program
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .filter(|name| is_asked(name))
        .collect();
    for name in names {
        let headings = headings(&name);
        program = program.mut_subcommand(name, |command| match headings {
            // The help of a small command shows all of its options.
            [] => command.mut_args(|option| option.hide_short_help(false)),
            headings => grouped(command, headings),
        });
    }
    let option = |name: &'static str, action| {
        let option = Arg::new(name).long(name).action(action);
        option.global(true).help_heading("Help")
    };
    // Tools differ in which of both letters it is; neither is anything else here.
    let version = Arg::new("version").long("version").short('V').short_alias('v');
    program
        .arg(version.action(ArgAction::Version).help("Print the version"))
        .arg(option("help", ArgAction::HelpShort).short('h').help("Print help"))
        .arg(option("help-all", ArgAction::HelpLong).help("Print help with every option and all details"))
}

/// The headings of a large command, in order; empty for others.
pub fn headings(command: &str) -> &'static [&'static str] {
    let large = HEADINGS.iter().find(|(large, _)| *large == command);
    large.map_or(&[], |(_, headings)| headings)
}

/// Puts the options of a command in the order of these headings, and under each those that `--help` shows before the others.
fn grouped(mut command: Command, headings: &[&str]) -> Command {
    let mut place = 0;
    for heading in headings {
        for is_further in [false, true] {
            let belongs = |option: &&Arg| {
                option.get_help_heading() == Some(heading) && option.is_hide_short_help_set() == is_further
            };
            let names: Vec<clap::Id> = command
                .get_arguments()
                .filter(belongs)
                .map(|option| option.get_id().clone())
                .collect();
            for name in names {
                place += 1;
                command = command.mut_arg(name, |option| option.display_order(place));
            }
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::program;

    /// The most lines of a command's `--help`.
    const MOST_LINES: usize = 100;

    #[test]
    fn every_option_of_a_large_command_has_one_of_its_headings() {
        let program = program();
        for (name, headings) in HEADINGS {
            let command = program.find_subcommand(name).expect("a command");
            let is_stray = |option: &&Arg| {
                let heading = option.get_help_heading();
                !option.is_hide_set() && !heading.is_some_and(|heading| headings.contains(&heading))
            };
            let stray: Vec<&str> = command
                .get_opts()
                .chain(command.get_arguments().filter(|one| !one.is_positional()))
                .filter(is_stray)
                .map(|option| option.get_id().as_str())
                .collect();
            assert_eq!(stray, Vec::<&str>::new(), "{name}");
            let has_option = |heading: &&&str| {
                let has = |option: &Arg| option.get_help_heading() == Some(**heading);
                command.get_arguments().any(has)
            };
            assert_eq!(
                headings.iter().find(|heading| !has_option(heading)),
                None,
                "{name}"
            );
        }
    }

    #[test]
    fn the_help_of_every_command_fits_a_hundred_lines() {
        let mut program = program();
        program.build();
        for command in program.get_subcommands() {
            let text = command.clone().render_help().to_string();
            let lines = text.lines().count();
            assert!(lines < MOST_LINES, "{} has {lines} lines", command.get_name());
            if !command.is_hide_set() && command.get_name() != "help" {
                assert!(text.contains("--help-all"), "{}", command.get_name());
            }
        }
    }

    #[test]
    fn the_whole_help_has_every_option() {
        let mut program = program();
        program.build();
        for (name, _) in HEADINGS {
            let command = program.find_subcommand(name).expect("a command");
            let text = command.clone().render_long_help().to_string();
            for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
                if let Some(long) = option.get_long() {
                    assert!(text.contains(&format!("--{long}")), "{name} --{long}");
                }
            }
        }
    }
}
