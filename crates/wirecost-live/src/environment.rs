//! The machine of a live run, for the record.

use crate::clock::ClockQuality;
use crate::sys::process::{kernel, open_file_limit, set_open_file_limit};
use std::io;
use wirecost_files::system;

/// The settings of both namespaces, by their dotted names.
pub use crate::sysctl::Settings as NetworkSettings;

/// Facts that do not change during a run. `None` and 0 mean unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Name and release: `Linux 6.12.1`.
    pub kernel: String,
    /// The processor's name.
    pub cpu_model: Option<String>,
    /// Processors that this process may use.
    pub cores: usize,
    /// The frequency governor of the first processor.
    pub governor: Option<String>,
    /// The kernel's clock source.
    pub clock_source: Option<String>,
    /// CLOCK_MONOTONIC.
    pub clock: ClockQuality,
    /// CLOCK_THREAD_CPUTIME_ID.
    pub cpu_clock: ClockQuality,
    /// Memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// The hard limit of open files of this process.
    pub open_files: Option<u64>,
    /// The range of ports that the kernel assigns.
    pub local_ports: Option<[u16; 2]>,
}

impl Environment {
    /// Reads the machine's facts.
    pub fn read() -> Self {
        // What the machine does not tell stays empty: a run must not fail for a note about itself.
        let [name, release, _] = kernel().unwrap_or_default();
        Self {
            kernel: format!("{name} {release}"),
            cpu_model: text("/proc/cpuinfo").and_then(|text| field(&text, "model name").map(str::to_string)),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            clock: ClockQuality::of_monotonic(),
            cpu_clock: ClockQuality::of_thread_cpu(),
            memory_bytes: text("/proc/meminfo")
                .and_then(|text| kibibytes(&text, "MemTotal"))
                .unwrap_or(0),
            open_files: OpenFiles::read().ok().map(|files| files.hard),
            local_ports: local_ports().ok(),
        }
    }
}

/// The range of ports that the kernel assigns (net.ipv4.ip_local_port_range).
///
/// # Errors
/// The setting cannot be read.
pub fn local_ports() -> io::Result<[u16; 2]> {
    let range = system::text("/proc/sys/net/ipv4/ip_local_port_range")?;
    port_range(&range).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Parses `first last`.
fn port_range(text: &str) -> Option<[u16; 2]> {
    let mut bounds = text.split_whitespace().map_while(|bound| bound.parse().ok());
    Some([bounds.next()?, bounds.next()?])
}

/// The load of the machine at a moment. Read it before and after a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Runnable processes, averaged over 1, 5 and 15 minutes.
    pub average: [f64; 3],
    /// Available memory, in bytes.
    pub available_bytes: u64,
    ticks: Ticks,
}

/// CPU time of all processors since boot, in clock ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    steal: u64,
    total: u64,
}

impl Load {
    /// Reads the machine's load.
    pub fn read() -> Self {
        Self {
            average: text("/proc/loadavg")
                .and_then(|text| load_average(&text))
                .unwrap_or_default(),
            available_bytes: text("/proc/meminfo")
                .and_then(|text| kibibytes(&text, "MemAvailable"))
                .unwrap_or(0),
            ticks: text("/proc/stat")
                .and_then(|text| Ticks::parse(&text))
                .unwrap_or_default(),
        }
    }

    /// The share of processor time since `earlier` that the hypervisor gave to others, 0 to 1.
    pub fn steal_share_since(&self, earlier: &Self) -> f64 {
        let total = self.ticks.total.saturating_sub(earlier.ticks.total);
        let steal = self.ticks.steal.saturating_sub(earlier.ticks.steal);
        if total == 0 {
            0.0
        } else {
            steal as f64 / total as f64
        }
    }
}

impl Ticks {
    fn parse(stat: &str) -> Option<Self> {
        let ticks = machine_ticks(stat)?;
        let [.., steal] = ticks;
        Some(Self {
            steal,
            total: ticks.iter().sum(),
        })
    }
}

/// The first line of /proc/stat (proc(5)), in clock ticks: user, nice, system, idle, iowait, irq, softirq, steal. The rest is contained in
/// user and nice.
pub(crate) fn machine_ticks(stat: &str) -> Option<[u64; 8]> {
    let values = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = values
        .split_whitespace()
        .take(8)
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    ticks.try_into().ok()
}

/// The open-file limits of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// The current limit.
    pub soft: u64,
    /// The highest limit that the process may set.
    pub hard: u64,
}

impl OpenFiles {
    /// Reads the limits.
    ///
    /// # Errors
    /// None on Linux.
    pub fn read() -> io::Result<Self> {
        open_file_limit().map(|(soft, hard)| Self { soft, hard })
    }

    /// Raises the current limit to the highest one and returns it.
    ///
    /// # Errors
    /// None on Linux.
    pub fn raise() -> io::Result<u64> {
        let Self { soft, hard } = Self::read()?;
        if soft < hard {
            set_open_file_limit(hard, hard)?;
        }
        Ok(hard)
    }
}

/// How many files all processes of this machine can still open together (fs.file-max).
///
/// # Errors
/// /proc cannot be read.
pub fn free_files() -> io::Result<u64> {
    // proc_sys_fs(5): file-nr holds the allocated handles, including free ones, and the maximum.
    let numbers = system::text("/proc/sys/fs/file-nr")?;
    let mut numbers = numbers
        .split_whitespace()
        .map_while(|word| word.parse::<u64>().ok());
    let (Some(allocated), Some(_), Some(maximum)) = (numbers.next(), numbers.next(), numbers.next()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    Ok(maximum.saturating_sub(allocated))
}

fn text(path: &str) -> Option<String> {
    system::text(path).ok()
}

fn line(path: &str) -> Option<String> {
    text(path).map(|text| text.trim().to_string())
}

/// The value of the first `name : value` line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// A field in kB, converted to bytes.
pub(crate) fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let value: u64 = field(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(value * 1_024)
}

/// The effective capabilities in /proc/PID/status (proc(5)).
pub(crate) fn effective_capabilities(status: &str) -> u64 {
    let digits = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    digits
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0)
}

fn load_average(text: &str) -> Option<[f64; 3]> {
    let mut values = text.split_whitespace().map_while(|word| word.parse().ok());
    Some([values.next()?, values.next()?, values.next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fields_of_proc_files() {
        let text = "processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nMemTotal:       16 kB\n";
        assert_eq!(field(text, "model name"), Some("A CPU @ 2 GHz"));
        assert_eq!(kibibytes(text, "MemTotal"), Some(16_384));
        assert_eq!(kibibytes(text, "MemAvailable"), None);
        assert_eq!(load_average("0.50 1.25 2.00 1/100 12345"), Some([0.5, 1.25, 2.0]));
        assert_eq!(load_average("0.50"), None);
        assert_eq!(port_range("32768\t60999\n"), Some([32_768, 60_999]));
        assert_eq!(port_range("1"), None);
    }

    #[test]
    fn capabilities_are_read_from_their_line() {
        assert_eq!(
            effective_capabilities("CapPrm:\t1\nCapEff:\t00000000000000c1\n"),
            0xc1
        );
        assert_eq!(effective_capabilities(""), 0);
    }

    #[test]
    fn steal_is_a_share_of_the_time_that_passed() {
        let load = |stat: &str| Load {
            ticks: Ticks::parse(stat).unwrap(),
            ..Load::default()
        };
        let (before, after) = (
            load("cpu  10 0 10 60 0 0 0 20 7 7\ncpu0 1"),
            load("cpu  20 0 20 120 0 0 0 40 9 9\n"),
        );
        assert_eq!(after.steal_share_since(&before), 0.2);
        assert_eq!(before.steal_share_since(&before), 0.0);
        assert_eq!(Ticks::parse("cpu 1 2 3"), None);
    }

    #[test]
    fn this_machine_has_a_kernel_a_processor_and_memory() {
        let environment = Environment::read();
        assert!(
            environment.kernel.starts_with("Linux ") && environment.cores > 0 && environment.memory_bytes > 0
        );
        assert!(Load::read().available_bytes > 0);
    }

    #[test]
    fn this_machine_can_open_another_file() {
        assert!(free_files().unwrap() > 0);
    }

    #[test]
    fn the_open_file_limit_can_be_raised_to_the_hard_limit() {
        let hard = OpenFiles::raise().unwrap();
        assert_eq!(OpenFiles::read().unwrap(), OpenFiles { soft: hard, hard });
    }
}
