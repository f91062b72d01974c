//! Tracks which messages of a sender have arrived, by their numbers, at a subscriber or at a counting target.

/// The order in which a numbered message has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalOrder {
    /// The first message with its number, and no message with a higher number came before.
    InOrder,
    /// The first message with its number, after a message with a higher number.
    OutOfOrder,
    /// A message with its number had arrived before.
    Duplicate,
}

/// The highest number that has arrived, and which of the numbers right below it have. Numbers wrap around at 32 bits:
/// of two numbers, the higher one is fewer steps up from the other (RFC 1982, section 3.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Track {
    highest: u32,
    /// Bit k is set if `highest` - k has arrived; 0 before the first message.
    arrived: u64,
}

impl Track {
    /// How far below the highest number a duplicate can be told from a late message.
    pub const REACH: u32 = u64::BITS;

    /// Notes a number.
    pub const fn note(&mut self, number: u32) -> ArrivalOrder {
        if self.arrived == 0 {
            (self.highest, self.arrived) = (number, 1);
            return ArrivalOrder::InOrder;
        }
        let ahead = number.wrapping_sub(self.highest);
        if ahead == 0 {
            return ArrivalOrder::Duplicate;
        }
        // Serial number arithmetic (RFC 1982): less than half of the numbers ahead is newer, so that numbers may wrap.
        if ahead < 1 << 31 {
            // A jump of 64 or more leaves nothing of the window; such a shift would overflow.
            self.arrived = match self.arrived.checked_shl(ahead) {
                Some(arrived) => arrived | 1,
                None => 1,
            };
            self.highest = number;
            return ArrivalOrder::InOrder;
        }
        let behind = ahead.wrapping_neg();
        if behind >= Self::REACH {
            return ArrivalOrder::OutOfOrder;
        }
        let bit = 1 << behind;
        if self.arrived & bit != 0 {
            return ArrivalOrder::Duplicate;
        }
        self.arrived |= bit;
        ArrivalOrder::OutOfOrder
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wirecost_proto::Rng;

    use super::*;

    #[test]
    fn within_its_reach_a_track_is_a_set() {
        let mut rng = Rng::new(11);
        for start in [0, 5, u32::MAX - 500] {
            let (mut track, mut set, mut highest) = (Track::default(), BTreeSet::new(), None);
            let mut base = 0_u64;
            for _ in 0..5_000 {
                base += rng.next_below(2);
                let step = base + rng.next_below(u64::from(Track::REACH) / 2);
                let place = track.note(start.wrapping_add(step as u32));
                let expected = match (set.insert(step), highest) {
                    (false, _) => ArrivalOrder::Duplicate,
                    (true, Some(highest)) if step < highest => ArrivalOrder::OutOfOrder,
                    (true, _) => ArrivalOrder::InOrder,
                };
                assert_eq!(place, expected, "{step} from {start}");
                highest = highest.max(Some(step));
            }
        }
    }

    #[test]
    fn a_gap_is_not_disorder() {
        let mut track = Track::default();
        for number in [3, 4, 90, 1_000_000] {
            assert_eq!(track.note(number), ArrivalOrder::InOrder);
        }
        assert_eq!(track.note(1_000_000), ArrivalOrder::Duplicate);
        assert_eq!(track.note(90), ArrivalOrder::OutOfOrder);
    }
}
