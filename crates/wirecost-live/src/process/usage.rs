//! The resources of a server and its children, and of this process.

use crate::environment::kibibytes;
use crate::sys::process::{cpu_nanos, cpu_times_of_children, own_cpu_times};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use wirecost_files::system;

/// The usage of the processes of one PID namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time of the live processes, including their threads that have ended, and their children that have ended: PostgreSQL has a
    /// process for each connection.
    pub cpu_time: Duration,
    /// Of it, the time in the kernel.
    pub system: Duration,
    /// Resident memory. A shared page counts for each process.
    pub resident_bytes: u64,
    /// The number of live processes.
    pub processes: usize,
}

/// The usage of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnUsage {
    /// CPU time of all its threads in user mode, including threads that have ended.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Resident memory.
    pub resident_bytes: u64,
}

/// CPU time of the children that this process has waited for, with those that they waited for (getrusage(2)).
///
/// # Errors
/// None on Linux.
pub fn of_ended_children() -> io::Result<Duration> {
    let [user, system] = cpu_times_of_children()?;
    Ok(user + system)
}

impl OwnUsage {
    /// The usage so far.
    ///
    /// # Errors
    /// None on Linux.
    pub fn read() -> io::Result<Self> {
        let [user, system] = own_cpu_times()?;
        let status = system::text("/proc/self/status")?;
        Ok(Self {
            user,
            system,
            resident_bytes: resident_bytes(&status).unwrap_or(0),
        })
    }

    /// The usage of another process so far, with CPU time in steps of 10 ms.
    ///
    /// # Errors
    /// ENOENT or ESRCH once it has ended.
    pub fn of_process(pid: u32) -> io::Result<Self> {
        let stat = system::text(format!("/proc/{pid}/stat"))?;
        let status = system::text(format!("/proc/{pid}/status"))?;
        let [user, system, ..] = cpu_ticks(&stat).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self {
            user: TICK * user,
            system: TICK * system,
            resident_bytes: resident_bytes(&status).unwrap_or(0),
        })
    }
}

/// The unit of CPU time in /proc/PID/stat: the kernel reports hundredths of a second on all supported machines.
const TICK: Duration = Duration::from_millis(10);

/// CPU time in user mode and in the kernel, and the same of children that have ended (proc_pid_stat(5), fields 14 to 17). The name
/// before them may contain anything.
pub(crate) fn cpu_ticks(stat: &str) -> Option<[u32; 4]> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse().ok();
    Some([next()?, next()?, next()?, next()?])
}

/// The parent in /proc/PID/stat (proc(5)): the second field after the name, which may contain anything but ends with
/// the last bracket.
pub(crate) fn parent_in(stat: &str) -> Option<i32> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}

impl Usage {
    /// The usage of the processes in the PID namespace of `server`, without the process `ours`.
    ///
    /// # Errors
    /// ENOENT or ESRCH once `server` has ended.
    pub(super) fn of_pid_namespace(server: i32, ours: Option<i32>) -> io::Result<Self> {
        // The clock of a server that has ended is an error.
        cpu_nanos(server)?;
        let mut usage = Self::default();
        let mut in_kernel = Duration::ZERO;
        let mut in_steps = Duration::ZERO;
        for pid in of_pid_namespace(server, ours)? {
            let [all, system] = usage.add(pid);
            in_steps += all;
            in_kernel += system;
        }
        // Times in steps of 10 ms divide the exact one.
        let share = in_kernel.as_secs_f64() / in_steps.as_secs_f64();
        if share.is_finite() {
            usage.system = usage.cpu_time.mul_f64(share.clamp(0.0, 1.0));
        }
        Ok(usage)
    }

    /// The sum of two.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            cpu_time: self.cpu_time + other.cpu_time,
            system: self.system + other.system,
            resident_bytes: self.resident_bytes + other.resident_bytes,
            processes: self.processes + other.processes,
        }
    }

    /// Adds a process. Returns its CPU time in steps of 10 ms, and that in the kernel. A process that has ended since the listing adds
    /// nothing.
    fn add(&mut self, pid: i32) -> [Duration; 2] {
        let stat = system::text(format!("/proc/{pid}/stat")).unwrap_or_default();
        let [user, system, user_of_ended, system_of_ended] = cpu_ticks(&stat).unwrap_or_default();
        let status = system::text(format!("/proc/{pid}/status")).unwrap_or_default();
        self.cpu_time += Duration::from_nanos(cpu_nanos(pid).unwrap_or(0));
        self.cpu_time += TICK * (user_of_ended + system_of_ended);
        self.resident_bytes += resident_bytes(&status).unwrap_or(0);
        self.processes += 1;
        let in_kernel = system + system_of_ended;
        [TICK * (user + user_of_ended + in_kernel), TICK * in_kernel]
    }
}

/// The processes in the PID namespace of `server`, itself included, without the process `ours`.
///
/// # Errors
/// ENOENT or ESRCH once `server` has ended.
pub(super) fn of_pid_namespace(server: i32, ours: Option<i32>) -> io::Result<Vec<i32>> {
    let namespace = fs::read_link(namespace_link(server))?;
    // Processes of other users are unreadable, and do not belong to wirecost.
    let is_of_it = |pid: &i32| fs::read_link(namespace_link(*pid)).is_ok_and(|found| found == namespace);
    let all = processes()?.filter(|pid| Some(*pid) != ours);
    Ok(all.filter(is_of_it).collect())
}

pub(super) fn namespace_link(pid: i32) -> PathBuf {
    format!("/proc/{pid}/ns/pid").into()
}

pub(crate) fn processes() -> io::Result<impl Iterator<Item = i32>> {
    let entries = fs::read_dir("/proc")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// `VmRSS` of /proc/PID/status (proc(5)), in bytes.
fn resident_bytes(status: &str) -> Option<u64> {
    kibibytes(status, "VmRSS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_hides_no_parent() {
        assert_eq!(parent_in("7 (a) b (c) S 42 7 7 0"), Some(42));
        assert_eq!(parent_in("7 (sh) Z 1"), Some(1));
        assert_eq!(parent_in(""), None);
    }

    #[test]
    fn reads_resident_memory_in_kibibytes() {
        assert_eq!(
            resident_bytes("Name:\tx\nVmRSS:\t   12 kB\nThreads:\t1\n"),
            Some(12 * 1_024)
        );
        assert_eq!(resident_bytes("Name:\tkthreadd\n"), None);
    }

    #[test]
    fn separates_user_mode_from_the_kernel() {
        let before = OwnUsage::read().unwrap();
        while OwnUsage::read().unwrap().system <= before.system {
            std::hint::black_box(fs::read_dir("/proc").unwrap().count());
        }
        let after = OwnUsage::read().unwrap();
        assert!(after.user >= before.user && after.resident_bytes > 0);
    }

    #[test]
    fn counts_this_process() {
        let usage = Usage::of_pid_namespace(std::process::id() as i32, None).unwrap();
        assert!(usage.resident_bytes > 0 && usage.processes > 0 && usage.cpu_time > Duration::ZERO);
    }

    #[test]
    fn counts_children_that_have_ended() {
        let own = std::process::id() as i32;
        let ended = || {
            let stat = fs::read_to_string(format!("/proc/{own}/stat")).unwrap();
            let [_, _, user, system] = cpu_ticks(&stat).unwrap();
            TICK * (user + system)
        };
        let before = ended();
        while ended() < before + TICK * 2 {
            let mut child = std::process::Command::new("/bin/sh");
            child.args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]);
            assert!(child.status().unwrap().success());
        }
        let usage = Usage::of_pid_namespace(own, None).unwrap();
        assert!(
            usage.cpu_time >= before + TICK * 2 && usage.system <= usage.cpu_time,
            "{usage:?}"
        );
    }

    #[test]
    fn lists_the_processes_of_a_namespace_but_the_one_left_out() {
        let own = std::process::id() as i32;
        assert!(of_pid_namespace(own, None).unwrap().contains(&own));
        assert!(!of_pid_namespace(own, Some(own)).unwrap().contains(&own));
    }

    #[test]
    fn another_process_reads_like_this_one() {
        let (own, same) = (
            OwnUsage::read().unwrap(),
            OwnUsage::of_process(std::process::id()).unwrap(),
        );
        let behind = own.user.saturating_sub(same.user);
        assert!(behind <= Duration::from_millis(500), "{own:?} {same:?}");
        assert!(same.resident_bytes > 0);
        assert!(OwnUsage::of_process(0).is_err());
        assert_eq!(
            cpu_ticks("1 (a) b) S 1 2 3 4 5 6 7 8 9 10 77 88 5 6 13"),
            Some([77, 88, 5, 6])
        );
    }
}
