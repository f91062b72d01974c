//! The emulated link as it is asked for, by a file or by flags, and what each direction has of its own.

use std::time::Duration;

use wirecost_link::{
    DelayDistribution, DelayVariation, DirectionConfig, GilbertElliott, LinkConfig, Loss, QueueLimit, Reorder,
};
use wirecost_proto::units::{DisplayDuration, UnitError};
use wirecost_proto::{BitRate, ByteSize, Probability};

use super::error::ScenarioError;
use super::node::Node;
use super::table::{MAX_LIST, Table, parsed, time};

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

/// How long a packet is held back behind later ones, where nobody says otherwise.
pub fn held_back(rtt: Duration) -> Duration {
    (rtt / 4).max(Duration::from_millis(1))
}

/// The keys of a link in a file.
pub const KEYS: [&str; 13] = [
    "rtt",
    "delay",
    "delay_variation",
    "loss",
    "loss_burst",
    "reorder",
    "duplicate",
    "corrupt",
    "rate",
    "queue",
    "mtu",
    "up",
    "down",
];
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

/// The links of a table: every combination of the lists of RTT, loss, rate and MTU.
///
/// # Errors
/// A key is unknown, or a value cannot be read.
pub fn links(node: &Node, prefix: &str) -> Result<Vec<LinkConfig>, ScenarioError> {
    let table = Table::new(node, prefix, &KEYS)?;
    let base = LinkSettings {
        delay_variation: table.one("delay_variation", delay_variation)?.flatten(),
        loss_burst: table.one("loss_burst", burst)?,
        reorder: table
            .one("reorder", reorder)?
            .unwrap_or(LinkSettings::default().reorder),
        duplicate: table.one("duplicate", parsed)?.unwrap_or_default(),
        corrupt: table.one("corrupt", parsed)?.unwrap_or_default(),
        queue: table.one("queue", queue)?.flatten(),
        ..LinkSettings::default()
    };
    let mut links = Vec::new();
    for rtt in or_default(round_trips(&table)?, base.rtt) {
        for loss in or_default(table.many("loss", loss)?, base.loss) {
            for rate in or_default(table.many("rate", rate)?, base.rate) {
                for mtu in or_default(table.many("mtu", mtu)?, base.mtu) {
                    if links.len() == MAX_LIST {
                        return Err(table.error("rtt", format!("there are more than {MAX_LIST} links")));
                    }
                    links.push(link(
                        &table,
                        &LinkSettings {
                            rtt,
                            loss,
                            rate,
                            mtu,
                            ..base
                        },
                    )?);
                }
            }
        }
    }
    let loses = |link: &LinkConfig| link.up.loss.rate() + link.down.loss.rate() > 0.0;
    if base.loss_burst.is_some() && !links.iter().any(loses) {
        return Err(table.error(
            "loss_burst",
            "it says how losses come, and there are none: add loss",
        ));
    }
    Ok(links)
}

/// The round-trip times asked for: `rtt`, or `delay`, which is that of one way.
fn round_trips(table: &Table<'_>) -> Result<Vec<Duration>, ScenarioError> {
    let delays = table.many("delay", time)?;
    let rtts = table.many("rtt", time)?;
    if !delays.is_empty() && !rtts.is_empty() {
        return Err(table.error(
            "delay",
            "rtt says the same, both ways together: leave out one of them",
        ));
    }
    // Directions that say both their delays leave nothing of the default.
    let own = ["up", "down"].map(|way| table.get(way).and_then(|node| node.get("delay")?.scalar()));
    Ok(
        match own
            .each_ref()
            .map(|text| text.as_deref().and_then(|text| time(text).ok()))
        {
            [Some(up), Some(down)] if delays.is_empty() && rtts.is_empty() => vec![up + down],
            _ if delays.is_empty() => rtts,
            _ => delays.into_iter().map(|delay| delay * 2).collect(),
        },
    )
}

fn or_default<T>(list: Vec<T>, default: T) -> Vec<T> {
    if list.is_empty() { vec![default] } else { list }
}

fn link(table: &Table<'_>, settings: &LinkSettings) -> Result<LinkConfig, ScenarioError> {
    let mut link = settings.link().map_err(|why| table.error("loss_burst", why))?;
    for (key, direction) in [("up", &mut link.up), ("down", &mut link.down)] {
        let Some(node) = table.get(key) else { continue };
        let prefix = format!("{key}.");
        let own = Table::new(node, &prefix, &DIRECTION_KEYS)?;
        for (name, node) in node.entries().unwrap_or_default() {
            let Some(text) = node.scalar() else {
                let kind = node.kind();
                return Err(own.error(&name.name, format!("one value is expected, this is {kind}")));
            };
            let set = settings.set(direction, &name.name, &text);
            set.map_err(|why| ScenarioError::new(&node.place, format!("{key}.{}: {why}", name.name)))?;
        }
    }
    Ok(link)
}

fn burst(text: &str) -> Result<f64, String> {
    let packets = text
        .strip_suffix("packets")
        .unwrap_or(text)
        .trim()
        .parse::<f64>()
        .ok();
    let packets = packets.filter(|packets| *packets >= 1.0 && packets.is_finite());
    packets.ok_or_else(|| format!("{text:?} is no mean number of packets, at least 1"))
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
