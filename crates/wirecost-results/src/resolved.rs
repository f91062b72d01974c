//! What a comparison was asked to do, as its results keep it: the keys of `scenario.resolved.yaml`.
//!
//! The options themselves know their keys (`wirecost-scenario`). A reader of results takes the few that it shows, and keeps the others.

#[cfg(feature = "schema")]
mod keys;

use std::fmt::{self, Display};

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;
use wirecost_proto::Framing;

/// A value of a file, whose tables keep the order of their keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Tree {
    /// Nothing.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// Keys with their values.
    Table(Vec<(String, Self)>),
}

impl Tree {
    /// The form in which a value is written.
    pub fn from_value(value: &impl Serialize) -> Self {
        // Texts, numbers and lists: there is nothing that JSON cannot hold.
        let text = serde_json::to_string(value).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// A text.
    pub fn text(value: impl Display) -> Self {
        Self::Text(value.to_string())
    }

    /// A whole number.
    pub fn number(value: u64) -> Self {
        Self::Number(value.into())
    }

    /// The value of a key of a table.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Table(entries) => entries
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// The text; `None` of anything else.
    const fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.as_str()),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::List(_) | Self::Table(_) => None,
        }
    }

    /// The text of a boolean, a number or a text.
    pub fn scalar(&self) -> Option<String> {
        match self {
            Self::Bool(value) => Some(value.to_string()),
            Self::Number(value) => Some(value.to_string()),
            Self::Text(text) => Some(text.clone()),
            Self::Null | Self::List(_) | Self::Table(_) => None,
        }
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Bool(value) => to.serialize_bool(*value),
            Self::Number(value) => value.serialize(to),
            Self::Text(text) => to.serialize_str(text),
            Self::List(list) => to.collect_seq(list),
            Self::Table(entries) => {
                let mut map = to.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Tree::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = table.next_entry()? {
            entries.push(entry);
        }
        Ok(Tree::Table(entries))
    }
}

/// A comparison with every default filled in. Quantities have their units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked(
    #[serde(deserialize_with = "complete")]
    #[cfg_attr(feature = "schema", schemars(with = "keys::Keys"))]
    Tree,
);

/// Reads a table with all keys that a reader of results shows, so that none of them is shown as empty.
fn complete<'de, D: Deserializer<'de>>(from: D) -> Result<Tree, D::Error> {
    let asked = Asked(Tree::deserialize(from)?);
    let text = |key| asked.get(key).and_then(Tree::as_text).is_some();
    let number = |key| matches!(asked.get(key), Some(Tree::Number(number)) if number.as_u64().is_some());
    let checks = [
        ("engine", text("engine")),
        ("target", text("target")),
        ("keep_alive", text("keep_alive")),
        ("stacks", matches!(asked.get("stacks"), Some(Tree::List(_)))),
        ("samples", number("samples")),
        ("messages_per_connection", number("messages_per_connection")),
    ];
    match checks.into_iter().find(|(_, is_there)| !is_there) {
        None => Ok(asked.0),
        Some((key, _)) => Err(D::Error::custom(format_args!(
            "the scenario has no {key}, or not as it is written"
        ))),
    }
}

impl Asked {
    /// What options ask for.
    pub fn from_options(options: &impl Serialize) -> Self {
        Self(Tree::from_value(options))
    }

    /// The value of a key; `None` if the folder does not have it.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        self.0.get(key)
    }

    /// Replaces the value of a key.
    pub fn set(&mut self, key: &str, value: Tree) {
        let Tree::Table(entries) = &mut self.0 else {
            return;
        };
        match entries.iter_mut().find(|(name, _)| name == key) {
            Some((_, found)) => *found = value,
            None => entries.push((key.to_owned(), value)),
        }
    }

    /// `auto`, `sim` or `live`.
    pub fn engine(&self) -> &str {
        self.text("engine")
    }

    /// `builtin`, the name of a real server, or the URL of a server that was running already.
    pub fn target(&self) -> &str {
        self.text("target")
    }

    /// The time between keep-alives, e.g. `60s`.
    pub fn keep_alive(&self) -> &str {
        self.text("keep_alive")
    }

    /// Names of the stacks, in order.
    pub fn stacks(&self) -> Vec<&str> {
        self.texts("stacks")
    }

    /// Payload sizes, e.g. `128B`; empty where messages carry readings.
    pub fn sizes(&self) -> Vec<&str> {
        self.texts("size")
    }

    /// Samples (devices) per cell.
    pub fn samples(&self) -> u64 {
        self.number("samples")
    }

    /// Messages per connection, the warm-up message not counted.
    pub fn messages_per_connection(&self) -> u64 {
        self.number("messages_per_connection")
    }

    /// The link layer whose headers count; none in a folder that does not say it.
    pub fn framing(&self) -> Framing {
        self.text("framing").parse().unwrap_or_default()
    }

    /// Whether an option is on.
    pub fn is(&self, key: &str) -> bool {
        self.get(key) == Some(&Tree::Bool(true))
    }

    fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Tree::as_text).unwrap_or_default()
    }

    fn texts(&self, key: &str) -> Vec<&str> {
        match self.get(key) {
            Some(Tree::List(list)) => list.iter().filter_map(Tree::as_text).collect(),
            _ => Vec::new(),
        }
    }

    fn number(&self, key: &str) -> u64 {
        match self.get(key) {
            Some(Tree::Number(number)) => number.as_u64().unwrap_or_default(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_written_as_it_was_read() {
        let text = r#"{"b":[1,"x",{"z":null,"a":true}],"a":0.5}"#;
        let tree: Tree = serde_json::from_str(text).expect("JSON");
        assert_eq!(serde_json::to_string(&tree).expect("a tree"), text);
    }

    #[test]
    fn a_scenario_without_a_key_that_is_shown_is_refused() {
        let whole = r#"{"engine":"sim","target":"builtin","stacks":["udp"],"samples":2,"keep_alive":"60s","messages_per_connection":1}"#;
        let asked: Asked = serde_json::from_str(whole).expect("every key");
        assert_eq!((asked.engine(), asked.samples()), ("sim", 2));
        for (key, other) in [
            ("\"engine\"", "\"motor\""),
            ("\"samples\":2", "\"samples\":\"2\""),
            ("[\"udp\"]", "\"udp\""),
        ] {
            let text = whole.replace(key, other);
            assert!(serde_json::from_str::<Asked>(&text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Asked>("[]").is_err());
    }
}
