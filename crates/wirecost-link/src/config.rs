//! The configuration of a link, and its validation.

use std::time::Duration;

use wirecost_proto::units::DisplayDuration;
use wirecost_proto::{BitRate, Direction, Probability};

use crate::cell::NbiotCell;
use crate::delay::{DelayDistribution, DelayVariation};
use crate::loss::Loss;
use crate::nat::NatTimeouts;
use crate::queue::QueueLimit;
use crate::reorder::Reorder;

/// The smallest MTU of a link that carries IPv4 (RFC 791 section 3.2).
pub const MIN_MTU: u16 = 68;

/// The default MTU: that of Ethernet.
pub const DEFAULT_MTU: u16 = 1_500;

/// The longest delay that a link may have.
pub(crate) const MAX_DELAY: Duration = Duration::from_secs(3_600);

/// The fewest packets that a queue of default size holds.
pub(crate) const DEFAULT_QUEUE_PACKETS: u64 = 64;

/// The configuration of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkConfig {
    /// From the device to the server.
    pub up: DirectionConfig,
    /// From the server to the device.
    pub down: DirectionConfig,
    /// When the address translator at the network's end forgets a mapping.
    pub nat: NatTimeouts,
    /// The modelled cell that the link is; both directions then describe the internet behind it. `None`: an emulated link. A
    /// [`Link`](crate::Link) cannot be made of a cell.
    pub cell: Option<NbiotCell>,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectionConfig {
    /// The propagation delay: one-way delay without serialisation, queueing and variation.
    pub delay: Duration,
    /// How the delay varies; `None`: it is constant.
    pub delay_variation: Option<DelayVariation>,
    /// The loss model.
    pub loss: Loss,
    /// Which packets are held back; `None`: no packet.
    pub reorder: Option<Reorder>,
    /// The probability that a packet arrives twice.
    pub duplicate: Probability,
    /// The probability that a copy arrives with one bit flipped.
    pub corrupt: Probability,
    /// The rate in bit/s of IP packets; `None`: unlimited.
    pub rate: Option<BitRate>,
    /// The capacity of the queue; `None`: see [`LinkConfig::queue_limit`]. Without a rate there is no queue.
    pub queue: Option<QueueLimit>,
    /// The largest IP packet, in bytes.
    pub mtu: u16,
}

impl Default for DirectionConfig {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            delay_variation: None,
            loss: Loss::None,
            reorder: None,
            duplicate: Probability::ZERO,
            corrupt: Probability::ZERO,
            rate: None,
            queue: None,
            mtu: DEFAULT_MTU,
        }
    }
}

impl LinkConfig {
    /// Whether the link neither loses nor corrupts by design.
    pub fn is_lossless(&self) -> bool {
        Direction::ALL.iter().all(|way| {
            let direction = self.direction(*way);
            direction.loss.rate() == 0.0 && direction.corrupt.is_zero()
        })
    }

    /// A link without impairments whose round trip takes `rtt`, half of it each way.
    pub fn symmetric(rtt: Duration) -> Self {
        let up = rtt / 2;
        let direction = |delay| DirectionConfig {
            delay,
            ..DirectionConfig::default()
        };
        Self {
            up: direction(up),
            down: direction(rtt - up),
            nat: NatTimeouts::default(),
            cell: None,
        }
    }

    /// A link with the same configuration in both directions.
    pub const fn both(direction: DirectionConfig) -> Self {
        Self {
            up: direction,
            down: direction,
            nat: NatTimeouts::NEVER,
            cell: None,
        }
    }

    /// The configuration of one direction.
    pub const fn direction(&self, direction: Direction) -> &DirectionConfig {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// The round-trip time without serialisation, queueing and variation.
    pub const fn rtt(&self) -> Duration {
        self.up.delay.saturating_add(self.down.delay)
    }

    /// The limit of a direction's queue: the configured one. The default is one bandwidth-delay product (rate x RTT) in
    /// packets of the MTU, but at least `DEFAULT_QUEUE_PACKETS`.
    pub fn queue_limit(&self, direction: Direction) -> QueueLimit {
        let config = self.direction(direction);
        let rate = config.rate.map_or(0, BitRate::bits_per_second);
        let product_bits = u128::from(rate).saturating_mul(self.rtt().as_nanos()) / 1_000_000_000;
        let packets = product_bits.div_ceil(u128::from(config.mtu.max(1)) * 8);
        let packets = u64::try_from(packets).unwrap_or(u64::MAX);
        let default = QueueLimit::Packets(packets.max(DEFAULT_QUEUE_PACKETS));
        config.queue.unwrap_or(default)
    }

    /// Checks that the configuration is valid.
    ///
    /// # Errors
    /// The first fault found, with its direction.
    pub fn validate(&self) -> Result<(), ConfigError> {
        for direction in Direction::ALL {
            let checked = self.direction(direction).validate();
            checked.map_err(|fault| ConfigError { direction, fault })?;
        }
        Ok(())
    }
}

impl DirectionConfig {
    /// The mean delay of a packet far from other packets, without serialisation and reordering. It is the delay, unless the
    /// variation has a truncated distribution.
    pub fn mean_delay(&self) -> Duration {
        self.delay_variation
            .map_or(self.delay, |variation| variation.mean(self.delay))
    }

    fn validate(&self) -> Result<(), ConfigFault> {
        if self.mtu < MIN_MTU {
            return Err(ConfigFault::Mtu { mtu: self.mtu });
        }
        within("delay", self.delay)?;
        if let Some(reorder) = self.reorder {
            within("reorder extra delay", reorder.extra_delay)?;
        }
        self.validate_variation()?;
        self.validate_loss()?;
        self.validate_queue()
    }

    fn validate_variation(&self) -> Result<(), ConfigFault> {
        let delay = self.delay;
        match self.delay_variation.map(|variation| variation.distribution) {
            Some(DelayDistribution::Uniform { plus_minus }) if plus_minus > delay => {
                Err(ConfigFault::Variation { plus_minus, delay })
            }
            Some(DelayDistribution::Normal { standard_deviation }) => {
                within("standard deviation", standard_deviation)
            }
            _ => Ok(()),
        }
    }

    fn validate_loss(&self) -> Result<(), ConfigFault> {
        match self.loss {
            Loss::GilbertElliott(model) if model.good_to_bad.is_zero() && model.bad_to_good.is_zero() => {
                Err(ConfigFault::StuckLoss)
            }
            Loss::None | Loss::Bernoulli(_) | Loss::GilbertElliott(_) => Ok(()),
        }
    }

    fn validate_queue(&self) -> Result<(), ConfigFault> {
        let mtu = self.mtu;
        match self.queue {
            Some(QueueLimit::Packets(0)) => Err(ConfigFault::QueuePackets),
            Some(QueueLimit::Bytes(bytes)) if bytes < u64::from(mtu) => {
                Err(ConfigFault::QueueBytes { bytes, mtu })
            }
            _ => Ok(()),
        }
    }
}

/// Refuses times above [`MAX_DELAY`].
fn within(name: &'static str, given: Duration) -> Result<(), ConfigFault> {
    if given > MAX_DELAY {
        return Err(ConfigFault::TooLong { name, given });
    }
    Ok(())
}

/// An invalid configuration of a link.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("link {}: {fault}", direction.name())]
pub struct ConfigError {
    /// The direction with the fault.
    pub direction: Direction,
    /// The fault.
    pub fault: ConfigFault,
}

/// A fault in the configuration of one direction.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigFault {
    /// The MTU is too small for IP.
    #[error("mtu must be at least {MIN_MTU}B, got {mtu}B")]
    Mtu {
        /// What was given, in bytes.
        mtu: u16,
    },
    /// A time is longer than `MAX_DELAY`.
    #[error("{name} must be at most {}, got {}", DisplayDuration(MAX_DELAY), DisplayDuration(*given))]
    TooLong {
        /// The name of the time.
        name: &'static str,
        /// What was given.
        given: Duration,
    },
    /// The variation would make delays negative.
    #[error(
        "delay variation must be at most the delay of {}, got {}",
        DisplayDuration(*delay),
        DisplayDuration(*plus_minus)
    )]
    Variation {
        /// What was given.
        plus_minus: Duration,
        /// The delay it varies.
        delay: Duration,
    },
    /// The loss model never changes its state.
    #[error("loss needs good_to_bad or bad_to_good above 0%, got 0% for both")]
    StuckLoss,
    /// The queue holds nothing.
    #[error("queue must hold at least 1 packet, got 0")]
    QueuePackets,
    /// The queue cannot hold a packet of the link's MTU.
    #[error("queue must hold at least one packet of the mtu, {mtu}B, got {bytes}B")]
    QueueBytes {
        /// What was given, in bytes.
        bytes: u64,
        /// What was expected, in bytes.
        mtu: u16,
    },
}

#[cfg(test)]
mod tests;
