//! A limit on how long to wait for an event.

use std::time::{Duration, Instant};

/// The length of one step of a wait, hence the longest delay of Ctrl-C.
const SLICE: Duration = Duration::from_millis(50);

/// A wait that ends after a time, or as soon as its result is no longer needed.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    most: Duration,
    is_over: &'a dyn Fn() -> bool,
}

impl<'a> Patience<'a> {
    /// Waits for at most `most`, and stops once `is_over`.
    pub const fn new(most: Duration, is_over: &'a dyn Fn() -> bool) -> Self {
        Self { most, is_over }
    }

    /// Waits for at most `most`.
    pub const fn at_most(most: Duration) -> Self {
        Self::new(most, &|| false)
    }

    /// The longest wait.
    pub const fn most(&self) -> Duration {
        self.most
    }

    /// Calls `wait`, which must not take longer than its argument, until it returns a value; `None` if the patience
    /// ends first.
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
    fn a_result_ends_the_wait() {
        let mut left = 3;
        let got = Patience::at_most(Duration::from_secs(60)).wait(|_| {
            left -= 1;
            (left == 0).then_some("there")
        });
        assert_eq!((got, left), (Some("there"), 0));
    }

    #[test]
    fn a_wait_ends_when_its_result_is_not_needed() {
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
        let got = Patience::at_most(Duration::from_millis(1)).wait(|slice| {
            std::thread::sleep(slice);
            None::<()>
        });
        assert_eq!(got, None);
    }
}
