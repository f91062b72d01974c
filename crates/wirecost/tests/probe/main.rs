//! `wirecost probe` against servers of other makers and our own, on the loopback interface.

#[path = "../common/mod.rs"]
mod common;
#[path = "../peers/mod.rs"]
mod peers;

mod books;
mod certificates;
mod failures;
mod far;
mod liars;
mod schemes;
mod servers;

use std::path::Path;

use serde_json::Value;

use common::{Said, said, wirecost};

/// Runs `wirecost probe` with arguments that are separated by blanks, in a folder.
fn probe(folder: &Path, arguments: &str) -> Said {
    said(wirecost(folder).arg("probe").args(arguments.split(' ')))
}

/// The report of a probe that goes well, and what it says of its steps by name.
fn report(folder: &Path, arguments: &str) -> Value {
    let said = probe(folder, &format!("{arguments} --json -"));
    assert_eq!(said.code, Some(0), "probe {arguments}\n{}", said.stderr);
    serde_json::from_str(&said.stdout).expect("JSON")
}

/// The step of that name, or null.
fn step<'a>(report: &'a Value, name: &str) -> &'a Value {
    let steps = report["steps"].as_array().expect("steps");
    let found = steps.iter().find(|step| step["step"] == name);
    found.unwrap_or(&Value::Null)
}

/// Bytes of a layer, up and down, of a step or of the total.
fn both(part: &Value, layer: &str) -> u64 {
    ["up", "down"]
        .map(|way| part[way][layer].as_u64().unwrap_or(0))
        .iter()
        .sum()
}
