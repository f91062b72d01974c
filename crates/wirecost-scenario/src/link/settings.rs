//! What the directions of a link have in common, and what one of them has of its own.

use std::time::Duration;

use wirecost_link::{DelayVariation, DirectionConfig, GilbertElliott, LinkConfig, Loss, QueueLimit, Reorder};
use wirecost_proto::{BitRate, Probability};

use super::values::{delay_variation, loss, mtu, queue, rate, reorder};
use crate::table::{parsed, time};

/// The round-trip time of a link that says none.
pub const DEFAULT_RTT: Duration = Duration::from_millis(25);

/// What both directions of a link have in common.
#[derive(Clone, Copy, Debug)]
pub struct LinkSettings {
    /// Round-trip time, half of it each way.
    pub rtt: Duration,
    /// Delay variation.
    pub delay_variation: Option<DelayVariation>,
    /// Loss.
    pub loss: LossSetting,
    /// Mean length of a burst of losses in packets; `None` for independent losses.
    pub loss_burst: Option<f64>,
    /// Reordering.
    pub reorder: ReorderSetting,
    /// Duplication.
    pub duplicate: Probability,
    /// Bit corruption.
    pub corrupt: Probability,
    /// Rate of IP packets.
    pub rate: Option<BitRate>,
    /// Queue in front of the rate.
    pub queue: Option<QueueLimit>,
    /// Largest IP packet in bytes.
    pub mtu: u16,
}

/// Loss as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossSetting {
    /// A share of packets; how they come, a burst length says.
    Share(Probability),
    /// All four probabilities of the model.
    Model(GilbertElliott),
}

/// Reordering as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderSetting {
    /// The share of packets that are held back.
    pub probability: Probability,
    /// How long; `None` is a quarter of the round-trip time, but at least 1 ms.
    pub extra_delay: Option<Duration>,
}

impl Default for LinkSettings {
    fn default() -> Self {
        Self {
            rtt: DEFAULT_RTT,
            delay_variation: None,
            loss: LossSetting::Share(Probability::ZERO),
            loss_burst: None,
            reorder: ReorderSetting {
                probability: Probability::ZERO,
                extra_delay: None,
            },
            duplicate: Probability::ZERO,
            corrupt: Probability::ZERO,
            rate: None,
            queue: None,
            mtu: DirectionConfig::default().mtu,
        }
    }
}

impl LinkSettings {
    /// The link, both directions alike.
    ///
    /// # Errors
    /// No bursts of that length lose that share.
    pub fn link(&self) -> Result<LinkConfig, String> {
        let symmetric = LinkConfig::symmetric(self.rtt);
        let loss = self.loss_model(self.loss)?;
        let both = |delay| DirectionConfig {
            delay,
            delay_variation: self.delay_variation,
            loss,
            reorder: self.reorder_of(self.reorder),
            duplicate: self.duplicate,
            corrupt: self.corrupt,
            rate: self.rate,
            queue: self.queue,
            mtu: self.mtu,
        };
        Ok(LinkConfig {
            up: both(symmetric.up.delay),
            down: both(symmetric.down.delay),
        })
    }

    /// Sets what one direction has of its own.
    ///
    /// # Errors
    /// The key is not known, or its value cannot be read.
    pub fn set(&self, direction: &mut DirectionConfig, key: &str, value: &str) -> Result<(), String> {
        match key {
            "delay" => direction.delay = time(value)?,
            "delay_variation" => direction.delay_variation = delay_variation(value)?,
            "loss" => direction.loss = self.loss_model(loss(value)?)?,
            "reorder" => direction.reorder = self.reorder_of(reorder(value)?),
            "duplicate" => direction.duplicate = parsed(value)?,
            "corrupt" => direction.corrupt = parsed(value)?,
            "rate" => direction.rate = rate(value)?,
            "queue" => direction.queue = queue(value)?,
            "mtu" => direction.mtu = mtu(value)?,
            _ => {
                let keys = DIRECTION_KEYS.join(", ");
                return Err(format!("unknown key {key:?}; the keys are {keys}"));
            }
        }
        Ok(())
    }

    fn loss_model(&self, loss: LossSetting) -> Result<Loss, String> {
        let share = match loss {
            LossSetting::Model(model) => return Ok(Loss::GilbertElliott(model)),
            LossSetting::Share(share) => share,
        };
        let Some(packets) = self.loss_burst else {
            return Ok(if share.is_zero() {
                Loss::None
            } else {
                Loss::Bernoulli(share)
            });
        };
        let text = || {
            format!("no bursts of {packets} packets on average lose {share}: the mean is at least 1 packet")
        };
        GilbertElliott::bursts(share, packets)
            .map(Loss::GilbertElliott)
            .ok_or_else(text)
    }

    fn reorder_of(&self, setting: ReorderSetting) -> Option<Reorder> {
        let extra_delay = setting.extra_delay.unwrap_or_else(|| held_back(self.rtt));
        (!setting.probability.is_zero()).then_some(Reorder {
            probability: setting.probability,
            extra_delay,
        })
    }
}

/// How long a packet is held back behind later ones, by default.
pub fn held_back(rtt: Duration) -> Duration {
    (rtt / 4).max(Duration::from_millis(1))
}

/// The keys of one direction.
pub const DIRECTION_KEYS: [&str; 9] = [
    "delay",
    "delay_variation",
    "loss",
    "reorder",
    "duplicate",
    "corrupt",
    "rate",
    "queue",
    "mtu",
];
