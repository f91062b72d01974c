//! The help of the program itself: its commands by what a reader came for, and the pages that `wirecost help TOPIC` prints.

use clap::Command;

/// Columns of the help.
const WIDTH: usize = 100;

/// What a reader came for, and the commands for it; the same three as in the README.
const DOORS: [(&str, &[&str]); 4] = [
    (
        "I plan devices",
        &[
            "choose", "ui", "compare", "cost", "what-if", "budget", "nbiot", "links", "devices", "tariffs",
        ],
    ),
    (
        "I have a broker",
        &["probe", "load", "diff", "serve", "store", "agent"],
    ),
    (
        "I publish figures",
        &["study", "claims", "link", "pcap", "run", "new", "merge", "report"],
    ),
    (
        "Other commands",
        &["object", "schema", "doctor", "completions", "man", "help"],
    ),
];

/// A page of the documentation that the program has with it.
struct Topic {
    name: &'static str,
    about: &'static str,
    page: &'static str,
    /// The heading of the part that is printed; the whole page without one.
    part: Option<&'static str>,
}

const TOPICS: [Topic; 5] = [
    Topic {
        name: "stacks",
        about: "the names of stacks, and which server takes which",
        page: include_str!("../../files/docs/stacks.md"),
        part: None,
    },
    Topic {
        name: "reading",
        about: "columns and marks, and when a figure is valid",
        page: include_str!("../../files/docs/reading.md"),
        part: None,
    },
    Topic {
        name: "exit-codes",
        about: "what the program's exit code says",
        page: include_str!("../../files/docs/reading.md"),
        part: Some("## Exit codes"),
    },
    Topic {
        name: "limits",
        about: "what is left out, and what is only modelled",
        page: include_str!("../../files/docs/limits.md"),
        part: None,
    },
    Topic {
        name: "examples",
        about: "which command answers which question",
        page: include_str!("../../files/docs/examples.md"),
        part: None,
    },
];

/// The page of `wirecost help TOPIC`; `None` for any other command line.
pub fn topic(words: &[String]) -> Option<&'static str> {
    let [_, help, name] = words else {
        return None;
    };
    let topic = TOPICS.iter().find(|topic| topic.name == name)?;
    (help == "help").then(|| topic.text())
}

impl Topic {
    fn text(&self) -> &'static str {
        let Some(part) = self.part else {
            return self.page;
        };
        let text = self
            .page
            .find(part)
            .map_or(self.page, |begin| &self.page[begin..]);
        let end = text[part.len()..]
            .find("\n## ")
            .map_or(text.len(), |end| part.len() + end + 1);
        &text[..end]
    }
}

/// The help of the program with its commands in groups.
pub(super) fn with_doors(program: Command) -> Command {
    let groups: String = DOORS
        .iter()
        .map(|(title, names)| group(&program, title, names))
        .collect();
    let topics: String = TOPICS
        .iter()
        .map(|topic| entry(topic.name, topic.about))
        .collect();
    program.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Topics (wirecost help TOPIC):\n{topics}\nOptions:\n{{options}}\n"
    ))
}

/// The heading and the entries of some commands.
fn group(program: &Command, title: &str, names: &[&str]) -> String {
    let about = |name: &str| match name {
        "help" => "Print this text, the help of a command, or a topic".to_owned(),
        _ => program
            .find_subcommand(name)
            .and_then(Command::get_about)
            .map(ToString::to_string)
            .unwrap_or_default(),
    };
    let entries: String = names.iter().map(|name| entry(name, &about(name))).collect();
    format!("{title}:\n{entries}\n")
}

/// A name and what it is, on lines of the help's width.
fn entry(name: &str, about: &str) -> String {
    const INDENT: usize = 15;
    let mut text = format!("  {name:<width$}", width = INDENT - 2);
    let mut column = INDENT;
    for (place, word) in about.split(' ').enumerate() {
        if place > 0 && column + 1 + word.chars().count() > WIDTH {
            text += &format!("\n{:INDENT$}", "");
            column = INDENT;
        } else if place > 0 {
            text.push(' ');
            column += 1;
        }
        text += word;
        column += word.chars().count();
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::arguments::program;

    #[test]
    fn every_command_that_is_shown_is_behind_one_door() {
        let program = program();
        let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
        let shown: BTreeSet<&str> = shown.map(Command::get_name).chain(["help"]).collect();
        let listed: Vec<&str> = DOORS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        assert_eq!(listed.len(), shown.len());
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), shown);
    }

    #[test]
    fn no_line_of_the_help_is_wider_than_the_others() {
        let text = program().render_help().to_string();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn a_topic_is_a_page_or_a_part_of_one() {
        let page = |name: &str| topic(&["wirecost", "help", name].map(str::to_owned));
        for own in &TOPICS {
            assert!(
                page(own.name).is_some_and(|text| text.starts_with('#')),
                "{}",
                own.name
            );
        }
        let codes = page("exit-codes").expect("a part");
        assert!(
            codes.starts_with("## Exit codes\n") && codes.matches("\n## ").count() == 0,
            "{codes}"
        );
        assert_eq!(page("compare"), None);
    }
}
