//! The resolved scenario in the style of YAML.

use serde_json::Value;
use wirecost_results::resolved::Asked;

/// The listing: a line per key, lists with dashes.
pub(crate) fn write(scenario: &Asked) -> String {
    let value = serde_json::to_value(scenario).unwrap_or_default();
    let mut out = String::new();
    list(&value, 0, &mut out);
    out
}

fn list(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                *out += &format!("{indent}{key}:");
                nested(value, depth, out);
            }
        }
        Value::Array(values) => {
            for value in values {
                *out += &format!("{indent}-");
                nested(value, depth, out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn nested(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(_) | Value::Array(_) => {
            *out += "\n";
            list(value, depth + 1, out);
        }
        Value::String(text) => *out += &format!(" {text}\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) => *out += &format!(" {value}\n"),
    }
}
