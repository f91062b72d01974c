//! Quantities of a link as texts: read, and printed so that they read back as the same.

use std::time::Duration;

use wirecost_link::{DelayDistribution, DelayVariation, GilbertElliott, QueueLimit, Reorder};
use wirecost_proto::units::{DisplayDuration, UnitError};
use wirecost_proto::{BitRate, ByteSize, Probability};

use super::settings::{LossSetting, ReorderSetting, held_back};
use crate::table::{parsed, time};

/// Reads the mean length of a burst of losses in packets: `3`, or `3packets`.
///
/// # Errors
/// It is no number of at least 1.
pub fn burst(text: &str) -> Result<f64, String> {
    let packets = text
        .strip_suffix("packets")
        .unwrap_or(text)
        .trim()
        .parse::<f64>()
        .ok();
    let packets = packets.filter(|packets| *packets >= 1.0 && packets.is_finite());
    packets.ok_or_else(|| format!("{text:?} is no mean number of packets: the mean is at least 1 packet"))
}

/// Reads a loss: `5%`, or `gilbert-elliott 1% 25% 0% 100%` with the probabilities good to bad, bad to good, loss in
/// good, loss in bad.
///
/// # Errors
/// It is neither.
pub fn loss(text: &str) -> Result<LossSetting, String> {
    let Some(model) = text.strip_prefix("gilbert-elliott") else {
        return parsed(text).map(LossSetting::Share);
    };
    let parts: Vec<Probability> = model
        .split_whitespace()
        .map(parsed)
        .collect::<Result<_, String>>()?;
    match parts.as_slice() {
        &[good_to_bad, bad_to_good, loss_in_good, loss_in_bad] => Ok(LossSetting::Model(GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_in_good,
            loss_in_bad,
        })),
        _ => Err(format!(
            "{text:?} does not have four probabilities: write gilbert-elliott 1% 25% 0% 100%"
        )),
    }
}

/// Reads a reordering: `1%`, or `1% 5ms` with how long packets are held back.
///
/// # Errors
/// It is neither.
pub fn reorder(text: &str) -> Result<ReorderSetting, String> {
    let (share, held) = match text.split_once(char::is_whitespace) {
        Some((share, held)) => (share, Some(time(held)?)),
        None => (text, None),
    };
    Ok(ReorderSetting {
        probability: parsed(share)?,
        extra_delay: held,
    })
}

/// Reads a delay variation: `2ms` for plus or minus 2 ms evenly, `normal 2ms` for a standard deviation; `reordering`
/// behind it lets packets overtake one another.
///
/// # Errors
/// It is none of these.
pub fn delay_variation(text: &str) -> Result<Option<DelayVariation>, String> {
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

/// Reads a rate: `50kbit`, or `unlimited`.
///
/// # Errors
/// It is neither.
pub fn rate(text: &str) -> Result<Option<BitRate>, String> {
    match text {
        "unlimited" => Ok(None),
        text => parsed(text).map(Some),
    }
}

/// Reads a queue limit: `64packets`, a size, or `auto`.
///
/// # Errors
/// It is none of these, or holds nothing.
pub fn queue(text: &str) -> Result<Option<QueueLimit>, String> {
    let limit = match text.strip_suffix("packets") {
        _ if text == "auto" => return Ok(None),
        Some(number) => {
            let number = number.trim().parse::<u64>();
            number
                .map(QueueLimit::Packets)
                .map_err(|_| format!("{text:?} does not start with a whole number"))
        }
        None => text
            .parse::<ByteSize>()
            .map(|size| QueueLimit::Bytes(size.bytes()))
            .map_err(|error| match error {
                UnitError::MissingUnit { text, .. } => {
                    format!("{text:?} has no unit: write 64packets or 32kB")
                }
                error => error.to_string(),
            }),
    }?;
    match limit {
        QueueLimit::Packets(0) | QueueLimit::Bytes(0) => Err("a queue holds at least one packet".into()),
        limit => Ok(Some(limit)),
    }
}

/// Reads the size of the largest IP packet.
///
/// # Errors
/// It is no size, or above 65,535 B.
pub fn mtu(text: &str) -> Result<u16, String> {
    let size: ByteSize = parsed(text)?;
    u16::try_from(size.bytes()).map_err(|_| format!("must be at most 65535B, got {size}"))
}

/// A delay variation as [`delay_variation`] reads it.
pub fn delay_variation_text(variation: Option<DelayVariation>) -> String {
    let Some(variation) = variation else {
        return "0ms".into();
    };
    let text = match variation.distribution {
        DelayDistribution::Uniform { plus_minus } => DisplayDuration(plus_minus).to_string(),
        DelayDistribution::Normal { standard_deviation } => {
            format!("normal {}", DisplayDuration(standard_deviation))
        }
    };
    if variation.keeps_order {
        text
    } else {
        format!("{text} reordering")
    }
}

/// A reordering as [`reorder`] reads it on a link of this round-trip time.
pub fn reorder_text(reorder: Option<Reorder>, rtt: Duration) -> String {
    match reorder {
        None => Probability::ZERO.to_string(),
        Some(Reorder {
            probability,
            extra_delay,
        }) if extra_delay == held_back(rtt) => probability.to_string(),
        Some(Reorder {
            probability,
            extra_delay,
        }) => format!("{probability} {}", DisplayDuration(extra_delay)),
    }
}
