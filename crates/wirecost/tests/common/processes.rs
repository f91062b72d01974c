//! The processes of a run, as everybody on this machine sees them.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The command, in the network namespace of the process `pid`, as root.
pub(crate) fn within(pid: u32, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["-t", &pid.to_string(), "-n", program]);
    command
}

/// Waits until a condition holds, for as long as the process or one that it started gets CPU time or waits for a disk: a
/// server on a busy machine may take minutes to start. Gives up when it has ended, when all of them have been idle for
/// longer than any of them sleeps, and after a time that no machine takes.
pub(crate) fn while_it_works(what: &str, process: u32, mut is_so: impl FnMut() -> bool) {
    const IDLE: Duration = Duration::from_secs(40);
    const LONGEST: Duration = Duration::from_secs(900);
    let began = Instant::now();
    let (mut worked, mut ticks) = (began, 0);
    while !is_so() {
        let work = work_of(process);
        if work.is_pending || work.ticks != ticks {
            worked = Instant::now();
        }
        ticks = work.ticks;
        if work.has_ended {
            assert!(is_so(), "{what}: process {process} has ended");
            return;
        }
        assert!(worked.elapsed() < IDLE, "{what}: idle for {IDLE:?}");
        assert!(began.elapsed() < LONGEST, "{what}: not within {LONGEST:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// What a process and those that it started have done.
#[derive(Default)]
struct Work {
    /// Their CPU time.
    ticks: u64,
    /// Whether one of them waits for a CPU or a disk.
    is_pending: bool,
    /// Whether the process itself has ended.
    has_ended: bool,
}

fn work_of(process: u32) -> Work {
    let mut work = Work {
        has_ended: true,
        ..Work::default()
    };
    for pid in family(process) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name before may contain blanks (proc_pid_stat(5): state is the third field, utime the 14th).
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let ticks = fields.iter().skip(11).take(4);
        work.ticks += ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>();
        let state = fields.first().copied().unwrap_or("X");
        work.is_pending |= matches!(state, "R" | "D");
        work.has_ended &= pid != process || matches!(state, "X" | "Z");
    }
    work
}

/// The processes that `ancestor` has started, and theirs, that are not wirecost.
pub(crate) fn started_by(ancestor: u32) -> Vec<u32> {
    let is_ours = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.is_empty() || name.starts_with("wirecost")
    };
    let mut started = family(ancestor);
    started.retain(|pid| !is_ours(pid));
    started
}

/// A process, those that it has started, and theirs.
fn family(ancestor: u32) -> Vec<u32> {
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
