//! YAML 1.2 as a tree in which every value has its line. JSON is YAML too.
//!
//! Limits apply while the text is read: nesting, values, aliases and their expansions. Only `true` and `false` are
//! booleans. A repeated key, a merge key and a second document are errors.

mod limits;
mod syntax;

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Options, Spanned};

use super::error::{Place, ScenarioError};
pub use limits::MAX_BYTES;
use limits::{MAX_DEPTH, MAX_VALUES};

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its place in the file, or the flag.
    pub place: Place,
    /// What stands there: a text, a number, a list or a table.
    pub value: Value,
}

/// A value of YAML.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number in canonical form.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys with their values, in the order of the file.
    Table(Vec<(Key, Node)>),
}

/// A key with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its place in the file, or the flag.
    pub place: Place,
    /// The key.
    pub name: String,
}

impl Node {
    /// A value at a place.
    pub fn at(place: &Place, value: Value) -> Self {
        Self {
            place: place.clone(),
            value,
        }
    }

    /// Reads a text.
    ///
    /// # Errors
    /// It is not YAML, or larger or deeper than a scenario may be.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        if text.len() > MAX_BYTES {
            let message = format!(
                "a scenario has at most {} MiB, this one has {} bytes",
                MAX_BYTES >> 20,
                text.len()
            );
            return Err(ScenarioError::new(&Place::File, message).with_hint(limits::SPLIT));
        }
        let node = serde_saphyr::from_str_with_options::<Spanned<Value>>(text, strict())
            .map(Self::from)
            .map_err(|error| not_yaml(&error))?;
        node.check_texts()?;
        Ok(node)
    }

    /// Refuses texts and keys with characters that control a terminal: tables, reports and error messages repeat them.
    fn check_texts(&self) -> Result<(), ScenarioError> {
        match &self.value {
            Value::Text(text) => check_text(&self.place, text),
            Value::List(nodes) => nodes.iter().try_for_each(Self::check_texts),
            Value::Table(entries) => entries.iter().try_for_each(|(key, node)| {
                check_text(&key.place, &key.name)?;
                node.check_texts()
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    /// The value of a key of a table.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let entries = self.entries()?;
        entries
            .iter()
            .find(|(name, _)| name.name == key)
            .map(|(_, node)| node)
    }

    /// The value of a key of a table, mutable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        let Value::Table(entries) = &mut self.value else {
            return None;
        };
        let found = entries.iter_mut().find(|(name, _)| name.name == key);
        found.map(|(_, node)| node)
    }

    /// The keys and values of a table; `None` for anything else.
    pub fn entries(&self) -> Option<&[(Key, Self)]> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The text of a boolean, a number or a text; `None` for anything else.
    pub fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Bool(value) => Some(value.to_string()),
            Value::Number(text) | Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// About how many bytes of memory the value takes.
    pub fn weight(&self) -> usize {
        let within = match &self.value {
            Value::Null | Value::Bool(_) => 0,
            Value::Number(text) | Value::Text(text) => text.len(),
            Value::List(nodes) => nodes.iter().map(Self::weight).sum(),
            Value::Table(entries) => entries
                .iter()
                .map(|(key, node)| key.name.len() + node.weight())
                .sum(),
        };
        within + size_of::<Self>()
    }

    /// The name of the kind of value.
    pub const fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// The options of the parser.
fn strict() -> Options {
    serde_saphyr::options! {
        budget: limits::budget(),
        emit_comments: false,
        // The last one would win, and the first be ignored without a word.
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_VALUES,
            max_replay_stack_depth: MAX_DEPTH,
        },
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        with_snippet: false,
    }
}

fn check_text(place: &Place, text: &str) -> Result<(), ScenarioError> {
    let is_refused = |character: &char| character.is_control() && !matches!(character, '\n' | '\r' | '\t');
    let Some(character) = text.chars().find(is_refused) else {
        return Ok(());
    };
    let message = format!("a text with the control character U+{:04X}", u32::from(character));
    Err(ScenarioError::new(place, message)
        .with_hint("leave it out; the bytes of a payload can be written as hex"))
}

fn not_yaml(error: &serde_saphyr::Error) -> ScenarioError {
    let place = error
        .location()
        .map_or(Place::File, |location| Place::Line(location.line()));
    let error = error.without_snippet();
    let [text, hint] = limits::told(error).unwrap_or_else(|| syntax::told(error));
    ScenarioError::new(&place, text).with_hint(hint)
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Self {
        Self {
            place: place(&spanned.referenced),
            value: spanned.value,
        }
    }
}

fn place(location: &serde_saphyr::Location) -> Place {
    match location.line() {
        0 => Place::File,
        line => Place::Line(line),
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(item) = list.next_element::<Spanned<Value>>()? {
            nodes.push(item.into());
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = table.next_key::<Spanned<String>>()? {
            let value: Spanned<Value> = table.next_value()?;
            let key = Key {
                place: place(&key.referenced),
                name: key.value,
            };
            entries.push((key, value.into()));
        }
        Ok(Value::Table(entries))
    }
}

#[cfg(test)]
mod tests;
