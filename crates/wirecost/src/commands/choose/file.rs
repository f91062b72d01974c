//! Requirements from a file: one use case, or several with a name each.

use std::ffi::OsString;
use std::path::Path;

use wirecost_files::Input;
use wirecost_scenario::error::Place;
use wirecost_scenario::node::{Key, Node, Value};

use crate::arguments::{Arguments, ChooseArguments, Command};
use crate::exit::Failure;

/// The key of a list of use cases.
const USE_CASES: &str = "use_cases";
const HINT: &str =
    "write one option per line, e.g. every: 5min; use_cases is a list of tables with a name each";
const NO_TABLE: &str =
    "write its keys as options of their own, one per line, e.g. rtt: 5ms instead of link: {rtt: 5ms}";
/// Keys that mean nothing without another one.
const NEEDS: [(&str, &str); 13] = [
    ("battery", "device"),
    ("psm", "device"),
    ("edrx", "device"),
    ("rai", "device"),
    ("inactivity", "device"),
    ("dtim", "device"),
    ("tx_power", "device"),
    ("coverage", "device"),
    ("cdrx", "device"),
    ("attach", "device"),
    ("battery_years", "battery"),
    ("chemistry", "battery"),
    ("self_discharge", "battery"),
];

/// A key of the file with its value.
type Entry<'a> = (&'a Key, &'a Node);

/// The requirements of a use case.
#[derive(Debug)]
pub struct UseCase {
    /// Its name; `None` where the file has one use case, or there is no file.
    pub name: Option<String>,
    /// The requirements.
    pub arguments: ChooseArguments,
    source: Option<Source>,
}

/// Where the requirements of a use case are in the file.
#[derive(Debug)]
struct Source {
    file: String,
    /// The use case itself.
    line: Option<u64>,
    /// The line of each key.
    keys: Vec<(String, Option<u64>)>,
}

impl UseCase {
    /// A failure with the file and the line of the requirement that it names.
    pub fn locate(&self, failure: Failure) -> Failure {
        match &self.source {
            Some(source) => source.locate(failure),
            None => failure,
        }
    }
}

/// The use cases: those of `--file`, or that of the command line. What the command line says stands instead of the same key of
/// the file, in each use case.
pub fn read(given: ChooseArguments) -> Result<Vec<UseCase>, Failure> {
    let Some(path) = &given.file else {
        return Ok(vec![UseCase {
            name: None,
            arguments: given,
            source: None,
        }]);
    };
    let shown = path.display().to_string();
    let node = parsed(path, &shown)?;
    let line = without_file(&std::env::args_os().skip(2).collect::<Vec<_>>());
    let entries = table(&node, &shown)?;
    let Some((_, list)) = entries.iter().find(|(key, _)| key.name == USE_CASES) else {
        let entries = entries.iter().map(|(key, node)| (key, node)).collect::<Vec<_>>();
        return Ok(vec![use_case(None, &shown, &node, &entries, &line)?]);
    };
    let Value::List(cases) = &list.value else {
        return Err(at(&shown, &list.place, "use_cases is not a list".to_owned()));
    };
    if cases.is_empty() {
        return Err(at(&shown, &list.place, "use_cases is empty".to_owned()));
    }
    let shared = entries.iter().filter(|(key, _)| key.name != USE_CASES);
    let shared: Vec<Entry<'_>> = shared.map(|(key, node)| (key, node)).collect();
    let mut found: Vec<UseCase> = Vec::new();
    for case in cases {
        let name = name(case, &shown)?;
        // The matrix and the folders name use cases by it.
        if found.iter().any(|other| other.name.as_ref() == Some(&name)) {
            return Err(at(
                &shown,
                &case.place,
                format!("two use cases have the name {name:?}"),
            ));
        }
        let own = table(case, &shown)?.iter().filter(|(key, _)| key.name != "name");
        let own: Vec<Entry<'_>> = own.map(|(key, node)| (key, node)).collect();
        let is_own = |key: &str| own.iter().any(|(own, _)| own.name == key);
        let rest = shared.iter().filter(|(key, _)| !is_own(&key.name));
        let entries: Vec<Entry<'_>> = own.iter().chain(rest).copied().collect();
        found.push(use_case(Some(name), &shown, case, &entries, &line)?);
    }
    Ok(found)
}

fn parsed(path: &Path, shown: &str) -> Result<Node, Failure> {
    let text = Input::Requirements
        .text(path)
        .map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")).with_hint(HINT))?;
    Node::parse(&text).map_err(|error| Failure::from(error.in_file(shown)))
}

fn table<'a>(node: &'a Node, shown: &str) -> Result<&'a [(Key, Node)], Failure> {
    let entries = node.entries();
    entries.ok_or_else(|| at(shown, &node.place, "not a table of options".to_owned()))
}

fn name(case: &Node, shown: &str) -> Result<String, Failure> {
    let name = case.get("name").and_then(Node::scalar);
    name.filter(|name| !name.trim().is_empty())
        .ok_or_else(|| at(shown, &case.place, "a use case without a name".to_owned()))
}

fn at(shown: &str, place: &Place, message: String) -> Failure {
    let place = match place {
        Place::Line(line) => format!("{shown}:{line}"),
        _ => shown.to_owned(),
    };
    Failure::usage(format!("{place}: {message}")).with_hint(HINT)
}

const fn line_of(place: &Place) -> Option<u64> {
    match place {
        Place::Line(line) => Some(*line),
        _ => None,
    }
}

fn use_case(
    name: Option<String>,
    shown: &str,
    node: &Node,
    entries: &[Entry<'_>],
    line: &[OsString],
) -> Result<UseCase, Failure> {
    let keys = entries.iter();
    let source = Source {
        file: shown.to_owned(),
        line: line_of(&node.place).filter(|_| name.is_some()),
        keys: keys
            .map(|(key, _)| (option(&key.name), line_of(&key.place)))
            .collect(),
    };
    let mut words: Vec<OsString> = vec!["wirecost".into(), "choose".into()];
    for (key, value) in entries {
        // They are about the command, not about a use case: one of several would decide for all.
        if ["file", "out", "json", "quiet"].contains(&key.name.as_str()) {
            let message = format!("{} belongs on the command line", option(&key.name));
            return Err(source.locate(Failure::usage(message).with_hint(HINT)));
        }
        if value.entries().is_some() {
            let message = format!("{} is a table, not a value", option(&key.name));
            return Err(source.locate(Failure::usage(message)).with_hint(NO_TABLE));
        }
        // Twice the same option is an error for clap, and the command line stands instead of the file.
        if !is_given(line, &key.name) {
            words.extend(words_of(key, value));
        }
    }
    let is_there = |key: &str| is_given(line, key) || entries.iter().any(|(own, _)| own.name == key);
    if let Some((key, other)) = NEEDS
        .into_iter()
        // clap would name the flags, of which the file has none.
        .find(|(key, other)| is_there(key) && !is_there(other))
    {
        let message = format!("{} needs {}", option(key), option(other));
        return Err(source
            .locate(Failure::usage(message))
            .with_hint(format!("add the key {other}")));
    }
    // All words go through clap once more, so that a key of the file is read and refused as its option is.
    words.extend(line.iter().cloned());
    let arguments = Arguments::from_words(words).map_err(|error| source.locate(one_sentence(&error)))?;
    match arguments.command {
        Command::Choose(arguments) => Ok(UseCase {
            name,
            arguments: *arguments,
            source: Some(source),
        }),
        _ => Err(Failure::internal(
            "the options of choose are those of another command",
        )),
    }
}

/// The words of the command line for a key of the file.
fn words_of(key: &Key, value: &Node) -> Option<OsString> {
    match &value.value {
        _ if key.name == "stacks" => Some(text_of(value).into()),
        Value::Bool(true) => Some(option(&key.name).into()),
        Value::Bool(false) => None,
        _ => Some(format!("{}={}", option(&key.name), text_of(value)).into()),
    }
}

fn option(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}

/// What is wrong with options, as one sentence.
fn one_sentence(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let first = lines.collect::<Vec<&str>>().join(" ");
    Failure::usage(first.trim_start_matches("error: "))
        .with_hint("wirecost choose --help lists the options; a key is an option without its dashes")
}

impl Source {
    /// Adds the file, and the line of the first key that the failure names, otherwise that of the use case.
    fn locate(&self, mut failure: Failure) -> Failure {
        let named = self
            .keys
            .iter()
            .find(|(option, _)| names(&failure.message, option));
        let line = named.map_or(self.line, |(_, line)| *line);
        failure.message = match line {
            Some(line) => format!("{}:{line}: {}", self.file, failure.message),
            None => format!("{}: {}", self.file, failure.message),
        };
        failure
    }
}

/// Whether a message names an option, and not one whose name begins with it.
fn names(message: &str, option: &str) -> bool {
    message.match_indices(option).any(|(start, _)| {
        let after = message.get(start + option.len()..).unwrap_or_default();
        !after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-')
    })
}

fn text_of(node: &Node) -> String {
    match &node.value {
        Value::List(values) => {
            let texts = values.iter().filter_map(Node::scalar);
            texts.collect::<Vec<_>>().join(",")
        }
        _ => node.scalar().unwrap_or_default(),
    }
}

/// Whether the command line has the option of a key.
fn is_given(line: &[OsString], key: &str) -> bool {
    let option = option(key);
    line.iter().any(|word| {
        let word = word.to_string_lossy();
        word == option
            || word
                .strip_prefix(&option)
                .is_some_and(|rest| rest.starts_with('='))
    })
}

/// The words of the command line without `--file`.
fn without_file(line: &[OsString]) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut words = line.iter();
    while let Some(word) = words.next() {
        if word == "--file" {
            words.next();
        } else if !word.to_string_lossy().starts_with("--file=") {
            kept.push(word.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_command_line_is_not_read_again() {
        let line: Vec<OsString> = ["--file", "a.yaml", "--size", "1kB", "--file=b.yaml"]
            .iter()
            .map(OsString::from)
            .collect();
        assert_eq!(without_file(&line), ["--size", "1kB"]);
    }

    #[test]
    fn an_option_is_named_by_its_whole_name() {
        assert!(names("--battery needs --device NAME", "--battery"));
        assert!(names("--battery needs --device NAME", "--device"));
        assert!(!names("--battery-years must be above 0", "--battery"));
        assert!(!names("--device-class 1", "--device"));
    }
}
