//! Requirements: from a file, and whether a stack can meet them at all.

use std::ffi::OsString;

use wirecost_scenario::node::{Node, Value};
use wirecost_stack::Stack;

use crate::arguments::{Arguments, ChooseArguments, Command, Delivery, Reach};
use crate::exit::Failure;

/// The arguments, with those of `--file`. What the command line says stands instead of the same key of the file.
pub fn read(given: ChooseArguments) -> Result<ChooseArguments, Failure> {
    let Some(path) = &given.file else {
        return Ok(given);
    };
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read {shown}: {error}"))
            .with_hint("write one option per line, e.g. every: 5min")
    })?;
    let node = Node::parse(&text).map_err(|error| Failure::from(error.in_file(&shown.to_string())))?;
    let Some(entries) = node.entries() else {
        return Err(Failure::usage(format!("{shown} is not a table of options"))
            .with_hint("write one option per line, e.g. every: 5min"));
    };
    let mut words: Vec<OsString> = vec!["wirecost".into(), "choose".into()];
    let line = without_file(&std::env::args_os().skip(2).collect::<Vec<_>>());
    for (key, value) in entries {
        if key.name == "file" {
            return Err(Failure::usage(format!("{shown}: a file cannot name another one")));
        }
        if is_given(&line, &key.name) {
            continue;
        }
        if key.name == "stacks" {
            words.push(text_of(value).into());
            continue;
        }
        match &value.value {
            Value::Bool(true) => words.push(format!("--{}", key.name.replace('_', "-")).into()),
            Value::Bool(false) => {}
            _ => words.push(format!("--{}={}", key.name.replace('_', "-"), text_of(value)).into()),
        }
    }
    words.extend(line);
    let arguments = Arguments::from_words(words).map_err(|error| {
        let text = error.to_string();
        let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
        let first = lines.collect::<Vec<&str>>().join(" ");
        let first = first.trim_start_matches("error: ");
        Failure::usage(format!("{shown}: {first}"))
            .with_hint("wirecost choose --help lists the options; a key is an option without its dashes")
    })?;
    match arguments.command {
        Command::Choose(arguments) => Ok(*arguments),
        _ => Err(Failure::internal(
            "the options of choose are those of another command",
        )),
    }
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
    let option = format!("--{}", key.replace('_', "-"));
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

/// Why a stack is out of the question, whatever it costs.
pub fn refusal(arguments: &ChooseArguments, stack: Stack) -> Option<String> {
    let name = stack.to_string();
    let guarantee = guarantee(stack);
    if guarantee < rank(arguments.delivery) {
        let has = ["at most once", "at least once", "exactly once"][guarantee];
        return Some(format!("delivers {has}"));
    }
    let protocol = |reach: Reach| match reach {
        Reach::Mqtt => "mqtt",
        Reach::Coap => "coap",
        Reach::Http => "http",
        Reach::Amqp => "amqp",
    };
    if !arguments.reach.is_empty()
        && !arguments
            .reach
            .iter()
            .any(|reach| name.starts_with(protocol(*reach)))
    {
        return Some("the other side does not speak it".to_owned());
    }
    let is_heavy = name.contains("+tls") || name.starts_with("http") || name.starts_with("amqp");
    if arguments.device_class == Some(1) && is_heavy {
        return Some("too large for a device of class 1 (RFC 7228, 3: no HTTP, no TLS)".to_owned());
    }
    None
}

/// 0 at most once, 1 at least once, 2 exactly once.
fn guarantee(stack: Stack) -> usize {
    match stack.is_answered() {
        false => 0,
        true if stack.to_string().contains("-qos2") => 2,
        true => 1,
    }
}

const fn rank(delivery: Delivery) -> usize {
    match delivery {
        Delivery::AtMostOnce => 0,
        Delivery::AtLeastOnce => 1,
        Delivery::ExactlyOnce => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> ChooseArguments {
        let words = ["wirecost", "choose", "--every", "5min"].iter().chain(words);
        let arguments = Arguments::from_words(words.copied().map(OsString::from)).expect("valid");
        match arguments.command {
            Command::Choose(arguments) => *arguments,
            other => panic!("{other:?}"),
        }
    }

    fn why(words: &[&str], stack: &str) -> Option<String> {
        refusal(&asked(words), stack.parse().expect("a stack"))
    }

    #[test]
    fn a_guarantee_excludes_the_weaker_ones() {
        let once = ["--delivery", "exactly-once"];
        assert_eq!(why(&once, "mqtt-qos2+tls1.3"), None);
        assert_eq!(why(&once, "coap-con").as_deref(), Some("delivers at least once"));
        assert_eq!(why(&[], "coap-non").as_deref(), Some("delivers at most once"));
        assert_eq!(why(&["--delivery", "at-most-once"], "mqtt-qos0"), None);
    }

    #[test]
    fn the_other_side_and_the_device_exclude_stacks() {
        assert!(why(&["--reach", "mqtt,coap"], "http3").is_some());
        assert_eq!(why(&["--reach", "mqtt,coap"], "coap-con"), None);
        assert!(why(&["--device-class", "1"], "mqtt-qos1+tls1.3").is_some());
        assert_eq!(why(&["--device-class", "1"], "coap-con+oscore"), None);
    }

    #[test]
    fn the_file_of_the_command_line_is_not_read_again() {
        let line: Vec<OsString> = ["--file", "a.yaml", "--size", "1kB", "--file=b.yaml"]
            .iter()
            .map(OsString::from)
            .collect();
        assert_eq!(without_file(&line), ["--size", "1kB"]);
    }
}
