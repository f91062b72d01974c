//! Ctrl-C and similar signals: the first one asks the run to end, the second one ends it at once. A program in the
//! foreground receives them through [`Relay`].

use crate::error::{Doing, EnvironmentError};
use crate::sys::process::{
    event, exit_now, is_readable, let_through, next_signal, on_signals, raise_event, signals,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

/// 128 + SIGINT, as a shell reports it.
const EXIT_INTERRUPTED: i32 = 130;

static EVENT: OnceLock<OwnedFd> = OnceLock::new();
static EVENT_FD: AtomicI32 = AtomicI32::new(-1);
static SIGNALS: AtomicU32 = AtomicU32::new(0);

/// Whether the run was asked to end. Its descriptor then stays readable, which wakes every thread that polls it.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt(&'static OwnedFd);

impl Interrupt {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on. Later calls return the same flag.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn install() -> Result<Self, EnvironmentError> {
        let fresh = event().doing("eventfd", || "create an event".into())?;
        let fd = EVENT.get_or_init(|| fresh);
        EVENT_FD.store(fd.as_raw_fd(), Ordering::SeqCst);
        on_signals(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP], note)
            .doing("sigaction", || "catch SIGINT, SIGTERM and SIGHUP".into())?;
        Ok(Self(fd))
    }

    /// Whether a signal has arrived.
    pub fn is_set(&self) -> bool {
        SIGNALS.load(Ordering::SeqCst) > 0
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Interrupt {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

extern "C" fn note(_signal: i32) {
    if SIGNALS.fetch_add(1, Ordering::SeqCst) > 0 {
        exit_now(EXIT_INTERRUPTED);
    }
    raise_event(EVENT_FD.load(Ordering::SeqCst));
}

/// The signals that a relay blocks.
const HELD: [i32; 5] = [
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGCHLD,
];

/// Signals that are blocked and read, to be passed on. Dropping it unblocks them for the dropping thread.
#[derive(Debug)]
pub struct Relay(OwnedFd);

/// A signal that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// A child has ended.
    ChildEnded,
    /// This process was asked to end.
    Asked {
        /// The signal's number.
        signal: i32,
        /// Whether the terminal sent it: then every process in the foreground has received it.
        by_terminal: bool,
    },
}

impl Relay {
    /// Blocks SIGINT, SIGQUIT, SIGTERM, SIGHUP and SIGCHLD for the calling thread and its later threads. Call it before
    /// any thread starts.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn install() -> Result<Self, EnvironmentError> {
        let fd = signals(&HELD).doing("signalfd", || "hold signals back".into())?;
        Ok(Self(fd))
    }

    /// The next signal within `patience`.
    ///
    /// # Errors
    /// None for a valid descriptor.
    pub fn next(&self, patience: Duration) -> io::Result<Option<Caught>> {
        let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        if !is_readable(self.0.as_fd(), milliseconds)? {
            return Ok(None);
        }
        let caught = |(signal, by_kernel)| match signal {
            libc::SIGCHLD => Caught::ChildEnded,
            signal => Caught::Asked {
                signal,
                by_terminal: by_kernel,
            },
        };
        Ok(next_signal(self.0.as_fd())?.map(caught))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // A thread that no longer receives these signals can still be killed.
        let _ = let_through(&HELD);
    }
}
