//! Propagation delay and its variation (RFC 7679, RFC 3393).

use std::time::Duration;

use wirecost_proto::{Direction, Instant, Rng};

use crate::dice::{Dice, Purpose};

/// How the delay varies from packet to packet, independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayVariation {
    /// The distribution around the delay.
    pub distribution: DelayDistribution,
    /// Whether packets stay in order (as in one queue) or may overtake one another (as over parallel paths). If they stay in
    /// order, packets that follow closer than the variation arrive later than drawn.
    pub keeps_order: bool,
}

/// The distribution of the delay around its nominal value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayDistribution {
    /// Uniform in [delay - `plus_minus`, delay + `plus_minus`); at most the delay.
    Uniform {
        /// Half the width.
        plus_minus: Duration,
    },
    /// Normal around the delay; a negative delay is drawn again. This is a truncated normal distribution; its mean is above
    /// the delay unless the standard deviation is small compared with it.
    Normal {
        /// The standard deviation before truncation.
        standard_deviation: Duration,
    },
}

impl DelayVariation {
    /// Uniform variation that keeps the order.
    pub const fn uniform(plus_minus: Duration) -> Self {
        Self {
            distribution: DelayDistribution::Uniform { plus_minus },
            keeps_order: true,
        }
    }

    /// Normal variation that keeps the order.
    pub const fn normal(standard_deviation: Duration) -> Self {
        Self {
            distribution: DelayDistribution::Normal { standard_deviation },
            keeps_order: true,
        }
    }

    /// The mean delay of packets far from one another, around the nominal delay `delay`.
    ///
    /// Packets that stay in order and follow one another closer than [`DelayVariation::reach`] take longer.
    pub fn mean(&self, delay: Duration) -> Duration {
        self.distribution.mean(delay)
    }

    /// The distance in time from which on packets do not delay one another: zero if they may overtake, the width of a
    /// uniform distribution, four standard deviations of a normal one (its mean is then later by a thousandth of one).
    pub fn reach(&self) -> Duration {
        match self.distribution {
            _ if !self.keeps_order => Duration::ZERO,
            DelayDistribution::Uniform { plus_minus } => plus_minus.saturating_mul(2),
            DelayDistribution::Normal { standard_deviation } => standard_deviation.saturating_mul(4),
        }
    }

    /// The same variation, but packets may overtake one another.
    pub const fn reordering(self) -> Self {
        Self {
            keeps_order: false,
            ..self
        }
    }
}

impl DelayDistribution {
    /// The mean: `delay`, or that of the normal distribution truncated at 0 (Johnson, Kotz and Balakrishnan,
    /// *Continuous Univariate Distributions*, volume 1, section 13.10.1).
    fn mean(&self, delay: Duration) -> Duration {
        let deviation = match self {
            Self::Normal { standard_deviation } if !standard_deviation.is_zero() => {
                standard_deviation.as_nanos() as f64
            }
            Self::Normal { .. } | Self::Uniform { .. } => return delay,
        };
        let nominal = delay.as_nanos() as f64;
        let at = nominal / deviation;
        let density = libm::exp(-at * at / 2.0) / libm::sqrt(core::f64::consts::TAU);
        let accepted = libm::erfc(-at / core::f64::consts::SQRT_2) / 2.0;
        Duration::from_nanos(libm::round(nominal + deviation * density / accepted) as u64)
    }

    /// One delay around `delay`.
    fn draw(&self, delay: Duration, rng: &mut Rng) -> Duration {
        let nominal = delay.as_nanos() as f64;
        let nanos = match self {
            Self::Uniform { plus_minus } => {
                nominal + (2.0 * rng.next_f64() - 1.0) * plus_minus.as_nanos() as f64
            }
            Self::Normal { standard_deviation } => {
                truncated_normal(nominal, standard_deviation.as_nanos() as f64, rng)
            }
        };
        // A cast from a float saturates: a negative value becomes 0.
        Duration::from_nanos(libm::round(nanos) as u64)
    }
}

/// A normal number of mean `mean` (at least 0), drawn again while it is negative. Half of all draws are accepted
/// at worst, so that the last resort of 0 has a probability below 2^-64.
fn truncated_normal(mean: f64, standard_deviation: f64, rng: &mut Rng) -> f64 {
    (0..64)
        .map(|_| mean + standard_deviation * rng.next_normal())
        .find(|delay| *delay >= 0.0)
        .unwrap_or(0.0)
}

/// The delay stage of one direction.
#[derive(Clone, Debug)]
pub(crate) struct DelayStage {
    delay: Duration,
    variation: Option<DelayVariation>,
    dice: Dice,
    /// The latest arrival so far, if packets stay in order.
    latest: Instant,
}

impl DelayStage {
    pub(crate) fn new(
        delay: Duration,
        variation: Option<DelayVariation>,
        rng: Rng,
        direction: Direction,
    ) -> Self {
        Self {
            delay,
            variation,
            dice: Dice::new(rng, direction, Purpose::DelayVariation),
            latest: Instant::START,
        }
    }

    /// When packet `index`, which leaves the queue at `departure`, arrives. No later call has an earlier departure.
    pub(crate) fn arrival(&mut self, index: u64, departure: Instant) -> Instant {
        let Some(variation) = self.variation else {
            return departure + self.delay;
        };
        let mut rng = self.dice.packet(index);
        let arrival = departure + variation.distribution.draw(self.delay, &mut rng);
        if !variation.keeps_order {
            return arrival;
        }
        self.latest = self.latest.max(arrival);
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normal_delay_is_never_negative() {
        let wide = DelayDistribution::Normal {
            standard_deviation: Duration::from_millis(100),
        };
        let mut rng = Rng::new(1);
        let zeros = (0..10_000).filter(|_| wide.draw(Duration::ZERO, &mut rng).is_zero());
        assert_eq!(zeros.count(), 0, "negative delays are redrawn, not clamped");
    }
}
