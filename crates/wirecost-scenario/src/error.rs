//! Errors in a scenario, with their place.

use std::fmt;
use std::sync::Arc;

/// The place of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// A line of the file, from 1.
    Line(u64),
    /// A flag of the command line, as it was typed.
    Flag(Arc<str>),
    /// The file as a whole.
    #[default]
    File,
}

/// What is wrong in a scenario or another file of ours, where, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    file: Option<Arc<str>>,
    place: Place,
    message: String,
    hint: Option<String>,
}

impl ScenarioError {
    /// An error at a place.
    pub fn new(place: &Place, message: impl Into<String>) -> Self {
        Self {
            file: None,
            place: place.clone(),
            message: message.into(),
            hint: None,
        }
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the name of the file.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.file = Some(file.into());
        self
    }

    /// The message without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The hint, if there is one.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The line of the error, from 1, if it has one.
    pub const fn line(&self) -> Option<u64> {
        match self.place {
            Place::Line(line) => Some(line),
            _ => None,
        }
    }
}

impl fmt::Display for ScenarioError {
    /// `FILE:LINE: MESSAGE`, as compilers write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, self.file.as_deref()) {
            (Place::Flag(flag), _) => write!(f, "{flag}: ")?,
            (Place::Line(line), Some(file)) => write!(f, "{file}:{line}: ")?,
            (Place::Line(line), None) => write!(f, "line {line}: ")?,
            (Place::File, Some(file)) => write!(f, "{file}: ")?,
            (Place::File, None) => {}
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScenarioError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_format_of_compilers() {
        let error = ScenarioError::new(&Place::Line(12), "unknown key \"sise\"");
        assert_eq!(error.to_string(), "line 12: unknown key \"sise\"");
        assert_eq!(
            error.in_file("a.yaml").to_string(),
            "a.yaml:12: unknown key \"sise\""
        );
        let flag = Place::Flag("--set size=1".into());
        let error = ScenarioError::new(&flag, "no unit").in_file("a.yaml");
        assert_eq!(error.to_string(), "--set size=1: no unit");
    }
}
