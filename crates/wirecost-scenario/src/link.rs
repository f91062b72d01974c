//! The settings of the emulated link, from flags or from a file: lists of which each combination is a link, and the
//! settings of each direction.
//!
//! - `cell`: the settings of a modelled NB-IoT cell in place of an emulated link
//! - [`named`]: links with names
//! - `shape`: the keys of a link
//! - `translator`: what is asked of the address translator

mod cell;
pub mod named;
pub mod shape;
mod translator;

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

pub use wirecost_link::CellProfile;
use wirecost_link::nat::NatTimeouts;
use wirecost_link::{DelayVariation, DirectionConfig, GilbertElliott, LinkConfig, Loss, QueueLimit};
use wirecost_proto::units::parse_duration;
use wirecost_proto::{BitRate, Probability};
pub use wirecost_results::link_text::{
    ReorderSetting, cell_load, coupling_loss, delay_variation, loss, loss_text, mtu, queue, rate, rate_text,
    reorder,
};
use wirecost_results::link_text::{set, set_nat};

use super::error::ScenarioError;
use super::key::names;
use super::node::{Node, Value};
use super::table::{MAX_LIST, Table, ValueError, parsed, text, time};
pub use cell::{CellSettings, MEDIAN_COUPLING_LOSS_DB};
use named::{NamedLink, NamedLinkError};
use shape::LINK;
pub use translator::{Translator, forgotten_after};

/// The round-trip time of a link that does not say its own.
pub const DEFAULT_RTT: Duration = Duration::from_millis(25);

/// A rate; `None` is unlimited.
pub type RateSetting = Option<BitRate>;
/// A queue in front of a rate; `None` is chosen by rate and delay.
type QueueSetting = Option<QueueLimit>;
/// A delay variation; `None` is none.
type VariationSetting = Option<DelayVariation>;

/// The settings of links, from flags or from a file. Every combination of the lists is a link; an empty list has a
/// default.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub struct LinkLists {
    /// Named link (wirecost links lists them) or a file of your own; the other options replace single values of it
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',', value_parser = named_or_file)]
    pub link: Vec<NamedLink>,

    /// Rate in each direction, in bits of IP packets per second: 50kbit, 1Mbit [default: unlimited]
    #[arg(id = "link_rate", long = "link-rate", value_name = "RATE", value_delimiter = ',', value_parser = rate, allow_hyphen_values = true)]
    pub rate: Vec<RateSetting>,

    /// Round-trip time; half of it in each direction [default: 25ms]
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = parse_duration, allow_hyphen_values = true)]
    pub rtt: Vec<Duration>,

    /// Share of packets lost in each direction [default: 0%]
    #[arg(long, value_name = "P", value_delimiter = ',', value_parser = loss, allow_hyphen_values = true)]
    pub loss: Vec<Loss>,

    /// Mean number of packets in a burst of losses: uses the Gilbert-Elliott model instead of independent losses
    #[arg(long, value_name = "PACKETS", value_parser = burst, allow_hyphen_values = true, hide_short_help = true)]
    pub loss_burst: Option<f64>,

    /// Size of the queue in front of the rate, in packets (64packets) or bytes (32kB) [default: 1 BDP or 64 packets]
    #[arg(long, value_name = "LIMIT", value_parser = queue, allow_hyphen_values = true, hide_short_help = true)]
    pub queue: Option<QueueSetting>,

    /// Variation of the delay in each direction: uniform within plus or minus TIME, or 'normal TIME' with this standard
    /// deviation
    #[arg(long, value_name = "TIME", value_parser = delay_variation, allow_hyphen_values = true, hide_short_help = true)]
    pub delay_variation: Option<VariationSetting>,

    /// Probability that a packet is delayed until later ones have passed [default: 0%]
    #[arg(long, value_name = "P", value_parser = reorder, allow_hyphen_values = true, hide_short_help = true)]
    pub reorder: Option<ReorderSetting>,

    /// Probability that a packet arrives twice [default: 0%]
    #[arg(long, value_name = "P", allow_hyphen_values = true, hide_short_help = true)]
    pub duplicate: Option<Probability>,

    /// Probability that a packet arrives with a flipped bit [default: 0%]
    #[arg(long, value_name = "P", allow_hyphen_values = true, hide_short_help = true)]
    pub corrupt: Option<Probability>,

    /// Size of the largest IP packet [default: 1500B]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = mtu, allow_hyphen_values = true, hide_short_help = true)]
    pub mtu: Vec<u16>,

    /// The address translator.
    #[command(flatten)]
    pub translator: Translator,

    /// Different settings for the direction from device to server: delay=5ms,loss=1%,rate=50kbit,queue=10packets,...
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub up: Option<OwnSettings>,

    /// Different settings for the direction from server to device
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub down: Option<OwnSettings>,

    /// The modelled NB-IoT cell that the link is.
    #[arg(skip)]
    pub cell: CellSettings,
}

/// The settings of one direction, as texts. They replace the shared settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnSettings(Vec<(String, String)>);

impl FromStr for OwnSettings {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let setting = |setting: &str| {
            let (key, value) = setting
                .split_once('=')
                .ok_or_else(|| ValueError::form(setting, "KEY=VALUE"))?;
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        };
        text.split(',').map(setting).collect::<Result<_, _>>().map(Self)
    }
}

/// Why lists cannot be turned into links.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LinkError {
    /// There are too many combinations.
    #[error("there are more than {0} links")]
    TooMany(usize),
    /// Bursts are asked for where nothing is lost.
    #[error("bursts of losses need a loss")]
    NothingLost,
    /// The ports of an address translator that forgets no UDP port.
    #[error(
        "an address translator gives another port to a UDP port that it has forgotten, and this one forgets none"
    )]
    NothingForgotten,
    /// No model has bursts of this length and this loss.
    #[error("no bursts of {packets} packets on average lose {share}: the mean is at least 1 packet")]
    NoBursts {
        /// The mean length of a burst in packets.
        packets: f64,
        /// The share of packets that are lost.
        share: Probability,
    },
    /// A modelled cell has a setting of an emulated link.
    #[error("an NB-IoT cell decides its delays, rates and losses itself: leave out {0}")]
    CellDecides(&'static str),
    /// A setting of a modelled cell on an emulated link.
    #[error("{0} is a setting of a modelled NB-IoT cell: take the link nbiot")]
    NoCell(&'static str),
    /// A direction has a key that it cannot have.
    #[error("{way} {key}: {source}")]
    Direction {
        /// `up` or `down`.
        way: &'static str,
        /// The key.
        key: String,
        /// What is wrong with it.
        source: ValueError,
    },
}

impl LinkLists {
    /// Whether any setting is given.
    pub fn is_given(&self) -> bool {
        *self != Self::default()
    }

    /// Every combination of the lists as a link, of each named link first. The last list changes first.
    ///
    /// # Errors
    /// There are too many, one cannot be made, or bursts are asked for where nothing is lost.
    pub fn links(&self) -> Result<Vec<LinkConfig>, LinkError> {
        let mut links = Vec::new();
        if self.link.is_empty() {
            links = self.combinations()?;
        }
        for named in &self.link {
            links.extend(self.over(&named.settings).combinations()?);
            // In the loop: each named link multiplies with all lists, and the next could fill the memory.
            if links.len() > MAX_LIST {
                return Err(LinkError::TooMany(MAX_LIST));
            }
        }
        let loses = |link: &LinkConfig| link.up.loss.rate() + link.down.loss.rate() > 0.0;
        if self.loss_burst.is_some() && !links.iter().any(loses) {
            return Err(LinkError::NothingLost);
        }
        self.translator.check(&links)?;
        Ok(links)
    }

    /// These settings, and those of `base` where these say nothing. A setting of both directions replaces those of single
    /// directions of `base`.
    fn over(&self, base: &Self) -> Self {
        let loses = self.loss.iter().any(|loss| loss.rate() > 0.0);
        // `loss: 0` over a link with bursts takes both away: bursts without loss would be refused.
        let burst = base.loss_burst.filter(|_| self.loss.is_empty() || loses);
        let either = |own: &Option<OwnSettings>, base: &Option<OwnSettings>| {
            let kept = base.iter().flat_map(|settings| &settings.0);
            let kept = kept.filter(|(key, _)| !self.gives(key)).cloned();
            let own = own.iter().flat_map(|settings| &settings.0).cloned();
            Some(OwnSettings(kept.chain(own).collect()))
        };
        Self {
            link: Vec::new(),
            rate: first(&self.rate, &base.rate),
            rtt: first(&self.rtt, &base.rtt),
            loss: first(&self.loss, &base.loss),
            loss_burst: self.loss_burst.or(burst),
            queue: self.queue.or(base.queue),
            delay_variation: self.delay_variation.or(base.delay_variation),
            reorder: self.reorder.or(base.reorder),
            duplicate: self.duplicate.or(base.duplicate),
            corrupt: self.corrupt.or(base.corrupt),
            mtu: first(&self.mtu, &base.mtu),
            translator: self.translator.over(base.translator),
            up: either(&self.up, &base.up),
            down: either(&self.down, &base.down),
            cell: self.cell.over(base.cell),
        }
    }

    /// Whether these settings give a key of a direction to both directions.
    fn gives(&self, key: &str) -> bool {
        match key {
            "delay" => !self.rtt.is_empty(),
            "delay_variation" => self.delay_variation.is_some(),
            "loss" => !self.loss.is_empty(),
            "reorder" => self.reorder.is_some(),
            "duplicate" => self.duplicate.is_some(),
            "corrupt" => self.corrupt.is_some(),
            "rate" => !self.rate.is_empty(),
            "queue" => self.queue.is_some(),
            "mtu" => !self.mtu.is_empty(),
            _ => false,
        }
    }

    /// Every combination of the lists. The last list changes first.
    fn combinations(&self) -> Result<Vec<LinkConfig>, LinkError> {
        let lengths = [self.rtt.len(), self.loss.len(), self.rate.len(), self.mtu.len()];
        let count = lengths
            .iter()
            // Counted before any is made, and without an overflow.
            .fold(1, |all: usize, length| all.saturating_mul((*length).max(1)));
        if count > MAX_LIST {
            return Err(LinkError::TooMany(MAX_LIST));
        }
        let cell = self.cell.cell()?;
        let mut links = Vec::with_capacity(count);
        for rtt in or_default(&self.rtt, DEFAULT_RTT) {
            for loss in or_default(&self.loss, Loss::None) {
                for rate in or_default(&self.rate, None) {
                    for mtu in or_default(&self.mtu, DirectionConfig::default().mtu) {
                        let link = self.link(rtt, loss, rate, mtu)?;
                        links.push(cell::in_cell(link, cell)?);
                    }
                }
            }
        }
        Ok(links)
    }

    fn link(
        &self,
        rtt: Duration,
        loss: Loss,
        rate: Option<BitRate>,
        mtu: u16,
    ) -> Result<LinkConfig, LinkError> {
        let symmetric = LinkConfig::symmetric(rtt);
        let loss = self.in_bursts(loss)?;
        let both = |delay| DirectionConfig {
            delay,
            delay_variation: self.delay_variation.flatten(),
            loss,
            reorder: self.reorder.and_then(|reorder| reorder.on_link(rtt)),
            duplicate: self.duplicate.unwrap_or_default(),
            corrupt: self.corrupt.unwrap_or_default(),
            rate,
            queue: self.queue.flatten(),
            mtu,
        };
        let mut link = LinkConfig {
            up: both(symmetric.up.delay),
            down: both(symmetric.down.delay),
            nat: self.translator.on(NatTimeouts::default()),
            cell: None,
        };
        for (way, own, direction) in [
            ("up", &self.up, &mut link.up),
            ("down", &self.down, &mut link.down),
        ] {
            for (key, text) in own.iter().flat_map(|own| &own.0) {
                set(direction, key, text, rtt).map_err(|source| LinkError::Direction {
                    way,
                    key: key.clone(),
                    source,
                })?;
                // The loss of one direction was read by itself: the bursts of the link apply to it as well.
                if key == "loss" {
                    direction.loss = self.in_bursts(direction.loss)?;
                }
            }
        }
        Ok(link)
    }

    /// The same loss, in bursts where those are asked for.
    fn in_bursts(&self, loss: Loss) -> Result<Loss, LinkError> {
        let share = match loss {
            Loss::None => Probability::ZERO,
            Loss::Bernoulli(share) => share,
            Loss::GilbertElliott(_) => return Ok(loss),
        };
        let Some(packets) = self.loss_burst else {
            return Ok(loss);
        };
        GilbertElliott::bursts(share, packets)
            .map(Loss::GilbertElliott)
            .ok_or(LinkError::NoBursts { packets, share })
    }
}

/// The list `own`, or `base` where it is empty.
fn first<T: Clone>(own: &[T], base: &[T]) -> Vec<T> {
    if own.is_empty() { base } else { own }.to_vec()
}

fn or_default<T: Copy>(list: &[T], default: T) -> Vec<T> {
    if list.is_empty() {
        vec![default]
    } else {
        list.to_vec()
    }
}

/// Reads the mean length of a burst of losses in packets: `3`, or `3packets`.
///
/// # Errors
/// It is not a number of at least 1.
pub fn burst(text: &str) -> Result<f64, ValueError> {
    let number = text.strip_suffix("packets").unwrap_or(text).trim();
    let packets = number.parse::<f64>().ok();
    let packets = packets.filter(|packets| *packets >= 1.0 && packets.is_finite());
    packets.ok_or_else(|| ValueError::form(text, "a mean number of packets: the mean is at least 1 packet"))
}

/// Finds the link of a name, or in a file of the current folder.
///
/// # Errors
/// There is no such link, or the file is not one.
pub fn named_or_file(text: &str) -> Result<NamedLink, NamedLinkError> {
    NamedLink::find(text, Some(Path::new("")))
}

/// The name of a link by itself, or a list of names, as the table that means the same. Other values stay as they are.
pub fn spelled_out(node: &mut Node) {
    let is_name = |node: &Node| node.scalar().is_some();
    let names = match &node.value {
        Value::List(nodes) => !nodes.is_empty() && nodes.iter().all(is_name),
        _ => is_name(node),
    };
    if names {
        let key = super::node::Key {
            place: node.place.clone(),
            name: "name".to_owned(),
        };
        let table = Value::Table(vec![(key, node.clone())]);
        *node = Node::at(&node.place, table);
    }
}

/// The links of a table: every combination of the lists of names, RTT, loss, rate and MTU. Files are in `folder`; without one
/// they are refused.
///
/// # Errors
/// A key is unknown, or a value cannot be read.
pub fn links(node: &Node, prefix: &str, folder: Option<&Path>) -> Result<Vec<LinkConfig>, ScenarioError> {
    let mut node = node.clone();
    spelled_out(&mut node);
    let table = Table::new(&node, prefix, &names(LINK))?;
    let find = |name: String| {
        let found = NamedLink::find(&name, folder);
        found.map_err(|error| table.error("name", error))
    };
    let lists = LinkLists {
        link: table
            .many("name", text)?
            .into_iter()
            .map(find)
            .collect::<Result<_, _>>()?,
        ..lists(&node, prefix)?
    };
    lists.links().map_err(|error| match error {
        LinkError::Direction { way, key, source } => match table.get(way) {
            Some(node) => Table::at(node, &format!("{way}.")).error(&key, source),
            None => table.error(way, source),
        },
        // No single list is too long, but all together: the first one is named.
        LinkError::TooMany(_) => table.error("rtt", error),
        LinkError::NothingLost => table.error("loss_burst", "it needs loss"),
        LinkError::NothingForgotten => table.error("nat", "it needs nat_timeout.udp"),
        LinkError::NoBursts { .. } => table.error("loss_burst", error),
        LinkError::CellDecides(key) | LinkError::NoCell(key) => table.error(key, error),
    })
}

/// The settings of a table, without its named links.
fn lists(node: &Node, prefix: &str) -> Result<LinkLists, ScenarioError> {
    let table = Table::new(node, prefix, &names(LINK))?;
    Ok(LinkLists {
        link: Vec::new(),
        rtt: round_trips(&table)?,
        loss: table.many("loss", loss)?,
        loss_burst: table.one("loss_burst", burst)?,
        queue: table.one("queue", queue)?,
        delay_variation: table.one("delay_variation", delay_variation)?,
        reorder: table.one("reorder", reorder)?,
        duplicate: table.one("duplicate", parsed)?,
        corrupt: table.one("corrupt", parsed)?,
        rate: table.many("rate", rate)?,
        mtu: table.many("mtu", mtu)?,
        translator: Translator {
            nat_timeout: nat(&table)?,
            nat: table.one("nat", parsed)?,
        },
        up: own_settings(&table, "up")?,
        down: own_settings(&table, "down")?,
        cell: CellSettings {
            profile: table.one("cell", parsed)?,
            load: table.one("cell_load", cell_load)?,
            coupling_loss_db: table.one("coupling_loss", coupling_loss)?,
        },
    })
}

/// The time-outs of an address translator.
fn nat(table: &Table<'_>) -> Result<Option<NatTimeouts>, ScenarioError> {
    const KEY: &str = "nat_timeout";
    let Some(node) = table.get(KEY) else {
        return Ok(None);
    };
    let own = Table::new(node, "nat_timeout.", &names(shape::NAT))?;
    let mut nat = NatTimeouts::default();
    for (key, node) in node.entries().unwrap_or_default() {
        let text = node.scalar().unwrap_or_default();
        set_nat(&mut nat, &key.name, &text).map_err(|error| own.error(&key.name, error))?;
    }
    Ok(Some(nat))
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
    if !delays.is_empty() {
        return Ok(delays.into_iter().map(|delay| delay * 2).collect());
    }
    // Where both directions have a delay of their own, the default round-trip time does not matter.
    match ["up", "down"].map(|way| own_delay(table, way)) {
        [Some(up), Some(down)] if rtts.is_empty() => Ok(vec![up + down]),
        _ => Ok(rtts),
    }
}

/// The delay of one direction, where the direction has a delay that can be read.
fn own_delay(table: &Table<'_>, way: &str) -> Option<Duration> {
    let text = table.get(way)?.get("delay")?.scalar()?;
    time(&text).ok()
}

/// The settings of one direction, as texts.
fn own_settings(table: &Table<'_>, way: &str) -> Result<Option<OwnSettings>, ScenarioError> {
    let Some(node) = table.get(way) else {
        return Ok(None);
    };
    let prefix = format!("{way}.");
    let own = Table::new(node, &prefix, &names(shape::DIRECTION))?;
    let setting = |(key, node): &(super::node::Key, Node)| {
        let text = node.scalar().ok_or_else(|| {
            let kind = node.kind();
            own.error(&key.name, format!("one value is expected, this is {kind}"))
        })?;
        Ok((key.name.clone(), text))
    };
    let entries = node.entries().unwrap_or_default().iter().map(setting);
    Ok(Some(OwnSettings(entries.collect::<Result<_, ScenarioError>>()?)))
}
