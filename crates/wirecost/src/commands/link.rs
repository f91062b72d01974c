//! From the link's flags to link configurations, one per combination of the lists.

use std::time::Duration;

use wirecost_lab::compare::options::{
    DelayVariation, DirectionConfig, GilbertElliott, LinkConfig, Loss, QueueLimit, Reorder,
};
use wirecost_proto::units::parse_duration;
use wirecost_proto::{BitRate, ByteSize, Probability};

use crate::arguments::LinkArguments;
use crate::exit::Failure;

/// The links that the flags ask for: every combination of RTT, loss and rate.
pub fn links(arguments: &LinkArguments) -> Result<Vec<LinkConfig>, Failure> {
    let rates: Vec<Option<BitRate>> = match arguments.rate.as_slice() {
        [] => vec![None],
        rates => rates.iter().copied().map(Some).collect(),
    };
    let mut links = Vec::new();
    for rtt in &arguments.rtt {
        for loss in &arguments.loss {
            for rate in &rates {
                links.push(link(arguments, *rtt, *loss, *rate)?);
            }
        }
    }
    Ok(links)
}

fn link(
    arguments: &LinkArguments,
    rtt: Duration,
    loss: Probability,
    rate: Option<BitRate>,
) -> Result<LinkConfig, Failure> {
    let mtu = u16::try_from(arguments.mtu.bytes());
    let mtu =
        mtu.map_err(|_| Failure::usage(format!("--mtu must be at most 65535B, got {}", arguments.mtu)))?;
    let loss = loss_model(loss, arguments.loss_burst)?;
    let both = |delay: Duration| DirectionConfig {
        delay,
        delay_variation: arguments.delay_variation.map(DelayVariation::uniform),
        loss,
        reorder: reorder(arguments.reorder, rtt),
        duplicate: arguments.duplicate,
        corrupt: arguments.corrupt,
        rate,
        queue: arguments.queue,
        mtu,
    };
    let symmetric = LinkConfig::symmetric(rtt);
    let mut link = LinkConfig {
        up: both(symmetric.up.delay),
        down: both(symmetric.down.delay),
    };
    overrides(&mut link.up, "--up", arguments.up.as_deref(), rtt)?;
    overrides(&mut link.down, "--down", arguments.down.as_deref(), rtt)?;
    Ok(link)
}

fn loss_model(loss: Probability, burst: Option<f64>) -> Result<Loss, Failure> {
    let Some(packets) = burst else {
        return Ok(if loss.is_zero() {
            Loss::None
        } else {
            Loss::Bernoulli(loss)
        });
    };
    let text =
        || format!("no bursts of {packets} packets on average lose {loss}: the mean is at least 1 packet");
    GilbertElliott::bursts(loss, packets)
        .map(Loss::GilbertElliott)
        .ok_or_else(|| Failure::usage(text()))
}

/// A packet that is held back comes a quarter of the RTT, but at least 1 ms, later.
fn reorder(probability: Probability, rtt: Duration) -> Option<Reorder> {
    let extra_delay = (rtt / 4).max(Duration::from_millis(1));
    (!probability.is_zero()).then_some(Reorder {
        probability,
        extra_delay,
    })
}

/// Parses a queue limit: `64packets` or a size.
pub fn parse_queue(text: &str) -> Result<QueueLimit, String> {
    let limit = match text.strip_suffix("packets") {
        Some(number) => {
            let number = number.trim().parse::<u64>();
            number
                .map(QueueLimit::Packets)
                .map_err(|_| format!("{text:?} does not start with a whole number"))
        }
        None => text
            .parse::<ByteSize>()
            .map(|size| QueueLimit::Bytes(size.bytes()))
            .map_err(|e| e.to_string()),
    }?;
    match limit {
        QueueLimit::Packets(0) | QueueLimit::Bytes(0) => Err("a queue holds at least one packet".into()),
        limit => Ok(limit),
    }
}

fn overrides(
    direction: &mut DirectionConfig,
    flag: &str,
    text: Option<&str>,
    rtt: Duration,
) -> Result<(), Failure> {
    let settings = text.into_iter().flat_map(|text| text.split(','));
    for setting in settings {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(Failure::usage(format!(
                "{flag} takes KEY=VALUE,..., got {setting:?}"
            )));
        };
        let set = set(direction, key.trim(), value.trim(), rtt);
        set.map_err(|why| Failure::usage(format!("{flag} {setting}: {why}")))?;
    }
    Ok(())
}

const KEYS: &str = "delay, delay_variation, loss, reorder, duplicate, corrupt, rate, queue";

fn set(direction: &mut DirectionConfig, key: &str, value: &str, rtt: Duration) -> Result<(), String> {
    let time = || parse_duration(value).map_err(|error| error.to_string());
    let probability = || value.parse::<Probability>().map_err(|error| error.to_string());
    match key {
        "delay" => direction.delay = time()?,
        "delay_variation" => direction.delay_variation = Some(DelayVariation::uniform(time()?)),
        "loss" => direction.loss = Loss::Bernoulli(probability()?),
        "reorder" => direction.reorder = reorder(probability()?, rtt),
        "duplicate" => direction.duplicate = probability()?,
        "corrupt" => direction.corrupt = probability()?,
        "rate" => direction.rate = Some(value.parse().map_err(|error| format!("{error}"))?),
        "queue" => direction.queue = Some(parse_queue(value)?),
        _ => return Err(format!("unknown key {key:?}; the keys are {KEYS}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_can_be_its_own() {
        let mut up = DirectionConfig::default();
        let rtt = Duration::from_millis(40);
        overrides(
            &mut up,
            "--up",
            Some("loss=5%, rate=50kbit,queue=10packets,delay=1ms"),
            rtt,
        )
        .expect("valid");
        assert_eq!(up.delay, Duration::from_millis(1));
        assert_eq!(up.loss.rate(), 0.05);
        assert_eq!(up.rate.map(BitRate::bits_per_second), Some(50_000));
        assert_eq!(up.queue, Some(QueueLimit::Packets(10)));
    }

    #[test]
    fn an_unknown_key_names_the_known_ones() {
        let error =
            set(&mut DirectionConfig::default(), "jitter", "1ms", Duration::ZERO).expect_err("unknown");
        assert!(error.contains("delay_variation"), "{error}");
    }

    #[test]
    fn a_queue_holds_something() {
        assert!(parse_queue("0packets").is_err());
        assert!(parse_queue("64").is_err());
        assert_eq!(parse_queue("32kB"), Ok(QueueLimit::Bytes(32_000)));
    }
}
