//! Which host sends a packet, and how far the clocks of two hosts are apart.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;
use wirecost_proto::Direction;

use super::log::Seen;
use super::{Log, NoHosts, groups};

/// What the time of a packet is wrong by: a host notes it some time before or after the packet is on the wire.
const NOISE_NS: i64 = 100_000;

/// How far the clock of the second host is ahead of the first one's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClockOffset {
    /// The time of the first host's clock for which `ahead_ns` holds, in nanoseconds since 1970.
    pub at_ns: i64,
    /// Nanoseconds that the second clock is ahead.
    pub ahead_ns: i64,
    /// How far `ahead_ns` may be wrong: half of the shortest way there and back.
    pub within_ns: i64,
    /// What `ahead_ns` grows by in a second; 0 where a difference that stays explains all packets.
    pub drift_ns_per_s: f64,
}

/// A packet that each logger has once.
#[derive(Clone, Copy, Debug)]
struct Once {
    way: Direction,
    /// When the first host had it, by its own clock.
    at_ns: i64,
    /// By how much the second host's time is later.
    later_ns: i64,
}

/// The directions of the packets.
#[derive(Debug)]
pub(super) struct Sides {
    once: Vec<Once>,
    /// The direction of each pair of addresses, by its number in the log of each host.
    ways: [BTreeMap<u32, Direction>; 2],
}

/// By how much the second host is later with packets of the first log that each logger has once: the median for each pair of addresses.
struct Later<'a> {
    first: &'a Log,
    medians: BTreeMap<u32, i64>,
}

impl<'a> Later<'a> {
    fn measured(logs: [&'a Log; 2]) -> Self {
        let mut later: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        for pair in groups::groups(logs).filter_map(groups::once) {
            later.entry(pair[0].ends).or_default().push(later_ns(pair));
        }
        let medians = later.into_iter().map(|(ends, values)| (ends, median(values)));
        Self {
            first: logs[0],
            medians: medians.collect(),
        }
    }

    /// The median of the other direction between two addresses.
    fn opposite(&self, ends: u32) -> Option<i64> {
        self.medians.get(&self.first.opposite(ends)?).copied()
    }

    /// Between the medians of both directions, over all addresses that have both.
    fn between(&self) -> Option<i64> {
        let both = || {
            self.medians
                .iter()
                .filter_map(|(ends, later)| Some((*later, self.opposite(*ends)?)))
        };
        let up = both().filter(|(later, opposite)| later > opposite);
        let down = both().filter(|(later, opposite)| later < opposite);
        let bounds = (
            down.map(|(later, _)| later).max()?,
            up.map(|(later, _)| later).min()?,
        );
        Some(centre(bounds))
    }

    /// The direction of a pair of addresses, whatever the clocks say. `between` decides where packets of the other direction are not told
    /// from each other.
    fn way(&self, ends: u32, between: Option<i64>) -> Option<Direction> {
        let bound = self.opposite(ends).or(between)?;
        match self.medians.get(&ends)?.cmp(&bound) {
            Ordering::Greater => Some(Direction::Up),
            Ordering::Less => Some(Direction::Down),
            Ordering::Equal => None,
        }
    }
}

impl Sides {
    /// Learns the directions: between two addresses, packets with which the second host is later come from the first one, compared with
    /// those of the other direction.
    pub(super) fn known(logs: [&Log; 2]) -> Result<Self, NoHosts> {
        let later = Later::measured(logs);
        if later.medians.is_empty() {
            return Err(NoHosts::Nothing);
        }
        let between = later.between();
        let mut sides = Self {
            once: Vec::new(),
            ways: Default::default(),
        };
        for pair in groups::groups(logs).filter_map(groups::once) {
            if let Some(way) = later.way(pair[0].ends, between) {
                sides.note(logs, pair, way);
            }
        }
        Ok(sides)
    }

    /// Notes a packet that each logger has once.
    fn note(&mut self, logs: [&Log; 2], pair: [Seen; 2], way: Direction) {
        for (host, seen) in pair.iter().enumerate() {
            self.ways[host].entry(seen.ends).or_insert(way);
            if let Some(opposite) = logs[host].opposite(seen.ends) {
                self.ways[host].entry(opposite).or_insert(way.reverse());
            }
        }
        self.once.push(Once {
            way,
            at_ns: pair[0].at_ns,
            later_ns: later_ns(pair),
        });
    }

    /// The direction of a pair of addresses in the log of a host; `None` where nothing between them is in both logs.
    pub(super) fn way(&self, host: usize, ends: u32) -> Option<Direction> {
        self.ways[host].get(&ends).copied()
    }
}

/// What the packets of a time say about the clock: no less than the first, no more than the second.
type Bounds = (i64, i64);

impl ClockOffset {
    /// Estimates the difference of the clocks: once for all packets, and with a drift where halves of the time exclude each other.
    pub(super) fn estimated(sides: &Sides) -> Result<Self, NoHosts> {
        let times = || sides.once.iter().map(|once| once.at_ns);
        let (Some(start), Some(end)) = (times().min(), times().max()) else {
            return Err(NoHosts::OneWay);
        };
        let middle = start.saturating_add(end.saturating_sub(start) / 2);
        let of_time = |time| bounds(&sides.once, time, (middle, 0.0));
        let drift = match (of_time((start, middle)), of_time((middle, end))) {
            // Each half allows a range of differences. Where the ranges do not meet, one difference cannot explain both.
            (Some(early), Some(late)) if start < end && apart(early, late) > NOISE_NS => {
                // The middles of the halves are half of the whole time apart.
                centre(late).saturating_sub(centre(early)) as f64 / (end.saturating_sub(start) as f64 / 2.0)
            }
            _ => 0.0,
        };
        let all = bounds(&sides.once, (start, end), (middle, drift)).ok_or(NoHosts::OneWay)?;
        Ok(Self {
            at_ns: middle,
            ahead_ns: centre(all),
            within_ns: (all.1.saturating_sub(all.0) / 2).saturating_abs(),
            drift_ns_per_s: drift * 1e9,
        })
    }

    /// The least time that a packet takes, by this estimate and with what the times are wrong by.
    pub(super) const fn least_ns(&self) -> i64 {
        self.within_ns / 2 - NOISE_NS
    }

    /// What a time of the second host is by the clock of the first.
    pub(super) fn of_first(&self, second_ns: i64) -> i64 {
        let about = second_ns.saturating_sub(self.ahead_ns);
        let drifted = self.drift_ns_per_s * (about.saturating_sub(self.at_ns) as f64 / 1e9);
        about.saturating_sub(drifted as i64)
    }
}

/// How far two ranges are apart; negative where they meet.
fn apart(one: Bounds, other: Bounds) -> i64 {
    one.0.saturating_sub(other.1).max(other.0.saturating_sub(one.1))
}

/// The bounds that the packets of a time set: each takes at least no time. `drift` is a time, and by how much the difference grows
/// from then on. `None` unless both directions have a packet.
fn bounds(once: &[Once], (start, end): (i64, i64), (from, drift): (i64, f64)) -> Option<Bounds> {
    let later = |way: Direction| {
        let of_time = once
            .iter()
            .filter(move |once| once.way == way && (start..=end).contains(&once.at_ns));
        of_time.map(move |once| {
            once.later_ns
                .saturating_sub((drift * once.at_ns.saturating_sub(from) as f64) as i64)
        })
    };
    Some((later(Direction::Down).max()?, later(Direction::Up).min()?))
}

const fn centre((low, high): Bounds) -> i64 {
    low.saturating_add(high.saturating_sub(low) / 2)
}

/// By how much the second host's time of a packet is later than the first one's.
const fn later_ns([one, other]: [Seen; 2]) -> i64 {
    other.at_ns.saturating_sub(one.at_ns)
}

fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}
