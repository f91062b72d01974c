//! Named deadlines: an array of deadlines indexed by an enum of timers. The minimum is the next time-out.

use crate::Instant;

/// A fixed table of `N` deadlines, indexed by an enum that converts into `usize`.
///
/// ```
/// use wirecost_proto::{Instant, TimerTable};
///
/// #[derive(Clone, Copy)]
/// enum Timer { Retransmit, KeepAlive }
/// impl From<Timer> for usize { fn from(timer: Timer) -> usize { timer as usize } }
///
/// let mut timers = TimerTable::<2>::new();
/// timers.set(Timer::KeepAlive, Instant::from_millis(60));
/// timers.set(Timer::Retransmit, Instant::from_millis(2));
/// assert_eq!(timers.next(), Some(Instant::from_millis(2)));
/// assert!(timers.expire(Timer::Retransmit, Instant::from_millis(2)));
/// assert_eq!(timers.next(), Some(Instant::from_millis(60)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerTable<const N: usize> {
    /// [`NEVER`] for a timer that is not set.
    deadlines: [Instant; N],
}

/// The end of time: a timer with this deadline is not set.
const NEVER: Instant = Instant::from_nanos(u64::MAX);

impl<const N: usize> Default for TimerTable<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> TimerTable<N> {
    /// A table in which no timer is set.
    pub const fn new() -> Self {
        Self {
            deadlines: [NEVER; N],
        }
    }

    /// Sets `timer` and replaces its earlier deadline. The end of time stops the timer. Ignores a timer outside the table.
    pub fn set(&mut self, timer: impl Into<usize>, deadline: Instant) {
        if let Some(slot) = self.deadlines.get_mut(timer.into()) {
            *slot = deadline;
        }
    }

    /// Stops `timer`.
    pub fn stop(&mut self, timer: impl Into<usize>) {
        if let Some(slot) = self.deadlines.get_mut(timer.into()) {
            *slot = NEVER;
        }
    }

    /// The deadline of `timer`, if it is set.
    pub fn deadline(&self, timer: impl Into<usize>) -> Option<Instant> {
        let deadline = self.deadlines.get(timer.into());
        deadline.copied().filter(|deadline| *deadline != NEVER)
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        let earliest = self
            .deadlines
            .iter()
            .fold(NEVER, |earliest, at| earliest.min(*at));
        (earliest != NEVER).then_some(earliest)
    }

    /// Whether `timer` is due at `now`; stops it if so.
    pub fn expire(&mut self, timer: impl Into<usize>, now: Instant) -> bool {
        let Some(slot) = self.deadlines.get_mut(timer.into()) else {
            return false;
        };
        let is_due = *slot != NEVER && *slot <= now;
        if is_due {
            *slot = NEVER;
        }
        is_due
    }
}
