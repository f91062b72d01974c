//! The replay window of an epoch (RFC 6347 section 4.1.2.6).

/// How many sequence numbers the window holds: the size that RFC 4303 section 3.4.3 prefers.
const WIDTH: u64 = 64;

/// Which sequence numbers of the peer were received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReplayWindow {
    /// One above the highest number; 0 if there is none.
    end: u64,
    /// Bit n: whether `end - 1 - n` was received.
    taken: u64,
}

impl ReplayWindow {
    /// Whether a number is new and not below the window.
    pub(super) const fn is_fresh(&self, number: u64) -> bool {
        if number >= self.end {
            return true;
        }
        let age = self.end - 1 - number;
        age < WIDTH && self.taken & (1 << age) == 0
    }

    /// Whether a number is above all that were received.
    pub(super) const fn is_newest(&self, number: u64) -> bool {
        number >= self.end
    }

    /// Records a number as received. A record's authenticity is checked before.
    pub(super) fn take(&mut self, number: u64) {
        if number >= self.end {
            let advance = u32::try_from(number + 1 - self.end).unwrap_or(u32::MAX);
            self.taken = self.taken.checked_shl(advance).unwrap_or(0) | 1;
            self.end = number + 1;
        } else if self.end - 1 - number < WIDTH {
            self.taken |= 1 << (self.end - 1 - number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_fresh_once_and_not_below_the_window() {
        let mut window = ReplayWindow::default();
        let cases = [
            (5, true),
            (5, false),
            (4, true),
            (68, true),
            (5, false),
            (4, false),
            (6, true),
            (1 << 40, true),
            (68, false),
        ];
        for (number, fresh) in cases {
            assert_eq!(window.is_fresh(number), fresh, "{number}");
            window.take(number);
        }
    }
}
