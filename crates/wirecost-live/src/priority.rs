//! The scheduling priority of threads that keep deadlines on a machine with other work.

use crate::sys::process::{run_on_cpu, run_on_first_cpu, set_niceness, set_real_time};
use std::{fmt, io};

/// The role of a thread in a run. Later variants have a higher priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Duty {
    /// A host: it sends, receives and reads the clock.
    Host = 1,
    /// The link between hosts.
    Link = 2,
}

const NICENESS: i32 = -20;

/// The priority that the kernel grants to a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// SCHED_FIFO: the thread runs as soon as it is woken.
    RealTime,
    /// The largest share among ordinary threads.
    Favoured,
    /// The default share.
    #[default]
    Ordinary,
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RealTime => "SCHED_FIFO",
            Self::Favoured => "nice -20",
            Self::Ordinary => "nice 0",
        })
    }
}

/// Requests the best priority that the calling thread may have, for itself alone, and returns the granted one.
/// Real-time priorities are the lowest ones: above every ordinary thread, below all other real-time threads.
///
/// On a machine with one CPU it requests none: a thread that spins until its deadline would block the thread that it
/// waits for. With several CPUs, the kernel's real-time throttle (sched(7)) leaves a share to other threads.
pub fn raise(duty: Duty) -> Priority {
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return Priority::Ordinary;
    }
    if set_real_time(duty as i32).is_ok() {
        return Priority::RealTime;
    }
    favour()
}

/// Requests the largest share among ordinary threads for the calling thread alone, and returns what is granted. A thread that may need
/// all the time of a CPU must not be above ordinary threads.
pub fn favour() -> Priority {
    match set_niceness(NICENESS) {
        Ok(()) => Priority::Favoured,
        Err(_) => Priority::Ordinary,
    }
}

/// Keeps the calling thread on one CPU, the same for every caller. Call it after [`raise`].
///
/// With link and hosts on one CPU, no other thread runs while one handles a burst of packets. The kernel's TCP then
/// behaves the same for every run, packet by packet. Otherwise the segments that share an acknowledgment depend on the
/// moment at which a reader takes the socket (Linux: tcp_add_backlog).
///
/// # Errors
/// The kernel refuses.
pub fn share_one_cpu() -> io::Result<()> {
    run_on_first_cpu()
}

/// Keeps the calling thread, and its later threads, on the CPU with this number.
///
/// # Errors
/// The machine has no such CPU, or this process may not use it.
pub fn keep_to_cpu(cpu: usize) -> io::Result<()> {
    run_on_cpu(cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_favoured_thread_has_the_niceness_that_is_named() {
        let favoured = std::thread::spawn(|| {
            let granted = favour();
            let statistics = std::fs::read_to_string("/proc/thread-self/stat").expect("statistics");
            (granted, statistics)
        });
        let (granted, statistics) = favoured.join().expect("the thread ends");
        // proc_pid_stat(5): field 19 is the niceness.
        let fields = statistics.rsplit_once(')').expect("a name").1;
        let niceness = fields.split_whitespace().nth(16).expect("a niceness");
        assert_eq!(granted.to_string(), format!("nice {niceness}"));
    }

    #[test]
    fn a_thread_started_by_a_raised_thread_is_ordinary() {
        let inherited = std::thread::spawn(|| {
            raise(Duty::Link);
            std::thread::spawn(|| std::fs::read_to_string("/proc/thread-self/stat").expect("statistics"))
                .join()
                .expect("the inner thread ends")
        });
        let statistics = inherited.join().expect("the outer thread ends");
        // proc_pid_stat(5): field 41 is the scheduling policy, counted here from the end of the name in field 2.
        let policy = statistics
            .rsplit_once(')')
            .expect("a name")
            .1
            .split_whitespace()
            .nth(38);
        assert_eq!(policy, Some("0"), "{statistics}");
    }
}
