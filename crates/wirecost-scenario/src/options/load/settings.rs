//! The settings of a server that wirecost starts, which replace those that it gives it.

use serde::Serialize;
use wirecost_results::setting::{self, of_texts, texts_of};
use wirecost_stack::target::Target;

/// Settings by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Settings(pub setting::Settings);

impl Settings {
    /// Whether the server has those that wirecost gives it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Why a target cannot have them; `None` if it can.
    pub fn refusal(&self, target: Target) -> Option<String> {
        let mut names = self.0.keys();
        names.find_map(|name| Some(format!("{name}: {}", self.refuses(target, name)?)))
    }

    /// Why a target cannot have the setting of this name; `None` if it can.
    pub fn refuses(&self, target: Target, name: &str) -> Option<String> {
        target.refuses_setting(&texts_of(&self.0), name)
    }

    /// Every setting that a target runs with.
    pub fn of_target(&self, target: Target) -> setting::Settings {
        of_texts(target.settings_with(&texts_of(&self.0)))
    }
}
