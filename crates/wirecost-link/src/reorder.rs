//! Reordering (RFC 4737): some packets are held back while later ones pass.

use std::time::Duration;

use wirecost_proto::{Direction, Instant, Probability, Rng};

use crate::dice::{Dice, Purpose};

/// Which packets are held back and for how long.
///
/// A packet held back arrives `extra_delay` later; packets that arrive in the meantime overtake it. If no packet follows
/// within `extra_delay`, it is late but in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// The probability that a packet is held back, independently of all others.
    pub probability: Probability,
    /// The extra delay of that packet.
    pub extra_delay: Duration,
}

/// The reorder stage of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReorderStage {
    reorder: Option<Reorder>,
    dice: Dice,
}

impl ReorderStage {
    pub(crate) fn new(reorder: Option<Reorder>, rng: Rng, direction: Direction) -> Self {
        Self {
            reorder,
            dice: Dice::new(rng, direction, Purpose::Reorder),
        }
    }

    /// The later arrival of packet `index`; `None` if the packet is not held back.
    pub(crate) fn held_back(&self, index: u64, arrival: Instant) -> Option<Instant> {
        let reorder = self.reorder?;
        self.dice
            .happens(index, reorder.probability)
            .then(|| arrival + reorder.extra_delay)
    }
}
