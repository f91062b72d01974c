//! Duplication (RFC 5560): some packets arrive twice, both copies at the same time.

use wirecost_proto::{Direction, Probability, Rng};

use crate::dice::{Dice, Purpose};

/// The duplication stage of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DuplicateStage {
    probability: Probability,
    dice: Dice,
}

impl DuplicateStage {
    pub(crate) fn new(probability: Probability, rng: Rng, direction: Direction) -> Self {
        Self {
            probability,
            dice: Dice::new(rng, direction, Purpose::Duplicate),
        }
    }

    /// How many copies of packet `index` arrive: 1 or 2.
    pub(crate) fn copies(&self, index: u64) -> u8 {
        1 + u8::from(self.dice.happens(index, self.probability))
    }
}
