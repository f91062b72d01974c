//! The settings of a server that wirecost starts, as scenarios and results have them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Settings by their names.
pub type Settings = BTreeMap<String, SettingValue>;

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SettingValue {
    /// A whole number.
    Number(u64),
    /// A word.
    Word(String),
}

impl From<&str> for SettingValue {
    fn from(text: &str) -> Self {
        let number = text.parse().map(Self::Number);
        number.unwrap_or_else(|_| Self::Word(text.to_owned()))
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

/// Settings whose values are given as texts.
pub fn of_texts(texts: BTreeMap<String, String>) -> Settings {
    let value = |(name, text): (String, String)| (name, SettingValue::from(text.as_str()));
    texts.into_iter().map(value).collect()
}

/// The values of settings as texts.
pub fn texts_of(settings: &Settings) -> BTreeMap<String, String> {
    let text = |(name, value): (&String, &SettingValue)| (name.clone(), value.to_string());
    settings.iter().map(text).collect()
}
