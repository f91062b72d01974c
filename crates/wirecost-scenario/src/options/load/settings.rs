//! The settings of a server that wirecost starts, which replace those that it gives it.

use std::collections::BTreeMap;

use serde::Serialize;
use wirecost_stack::target::Target;

/// Settings by their names in the server's own configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Settings(pub BTreeMap<String, u64>);

impl Settings {
    /// Whether the server has those that wirecost gives it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Why a target cannot have them; `None` if it can.
    pub fn refusal(&self, target: Target) -> Option<String> {
        let known = target.settings();
        let unknown = self.0.keys().find(|name| !known.contains(&name.as_str()))?;
        Some(match known {
            [] => format!("{target} has no settings here: leave out {unknown}"),
            _ => format!(
                "{target} has no setting {unknown} here: it has {}",
                known.join(", ")
            ),
        })
    }
}
