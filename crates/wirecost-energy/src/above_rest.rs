//! Energy above rest: what traffic adds to a device that draws its floor all the time, as a current clamp shows it above the base line.

use crate::device::{Device, Level, Tail, Wake};

impl Device {
    /// The device with the power of every state above its [floor](Self::floor): what a meter of it finds is energy above rest, in joules. A
    /// state below the floor has none, and each spread stays as wide as it is in watts.
    #[must_use]
    pub fn above_rest(&self) -> Self {
        let floor = self.floor().watts;
        let above = |level: Level| {
            let watts = (level.watts - floor).max(0.0);
            let spread = match watts > 0.0 {
                // The spread is a share of the power: of less power the same watts are a larger share.
                true => (level.watts * level.spread / watts).min(1.0),
                // No power, and no share of it.
                false => 0.0,
            };
            Level { watts, spread }
        };
        Self {
            levels: self.levels.map(above),
            tails: self
                .tails
                .iter()
                .map(|tail| Tail {
                    level: above(tail.level),
                    ..*tail
                })
                .collect(),
            wake: self.wake.map(|wake| Wake {
                level: above(wake.level),
                ..wake
            }),
            // Listening to it is in the floor.
            paging: None,
            ..self.clone()
        }
    }
}
