//! How soon the kernel runs a thread that keeps deadlines, on a machine that does other work too.

use crate::sys::process::{run_on_cpu, run_on_first_cpu, set_niceness, set_real_time};
use std::{fmt, io};

/// What a thread of a run is there for; the later goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Duty {
    /// It is a host: it sends, receives and takes times.
    Host = 1,
    /// It is the link between hosts.
    Link = 2,
}

const NICENESS: i32 = -20;

/// What the kernel grants a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// SCHED_FIFO: it runs as soon as it is woken.
    RealTime,
    /// The largest share among ordinary threads.
    Favoured,
    /// No more than anybody else.
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

/// Asks for the best priority that the calling thread may have, for itself alone, and returns what it got. Real-time
/// priorities are the lowest there are: above every ordinary thread, below everything else that is real-time.
///
/// With one CPU it asks for none: a thread that spins towards its deadline would keep from running what it waits
/// for. With more, the kernel's real-time throttle (sched(7)) leaves a share even beside a thread that never rests.
pub fn raise(duty: Duty) -> Priority {
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return Priority::Ordinary;
    }
    if set_real_time(duty as i32).is_ok() {
        return Priority::RealTime;
    }
    match set_niceness(NICENESS) {
        Ok(()) => Priority::Favoured,
        Err(_) => Priority::Ordinary,
    }
}

/// Keeps the calling thread on one CPU, the same for every thread that asks: call it after [`raise`].
///
/// With link and hosts on one CPU, none of them runs while another one handles a burst of packets: the kernel's TCP then
/// repeats itself packet by packet, where otherwise it depends on the moment at which a reader takes the socket which
/// segments share an acknowledgment (Linux: tcp_add_backlog).
///
/// # Errors
/// The kernel refuses.
pub fn share_one_cpu() -> io::Result<()> {
    run_on_first_cpu()
}

/// Keeps the calling thread, and those that it starts from now on, on the CPU of this number.
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
    fn a_thread_that_a_raised_thread_starts_is_ordinary_again() {
        let inherited = std::thread::spawn(|| {
            raise(Duty::Link);
            std::thread::spawn(|| std::fs::read_to_string("/proc/thread-self/stat").expect("statistics"))
                .join()
                .expect("the inner thread ends")
        });
        let statistics = inherited.join().expect("the outer thread ends");
        // proc_pid_stat(5): field 41 is the scheduling policy, counted here from behind the name in field 2.
        let policy = statistics
            .rsplit_once(')')
            .expect("a name")
            .1
            .split_whitespace()
            .nth(38);
        assert_eq!(policy, Some("0"), "{statistics}");
    }
}
