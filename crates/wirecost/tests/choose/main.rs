//! `wirecost choose`: the first stack follows the requirements, and the figures are those of the comparison.

#[path = "../common/mod.rs"]
mod common;
mod figures;
mod further;
mod requirements;
mod told;
mod ways;

use std::path::Path;

use serde_json::Value;

use common::{Said, said, wirecost};

fn choose(home: &Path, arguments: &str) -> Said {
    said(wirecost(home).arg("choose").args(arguments.split_whitespace()))
}

/// The choice, where at least one stack meets the requirements.
fn chosen(home: &Path, arguments: &str) -> Value {
    let said = choose(home, &format!("{arguments} -n 2 -q --json -"));
    assert_eq!(said.code, Some(0), "{arguments}: {}", said.stderr);
    serde_json::from_str(&said.stdout).expect("JSON")
}

fn rows(choice: &Value) -> &[Value] {
    choice["rows"].as_array().expect("rows")
}

/// The bytes of a row, as far as they have digits before their point.
fn bytes_of(row: &Value) -> f64 {
    row["figures"]["bytes_per_reading"]["mean"]
        .as_f64()
        .expect("bytes")
        .round()
}
