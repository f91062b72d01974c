//! The emulated link as it is asked for, by a file or by flags, and what each direction has of its own.
//!
//! - `settings`: what both directions have in common, and what one has of its own
//! - `values`: quantities as texts

mod settings;
mod values;

use std::time::Duration;

use wirecost_link::{DirectionConfig, LinkConfig};
use wirecost_proto::BitRate;

use super::error::ScenarioError;
use super::node::Node;
use super::table::{MAX_LIST, Table, combined, parsed, time};
pub use settings::{DEFAULT_RTT, DIRECTION_KEYS, LinkSettings, LossSetting, ReorderSetting, held_back};
pub use values::{
    burst, delay_variation, delay_variation_text, loss, mtu, queue, rate, reorder, reorder_text,
};

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
/// Links as they are asked for: what they have in common, and lists of which each combination is a link.
#[derive(Clone, Debug, Default)]
pub struct LinkLists {
    /// What is not in the lists, and the value where a list is empty.
    pub base: LinkSettings,
    /// Round-trip times.
    pub rtt: Vec<Duration>,
    /// Losses.
    pub loss: Vec<LossSetting>,
    /// Rates; `None` is unlimited.
    pub rate: Vec<Option<BitRate>>,
    /// Sizes of the largest IP packet in bytes.
    pub mtu: Vec<u16>,
}

/// Why lists make no links.
#[derive(Debug)]
pub enum ListError<E> {
    /// They make more than this many.
    TooMany(usize),
    /// A mean length of bursts of losses is asked for, and no losses.
    NothingLost,
    /// One of them cannot be.
    Link(E),
}

impl LinkLists {
    /// The links: every combination, each made of its settings by `link`. The last list changes first.
    ///
    /// # Errors
    /// There are too many, one cannot be made, or bursts are asked for where nothing is lost.
    pub fn links<E>(
        &self,
        link: impl Fn(&LinkSettings) -> Result<LinkConfig, E>,
    ) -> Result<Vec<LinkConfig>, ListError<E>> {
        let combinations = self.combinations();
        if combinations.len() > MAX_LIST {
            return Err(ListError::TooMany(MAX_LIST));
        }
        let links = combinations.iter().map(link).collect::<Result<Vec<_>, E>>();
        let links = links.map_err(ListError::Link)?;
        let loses = |link: &LinkConfig| link.up.loss.rate() + link.down.loss.rate() > 0.0;
        if self.base.loss_burst.is_some() && !links.iter().any(loses) {
            return Err(ListError::NothingLost);
        }
        Ok(links)
    }

    fn combinations(&self) -> Vec<LinkSettings> {
        let all = combined(&[self.base], &self.rtt, MAX_LIST, |link, rtt| link.rtt = *rtt);
        let all = combined(&all, &self.loss, MAX_LIST, |link, loss| link.loss = *loss);
        let all = combined(&all, &self.rate, MAX_LIST, |link, rate| link.rate = *rate);
        combined(&all, &self.mtu, MAX_LIST, |link, mtu| link.mtu = *mtu)
    }
}

/// The links of a table: every combination of the lists of RTT, loss, rate and MTU.
///
/// # Errors
/// A key is unknown, or a value cannot be read.
pub fn links(node: &Node, prefix: &str) -> Result<Vec<LinkConfig>, ScenarioError> {
    let table = Table::new(node, prefix, &KEYS)?;
    let default = LinkSettings::default();
    let lists = LinkLists {
        base: LinkSettings {
            delay_variation: table.one("delay_variation", delay_variation)?.flatten(),
            loss_burst: table.one("loss_burst", burst)?,
            reorder: table.one("reorder", reorder)?.unwrap_or(default.reorder),
            duplicate: table.one("duplicate", parsed)?.unwrap_or_default(),
            corrupt: table.one("corrupt", parsed)?.unwrap_or_default(),
            queue: table.one("queue", queue)?.flatten(),
            ..default
        },
        rtt: round_trips(&table)?,
        loss: table.many("loss", loss)?,
        rate: table.many("rate", rate)?,
        mtu: table.many("mtu", mtu)?,
    };
    let links = lists.links(|settings| link(&table, settings));
    links.map_err(|error| match error {
        ListError::TooMany(most) => table.error("rtt", format!("there are more than {most} links")),
        ListError::NothingLost => table.error("loss_burst", "it needs loss"),
        ListError::Link(error) => error,
    })
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
    // Directions that say both their delays leave nothing of the default.
    match ["up", "down"].map(|way| own_delay(table, way)) {
        [Some(up), Some(down)] if rtts.is_empty() => Ok(vec![up + down]),
        _ => Ok(rtts),
    }
}

/// The delay that a direction says for itself, where it can be read.
fn own_delay(table: &Table<'_>, way: &str) -> Option<Duration> {
    let text = table.get(way)?.get("delay")?.scalar()?;
    time(&text).ok()
}

fn link(table: &Table<'_>, settings: &LinkSettings) -> Result<LinkConfig, ScenarioError> {
    let mut link = settings.link().map_err(|why| table.error("loss_burst", why))?;
    for (way, direction) in [("up", &mut link.up), ("down", &mut link.down)] {
        if let Some(node) = table.get(way) {
            set_all(settings, direction, node, way)?;
        }
    }
    Ok(link)
}

/// Sets everything that one direction has of its own.
fn set_all(
    settings: &LinkSettings,
    direction: &mut DirectionConfig,
    node: &Node,
    way: &str,
) -> Result<(), ScenarioError> {
    let prefix = format!("{way}.");
    let own = Table::new(node, &prefix, &DIRECTION_KEYS)?;
    for (name, node) in node.entries().unwrap_or_default() {
        let Some(text) = node.scalar() else {
            let kind = node.kind();
            return Err(own.error(&name.name, format!("one value is expected, this is {kind}")));
        };
        let set = settings.set(direction, &name.name, &text);
        set.map_err(|why| own.error(&name.name, why))?;
    }
    Ok(())
}
