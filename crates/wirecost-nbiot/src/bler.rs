//! Block error rate as a function of SINR, in closed form.
//!
//! A code of `k` bits in `n` symbols fails with `Q((n C - k + log2(n) / 2) / sqrt(n V))`, the normal approximation (Polyanskiy, Poor,
//! Verdu 2010, equation 296), at an SINR reduced by the code's distance to it. `C` is the capacity of BPSK or QPSK (Brannstrom 2005), `V`
//! the dispersion of the Gaussian channel. Repetition beyond a rate of 1/3 adds energy, not code: so does combining (Chase).

use std::f64::consts::LOG2_E;

/// Bits of the CRC of NPDSCH and NPUSCH (TS 36.212 section 6.3.2).
pub const DATA_CRC_BITS: u16 = 24;

/// Bits of DCI formats N0 and N1 with their CRC (TS 36.212 section 6.4.3): 23 and 16.
pub const DCI_BITS: u16 = 39;

/// A block of bits in one transmission with all its repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codeword {
    /// Information bits with CRC.
    bits: f64,
    /// Symbols that carry different coded bits.
    symbols: f64,
    /// How often each of them is sent.
    repetition: f64,
    modulation_order: u8,
}

impl Codeword {
    /// `bits` information bits, CRC included, in `elements` resource elements that are sent `repetitions` times.
    pub fn new(bits: u16, elements: u32, modulation_order: u8, repetitions: u16) -> Self {
        let order = f64::from(modulation_order.max(1));
        let sent = f64::from(elements) * order * f64::from(repetitions);
        let distinct = sent.min(3.0 * f64::from(bits));
        Self {
            bits: f64::from(bits),
            symbols: distinct / order,
            repetition: sent / distinct,
            modulation_order,
        }
    }

    /// The probability that the block is not decoded.
    ///
    /// `energy` is the effective SINR per resource element as a linear ratio, less the code's gap; with HARQ, the sum over the
    /// transmissions that were received.
    pub fn error_rate(&self, energy: f64) -> f64 {
        let sinr = energy * self.repetition;
        if sinr <= 0.0 {
            return 1.0;
        }
        let capacity = match self.modulation_order {
            1 => mutual_information(libm::sqrt(8.0 * sinr)),
            _ => 2.0 * mutual_information(2.0 * libm::sqrt(sinr)),
        };
        let dispersion = sinr * (sinr + 2.0) / ((sinr + 1.0) * (sinr + 1.0)) * LOG2_E * LOG2_E;
        let n = self.symbols;
        let excess = n * capacity - self.bits + 0.5 * libm::log2(n);
        gaussian_tail(excess / libm::sqrt(n * dispersion))
    }

    /// The energy at which the block fails with probability `error_rate`.
    pub fn energy_at(&self, error_rate: f64) -> f64 {
        bisect(1e-7, 1e5, |energy| self.error_rate(energy) > error_rate)
    }
}

/// The number above which `is_below` no longer holds, to 1e-6 of it.
fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    while high > low * 1.000_001 {
        let middle = libm::sqrt(low * high);
        match is_below(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// Mutual information in bits of a binary channel whose log-likelihood ratios have standard deviation `sigma` (Brannstrom 2005).
fn mutual_information(sigma: f64) -> f64 {
    libm::pow(1.0 - libm::exp2(-0.3073 * libm::pow(sigma, 1.787)), 1.1064)
}

/// The probability that a standard normal number exceeds `x`.
pub fn gaussian_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The SINR that is left when the receiver estimates the channel from `pilots` reference symbols (Hassibi, Hochwald 2003): `g (g N) / (1 +
/// g + g N)`.
pub fn estimated_sinr(sinr: f64, pilots: f64) -> f64 {
    sinr * (sinr * pilots) / (1.0 + sinr + sinr * pilots)
}

/// What turns an SINR into a block error rate: the code's gap and the reference symbols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receiver {
    /// The code's distance to the normal approximation, as a linear ratio.
    pub gap: f64,
    /// Reference symbols of one channel estimate.
    pub pilots: f64,
}

impl Receiver {
    /// The energy that one transmission at `sinr` adds.
    pub fn energy(&self, sinr: f64) -> f64 {
        estimated_sinr(sinr, self.pilots) / self.gap
    }

    /// The SINR at which one transmission adds `energy`.
    pub fn sinr(&self, energy: f64) -> f64 {
        // The positive root of N g^2 - e (1 + N) g - e = 0, with e the estimated SINR.
        let (estimated, n) = (energy * self.gap, self.pilots);
        let half = estimated * (1.0 + n) / 2.0;
        (half + libm::sqrt(half * half + n * estimated)) / n
    }
}

/// Antenna branches and time over which fading averages: power is Gamma distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diversity {
    /// Independent branches times coherence blocks.
    pub shape: f64,
    /// Mean power.
    pub mean: f64,
}

const FADING_POINTS: usize = 48;

/// Powers of a fading channel with their probabilities, lowest power first.
#[derive(Clone, Debug)]
pub struct FadingPoints([(f64, f64); FADING_POINTS]);

impl FadingPoints {
    /// The points of a Gamma distribution, evenly spaced in dB.
    pub fn new(diversity: Diversity) -> Self {
        let shape = diversity.shape;
        let spread = 1.0 / libm::sqrt(shape);
        // From 13 standard deviations of the logarithm below the mean to 3.5 above: what is left out is below 1e-5 for two branches.
        let (from, to) = (libm::log(shape) - 8.0 * spread, libm::log(shape) + 2.2 * spread);
        let step = (to - from) / (FADING_POINTS - 1) as f64;
        let mut points = [(0.0, 0.0); FADING_POINTS];
        for (index, point) in points.iter_mut().enumerate() {
            let log = from + step * index as f64;
            let power = libm::exp(log);
            // Relative to the density at the mean, so that large shapes do not overflow.
            let weight = libm::exp(shape * (log - libm::log(shape)) - power + shape);
            *point = (power / shape * diversity.mean, weight);
        }
        let total: f64 = points.iter().map(|(_, weight)| weight).sum();
        for (_, weight) in &mut points {
            *weight /= total;
        }
        Self(points)
    }

    /// The mean block error rate at a mean SINR per branch of `sinr`.
    pub fn error_rate(&self, codeword: &Codeword, receiver: Receiver, sinr: f64) -> f64 {
        let mut sum = 0.0;
        for (power, weight) in self.0 {
            let error_rate = codeword.error_rate(receiver.energy(sinr * power));
            sum += weight * error_rate;
            if error_rate < 1e-7 {
                break;
            }
        }
        sum
    }

    /// The mean SINR per branch at which the mean block error rate is `error_rate`, as a linear ratio.
    pub fn sinr_at(&self, codeword: &Codeword, receiver: Receiver, error_rate: f64) -> f64 {
        // Where blocks fail almost surely or almost never, the share of time alone decides.
        let fails_below = receiver.sinr(codeword.energy_at(0.9999));
        let holds_above = receiver.sinr(codeword.energy_at(0.0001));
        let fails_too_often = |sinr: f64| {
            let weak = self.0.iter().take_while(|(power, _)| sinr * power < holds_above);
            let mut errors = weak.map(|(power, weight)| match sinr * power <= fails_below {
                true => *weight,
                false => weight * codeword.error_rate(receiver.energy(sinr * power)),
            });
            // What is left adds to it.
            let mut sum = 0.0;
            errors.any(|error| {
                sum += error;
                sum > error_rate
            })
        };
        let (least, most) = (self.0[0].0, self.0[FADING_POINTS - 1].0);
        bisect(fails_below / most, holds_above / least, fails_too_often)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decibel::{decibels, linear};
    use proptest::prelude::*;

    const LOSSLESS: Receiver = Receiver {
        gap: 1.0,
        pilots: 1e12,
    };

    #[test]
    fn block_errors_fall_with_sinr_from_1_to_0() {
        let codeword = Codeword::new(256 + DATA_CRC_BITS, 96 * 4, 2, 1);
        let rates: Vec<f64> = (-200..200)
            .map(|tenth| codeword.error_rate(linear(f64::from(tenth) / 10.0)))
            .collect();
        // Where almost nothing fails, the dispersion still grows a little.
        assert!(rates.is_sorted_by(|a, b| *a >= *b - 1e-12));
        assert!(rates[0] > 0.999_999 && rates[399] < 1e-9);
    }

    #[test]
    fn the_energy_at_an_error_rate_gives_that_error_rate() {
        let codeword = Codeword::new(680 + DATA_CRC_BITS, 152 * 4, 2, 2);
        for target in [0.5, 0.1, 0.01, 0.001] {
            let rate = codeword.error_rate(codeword.energy_at(target));
            assert!((rate / target - 1.0).abs() < 0.01, "{target}: {rate}");
        }
    }

    #[test]
    fn beyond_a_third_repetition_only_adds_energy() {
        let few = Codeword::new(80, 240, 1, 1);
        let many = Codeword::new(80, 240, 1, 8);
        assert!((few.error_rate(0.4) - many.error_rate(0.05)).abs() < 1e-12);
    }

    #[test]
    fn capacity_of_qpsk_is_that_of_two_bpsk_channels() {
        // 1 bit per symbol is reached at about 0.2 dB in QPSK: the Shannon limit of rate 1/2 is Eb/N0 = 0.188 dB.
        let sinr = linear(0.188);
        let capacity = 2.0 * mutual_information(2.0 * libm::sqrt(sinr));
        assert!((capacity - 1.0).abs() < 0.01, "{capacity}");
    }

    #[test]
    fn one_rayleigh_branch_costs_9_8_db_at_10_percent() {
        // Outage of a long code: P(power < x) = 0.1 at x = -9.77 dB.
        let codeword = Codeword::new(680 + DATA_CRC_BITS, 152 * 4, 2, 1);
        let points = FadingPoints::new(Diversity {
            shape: 1.0,
            mean: 1.0,
        });
        let faded = points.sinr_at(&codeword, LOSSLESS, 0.1);
        let margin = decibels(faded / codeword.energy_at(0.5));
        assert!((margin - 9.77).abs() < 0.3, "{margin}");
        let error_rate = points.error_rate(&codeword, LOSSLESS, faded);
        assert!((error_rate - 0.1).abs() < 0.003, "{error_rate}");
    }

    #[test]
    fn a_receiver_needs_the_sinr_that_gives_the_energy() {
        let receiver = Receiver {
            gap: 1.7,
            pilots: 24.0,
        };
        for sinr in [0.001, 0.1, 1.0, 30.0] {
            assert!((receiver.sinr(receiver.energy(sinr)) / sinr - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn estimating_the_channel_costs_more_where_the_signal_is_weak() {
        let loss = |sinr_db: f64| sinr_db - decibels(estimated_sinr(linear(sinr_db), 24.0));
        assert!(loss(20.0) < 0.2);
        assert!(loss(-15.0) > 3.0);
    }

    proptest! {
        #[test]
        fn mean_power_of_fading_points_is_the_mean(shape in 1.0_f64..20.0, mean in 0.5_f64..4.0) {
            let FadingPoints(points) = FadingPoints::new(Diversity { shape, mean });
            let total: f64 = points.iter().map(|(power, weight)| power * weight).sum();
            prop_assert!((total / mean - 1.0).abs() < 0.02, "{total} instead of {mean}");
        }

        #[test]
        fn more_repetitions_never_hurt(bits in 40_u16..1_000, elements in 96_u32..1_500, sinr_db in -20.0_f64..10.0) {
            let rate = |repetitions| Codeword::new(bits, elements, 2, repetitions).error_rate(linear(sinr_db));
            prop_assert!(rate(2) <= rate(1) + 1e-9);
        }
    }
}
