//! Ties at a full queue in virtual time: a packet enters at the instant at which another one leaves.
//!
//! Hosts on a real machine answer some microseconds late, and which of the two packets is first depends on these. In virtual
//! time hosts answer at once, so that such ties are frequent: segments clocked by acknowledgments enter one serialisation
//! time apart. Here each packet has a lateness, which compares only with that of another packet at the same instant and
//! changes no time:
//!
//! - a packet is later than the one that it answers, which arrived at this instant, by a random amount;
//! - of several packets that enter at one instant, each is a little later than the one before it;
//! - a packet that finds the line busy leaves as late as the packet before it, otherwise as late as it entered.
//!
//! So a packet that answers a packet of the same busy period never comes before one of that period leaves, and in a period
//! that began after a pause, how late the first packet was decides the ties of all that follow.

use std::collections::VecDeque;

use wirecost_proto::{Direction, Instant, Rng};

use crate::dice::{Dice, Purpose};
use crate::queue::Moment;

/// A microsecond of lateness.
const MICRO: u64 = 256;

/// Powers of two between the shortest and the longest answer: 1 to 128 us. In live captures the quartiles of answers are 4, 10
/// and 23 us, and one in twenty takes more than 100 us.
const ANSWER_OCTAVES: u64 = 7;

/// The same of the time between two packets of one instant, from 2 us on: quartiles of 3, 4 and 6 us in live captures.
const FOLLOWER_OCTAVES: u64 = 2;

/// The lateness of the packets of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    dice: Dice,
    /// When the last packet entered.
    last: Option<Moment>,
    /// The arrivals that are still to come, in order.
    arrivals: VecDeque<Moment>,
}

impl Lateness {
    pub(crate) fn new(rng: Rng, direction: Direction) -> Self {
        Self {
            dice: Dice::new(rng, direction, Purpose::Tie),
            last: None,
            arrivals: VecDeque::new(),
        }
    }

    /// When packet `index` enters; `cause`: the lateness of what arrived at its host at this instant.
    pub(crate) fn enter(&mut self, index: u64, now: Instant, cause: u64) -> Moment {
        let drawn = self.dice.packet(index).next_u64();
        let late = match self.last {
            Some(last) if last.at == now => last.late.max(cause) + 2 * spread(drawn, FOLLOWER_OCTAVES),
            _ => cause + spread(drawn, ANSWER_OCTAVES),
        };
        let moment = Moment { at: now, late };
        self.last = Some(moment);
        moment
    }

    /// Notes an arrival at the other end.
    pub(crate) fn note_arrival(&mut self, arrival: Moment) {
        // Packets that were held back arrive after later ones.
        let place = self.arrivals.partition_point(|earlier| *earlier <= arrival);
        self.arrivals.insert(place, arrival);
    }

    /// The lateness of the last arrival at `now`; 0 if there is none.
    pub(crate) fn of_arrival(&mut self, now: Instant) -> u64 {
        while self.arrivals.front().is_some_and(|arrival| arrival.at < now) {
            self.arrivals.pop_front();
        }
        let at_now = self.arrivals.iter().take_while(|arrival| arrival.at == now);
        at_now.last().map_or(0, |arrival| arrival.late)
    }
}

/// A lateness between one microsecond and 2^`octaves`, each power of two being equally likely.
const fn spread(drawn: u64, octaves: u64) -> u64 {
    (MICRO + drawn % MICRO) << (drawn / MICRO % octaves)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_millis(1);

    fn lateness() -> Lateness {
        Lateness::new(Rng::new(1), Direction::Up)
    }

    #[test]
    fn an_answer_is_later_than_what_it_answers() {
        let mut ties = lateness();
        for index in 0..100 {
            let now = Instant::from_millis(index);
            let late = ties.enter(index, now, 7_000).late - 7_000;
            assert!((MICRO..128 * MICRO).contains(&late), "{late}");
        }
    }

    #[test]
    fn packets_of_one_instant_follow_one_another() {
        let mut ties = lateness();
        let first = ties.enter(0, NOW, 0);
        let second = ties.enter(1, NOW, 0);
        let step = second.late - first.late;
        assert!((2 * MICRO..8 * MICRO).contains(&step), "{step}");
    }

    #[test]
    fn an_arrival_is_the_cause_of_what_enters_at_its_instant() {
        let mut ties = lateness();
        let arrival = |millis, late| Moment {
            at: Instant::from_millis(millis),
            late,
        };
        // The second was held back.
        for moment in [arrival(1, 10), arrival(3, 30), arrival(2, 20), arrival(2, 25)] {
            ties.note_arrival(moment);
        }
        assert_eq!(ties.of_arrival(NOW), 10);
        assert_eq!(ties.of_arrival(Instant::from_millis(2)), 25);
        assert_eq!(
            ties.of_arrival(Instant::from_nanos(2_500_000)),
            0,
            "nothing arrives"
        );
        assert_eq!(ties.of_arrival(Instant::from_millis(3)), 30);
    }
}
