//! From the link's flags to link configurations, one per combination of the lists.

use std::time::Duration;

use wirecost_lab::compare::options::{
    DelayVariation, DirectionConfig, GilbertElliott, LinkConfig, Loss, QueueLimit, Reorder,
};
use wirecost_proto::units::{UnitError, parse_duration};
use wirecost_proto::{BitRate, ByteSize, Probability};

use crate::arguments::LinkArguments;
use crate::exit::Failure;

/// The links that the flags ask for: every combination of RTT, loss, rate and MTU.
pub fn links(arguments: &LinkArguments) -> Result<Vec<LinkConfig>, Failure> {
    let rates: Vec<Option<BitRate>> = match arguments.rate.as_slice() {
        [] => vec![None],
        rates => rates.iter().copied().map(Some).collect(),
    };
    let mut links = Vec::new();
    for rtt in &arguments.rtt {
        for loss in &arguments.loss {
            for rate in &rates {
                for mtu in &arguments.mtu {
                    links.push(link(arguments, *rtt, *loss, (*rate, *mtu))?);
                }
            }
        }
    }
    let loses = |link: &LinkConfig| link.up.loss.rate() + link.down.loss.rate() > 0.0;
    if arguments.loss_burst.is_some() && !links.iter().any(loses) {
        return Err(Failure::usage(
            "--loss-burst says how losses come, and there are none: add --loss",
        ));
    }
    Ok(links)
}

fn link(
    arguments: &LinkArguments,
    rtt: Duration,
    loss: Probability,
    (rate, mtu): (Option<BitRate>, ByteSize),
) -> Result<LinkConfig, Failure> {
    let too_large = |_| Failure::usage(format!("--mtu must be at most 65535B, got {mtu}"));
    let mtu = u16::try_from(mtu.bytes()).map_err(too_large)?;
    let loss = loss_model(loss, arguments.loss_burst).map_err(Failure::usage)?;
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
    let base = Base {
        rtt,
        burst: arguments.loss_burst,
    };
    overrides(&mut link.up, "--up", arguments.up.as_deref(), base)?;
    overrides(&mut link.down, "--down", arguments.down.as_deref(), base)?;
    Ok(link)
}

/// What a setting of one direction takes from the settings of both.
#[derive(Clone, Copy)]
struct Base {
    rtt: Duration,
    burst: Option<f64>,
}

fn loss_model(loss: Probability, burst: Option<f64>) -> Result<Loss, String> {
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
        .ok_or_else(text)
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
            .map_err(|error| match error {
                UnitError::MissingUnit { text, .. } => {
                    format!("{text:?} has no unit: write 64packets or 32kB")
                }
                error => error.to_string(),
            }),
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
    base: Base,
) -> Result<(), Failure> {
    let settings = text.into_iter().flat_map(|text| text.split(','));
    for setting in settings {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(Failure::usage(format!(
                "{flag} takes KEY=VALUE,..., got {setting:?}"
            )));
        };
        let set = set(direction, key.trim(), value.trim(), base);
        set.map_err(|why| Failure::usage(format!("{flag} {setting}: {why}")))?;
    }
    Ok(())
}

const KEYS: &str = "delay, delay_variation, loss, reorder, duplicate, corrupt, rate, queue";

fn set(direction: &mut DirectionConfig, key: &str, value: &str, base: Base) -> Result<(), String> {
    let time = || parse_duration(value).map_err(|error| error.to_string());
    let probability = || value.parse::<Probability>().map_err(|error| error.to_string());
    match key {
        "delay" => direction.delay = time()?,
        "delay_variation" => direction.delay_variation = Some(DelayVariation::uniform(time()?)),
        "loss" => direction.loss = loss_model(probability()?, base.burst)?,
        "reorder" => direction.reorder = reorder(probability()?, base.rtt),
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
        let base = Base {
            rtt: Duration::from_millis(40),
            burst: None,
        };
        overrides(
            &mut up,
            "--up",
            Some("loss=5%, rate=50kbit,queue=10packets,delay=1ms"),
            base,
        )
        .expect("valid");
        assert_eq!(up.delay, Duration::from_millis(1));
        assert_eq!(up.loss.rate(), 0.05);
        assert_eq!(up.rate.map(BitRate::bits_per_second), Some(50_000));
        assert_eq!(up.queue, Some(QueueLimit::Packets(10)));
    }

    #[test]
    fn an_unknown_key_names_the_known_ones() {
        let base = Base {
            rtt: Duration::ZERO,
            burst: None,
        };
        let error = set(&mut DirectionConfig::default(), "jitter", "1ms", base).expect_err("unknown");
        assert!(error.contains("delay_variation"), "{error}");
    }

    #[test]
    fn a_direction_of_its_own_loses_in_bursts_too() {
        let mut up = DirectionConfig::default();
        let base = Base {
            rtt: Duration::ZERO,
            burst: Some(3.0),
        };
        set(&mut up, "loss", "5%", base).expect("valid");
        assert!(matches!(up.loss, Loss::GilbertElliott(_)), "{:?}", up.loss);
    }

    #[test]
    fn a_queue_holds_something() {
        assert!(parse_queue("0packets").is_err());
        assert!(parse_queue("64").is_err());
        assert_eq!(parse_queue("32kB"), Ok(QueueLimit::Bytes(32_000)));
    }
}
