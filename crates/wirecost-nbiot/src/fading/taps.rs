//! The typical urban channel over a carrier of 180 kHz: the mean power of its subcarriers where each tap fades for itself.

use std::array;
use std::f64::consts::PI;
use std::sync::LazyLock;

use wirecost_proto::Rng;

use super::exponential;

/// Delay in microseconds and mean power in dB of each tap: TS 05.05 annex C.3.3, typical case for urban area, six taps, alternative 1. The
/// text was not read; the values are those that MATLAB's `stdchan` gives as `gsmTUx6c1` for TS 05.05 V8.20.0 and TS 45.005 V7.9.0.
const TAPS: [(f64, f64); 6] = [
    (0.0, -3.0),
    (0.2, 0.0),
    (0.5, -2.0),
    (1.6, -6.0),
    (2.3, -8.0),
    (5.0, -10.0),
];
/// Subcarriers of a carrier, and their spacing in MHz.
const SUBCARRIERS: usize = 12;
const SPACING_MHZ: f64 = 0.015;

/// Shares of the power by tap, and how alike the subcarriers see two taps: the mean over the subcarriers of the cosine between these.
struct Channel {
    shares: [f64; TAPS.len()],
    likeness: [[f64; TAPS.len()]; TAPS.len()],
}

static CHANNEL: LazyLock<Channel> = LazyLock::new(|| {
    let powers = TAPS.map(|(_, decibels)| libm::pow(10.0, decibels / 10.0));
    let sum: f64 = powers.iter().sum();
    let likeness = |one: usize, other: usize| {
        let apart = TAPS[one].0 - TAPS[other].0;
        let cosines = (0..SUBCARRIERS).map(|number| {
            // Around the middle of the carrier, where the sines of both halves cancel.
            let frequency = (number as f64 - (SUBCARRIERS - 1) as f64 / 2.0) * SPACING_MHZ;
            libm::cos(2.0 * PI * frequency * apart)
        });
        cosines.sum::<f64>() / SUBCARRIERS as f64
    };
    Channel {
        shares: powers.map(|power| power / sum),
        likeness: array::from_fn(|one| array::from_fn(|other| likeness(one, other))),
    }
});

/// The variance of the carrier's power, of mean 1: 1 were it flat.
pub(crate) fn variance() -> f64 {
    let Channel { shares, likeness } = &*CHANNEL;
    let row = |one: usize| -> f64 {
        let of = |other: usize| shares[one] * shares[other] * likeness[one][other] * likeness[one][other];
        (0..TAPS.len()).map(of).sum()
    };
    (0..TAPS.len()).map(row).sum()
}

/// The mean power of the subcarriers, of the draws with this number: each tap has a Rayleigh amplitude and a phase.
pub(super) fn power(stream: Rng, number: u64) -> f64 {
    let Channel { shares, likeness } = &*CHANNEL;
    let first = number * 2 * TAPS.len() as u64;
    let draw = |index: usize| stream.at(first + index as u64);
    let powers: [f64; TAPS.len()] = array::from_fn(|tap| shares[tap] * exponential(draw(2 * tap)));
    let phases: [f64; TAPS.len()] =
        array::from_fn(|tap| 2.0 * PI * (draw(2 * tap + 1) >> 11) as f64 / (1u64 << 53) as f64);
    let mut sum: f64 = powers.iter().sum();
    for one in 0..TAPS.len() {
        for other in 0..one {
            let amplitude = libm::sqrt(powers[one] * powers[other]);
            sum += 2.0 * likeness[one][other] * amplitude * libm::cos(phases[one] - phases[other]);
        }
    }
    // The sum of squares over subcarriers, which rounding may leave just below 0.
    sum.max(1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carrier_of_typical_urban_fades_a_little_less_than_a_flat_one() {
        let stream = Rng::new(11);
        let n = 20_000;
        let powers: Vec<f64> = (0..n).map(|number| power(stream, number)).collect();
        let mean = powers.iter().sum::<f64>() / n as f64;
        let spread = powers.iter().map(|power| (power - mean) * (power - mean));
        let spread = spread.sum::<f64>() / n as f64;
        let expected = variance();
        assert!(expected > 0.5 && expected < 1.0, "{expected}");
        assert!((mean - 1.0).abs() < 5.0 * (expected / n as f64).sqrt(), "{mean}");
        // The error of the variance of a nearly exponential number is sqrt(8 / n) of it.
        assert!(
            (spread - expected).abs() < 5.0 * expected * (8.0 / n as f64).sqrt(),
            "{spread} against {expected}"
        );
    }
}
