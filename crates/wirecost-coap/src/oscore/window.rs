//! The replay window of a recipient context (RFC 8613 section 7.4).

use super::PartialIv;

/// The number of sequence numbers in the window (RFC 8613 section 3.2.2: 32 by default).
const WIDTH: u64 = 32;

/// Records which sequence numbers of the peer were used: a sliding window of 32 numbers, like that of DTLS.
///
/// ```
/// use wirecost_coap::oscore::{PartialIv, ReplayWindow};
///
/// let mut window = ReplayWindow::default();
/// let number = PartialIv::new(20).unwrap();
/// assert!(window.is_fresh(number));
/// window.take(number);
/// assert!(!window.is_fresh(number));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayWindow {
    /// One above the highest used number; 0 if there is none.
    end: u64,
    /// Bit n: whether `end - 1 - n` was used.
    taken: u32,
}

impl ReplayWindow {
    /// Whether a number is unused and not below the window.
    pub fn is_fresh(&self, number: PartialIv) -> bool {
        let number = number.value();
        if number >= self.end {
            return true;
        }
        let age = self.end - 1 - number;
        age < WIDTH && self.taken & (1 << age) == 0
    }

    /// Records a number as used.
    pub fn take(&mut self, number: PartialIv) {
        let number = number.value();
        if number >= self.end {
            let advance = u32::try_from(number + 1 - self.end).unwrap_or(u32::MAX);
            self.taken = self.taken.checked_shl(advance).unwrap_or(0) | 1;
            self.end = number + 1;
            return;
        }
        let age = self.end - 1 - number;
        if age < WIDTH {
            self.taken |= 1 << age;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use wirecost_proto::Rng;

    fn piv(number: u64) -> PartialIv {
        PartialIv::new(number).expect("40 bits")
    }

    #[test]
    fn a_number_is_fresh_once_and_not_below_the_window() {
        let mut window = ReplayWindow::default();
        for (number, fresh) in [
            (5, true),
            (5, false),
            (4, true),
            (4, false),
            (36, true),
            (5, false),
            (4, false),
            (6, true),
            (68, true),
            (36, false),
            (37, true),
            (1 << 39, true),
            (68, false),
            ((1 << 40) - 1, true),
            ((1 << 40) - 1, false),
            ((1 << 40) - 32, true),
            ((1 << 40) - 33, false),
        ] {
            assert_eq!(window.is_fresh(piv(number)), fresh, "{number}");
            if fresh {
                window.take(piv(number));
            }
        }
    }

    #[test]
    fn the_window_agrees_with_a_set_of_numbers() {
        let mut rng = Rng::new(1);
        for _ in 0..200 {
            let (mut window, mut taken) = (ReplayWindow::default(), BTreeSet::new());
            for step in 0..200 {
                let number = (step / 2 + rng.next_below(80)).saturating_sub(40);
                let highest = taken.last().copied().unwrap_or(0);
                let fresh = !taken.contains(&number) && number + WIDTH > highest;
                assert_eq!(window.is_fresh(piv(number)), fresh, "{number} of {taken:?}");
                if fresh {
                    window.take(piv(number));
                    taken.insert(number);
                }
            }
        }
    }
}
