//! What a server and everything it started have used.

use crate::sys::process::cpu_nanos;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What the processes of one PID namespace have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time of the processes that live, all their threads, also those that have ended.
    pub cpu_time: Duration,
    /// Resident memory; pages that processes share are counted for each.
    pub resident_bytes: u64,
    /// How many processes live.
    pub processes: usize,
}

impl Usage {
    /// The use of the processes in the PID namespace of which `first` is one.
    ///
    /// # Errors
    /// ENOENT or ESRCH once `first` has ended.
    pub(super) fn of_pid_namespace(first: i32) -> io::Result<Self> {
        let namespace = fs::read_link(namespace_link(first))?;
        let mut usage = Self {
            cpu_time: Duration::from_nanos(cpu_nanos(first)?),
            ..Self::default()
        };
        for pid in processes()? {
            // Processes of other users cannot be looked into, and are not ours.
            if fs::read_link(namespace_link(pid)).is_ok_and(|found| found == namespace) {
                usage.add(pid, pid == first);
            }
        }
        Ok(usage)
    }

    /// Adds a process; one that has ended since it was listed adds nothing.
    fn add(&mut self, pid: i32, is_counted: bool) {
        let nanos = if is_counted {
            0
        } else {
            cpu_nanos(pid).unwrap_or(0)
        };
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        self.cpu_time += Duration::from_nanos(nanos);
        self.resident_bytes += resident_bytes(&status).unwrap_or(0);
        self.processes += 1;
    }
}

fn namespace_link(pid: i32) -> PathBuf {
    format!("/proc/{pid}/ns/pid").into()
}

fn processes() -> io::Result<impl Iterator<Item = i32>> {
    let entries = fs::read_dir("/proc")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// `VmRSS` of /proc/PID/status (proc(5)), in bytes.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_resident_memory_in_kibibytes() {
        assert_eq!(
            resident_bytes("Name:\tx\nVmRSS:\t   12 kB\nThreads:\t1\n"),
            Some(12 * 1_024)
        );
        assert_eq!(resident_bytes("Name:\tkthreadd\n"), None);
    }

    #[test]
    fn counts_this_process() {
        let usage = Usage::of_pid_namespace(std::process::id() as i32).unwrap();
        assert!(usage.resident_bytes > 0 && usage.processes > 0 && usage.cpu_time > Duration::ZERO);
    }
}
