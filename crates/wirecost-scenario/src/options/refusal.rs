//! Why options cannot be run, by the key of the value that causes it.
//!
//! A file names the key with its line, a command line the flag: no reason names either of itself.

use crate::error::ScenarioError;
use crate::node::{Node, Value};

/// Why a run cannot be as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .about.named(.why))]
pub struct Refusal {
    /// The cause.
    pub about: About,
    /// The reason: a sentence, or what the value `must be`.
    pub why: String,
}

/// The cause of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The value of this key.
    Key(&'static str),
    /// The phase with this index.
    Phase(usize),
}

impl About {
    /// The reason with the name of the cause.
    fn named(self, why: &str) -> String {
        match self {
            Self::Key(key) => said_of(key, why),
            Self::Phase(_) => said_of("phases", why),
        }
    }
}

/// Whether something can be run.
pub type Checked = Result<(), Refusal>;

/// Keys with their names in the resolved form.
const RESOLVED: [(&str, &str); 5] = [
    ("count", "samples"),
    ("stack", "stacks"),
    ("link", "links"),
    ("interval", "schedules"),
    ("messages_per_connection", "schedules"),
];

impl Refusal {
    /// A refusal of the value of a key.
    pub fn new(key: &'static str, why: impl Into<String>) -> Self {
        Self {
            about: About::Key(key),
            why: why.into(),
        }
    }

    /// The reason as it is said of `name`, a key or a flag.
    pub fn said_of(&self, name: &str) -> String {
        said_of(name, &self.why)
    }

    /// The error of a file, placed at the value of the key.
    pub fn in_file(&self, file: &Node) -> ScenarioError {
        let (name, place) = match self.about {
            About::Key(key) => {
                let resolved = RESOLVED.iter().filter(|(own, _)| *own == key);
                let mut names = std::iter::once(key).chain(resolved.map(|(_, resolved)| *resolved));
                names
                    .find_map(|name| Some((name, Some(file.get(name)?))))
                    .unwrap_or((key, None))
            }
            About::Phase(index) => {
                let phase = match file.get("phases").map(|phases| &phases.value) {
                    Some(Value::List(phases)) => phases.get(index),
                    _ => None,
                };
                ("phases", phase)
            }
        };
        ScenarioError::new(&place.unwrap_or(file).place, self.said_of(name))
    }
}

fn said_of(name: &str, why: &str) -> String {
    match why.starts_with("must ") {
        true => format!("{name} {why}"),
        false => format!("{name}: {why}"),
    }
}

/// Refuses a key where there is a reason.
pub(crate) fn refuse(about: About, why: Option<impl Into<String>>) -> Checked {
    why.map_or(Ok(()), |why| {
        Err(Refusal {
            about,
            why: why.into(),
        })
    })
}

/// Refuses a list with duplicates: what is run for them would be equal.
pub(crate) fn once<T: PartialEq>(key: &'static str, what: &str, list: &[T]) -> Checked {
    let mut places = list.iter().enumerate();
    let Some((place, _)) = places.find(|(place, item)| list[..*place].contains(item)) else {
        return Ok(());
    };
    let (position, count) = (place + 1, list.len());
    let why = format!("{what} {position} of {count} has been asked for before: name each {what} once");
    Err(Refusal::new(key, why))
}
