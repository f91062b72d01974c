//! Agents that the coordinator starts over SSH. A script stands in place of ssh, and runs its command here.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use crate::common::{WIRECOST, open_folder, wirecost};
use crate::honesty::Target;
use crate::rig::{Coordinator, Ended};

/// Notes its arguments, fails for the host `down`, and runs the command otherwise.
const SSH: &str = r#"#!/bin/sh
echo "$*" >> "$0.log"
while [ "$1" != -- ]; do shift; done
host="$2"
shift 2
[ "$host" = down ] && { echo "ssh: connect to host down: No route to host" >&2; exit 255; }
exec "$@"
"#;

fn run(arguments: &str) -> (Ended, String) {
    let home = open_folder();
    let bin = home.path().join("bin");
    fs::create_dir(&bin).expect("a folder");
    fs::write(bin.join("ssh"), SSH).expect("a script");
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755)).expect("a mode");
    symlink(WIRECOST, bin.join("wirecost")).expect("a link");
    let path = std::env::var("PATH").expect("a path");
    let mut command: Command = wirecost(home.path());
    command.env("PATH", format!("{}:{path}", bin.display()));
    command.args([
        "load",
        "--json",
        "summary.json",
        "--out",
        "run",
        "--listen",
        "127.0.0.1:0",
    ]);
    command.args(arguments.split(' '));
    let ended = Coordinator::of(command, home).end();
    let log = fs::read_to_string(ended.home.path().join("bin/ssh.log")).expect("ssh was run");
    (ended, log)
}

#[test]
fn a_coordinator_starts_an_agent_on_each_host() {
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let (ended, log) = run(&format!("{url} -c 4 -r 100/s -d 1s --agents ssh:one,two"));
    ended.ended_well();
    let figures = ended.agents();
    let mut names: Vec<&str> = figures
        .each
        .iter()
        .filter_map(|agent| agent.name.as_deref())
        .collect();
    names.sort_unstable();
    assert_eq!((names.as_slice(), figures.to_the_end), (&["one", "two"][..], 2));
    assert_eq!(target.messages(), 100);
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(
        lines
            .iter()
            .all(|line| line.contains("wirecost agent --join - --name ")),
        "{log}"
    );
    assert!(
        !ended.home.path().join("join.token").exists(),
        "the join file went by standard input"
    );
}

#[test]
fn a_host_that_is_down_is_named() {
    let (ended, _) = run("mqtt://127.0.0.1:1 -c 4 --agents ssh:one,down --agents-wait 4s");
    assert_eq!(ended.said.code, Some(11), "{}", ended.said.stderr);
    assert!(
        ended.said.stderr.contains("No route to host"),
        "{}",
        ended.said.stderr
    );
    assert!(
        ended.said.stderr.contains("within 4 s: down is missing"),
        "{}",
        ended.said.stderr
    );
}
