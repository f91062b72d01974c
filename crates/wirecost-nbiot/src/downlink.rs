//! Which subframes of the downlink can carry NPDCCH and NPDSCH: all but those of broadcast.
//!
//! NPDCCH and NPDSCH last a number of *usable* subframes and wait while broadcast is on the air (TS 36.213 section 16.4). The pattern
//! repeats, so that the maps between time and usable subframes are two table look-ups.

use crate::config::DownlinkFrameConfig;
use crate::subframe::{PER_FRAME, Subframe};

/// Subframes after which the pattern repeats: the period of system information.
pub const PATTERN: u64 = 5_120;

/// Subframes of one period of SIB1-NB (TS 36.331 section 5.2.1.2a).
const SIB1_PERIOD: u64 = 2_560;

/// Subframes of one repetition of SIB1-NB: 16 frames.
const SIB1_REPETITION: u64 = 160;

/// Frames at whose start a repetition of a system information message begins, in a window of 160 ms.
const SI_FRAMES: [u64; 4] = [0, 4, 8, 12];

/// Usable subframes of one such repetition.
const SI_SUBFRAMES: usize = 8;

/// The maps between subframes and usable subframes.
#[derive(Clone, Debug)]
pub struct FrameBudget {
    /// Usable subframes of the pattern before each of its subframes.
    before: Vec<u16>,
    /// The usable subframes of the pattern.
    usable: Vec<u16>,
}

impl FrameBudget {
    /// The pattern of a configuration.
    pub fn new(config: &DownlinkFrameConfig) -> Self {
        let mut is_usable: Vec<bool> = (0..PATTERN)
            .map(|subframe| !is_blocked(config, subframe))
            .collect();
        if config.si_messages {
            block_system_information(&mut is_usable);
        }
        let mut before = Vec::with_capacity(is_usable.len());
        let mut usable = Vec::new();
        for (subframe, is_usable) in is_usable.into_iter().enumerate() {
            before.push(usable.len() as u16);
            if is_usable {
                usable.push(subframe as u16);
            }
        }
        Self { before, usable }
    }

    /// The share of usable subframes.
    pub fn share(&self) -> f64 {
        self.usable.len() as f64 / PATTERN as f64
    }

    /// The number of usable subframes before `subframe`: the index of the first usable one from there on.
    pub fn usable_before(&self, subframe: Subframe) -> u64 {
        let (pattern, within) = (subframe.index() / PATTERN, subframe.index() % PATTERN);
        pattern * self.usable.len() as u64 + u64::from(self.before[within as usize])
    }

    /// The usable subframe with this index.
    pub fn nth_usable(&self, index: u64) -> Subframe {
        let per_pattern = self.usable.len() as u64;
        let within = self.usable[(index % per_pattern) as usize];
        Subframe::new(index / per_pattern * PATTERN + u64::from(within))
    }

    /// The end of a transmission of `length` usable subframes, at least one, that starts with the usable subframe `index`.
    pub fn end_of(&self, index: u64, length: u64) -> Subframe {
        self.nth_usable(index + length - 1) + 1
    }
}

fn is_blocked(config: &DownlinkFrameConfig, subframe: u64) -> bool {
    let (frame, within) = (subframe / PER_FRAME, subframe % PER_FRAME);
    let synchronisation = match within {
        0 | 5 => config.synchronisation,
        9 => config.synchronisation && frame.is_multiple_of(2),
        _ => false,
    };
    synchronisation || (within == 4 && frame.is_multiple_of(2) && is_in_sib1(config, subframe))
}

/// Whether a repetition of SIB1-NB is on the air: they are evenly spaced over its period.
fn is_in_sib1(config: &DownlinkFrameConfig, subframe: u64) -> bool {
    match config.sib1_repetitions {
        0 => false,
        repetitions => subframe % (SIB1_PERIOD / u64::from(repetitions)) < SIB1_REPETITION,
    }
}

fn block_system_information(is_usable: &mut [bool]) {
    for frame in SI_FRAMES {
        let from = (frame * PER_FRAME) as usize;
        let free = is_usable.iter_mut().skip(from).filter(|is_usable| **is_usable);
        free.take(SI_SUBFRAMES).for_each(|is_usable| *is_usable = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sixty_nine_percent_of_subframes_are_usable() {
        let budget = FrameBudget::new(&DownlinkFrameConfig::default());
        // 1 - 0.1 - 0.1 - 0.05 - 0.05 - 32/5120
        assert!((budget.share() - 0.693_75).abs() < 1e-12, "{}", budget.share());
    }

    #[test]
    fn without_broadcast_every_subframe_is_usable() {
        let config = DownlinkFrameConfig {
            sib1_repetitions: 0,
            si_messages: false,
            synchronisation: false,
        };
        assert_eq!(FrameBudget::new(&config).share(), 1.0);
    }

    #[test]
    fn synchronisation_and_sib1_have_their_subframes() {
        let config = DownlinkFrameConfig {
            si_messages: false,
            ..DownlinkFrameConfig::default()
        };
        let budget = FrameBudget::new(&config);
        let is_usable = |index| {
            let subframe = Subframe::new(index);
            budget.usable_before(subframe + 1) > budget.usable_before(subframe)
        };
        let free = |frame: u64| {
            (0..10)
                .filter(|within| is_usable(frame * 10 + within))
                .collect::<Vec<_>>()
        };
        assert_eq!(free(0), [1, 2, 3, 6, 7, 8]);
        assert_eq!(free(1), [1, 2, 3, 4, 6, 7, 8, 9]);
    }

    proptest! {
        #[test]
        fn the_maps_are_inverse(index in 0_u64..1_000_000, repetitions in prop::sample::select(vec![0_u16, 4, 8, 16])) {
            let config = DownlinkFrameConfig { sib1_repetitions: repetitions, ..DownlinkFrameConfig::default() };
            let budget = FrameBudget::new(&config);
            let subframe = budget.nth_usable(index);
            prop_assert_eq!(budget.usable_before(subframe), index);
            prop_assert_eq!(budget.usable_before(subframe + 1), index + 1);
            prop_assert!(budget.nth_usable(index + 1) > subframe);
        }
    }
}
