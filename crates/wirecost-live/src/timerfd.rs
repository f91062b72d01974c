//! Deadlines as a pollable descriptor: absolute, on CLOCK_MONOTONIC, in nanoseconds.

use crate::clock::Clock;
use crate::error::{Doing, EnvironmentError};
use crate::sys::time::{create_timer, set_timer, set_timer_slack};
use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Interest, Poll, Registry, Token};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use wirecost_proto::Instant;

/// A timer that becomes readable at the instant it is armed for. A poll's own time-out is rounded to whole
/// milliseconds.
#[derive(Debug)]
pub struct TimerFd(File);

impl TimerFd {
    /// A timer that is not armed.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> Result<Self, EnvironmentError> {
        let fd = create_timer().doing("timerfd_create", || "create a timer".into())?;
        Ok(Self(File::from(fd)))
    }

    /// A poll instance with a timer that is registered under `token`.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub(crate) fn with_poll(token: Token) -> io::Result<(Poll, Self)> {
        let (poll, mut timer) = (Poll::new()?, Self::new().map_err(io::Error::other)?);
        poll.registry().register(&mut timer, token, Interest::READABLE)?;
        Ok((poll, timer))
    }

    /// Arms the timer for `at`, replacing any earlier deadline. An instant in the past fires at once.
    ///
    /// # Errors
    /// None for a valid descriptor.
    pub(crate) fn arm(&self, clock: &Clock, at: Instant) -> io::Result<()> {
        set_timer(self.0.as_fd(), clock.monotonic_nanos(at).max(1)) // 0 would disarm: timerfd_settime(2)
    }

    /// Whether the deadline has passed since the timer was armed. The call makes the descriptor unreadable again.
    ///
    /// # Errors
    /// None for a valid descriptor.
    pub(crate) fn take_expiry(&self) -> io::Result<bool> {
        let mut expirations = [0; 8];
        match (&self.0).read(&mut expirations) {
            Ok(_) => Ok(u64::from_ne_bytes(expirations) > 0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for TimerFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for TimerFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Source for TimerFd {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        SourceFd(&self.as_raw_fd()).register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        SourceFd(&self.as_raw_fd()).reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        SourceFd(&self.as_raw_fd()).deregister(registry)
    }
}

/// Sets the calling thread's timer slack to 1 ns instead of the usual 50 us.
///
/// # Errors
/// Linux documents none for this value.
pub fn minimize_timer_slack() -> io::Result<()> {
    set_timer_slack(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn fires_at_its_deadline_and_not_earlier() {
        let (clock, timer) = (Clock::start(), TimerFd::new().unwrap());
        minimize_timer_slack().unwrap();
        let deadline = clock.now() + Duration::from_millis(5);
        timer.arm(&clock, deadline).unwrap();
        while !timer.take_expiry().unwrap() {
            std::hint::spin_loop();
        }
        assert!(clock.now() >= deadline);
        assert!(!timer.take_expiry().unwrap());
    }

    #[test]
    fn a_deadline_in_the_past_fires_at_once() {
        let (clock, timer) = (Clock::start(), TimerFd::new().unwrap());
        timer.arm(&clock, Instant::START).unwrap();
        assert!(timer.take_expiry().unwrap());
    }

    #[test]
    fn wakes_a_poll() {
        let (clock, mut timer) = (Clock::start(), TimerFd::new().unwrap());
        let (mut poll, mut events) = (mio::Poll::new().unwrap(), mio::Events::with_capacity(4));
        poll.registry()
            .register(&mut timer, Token(7), Interest::READABLE)
            .unwrap();
        timer
            .arm(&clock, clock.now() + Duration::from_micros(300))
            .unwrap();
        poll.poll(&mut events, Some(Duration::from_secs(5))).unwrap();
        assert!(events.iter().any(|event| event.token() == Token(7)));
    }
}
