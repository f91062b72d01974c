//! The processes of a run, as everybody on this machine sees them.

use std::fs;
use std::process::Command;

/// The command, in the network namespace of the process `pid`, as root.
pub(crate) fn within(pid: u32, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["-t", &pid.to_string(), "-n", program]);
    command
}

/// The processes that `ancestor` has started, and theirs, that are not wirecost.
pub(crate) fn started_by(ancestor: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<(u32, u32)> = pids
        .filter_map(|pid| Some((pid, number(&status(pid), "PPid:")?)))
        .collect();
    let mut family = vec![ancestor];
    let mut known = 0;
    while known < family.len() {
        let parent = family[known];
        let children = parents.iter().filter(|(_, of)| *of == parent);
        family.extend(children.map(|(pid, _)| *pid));
        known += 1;
    }
    let is_ours = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.is_empty() || name.starts_with("wirecost")
    };
    family.retain(|pid| !is_ours(pid));
    family
}

/// The four user ids of a process (proc(5)); empty once it has ended.
pub(crate) fn users(pid: u32) -> Vec<u32> {
    let status = status(pid);
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let ids = line.unwrap_or_default().split_whitespace();
    ids.filter_map(|id| id.parse().ok()).collect()
}

fn status(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default()
}

fn number(status: &str, name: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().parse().ok()
}
