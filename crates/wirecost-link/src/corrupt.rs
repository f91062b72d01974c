//! Corruption: some copies arrive with one bit flipped, any bit of the packet with the same probability.

use wirecost_proto::{Direction, Probability, Rng};

use crate::dice::{Dice, Purpose, happens};

/// The corruption stage of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CorruptStage {
    probability: Probability,
    dice: Dice,
}

impl CorruptStage {
    pub(crate) fn new(probability: Probability, rng: Rng, direction: Direction) -> Self {
        Self {
            probability,
            dice: Dice::new(rng, direction, Purpose::Corrupt),
        }
    }

    /// Returns a function that gives, for each copy of packet `index` in turn, the bit to flip, if any. Copies are independent.
    pub(crate) fn flips(&self, index: u64, wire_bytes: usize) -> impl FnMut() -> Option<u32> {
        let mut rng = self.dice.packet(index);
        let probability = self.probability;
        let bits = wire_bytes as u64 * 8;
        move || {
            let flipped = bits > 0 && happens(&mut rng, probability);
            flipped.then(|| rng.next_below(bits) as u32)
        }
    }
}
