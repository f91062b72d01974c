//! A state of the page: options of `wirecost choose`, as the query of a link and as the command line that asks the same.

use wirecost_stack::url::percent_decoded;

use super::controls::{self, Control};
use crate::arguments::{Arguments, ChooseArguments, Command, program, refusal};
use crate::commands::command_line::quoted;
use crate::exit::Failure;

/// The version of the links.
const VERSION: &str = "1";
/// The longest value, in bytes.
const LONGEST: usize = 1_000;
/// The state of a page whose address has none.
pub(super) const FIRST: &str =
    "v=1&size=64B&every=15min&device=nrf9160-lte-m&battery=2400mAh@3.6V&tariff=1nce&link=lte-m";

/// Options with their values, in the order of the controls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State(Vec<(String, String)>);

/// The keys and values of a query, with their %xx decoded. A plus sign is one: names of stacks have it.
pub(super) fn pairs(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_decoded(key), percent_decoded(value))
        })
        .collect()
}

impl State {
    /// Reads the pairs of a link.
    ///
    /// # Errors
    /// The link is of another version, or has a key or a file that the page does not take.
    pub(super) fn read(pairs: &[(String, String)]) -> Result<Self, Failure> {
        let version = pairs.iter().find(|(key, _)| key == "v");
        match version.map(|(_, version)| version.as_str()) {
            Some(VERSION) => {}
            Some(other) => {
                return Err(refused(format!(
                    "this link is of version {other} of the page, and this wirecost reads version {VERSION}"
                )));
            }
            None => return Err(refused("this link does not say its version: it lacks v=1")),
        }
        let controls = controls::all();
        let mut found = Vec::new();
        for control in controls {
            let mut given = pairs
                .iter()
                .filter(|(key, value)| *key == control.key && !value.is_empty());
            let Some((key, value)) = given.next() else {
                continue;
            };
            if given.next().is_some() {
                return Err(refused(format!("this link has {key} twice")));
            }
            check(control, value)?;
            if !control.is_flag() || value == "true" {
                found.push((key.clone(), value.clone()));
            }
        }
        let is_known = |key: &str| key == "v" || controls.iter().any(|control| control.key == key);
        match pairs.iter().find(|(key, _)| !is_known(key)) {
            Some((key, _)) => Err(refused(format!("{key:?} in this link is no option of the page"))),
            None => Ok(Self(found)),
        }
    }

    /// The words of the command line behind the program's name.
    fn words(&self) -> Vec<String> {
        let controls = controls::all();
        let mut words = vec!["choose".to_owned()];
        for (key, value) in &self.0 {
            let control = controls.iter().find(|control| control.key == *key);
            match control {
                Some(control) if control.is_positional() => {
                    words.extend(
                        value
                            .split([',', ' '])
                            .filter(|word| !word.is_empty())
                            .map(str::to_owned),
                    );
                }
                Some(control) if control.is_flag() => words.push(format!("--{key}")),
                _ => words.extend([format!("--{key}"), value.clone()]),
            }
        }
        words
    }

    /// The words of those options that another command has as well, but for some.
    pub(super) fn shared(&self, command: &str, without: &[&str]) -> Vec<String> {
        let program = program();
        let Some(command) = program.find_subcommand(command) else {
            return Vec::new();
        };
        let has = |key: &str| {
            command
                .get_arguments()
                .any(|option| option.get_long() == Some(key))
        };
        let shared = self
            .0
            .iter()
            .filter(|(key, _)| has(key) && !without.contains(&key.as_str()));
        let is_flag = |key: &str| {
            controls::all()
                .iter()
                .any(|control| control.key == key && control.is_flag())
        };
        shared
            .flat_map(|(key, value)| {
                let value = (!is_flag(key)).then(|| value.clone());
                [format!("--{key}")].into_iter().chain(value)
            })
            .collect()
    }

    /// The stacks; none where the usual ones are meant.
    pub(super) fn stacks(&self) -> Vec<&str> {
        let stacks = self.0.iter().filter(|(key, _)| {
            let control = controls::all().iter().find(|control| control.key == *key);
            control.is_some_and(Control::is_positional)
        });
        let words = stacks.flat_map(|(_, value)| value.split([',', ' ']));
        words.filter(|word| !word.is_empty()).collect()
    }

    /// The command line that asks the same.
    pub(super) fn command(&self) -> String {
        quoted(self.words().into_iter())
    }

    /// The query of a link to this state.
    pub(super) fn query(&self) -> String {
        let pairs = self.0.iter();
        let pairs = pairs.map(|(key, value)| format!("&{key}={}", encoded(value)));
        format!("v={VERSION}{}", pairs.collect::<String>())
    }

    /// The options that the command line would have.
    ///
    /// # Errors
    /// What the command line refuses, too.
    pub(super) fn arguments(&self) -> Result<ChooseArguments, Failure> {
        match parsed(&self.words())? {
            Command::Choose(arguments) => Ok(*arguments),
            _ => Err(Failure::internal(
                "the options of choose are those of another command",
            )),
        }
    }
}

/// What a command line says whose words behind the program's name these are.
///
/// # Errors
/// What the command line refuses.
pub(super) fn parsed(words: &[String]) -> Result<Command, Failure> {
    let words: Vec<String> = ["wirecost"]
        .map(str::to_owned)
        .into_iter()
        .chain(words.iter().cloned())
        .collect();
    let arguments = Arguments::from_words(&words).map_err(|error| {
        refusal(&error, &words)
            .unwrap_or_else(|| Failure::internal("the options of this page cannot be read"))
    })?;
    Ok(arguments.command)
}

/// Refuses what must not become a word of a command line.
fn check(control: &Control, value: &str) -> Result<(), Failure> {
    let key = &control.key;
    if value.len() > LONGEST {
        return Err(refused(format!("{key} has more than {LONGEST} bytes")));
    }
    // No name of the program has one of these, and what has none is never looked for among files.
    if control.takes_file && value.contains(['/', '.', '\\']) {
        return Err(
            refused(format!("--{key} takes names here, and {value:?} is a file"))
                .with_hint("files are for the command line: wirecost choose"),
        );
    }
    if control.is_flag() && !["true", "false"].contains(&value) {
        return Err(refused(format!("{key} is true or false, not {value:?}")));
    }
    if value.starts_with('-')
        || control.is_positional() && value.split([',', ' ']).any(|word| word.starts_with('-'))
    {
        return Err(refused(format!("{key}: {value:?} begins with a hyphen")));
    }
    Ok(())
}

fn refused(message: impl std::fmt::Display) -> Failure {
    Failure::usage(message).with_hint("open the page without what follows its ?, and set the controls")
}

/// A value of a query: what could end it is in %xx (RFC 3986, section 2.1).
fn encoded(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(char::from(byte)),
            b'-' | b'.' | b'_' | b'~' | b'@' | b',' | b':' | b'=' | b'+' => text.push(char::from(byte)),
            other => text += &format!("%{other:02X}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<State, String> {
        State::read(&pairs(query)).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_link_and_its_command_line_say_the_same() {
        let state = read(
            "v=1&stacks=coap-con+oscore,mqtt-qos1&every=15min&rai=true&size=64B&loss=0.5%25&psm=active%3D8s",
        )
        .expect("a state");
        assert_eq!(
            state.command(),
            "wirecost choose --size 64B --every 15min --psm active=8s --rai --loss 0.5% coap-con+oscore mqtt-qos1"
        );
        assert_eq!(
            state.query(),
            "v=1&size=64B&every=15min&psm=active=8s&rai=true&loss=0.5%25&stacks=coap-con+oscore,mqtt-qos1"
        );
        assert_eq!(read(&state.query()), Ok(state));
        let first = read(FIRST).expect("a state");
        assert_eq!(first.query(), FIRST);
        assert!(first.arguments().is_ok());
    }

    #[test]
    fn a_link_that_is_none_of_this_page_is_refused_in_a_sentence() {
        for (query, expected) in [
            ("", "this link does not say its version: it lacks v=1"),
            (
                "v=0&every=1h",
                "this link is of version 0 of the page, and this wirecost reads version 1",
            ),
            (
                "v=1&colour=red",
                "\"colour\" in this link is no option of the page",
            ),
            ("v=1&out=x", "\"out\" in this link is no option of the page"),
            ("v=1&every=1h&every=2h", "this link has every twice"),
            (
                "v=1&device=/etc/passwd",
                "--device takes names here, and \"/etc/passwd\" is a file",
            ),
            (
                "v=1&chain=lte-m,x.pem",
                "--chain takes names here, and \"lte-m,x.pem\" is a file",
            ),
            ("v=1&rai=yes", "rai is true or false, not \"yes\""),
            (
                "v=1&stacks=udp,--file",
                "stacks: \"udp,--file\" begins with a hyphen",
            ),
            ("v=1&size=-1B", "size: \"-1B\" begins with a hyphen"),
        ] {
            assert_eq!(read(query), Err(expected.to_owned()), "{query}");
        }
        let long = format!("v=1&every={}", "1".repeat(LONGEST + 1));
        assert_eq!(read(&long), Err("every has more than 1000 bytes".to_owned()));
    }
}
