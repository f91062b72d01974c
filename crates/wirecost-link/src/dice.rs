//! Random numbers by purpose and by packet number.

use wirecost_proto::{Direction, Probability, Rng};

/// The purpose of a random number. The numbers determine the results of a seed: never reuse one.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Loss = 1,
    LossState = 2,
    DelayVariation = 3,
    Reorder = 4,
    Duplicate = 5,
    Corrupt = 6,
    Tie = 7,
}

/// The random numbers of one purpose in one direction of one link. The numbers of a packet depend only on the packet's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dice(Rng);

impl Dice {
    pub(crate) fn new(rng: Rng, direction: Direction, purpose: Purpose) -> Self {
        Self(rng.direction(direction).purpose(purpose as u64))
    }

    /// The random stream of a packet, for stages that need more than one number.
    pub(crate) fn packet(&self, index: u64) -> Rng {
        self.0.purpose(index)
    }

    /// Whether something of `probability` happens to a packet.
    pub(crate) fn happens(&self, index: u64, probability: Probability) -> bool {
        happens(&mut self.packet(index), probability)
    }
}

/// Whether something of `probability` happens: never at 0, always at 1, as the number drawn is below 1.
pub(crate) fn happens(rng: &mut Rng, probability: Probability) -> bool {
    !probability.is_zero() && rng.next_f64() < probability.value()
}
