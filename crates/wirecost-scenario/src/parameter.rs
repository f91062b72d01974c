//! The parameters of an NB-IoT network by their paths: `levels.ce0.npdcch_g`.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use wirecost_nbiot::{Config, ConfigError};
use wirecost_stack::name::nearest_of;

/// Every path, in the order of the alphabet.
static PATHS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut paths = Vec::new();
    collect("", &tree_of(&Config::default()), &mut paths);
    paths
});

/// Why a parameter cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// There is no such parameter.
    #[error("no parameter is called {path}: {name} must be one of {known}{}", meant.as_ref().map(|name| format!(" (did you mean {name}?)")).unwrap_or_default())]
    Unknown {
        /// What was given.
        path: String,
        /// The part of it that is unknown.
        name: String,
        /// The names that this part can have.
        known: String,
        /// The parameter that it may have meant.
        meant: Option<&'static str>,
    },
    /// The parameter does not take such a value.
    #[error("{path} must be {allowed}, got {given}")]
    Value {
        /// The parameter.
        path: String,
        /// What it takes.
        allowed: String,
        /// What was given.
        given: String,
    },
    /// There is no such profile.
    #[error("profile must be one of {}, got {given}{}", Config::PROFILES.join(", "), meant.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default())]
    Profile {
        /// What was given.
        given: String,
        /// The profile that it may have meant.
        meant: Option<&'static str>,
    },
    /// The network cannot be with this value.
    #[error(transparent)]
    Network(#[from] ConfigError),
}

/// The path of every parameter.
pub fn paths() -> &'static [String] {
    &PATHS
}

/// The parameters of a profile.
///
/// # Errors
/// There is no such profile.
pub fn profile(name: &str) -> Result<Config, ParameterError> {
    Config::profile(name).map_err(|_| ParameterError::Profile {
        given: name.to_owned(),
        meant: nearest_of(name, Config::PROFILES),
    })
}

/// The path of a parameter, as [`paths`] has it.
///
/// # Errors
/// There is no such parameter.
pub fn path(given: &str) -> Result<&'static str, ParameterError> {
    let found = PATHS.iter().find(|path| *path == given);
    found.map(String::as_str).ok_or_else(|| unknown(given))
}

/// A network with one more parameter set; `value` is JSON, or a word.
///
/// # Errors
/// There is no such parameter, or it does not take such a value.
pub fn set(config: &Config, given: &str, value: &str) -> Result<Config, ParameterError> {
    let path = path(given)?;
    let mut tree = tree_of(config);
    let pointer = format!("/{}", path.replace('.', "/"));
    let before = tree.pointer(&pointer).cloned().unwrap_or_default();
    // A word without quotation marks is no JSON, but what a person types in a shell.
    let read = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    if let Some(place) = tree.pointer_mut(&pointer) {
        *place = read;
    }
    serde_json::from_value(tree).map_err(|error| ParameterError::Value {
        path: path.to_owned(),
        allowed: allowed(&before, &error.to_string()),
        given: value.to_owned(),
    })
}

/// Every parameter of a network, in groups.
pub fn tree_of(config: &Config) -> Value {
    // Numbers, words and lists of them: there is nothing that JSON cannot hold.
    serde_json::to_value(config).unwrap_or_default()
}

/// A value of a parameter as it is shown: 4.0 is 4.
pub fn plain(value: &str) -> String {
    let value = value.trim();
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => number.to_string(),
        _ => value.to_owned(),
    }
}

fn collect(prefix: &str, value: &Value, paths: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let path = if prefix.is_empty() {
                    name.clone()
                } else {
                    format!("{prefix}.{name}")
                };
                collect(&path, value, paths);
            }
        }
        _ => paths.push(prefix.to_owned()),
    }
}

/// The first part of a path that is unknown, with the names that it can have.
fn unknown(given: &str) -> ParameterError {
    let tree = tree_of(&Config::default());
    let (mut place, mut name) = (&tree, "");
    for part in given.split('.') {
        name = part;
        match place.get(part) {
            Some(next) => place = next,
            None => break,
        }
    }
    let names = |map: &Map<String, Value>| map.keys().cloned().collect::<Vec<_>>().join(", ");
    let known = place
        .as_object()
        .map_or_else(|| "nothing below it".to_owned(), names);
    let last = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let all = || PATHS.iter().map(String::as_str);
    let by_name = || all().find(|path| last(path) == given);
    ParameterError::Unknown {
        path: given.to_owned(),
        name: name.to_owned(),
        known,
        meant: nearest_of(given, all()).or_else(by_name),
    }
}

/// What a parameter takes, by its value and by the reason why another one was refused.
fn allowed(before: &Value, why: &str) -> String {
    match before {
        Value::Bool(_) => "true or false".into(),
        Value::Number(number) if number.is_f64() => "a number".into(),
        Value::Number(_) => "a whole number".into(),
        Value::Null => "a number or null".into(),
        _ => match why.split_once("expected ") {
            Some((_, expected)) => expected.replace('`', ""),
            None => "of the same kind".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_set_by_its_path() {
        let config = set(&Config::default(), "levels.ce0.npdcch_g", "4").expect("a number");
        assert_eq!(config.levels.ce0.npdcch_g, 4.0);
        let config = set(&config, "rrc.flow", "early-data").expect("a word");
        assert_ne!(config.rrc, Config::default().rrc);
        let config = set(&config, "random_access.capture_db", "3").expect("a number for nothing");
        assert_eq!(config.random_access.capture_db, Some(3.0));
    }

    #[test]
    fn what_cannot_be_set_is_refused_with_what_can() {
        for (path, value, expected) in [
            (
                "levels.ce9.npdcch_g",
                "4",
                "no parameter is called levels.ce9.npdcch_g: ce9 must be one of ce0, ce1, ce2 (did you mean \
                 levels.ce0.npdcch_g?)",
            ),
            (
                "npdcch_g",
                "4",
                "no parameter is called npdcch_g: npdcch_g must be one of bearer, cdrx, coverage, downlink, idle, levels, \
                 link, mac, npdcch, pdcp, pur, radio, random_access, rlc, rrc, scenario, tcp (did you mean levels.ce0.npdcch_g?)",
            ),
            ("levels.ce0", "4", "no parameter is called levels.ce0: "),
            (
                "levels.ce0.npdcch_rmax",
                "eight",
                "levels.ce0.npdcch_rmax must be a whole number, got eight",
            ),
            (
                "mac.ul_grant_after_dl",
                "yes",
                "mac.ul_grant_after_dl must be true or false, got yes",
            ),
            (
                "rrc.flow",
                "resumed",
                "rrc.flow must be one of resume, setup, control-plane, early-data, preconfigured, got resumed",
            ),
        ] {
            let error = set(&Config::default(), path, value).expect_err(path).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let error = profile("studdy").expect_err("no profile").to_string();
        assert_eq!(
            error,
            "profile must be one of vodafone, study, got studdy (did you mean study?)"
        );
    }
}
