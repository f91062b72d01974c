//! Block Rayleigh fading of the way between a device and its serving cell.

pub mod taps;

use wirecost_proto::{BothWays, Direction, Rng};

use crate::config::{FadingModel, RadioConfig};
use crate::subframe::Interval;

/// The fading of one device: a function of time, with nothing that grows.
///
/// Each antenna branch has an exponential power of mean 1 that holds for a coherence block. The receiver adds its branches (MRC);
/// transmit ports share the power (SFBC).
#[derive(Clone, Copy, Debug)]
pub struct Fading {
    stream: Rng,
    model: FadingModel,
    coherence: u64,
    phase: u64,
    /// Branches of the uplink and the downlink, and the share of the power on each.
    branches: BothWays<(u64, f64)>,
}

impl Fading {
    /// The fading of the device with this stream.
    pub fn new(radio: &RadioConfig, mut stream: Rng) -> Self {
        let coherence = u64::from(radio.coherence_ms);
        let phase = stream.next_below(coherence);
        let up = (u64::from(radio.enb_rx_branches), 1.0);
        let ports = u64::from(radio.enb_tx_ports);
        let down = (ports * u64::from(radio.ue_rx_branches), 1.0 / ports as f64);
        Self {
            stream,
            model: radio.fading,
            coherence,
            phase,
            branches: BothWays { up, down },
        }
    }

    /// Mean power gain over `interval` as a linear ratio, the sum over branches.
    pub fn gain(&self, direction: Direction, interval: Interval) -> f64 {
        let (branches, share) = self.branches[direction];
        if self.model == FadingModel::None {
            return branches as f64 * share;
        }
        let (start, end) = (
            interval.start.index() + self.phase,
            interval.end.index() + self.phase,
        );
        let (first, last) = (
            start / self.coherence,
            end.saturating_sub(1).max(start) / self.coherence,
        );
        let stream = self.stream.direction(direction);
        let mut sum = 0.0;
        for block in first..=last {
            let from = start.max(block * self.coherence);
            let to = end.max(start + 1).min((block + 1) * self.coherence);
            let power: f64 = (0..branches)
                .map(|branch| self.power(stream, block * branches + branch))
                .sum();
            sum += power * to.saturating_sub(from) as f64;
        }
        sum * share / interval.len().max(1) as f64
    }

    /// The power of a branch in a coherence block, of mean 1.
    fn power(&self, stream: Rng, index: u64) -> f64 {
        match self.model {
            FadingModel::None => 1.0,
            FadingModel::BlockRayleigh => exponential(stream.at(index)),
            FadingModel::TypicalUrban => taps::power(stream, index),
        }
    }
}

/// An exponential number of mean 1 from 64 random bits.
fn exponential(bits: u64) -> f64 {
    let uniform = ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    -libm::log(uniform)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subframe::Subframe;

    fn at(start: u64, length: u64) -> Interval {
        Interval::new(Subframe::new(start), Subframe::new(start + length))
    }

    #[test]
    fn branches_have_the_moments_of_rayleigh_fading() {
        let fading = Fading::new(&RadioConfig::default(), Rng::new(3));
        let n = 20_000;
        let gains: Vec<f64> = (0..n)
            .map(|block| fading.gain(Direction::Up, at(block * 300, 1)))
            .collect();
        let mean = gains.iter().sum::<f64>() / n as f64;
        let variance = gains
            .iter()
            .map(|gain| (gain - mean) * (gain - mean))
            .sum::<f64>()
            / n as f64;
        // Two branches: mean 2 and variance 2; standard errors are 0.01 and 0.03.
        assert!((mean - 2.0).abs() < 0.05, "{mean}");
        assert!((variance - 2.0).abs() < 0.16, "{variance}");
        let downlink = (0..n)
            .map(|block| fading.gain(Direction::Down, at(block * 300, 1)))
            .sum::<f64>()
            / n as f64;
        assert!((downlink - 1.0).abs() < 0.025, "{downlink}");
    }

    #[test]
    fn gain_of_a_long_interval_is_the_mean_of_its_subframes() {
        let fading = Fading::new(&RadioConfig::default(), Rng::new(4));
        let whole = fading.gain(Direction::Up, at(1_000, 1_700));
        let parts = (0..1_700).map(|step| fading.gain(Direction::Up, at(1_000 + step, 1)));
        assert!((whole - parts.sum::<f64>() / 1_700.0).abs() < 1e-9);
    }

    #[test]
    fn without_fading_only_the_antennas_count() {
        let radio = RadioConfig {
            fading: FadingModel::None,
            ..RadioConfig::default()
        };
        let fading = Fading::new(&radio, Rng::new(4));
        assert_eq!(fading.gain(Direction::Up, at(0, 5)), 2.0);
        assert_eq!(fading.gain(Direction::Down, at(0, 5)), 1.0);
    }
}
