//! Runs against a server that others use too, from a machine that has little left, and what they say of a server that turns them away.

#[path = "../common/mod.rs"]
mod common;

mod addresses;
mod broker;
mod limits;
mod refusals;
mod testers;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use common::{Said, WIRECOST, need_program, need_root, said, wirecost};

/// Runs wirecost with arguments that are separated by blanks.
fn run(folder: &Path, arguments: &str) -> Said {
    said(wirecost(folder).args(arguments.split(' ')))
}

/// Runs `script` by `sh` in namespaces of its own: `unshare` with `flags`. `$0` is wirecost.
fn in_namespaces(folder: &Path, flags: &str, script: &str) -> Said {
    need_root();
    need_program("unshare", "util-linux");
    let mut command = Command::new("unshare");
    command.args(flags.split(' '));
    command.args(["sh", "-c", script, WIRECOST]).current_dir(folder);
    said(&mut command)
}

/// The only load of a summary on stdout.
fn load_of(said: &Said) -> Value {
    let summary: Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    summary["loads"][0].clone()
}

/// The phase of that name.
fn phase(load: &Value, name: &str) -> Value {
    let phases = load["phases"].as_array().expect("phases");
    let found = phases.iter().find(|phase| phase["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {load}")).clone()
}
