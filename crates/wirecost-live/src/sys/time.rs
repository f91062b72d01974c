//! Clocks, timers and timer slack.

use super::{check, owned};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

pub(crate) fn nanos(time: libc::timespec) -> u64 {
    time.tv_sec as u64 * NANOS_PER_SECOND + time.tv_nsec as u64
}

fn timespec(nanos: u64) -> libc::timespec {
    libc::timespec {
        // Not `time_t`, whose name musl deprecates until it has 64 bits everywhere.
        tv_sec: (nanos / NANOS_PER_SECOND) as _,
        tv_nsec: (nanos % NANOS_PER_SECOND) as libc::c_long,
    }
}

/// Reads `clock`, in nanoseconds. The three clocks used here exist on every Linux, so this cannot fail.
pub(crate) fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut time = timespec(0);
    // SAFETY: the kernel writes one timespec.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    nanos(time)
}

/// The resolution of `clock`.
pub(crate) fn clock_resolution(clock: libc::clockid_t) -> Duration {
    let mut time = timespec(0);
    // SAFETY: the kernel writes one timespec.
    unsafe { libc::clock_getres(clock, &raw mut time) };
    Duration::from_nanos(nanos(time))
}

/// A non-blocking timer on CLOCK_MONOTONIC.
pub(crate) fn create_timer() -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers.
    owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) })
}

/// Arms a timer at an absolute time in nanoseconds; 0 disarms it.
pub(crate) fn set_timer(fd: BorrowedFd<'_>, at_nanos: u64) -> io::Result<()> {
    let value = libc::itimerspec {
        it_interval: timespec(0),
        it_value: timespec(at_nanos),
    };
    // SAFETY: the kernel reads one itimerspec, and writes none since the last pointer is null.
    let result = unsafe {
        libc::timerfd_settime(
            fd.as_raw_fd(),
            libc::TFD_TIMER_ABSTIME,
            &raw const value,
            std::ptr::null_mut(),
        )
    };
    check(result).map(drop)
}

/// Sets how late the kernel may fire the calling thread's timers to combine them.
pub(crate) fn set_timer_slack(nanos: libc::c_ulong) -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes an integer.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanos) }).map(drop)
}
