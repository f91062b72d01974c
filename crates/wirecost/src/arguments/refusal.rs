//! The refusal of a command line: one sentence, and one hint.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use wirecost_scenario::options::refusal::{About, Refusal};
use wirecost_stack::name::is_near;

use super::program;
use crate::exit::Failure;

/// The failure for an error of the command line `words`; `None` if the error is a text to print as it is: help, version.
pub fn refusal(error: &clap::Error, words: &[String]) -> Option<Failure> {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    (!is_help).then(|| {
        misplaced(error, words)
            .unwrap_or_else(|| Failure::usage(sentence(error)).with_hint(hint(error, words)))
    })
}

/// Keys that have no single flag: a link is made of many, and a target may be a word by itself.
const OF_MANY_FLAGS: [&str; 2] = ["link", "target"];

/// The failure for options that cannot be run, by the flag of the command that says what is refused.
pub fn of_flags(command: &str, refusal: &Refusal) -> Failure {
    match refusal.about {
        About::Key(key) => match flag(command, key) {
            Some(flag) => Failure::usage(refusal.said_of(&flag)),
            None if refusal.why.starts_with("must ") => Failure::usage(refusal),
            None => Failure::usage(&refusal.why),
        },
        About::Phase(_) => Failure::usage(&refusal.why),
    }
}

/// The flag of a key; `None` where the command has none of this name.
fn flag(command: &str, key: &str) -> Option<String> {
    let long = key.replace('_', "-");
    let program = program();
    let command = program.find_subcommand(command)?;
    let has = |option: &&clap::Arg| {
        option.get_id() == key
            || option.get_long() == Some(&long)
            // A key of a scenario may be the old name of a flag.
            || option.get_all_aliases().is_some_and(|all| all.contains(&&*long))
    };
    let found = command.get_arguments().find(has)?.get_long();
    found
        .filter(|_| !OF_MANY_FLAGS.contains(&key))
        .map(|flag| format!("--{flag}"))
}

/// The refusal of a word that is at another's place: a file or an address where a stack is expected.
fn misplaced(error: &clap::Error, words: &[String]) -> Option<Failure> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.as_str()),
        _ => None,
    };
    let command = words.get(1).map(String::as_str)?;
    let value = text(ContextKind::InvalidValue)?;
    let is_file = value.contains('/') || [".pcap", ".pcapng"].iter().any(|end| value.ends_with(end));
    let is_stack = text(ContextKind::InvalidArg)?.starts_with("<STACK>");
    if command != "what-if" || !is_stack || !is_file {
        return None;
    }
    let first = words.get(2).map_or("STACK", String::as_str);
    Some(
        Failure::usage(format!("{value} is a file, where a stack is expected")).with_hint(format!(
            "the capture comes first: wirecost what-if {value} {first}"
        )),
    )
}

/// The first paragraph of the error, in one line.
fn sentence(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// What is meant, or where the help is.
fn hint(error: &clap::Error, words: &[String]) -> String {
    if let Some(ContextValue::StyledStrs(tips)) = error.get(ContextKind::Suggested)
        && let [tip, ..] = tips.as_slice()
    {
        return tip.to_string();
    }
    let kinds = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let meant = kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(name) => Some(name.clone()),
        ContextValue::Strings(names) if !names.is_empty() => Some(names.join(" or ")),
        _ => None,
    });
    // clap suggests options that have little in common with what was written.
    let meant = meant.filter(|name| match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) if name.starts_with('-') => is_near(given, name),
        _ => true,
    });
    match meant {
        Some(name) => format!("did you mean {name}?"),
        None => format!("{} lists what it takes", help(words)),
    }
}

/// The help of the command of a command line.
fn help(words: &[String]) -> String {
    let program = program();
    let mut command = &program;
    let mut line = "wirecost".to_owned();
    for word in words.iter().skip(1) {
        let Some(found) = command.find_subcommand(word).filter(|found| !found.is_hide_set()) else {
            break;
        };
        command = found;
        line = format!("{line} {word}");
    }
    format!("{line} --help-all")
}
