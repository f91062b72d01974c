//! Propagation delay and its variation (RFC 7679, RFC 3393).

use std::collections::VecDeque;
use std::time::Duration;

use wirecost_proto::{Direction, Instant, Rng};

use crate::dice::{Dice, Purpose};

/// How the delay varies from packet to packet, independently of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayVariation {
    /// The distribution around the delay.
    pub distribution: DelayDistribution,
    /// Whether a packet waits for those that left before it (as in one queue), or may overtake them (as over
    /// parallel paths). Where it waits, arrivals closer than the variation are later than drawn.
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
    /// Normal around the delay; a negative delay is drawn again (a truncated normal distribution, whose mean is
    /// above the delay where the standard deviation is not small beside it).
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

    /// The mean delay of packets that no other one is near, around the nominal delay `delay`.
    ///
    /// Packets that keep their order and follow one another closer than [`DelayVariation::reach`] take longer.
    pub fn mean(&self, delay: Duration) -> Duration {
        self.distribution.mean(delay)
    }

    /// How far apart packets are that do not make one another late: zero where they may overtake, the width of a
    /// uniform distribution, four standard deviations of a normal one (the mean is later by a thousandth of one
    /// there).
    pub fn reach(&self) -> Duration {
        match self.distribution {
            _ if !self.keeps_order => Duration::ZERO,
            DelayDistribution::Uniform { plus_minus } => plus_minus.saturating_mul(2),
            DelayDistribution::Normal { standard_deviation } => standard_deviation.saturating_mul(4),
        }
    }

    /// The same variation, where packets may overtake one another.
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
        // A cast from a float saturates: what is below 0 is 0.
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
    order: KeptOrder,
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
            order: KeptOrder::default(),
        }
    }

    /// When packet `index`, which leaves the queue at `departure`, arrives. No later call has a departure before
    /// `horizon`.
    pub(crate) fn arrival(&mut self, index: u64, departure: Instant, horizon: Instant) -> Instant {
        let Some(variation) = self.variation else {
            return departure + self.delay;
        };
        let mut rng = self.dice.packet(index);
        let arrival = departure + variation.distribution.draw(self.delay, &mut rng);
        if !variation.keeps_order {
            return arrival;
        }
        self.order.keep(departure, arrival, horizon)
    }
}

/// Arrivals in the order of the departures, also where the packets are not told in that order.
#[derive(Clone, Debug, Default)]
struct KeptOrder {
    /// Departure and arrival, both ascending.
    passed: VecDeque<(Instant, Instant)>,
}

impl KeptOrder {
    /// `arrival`, moved between the arrivals of the packets that departed before and after.
    fn keep(&mut self, departure: Instant, arrival: Instant, horizon: Instant) -> Instant {
        // Of the packets that nothing can depart before any more, the last one speaks for all.
        while self
            .passed
            .get(1)
            .is_some_and(|(departed, _)| *departed <= horizon)
        {
            self.passed.pop_front();
        }
        let place = self
            .passed
            .partition_point(|(departed, _)| *departed <= departure);
        let before = place.checked_sub(1).and_then(|before| self.passed.get(before));
        let mut kept = before.map_or(arrival, |(_, earliest)| arrival.max(*earliest));
        if let Some((_, latest)) = self.passed.get(place) {
            kept = kept.min(*latest);
        }
        self.passed.insert(place, (departure, kept));
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_kept_in_the_order_of_departures() {
        let at = Instant::from_nanos;
        let mut order = KeptOrder::default();
        assert_eq!(order.keep(at(10), at(90), at(0)), at(90));
        assert_eq!(
            order.keep(at(20), at(50), at(0)),
            at(90),
            "waits for the one before"
        );
        assert_eq!(order.keep(at(60), at(150), at(0)), at(150));
        assert_eq!(
            order.keep(at(40), at(170), at(0)),
            at(150),
            "told late, not after the next one"
        );
        assert_eq!(
            order.keep(at(30), at(80), at(0)),
            at(90),
            "told late, not before the last one"
        );
    }

    #[test]
    fn what_no_packet_can_precede_is_forgotten() {
        let mut order = KeptOrder::default();
        for nanos in 0..1_000 {
            let at = Instant::from_nanos(nanos);
            order.keep(at, at, at);
        }
        assert!(order.passed.len() <= 2);
    }

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
