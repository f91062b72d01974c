//! How long something is waited for that may never come.

use std::time::{Duration, Instant};

/// How long one slice of a wait is: how late Ctrl-C is heard.
const SLICE: Duration = Duration::from_millis(50);

/// A wait that ends with its time, or as soon as the result is not needed any more.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    most: Duration,
    is_over: &'a dyn Fn() -> bool,
}

impl<'a> Patience<'a> {
    /// Waits for no longer than `most`, and not once `is_over`.
    pub const fn new(most: Duration, is_over: &'a dyn Fn() -> bool) -> Self {
        Self { most, is_over }
    }

    /// Waits for no longer than `most`, whatever happens meanwhile.
    pub const fn of(most: Duration) -> Self {
        Self::new(most, &|| false)
    }

    /// The longest that is waited.
    pub const fn most(&self) -> Duration {
        self.most
    }

    /// Asks `wait`, which waits for no longer than it is told to, again and again until it has something; `None` where the
    /// patience ends first.
    pub fn wait<T>(&self, mut wait: impl FnMut(Duration) -> Option<T>) -> Option<T> {
        let began = Instant::now();
        loop {
            let left = self.most.saturating_sub(began.elapsed());
            if left.is_zero() || (self.is_over)() {
                return None;
            }
            let got = wait(left.min(SLICE));
            if got.is_some() {
                return got;
            }
        }
    }
}

impl std::fmt::Debug for Patience<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patience")
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_comes_ends_the_wait() {
        let mut left = 3;
        let got = Patience::of(Duration::from_secs(60)).wait(|_| {
            left -= 1;
            (left == 0).then_some("there")
        });
        assert_eq!((got, left), (Some("there"), 0));
    }

    #[test]
    fn a_wait_ends_when_nobody_wants_it_any_more() {
        let slices = Cell::new(0);
        let is_over = || slices.get() == 2;
        let got = Patience::new(Duration::from_secs(60), &is_over).wait(|slice| {
            assert!(slice <= SLICE);
            slices.set(slices.get() + 1);
            None::<()>
        });
        assert_eq!((got, slices.get()), (None, 2));
    }

    #[test]
    fn a_wait_ends_with_its_time() {
        let got = Patience::of(Duration::from_millis(1)).wait(|slice| {
            std::thread::sleep(slice);
            None::<()>
        });
        assert_eq!(got, None);
    }
}
