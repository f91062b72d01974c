//! NPRACH: when preambles can be sent, how long they take, how likely they are detected.

use crate::bler::gaussian_tail;
use crate::config::{LevelConfig, RandomAccessConfig};
use crate::decibel::decibels;
use crate::subframe::{Interval, Subframe};
use crate::tables::preamble_subframes;

/// Quantile of the normal distribution at 99 %.
const QUANTILE_99: f64 = 2.326_347_874;

/// The NPRACH of one coverage level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nprach {
    period: u64,
    start: u64,
    /// The length of a preamble, in subframes.
    pub length: u64,
    /// Subcarriers of 3.75 kHz.
    pub subcarriers: u64,
    /// The first of them.
    pub offset: u64,
    /// Repetitions of a preamble.
    pub repetitions: u16,
}

impl Nprach {
    /// The NPRACH of a level.
    pub fn new(level: &LevelConfig, preamble_format: u8) -> Self {
        Self {
            period: u64::from(level.nprach_period_ms),
            start: u64::from(level.nprach_start_ms),
            length: preamble_subframes(preamble_format, level.nprach_repetitions),
            subcarriers: u64::from(level.nprach_subcarriers),
            offset: u64::from(level.nprach_subcarrier_offset),
            repetitions: level.nprach_repetitions,
        }
    }

    /// The first occasion that does not start before `from`.
    pub fn next(&self, from: Subframe) -> Subframe {
        let periods = from.since(Subframe::new(self.start)).div_ceil(self.period);
        Subframe::new(self.start + periods * self.period)
    }

    /// The occasion that is on the air at `subframe`, or else the first one after it.
    pub fn window_from(&self, subframe: Subframe) -> Interval {
        let start = self.next((subframe + 1) - self.length);
        Interval::new(start, start + self.length)
    }

    /// The share of time that the occasions take.
    pub fn share(&self) -> f64 {
        self.length as f64 / self.period as f64
    }
}

/// The probability that a preamble is detected at `snr` per subcarrier and antenna, as a linear ratio: the configured one, or
///
/// `Phi((SNR + 10 log10(R) - s50) / sd)`: with `s50` such that the conformance point of TS 36.141 section 8.5.3 is detected with 99 %.
pub fn detection_probability(config: &RandomAccessConfig, snr: f64, repetitions: u16) -> f64 {
    if config.ideal_detection {
        return 1.0;
    }
    if let Some(failure) = config.failure {
        return 1.0 - failure;
    }
    let gain = |repetitions: u16| decibels(f64::from(repetitions));
    let sd = config.detection_sd_db;
    let half = config.conformance_snr_db + gain(config.conformance_repetitions) - QUANTILE_99 * sd;
    gaussian_tail((half - decibels(snr) - gain(repetitions)) / sd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Levels;
    use crate::decibel::linear;
    use proptest::prelude::*;

    #[test]
    fn preambles_take_what_their_format_says() {
        assert_eq!(preamble_subframes(0, 1), 6);
        assert_eq!(preamble_subframes(1, 1), 7);
        assert_eq!(preamble_subframes(1, 8), 52);
        assert_eq!(preamble_subframes(0, 64), 359);
        assert_eq!(preamble_subframes(0, 128), 757);
    }

    #[test]
    fn the_conformance_point_is_detected_with_99_percent() {
        let config = RandomAccessConfig::default();
        let probability = detection_probability(&config, linear(6.7), 8);
        assert!((probability - 0.99).abs() < 1e-6, "{probability}");
        assert!(detection_probability(&config, linear(-20.0), 8) < 1e-6);
        // Four times the repetitions need a quarter of the power.
        let more = detection_probability(&config, linear(6.7) / 4.0, 32);
        assert!((more - probability).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn occasions_follow_one_another_by_the_period(from in 0_u64..10_000_000, level in 0_usize..3) {
            let nprach = Nprach::new(&Levels::default().all()[level], 1);
            let next = nprach.next(Subframe::new(from));
            prop_assert!(next >= Subframe::new(from));
            prop_assert!(next.index() < from.max(nprach.start) + nprach.period);
            prop_assert_eq!(next.index() % nprach.period, nprach.start % nprach.period);
            prop_assert_eq!(nprach.next(next), next);
            let window = nprach.window_from(next);
            prop_assert_eq!(window.start, next);
            prop_assert_eq!(nprach.window_from(window.end - 1), window);
            prop_assert!(nprach.window_from(window.end).start > next);
        }
    }
}
