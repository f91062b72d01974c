//! The processor time of this program, of the processes that it started, and of all others.

use std::collections::BTreeMap;
use std::fs;

use crate::environment::machine_ticks;
use crate::process::usage::{cpu_ticks, parent_in, processes};
use wirecost_files::system;

/// Processor time since boot, in clock ticks of all CPUs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// All time, with that of idle CPUs.
    total: u64,
    /// Time in user mode and in the kernel, of all processes.
    used: u64,
    /// The part of it that this process used, with its descendants and the ended processes that they waited for.
    own: u64,
}

impl CpuTime {
    /// Reads the times. Without /proc they are 0.
    pub fn read() -> Self {
        let stat = system::text("/proc/stat").unwrap_or_default();
        let (total, used) = machine_ticks(&stat).map(total_and_used).unwrap_or_default();
        let this = fs::read_link("/proc/self").ok();
        let this = this.and_then(|link| link.to_str()?.parse().ok());
        let own = this.map_or(0, |this| of_descendants(this, &all_processes()));
        Self { total, used, own }
    }

    /// The share of all processor time since `earlier` that processes used which neither this one nor a descendant of it
    /// started, 0 to 1.
    pub fn share_of_others_since(&self, earlier: &Self) -> f64 {
        let used = self.used.saturating_sub(earlier.used);
        let own = self.own.saturating_sub(earlier.own);
        match self.total.saturating_sub(earlier.total) {
            0 => 0.0,
            total => used.saturating_sub(own) as f64 / total as f64,
        }
    }
}

/// A line of /proc/PID/stat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    /// Of the process and of its children that have ended.
    ticks: u64,
}

impl Process {
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        Some(Self {
            pid,
            parent: parent_in(stat)?,
            ticks: cpu_ticks(stat)?.iter().copied().map(u64::from).sum(),
        })
    }
}

fn all_processes() -> Vec<Process> {
    let stat = |pid: i32| Process::parse(pid, &system::text(format!("/proc/{pid}/stat")).ok()?);
    processes().into_iter().flatten().filter_map(stat).collect()
}

fn of_descendants(ancestor: i32, all: &[Process]) -> u64 {
    let mut children: BTreeMap<i32, Vec<&Process>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut ticks = 0;
    let mut left: Vec<&Process> = all.iter().filter(|process| process.pid == ancestor).collect();
    while let Some(process) = left.pop() {
        ticks += process.ticks;
        left.extend(children.remove(&process.pid).unwrap_or_default());
    }
    ticks
}

/// All time, and that of user mode, with nice, and of the kernel without interrupts.
fn total_and_used(ticks: [u64; 8]) -> (u64, u64) {
    let [user, nice, system, ..] = ticks;
    (ticks.iter().sum(), user + nice + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_its_time_and_that_of_its_ended_children() {
        let stat = "42 (a (b) c) S 7 42 42 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 5\n";
        assert_eq!(
            Process::parse(42, stat),
            Some(Process {
                pid: 42,
                parent: 7,
                ticks: 127
            })
        );
        assert_eq!(Process::parse(42, "42 (a) S 7 42"), None);
    }

    #[test]
    fn descendants_are_counted_and_others_are_not() {
        let process = |pid, parent, ticks| Process { pid, parent, ticks };
        let all = [
            process(1, 0, 1),
            process(10, 1, 20),
            process(11, 10, 300),
            process(12, 11, 4_000),
            process(13, 1, 50_000),
        ];
        assert_eq!(of_descendants(10, &all), 4_320);
        assert_eq!(of_descendants(99, &all), 0);
    }

    #[test]
    fn the_share_of_others_leaves_out_interrupts_idle_time_and_ourselves() {
        let at = |stat, own| {
            let (total, used) = total_and_used(machine_ticks(stat).expect("a line"));
            CpuTime { total, used, own }
        };
        let before = at("cpu  100 0 100 800 0 0 0 0 0 0\n", 50);
        let after = at("cpu  140 10 120 900 0 20 10 0 0 0\n", 90);
        assert_eq!(after.share_of_others_since(&before), 0.15);
        assert_eq!(before.share_of_others_since(&before), 0.0);
    }

    #[test]
    fn this_process_uses_time_of_its_own() {
        let before = CpuTime::read();
        let mut now = before;
        while now.own <= before.own {
            std::hint::black_box((0..100_000_u64).sum::<u64>());
            now = CpuTime::read();
        }
        // The kernel may count a tick for a process before it counts it for the machine.
        assert!(
            (0.0..=1.0).contains(&now.share_of_others_since(&before)),
            "{before:?} {now:?}"
        );
    }
}
