//! The values of one direction of a link as text: what a flag or a key of a file gives, and how it is written again.

use std::time::Duration;

use wirecost_link::{DelayDistribution, DelayVariation, GilbertElliott, Loss, QueueLimit, Reorder};
use wirecost_proto::units::UnitError;
use wirecost_proto::{BitRate, ByteSize, Probability};

use super::{EXACT, Form};
use crate::value::{ValueError, parsed, time};

/// Reads a loss: `5%`, or `gilbert-elliott 1% 25% 0% 100%` with the probabilities good to bad, bad to good, loss in
/// good, loss in bad.
///
/// # Errors
/// It is neither.
pub fn loss(text: &str) -> Result<Loss, ValueError> {
    let Some(model) = text.strip_prefix("gilbert-elliott") else {
        let share: Probability = parsed(text)?;
        return Ok(if share.is_zero() {
            Loss::None
        } else {
            Loss::Bernoulli(share)
        });
    };
    let parts = model.split_whitespace().map(parsed);
    match parts.collect::<Result<Vec<Probability>, _>>()?.as_slice() {
        &[good_to_bad, bad_to_good, loss_in_good, loss_in_bad] => Ok(Loss::GilbertElliott(GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_in_good,
            loss_in_bad,
        })),
        _ => Err(ValueError::form(
            text,
            "a model with four probabilities: write gilbert-elliott 1% 25% 0% 100%",
        )),
    }
}

/// A loss as [`loss`] reads it.
pub fn loss_text(loss: &Loss) -> String {
    match loss {
        Loss::None => "0%".into(),
        Loss::Bernoulli(probability) => probability.to_string(),
        Loss::GilbertElliott(model) => format!(
            "gilbert-elliott {} {} {} {}",
            model.good_to_bad, model.bad_to_good, model.loss_in_good, model.loss_in_bad
        ),
    }
}

/// Reordering before the round-trip time of its link is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderSetting {
    /// The share of packets that are held back.
    pub probability: Probability,
    /// How long; `None` is a quarter of the round-trip time, but at least 1 ms.
    pub extra_delay: Option<Duration>,
}

impl ReorderSetting {
    /// The reordering on a link of this round-trip time; `None` where no packet is held back.
    pub fn on_link(self, rtt: Duration) -> Option<Reorder> {
        (!self.probability.is_zero()).then(|| Reorder {
            probability: self.probability,
            extra_delay: self.extra_delay.unwrap_or_else(|| default_extra_delay(rtt)),
        })
    }
}

fn default_extra_delay(rtt: Duration) -> Duration {
    (rtt / 4).max(Duration::from_millis(1))
}

/// Reads a reordering: `1%`, or `1% 5ms` with the time for which packets are held back.
///
/// # Errors
/// It is neither.
pub fn reorder(text: &str) -> Result<ReorderSetting, ValueError> {
    let (share, extra_delay) = match text.split_once(char::is_whitespace) {
        Some((share, held)) => (share, Some(time(held)?)),
        None => (text, None),
    };
    Ok(ReorderSetting {
        probability: parsed(share)?,
        extra_delay,
    })
}

/// A reordering as [`reorder`] reads it on a link of this round-trip time.
pub(super) fn reorder_text(reorder: Option<Reorder>, rtt: Duration, form: &Form) -> String {
    let Some(Reorder {
        probability,
        extra_delay,
    }) = reorder
    else {
        return Probability::ZERO.to_string();
    };
    if extra_delay == default_extra_delay(rtt) {
        return probability.to_string();
    }
    format!("{probability} {}", (form.time)(extra_delay))
}

/// Reads a delay variation: `2ms` is uniform, plus or minus 2 ms, `normal 2ms` has that standard deviation; `reordering` after
/// it lets packets overtake one another.
///
/// # Errors
/// It is none of these.
pub fn delay_variation(text: &str) -> Result<Option<DelayVariation>, ValueError> {
    let (rest, reordering) = match text.strip_suffix("reordering") {
        Some(rest) => (rest.trim(), true),
        None => (text, false),
    };
    let variation = match rest.strip_prefix("normal") {
        Some(deviation) => DelayVariation::normal(time(deviation.trim())?),
        None => match time(rest)? {
            Duration::ZERO => return Ok(None),
            plus_minus => DelayVariation::uniform(plus_minus),
        },
    };
    Ok(Some(if reordering {
        variation.reordering()
    } else {
        variation
    }))
}

/// A delay variation as [`delay_variation`] reads it.
pub(super) fn delay_variation_text(variation: Option<DelayVariation>, form: &Form) -> String {
    let Some(variation) = variation else {
        return (form.time)(Duration::ZERO);
    };
    let text = match variation.distribution {
        DelayDistribution::Uniform { plus_minus } => (form.time)(plus_minus),
        DelayDistribution::Normal { standard_deviation } => {
            format!("normal {}", (form.time)(standard_deviation))
        }
    };
    if variation.keeps_order {
        text
    } else {
        format!("{text} reordering")
    }
}

/// The rate of a link that has no limit.
pub(super) const UNLIMITED: &str = "unlimited";

/// Reads a rate: `50kbit`, or `unlimited`.
///
/// # Errors
/// It is neither.
pub fn rate(text: &str) -> Result<Option<BitRate>, ValueError> {
    match text {
        UNLIMITED => Ok(None),
        text => parsed(text).map(Some),
    }
}

/// A rate as [`rate`] reads it.
pub fn rate_text(rate: Option<BitRate>) -> String {
    rate.map_or_else(|| UNLIMITED.into(), EXACT.rate)
}

/// Reads a queue limit: `64packets`, a size, or `auto`.
///
/// # Errors
/// It is none of these, or holds nothing.
pub fn queue(text: &str) -> Result<Option<QueueLimit>, ValueError> {
    if text == "auto" {
        return Ok(None);
    }
    let limit = match text.strip_suffix("packets").map(|number| number.trim().parse()) {
        Some(Ok(packets)) => QueueLimit::Packets(packets),
        Some(Err(_)) => {
            return Err(ValueError::form(
                text,
                "a whole number of packets: write 64packets",
            ));
        }
        None => match text.parse::<ByteSize>() {
            Ok(size) => QueueLimit::Bytes(size.bytes()),
            Err(UnitError::MissingUnit { text, .. }) => {
                let example = "64packets or 32kB";
                return Err(UnitError::MissingUnit { text, example }.into());
            }
            Err(error) => return Err(error.into()),
        },
    };
    match limit {
        QueueLimit::Packets(0) | QueueLimit::Bytes(0) => Err(ValueError::range("at least one packet", text)),
        limit => Ok(Some(limit)),
    }
}

pub(super) fn queue_text(queue: Option<QueueLimit>) -> String {
    match queue {
        None => "auto".into(),
        Some(QueueLimit::Packets(packets)) => format!("{packets} packets"),
        Some(QueueLimit::Bytes(bytes)) => ByteSize::from_bytes(bytes).to_string(),
    }
}

/// Reads the size of the largest IP packet.
///
/// # Errors
/// It is not a size, or above 65,535 B.
pub fn mtu(text: &str) -> Result<u16, ValueError> {
    let size: ByteSize = parsed(text)?;
    u16::try_from(size.bytes()).map_err(|_| ValueError::range("at most 65535B", &size.to_string()))
}
