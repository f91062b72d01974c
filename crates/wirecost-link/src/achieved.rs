//! Whether what a link did is what it was asked to do.

use wirecost_proto::BitRate;

use crate::config::DirectionConfig;
use crate::counters::Counters;
use crate::loss::Loss;

/// The probability of a false alarm for a link that follows its configuration: the bands contain 99.99 %.
pub(crate) const FALSE_ALARM: f64 = 1e-4;

/// The standard normal quantile of 1 - [`FALSE_ALARM`] / 2.
const Z: f64 = 3.890_591_886_413_1;

/// The behaviour of one direction, compared with its configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Achieved {
    /// Lost packets, of those that left the queue.
    pub loss: FrequencyCheck,
    /// Packets held back, of those delivered.
    pub reorder: FrequencyCheck,
    /// Packets duplicated, of those delivered.
    pub duplicate: FrequencyCheck,
    /// Copies corrupted, of all copies.
    pub corrupt: FrequencyCheck,
    /// The rate at which packets were sent while the queue had any; `None` without a rate or without packets.
    pub rate: Option<BitRate>,
}

impl Achieved {
    /// Compares the counters of a direction (or the sum of several links' counters) with its configuration.
    pub fn new(asked: &DirectionConfig, counters: &Counters) -> Self {
        let delivered = counters.delivered.packets;
        let reorder = asked.reorder.map_or(0.0, |reorder| reorder.probability.value());
        Self {
            loss: FrequencyCheck::of_loss(&asked.loss, counters.exposed_to_loss(), counters.lost),
            reorder: FrequencyCheck::new(reorder, delivered, counters.reordered),
            duplicate: FrequencyCheck::new(asked.duplicate.value(), delivered, counters.duplicated),
            corrupt: FrequencyCheck::new(
                asked.corrupt.value(),
                delivered + counters.duplicated,
                counters.corrupted,
            ),
            rate: achieved_rate(counters),
        }
    }

    /// Whether every frequency is in its band.
    pub fn is_within(&self) -> bool {
        [self.loss, self.reorder, self.duplicate, self.corrupt]
            .iter()
            .all(FrequencyCheck::is_within)
    }
}

fn achieved_rate(counters: &Counters) -> Option<BitRate> {
    let bits = u128::from(counters.serialised.bytes) * 8;
    let rate = (bits * 1_000_000_000).checked_div(counters.busy.as_nanos())?;
    BitRate::from_bits_per_second(u64::try_from(rate).ok()?)
}

/// The frequency of an event, compared with its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrequencyCheck {
    /// The number of trials.
    pub trials: u64,
    /// The number of events.
    pub hits: u64,
    /// The lowest number of events in the 99.99 % band.
    pub low: u64,
    /// The highest number of events in the band.
    pub high: u64,
}

impl FrequencyCheck {
    /// The check of independent trials: the band is binomial, exact where the variance of the count is below
    /// 250, else normal with continuity correction.
    pub fn new(asked: f64, trials: u64, hits: u64) -> Self {
        Self::within(binomial_band(asked, trials), trials, hits)
    }

    /// The check of a loss model. Gilbert-Elliott losses come in bursts: their count has the variance of a long
    /// run's correlated losses, and a long tail where the bursts are few. The band is that of a negative binomial
    /// count of the same mean and variance, normal where the mean is large.
    pub(crate) fn of_loss(loss: &Loss, trials: u64, hits: u64) -> Self {
        match loss {
            Loss::None | Loss::Bernoulli(_) => Self::new(loss.rate(), trials, hits),
            Loss::GilbertElliott(model) => {
                let band = burst_band(model.rate(), trials, model.variance_inflation());
                Self::within(band, trials, hits)
            }
        }
    }

    const fn within((low, high): (u64, u64), trials: u64, hits: u64) -> Self {
        Self {
            trials,
            hits,
            low,
            high,
        }
    }

    /// The share of trials with the event; `None` without a trial.
    pub fn observed(&self) -> Option<f64> {
        (self.trials > 0).then(|| self.hits as f64 / self.trials as f64)
    }

    /// Whether the number of events is in the band.
    pub const fn is_within(&self) -> bool {
        self.low <= self.hits && self.hits <= self.high
    }
}

/// The counts within `Z` standard deviations of the mean, half a count wider on both sides.
fn normal_band(mean: f64, variance: f64, trials: u64) -> (u64, u64) {
    let half = Z * libm::sqrt(variance) + 0.5;
    let low = libm::ceil(mean - half).max(0.0) as u64;
    let high = libm::floor(mean + half) as u64;
    (low, high.min(trials))
}

fn binomial_band(probability: f64, trials: u64) -> (u64, u64) {
    let variance = trials as f64 * probability * (1.0 - probability);
    if variance >= 250.0 {
        return normal_band(probability * trials as f64, variance, trials);
    }
    if probability > 0.5 {
        let (low, high) = binomial_band(1.0 - probability, trials);
        return (trials - high, trials - low);
    }
    // P(0) does not underflow: n |ln q| < 700 follows from npq < 250 and p <= 1/2.
    let none = libm::exp(trials as f64 * libm::log1p(-probability));
    let odds = probability / (1.0 - probability);
    summed_band(none, trials, |count| {
        odds * (trials - count) as f64 / (count + 1) as f64
    })
}

/// The band of a count whose variance is `inflation` times that of independent trials.
fn burst_band(probability: f64, trials: u64, inflation: f64) -> (u64, u64) {
    let mean = probability * trials as f64;
    let dispersion = (1.0 - probability) * inflation;
    // A negative binomial count of this mean, and of a variance of `dispersion` means, has this many "failures".
    let failures = mean / (dispersion - 1.0);
    let ln_none = -failures * libm::log(dispersion);
    if dispersion <= 1.0 || ln_none < -700.0 {
        return normal_band(mean, mean * dispersion, trials);
    }
    let persistence = 1.0 - 1.0 / dispersion;
    summed_band(libm::exp(ln_none), trials, |count| {
        persistence * (failures + count as f64) / (count + 1) as f64
    })
}

/// The narrowest range that a count leaves, on either side, with a probability of at most [`FALSE_ALARM`] / 2. `none` is
/// P(0), and `ratio(k)` is P(k + 1) / P(k).
fn summed_band(none: f64, trials: u64, ratio: impl Fn(u64) -> f64) -> (u64, u64) {
    let mut term = none;
    let mut below = 0.0;
    let mut low = None;
    for count in 0..=trials {
        below += term;
        if low.is_none() && below > FALSE_ALARM / 2.0 {
            low = Some(count);
        }
        if below >= 1.0 - FALSE_ALARM / 2.0 {
            return (low.unwrap_or(count), count);
        }
        term *= ratio(count);
    }
    (low.unwrap_or(0), trials)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::GilbertElliott;
    use statrs::distribution::{Binomial, DiscreteCDF};
    use wirecost_proto::Probability;

    #[test]
    fn the_exact_band_is_the_binomial_distributions() {
        for (probability, trials) in [
            (0.01, 1_000),
            (0.5, 600),
            (0.97, 5_000),
            (0.2, 50),
            (0.001, 200_000),
        ] {
            let (low, high) = binomial_band(probability, trials);
            let binomial = Binomial::new(probability, trials).unwrap();
            assert!(
                low == 0 || binomial.cdf(low - 1) <= 5.000_1e-5,
                "{probability} {low}"
            );
            assert!(binomial.cdf(low) > 4.999_9e-5);
            assert!(binomial.sf(high) <= 5.000_1e-5, "{probability} {high}");
            assert!(binomial.sf(high - 1) > 4.999_9e-5);
        }
    }

    #[test]
    fn the_normal_band_is_close_to_the_exact_one() {
        let (low, high) = normal_band(2_000.0, 1_600.0, 10_000);
        let binomial = Binomial::new(0.2, 10_000).unwrap();
        let outside = binomial.cdf(low - 1) + binomial.sf(high);
        assert!((outside / FALSE_ALARM - 1.0).abs() < 0.1, "{outside}");
    }

    #[test]
    fn certain_and_impossible_events_have_bands_of_one() {
        assert!(FrequencyCheck::new(0.0, 1_000, 0).is_within());
        assert!(!FrequencyCheck::new(0.0, 1_000, 1).is_within());
        assert!(FrequencyCheck::new(1.0, 1_000, 1_000).is_within());
        assert!(!FrequencyCheck::new(1.0, 1_000, 999).is_within());
        assert_eq!(FrequencyCheck::new(0.5, 0, 0).observed(), None);
        assert!(FrequencyCheck::new(0.5, 0, 0).is_within());
    }

    #[test]
    fn bursts_widen_the_band() {
        let rate = Probability::new(0.05).unwrap();
        let bursts = Loss::GilbertElliott(GilbertElliott::bursts(rate, 5.0).unwrap());
        let independent = FrequencyCheck::of_loss(&Loss::Bernoulli(rate), 100_000, 5_000);
        let correlated = FrequencyCheck::of_loss(&bursts, 100_000, 5_000);
        assert!(correlated.low < independent.low && correlated.high > independent.high);
        assert!(correlated.is_within());
    }
}
