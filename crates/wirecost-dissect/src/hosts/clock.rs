//! Which host sends a packet, and how far the clocks of two hosts are apart.

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

impl Sides {
    /// Learns the directions: between two addresses, packets with the larger difference of times come from the first host, whatever
    /// the clocks say.
    pub(super) fn known(logs: [&Log; 2]) -> Result<Self, NoHosts> {
        let mut later: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        for pair in groups::groups(logs).filter_map(groups::once) {
            later.entry(pair[0].ends).or_default().push(later_ns(pair));
        }
        if later.is_empty() {
            return Err(NoHosts::Nothing);
        }
        let medians: BTreeMap<u32, i64> = later
            .into_iter()
            .map(|(ends, values)| (ends, median(values)))
            .collect();
        let opposite = |ends: &u32| medians.get(&logs[0].opposite(*ends)?).copied();
        // Between addresses whose packets of the other direction are not told from each other, what all others have decides.
        let pairs = || {
            medians
                .iter()
                .filter_map(|(ends, later)| Some((*later, opposite(ends)?)))
        };
        let least_up = pairs()
            .filter(|(later, other)| later > other)
            .map(|(later, _)| later)
            .min();
        let most_down = pairs()
            .filter(|(later, other)| later < other)
            .map(|(later, _)| later)
            .max();
        let between = most_down.zip(least_up).map(centre);
        let way = |ends: &u32| {
            let bound = opposite(ends).or(between)?;
            match medians.get(ends)?.cmp(&bound) {
                std::cmp::Ordering::Greater => Some(Direction::Up),
                std::cmp::Ordering::Less => Some(Direction::Down),
                std::cmp::Ordering::Equal => None,
            }
        };
        let mut sides = Self {
            once: Vec::new(),
            ways: Default::default(),
        };
        for pair in groups::groups(logs).filter_map(groups::once) {
            let Some(way) = way(&pair[0].ends) else {
                continue;
            };
            for (host, seen) in pair.iter().enumerate() {
                sides.ways[host].entry(seen.ends).or_insert(way);
                if let Some(opposite) = logs[host].opposite(seen.ends) {
                    sides.ways[host].entry(opposite).or_insert(way.reverse());
                }
            }
            sides.once.push(Once {
                way,
                at_ns: pair[0].at_ns,
                later_ns: later_ns(pair),
            });
        }
        Ok(sides)
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
        let middle = start + end.saturating_sub(start) / 2;
        let of_time = |time| bounds(&sides.once, time, (middle, 0.0));
        let drift = match (of_time((start, middle)), of_time((middle, end))) {
            // Each half allows a range of differences. Where the ranges do not meet, one difference cannot explain both.
            (Some(early), Some(late)) if (early.0 - late.1).max(late.0 - early.1) > NOISE_NS => {
                // The middles of the halves are half of the whole time apart.
                (centre(late) - centre(early)) as f64 / ((end - start) as f64 / 2.0)
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
        let apart_s = second_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        second_ns - self.ahead_ns - (self.drift_ns_per_s * apart_s) as i64
    }
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
    low + high.saturating_sub(low) / 2
}

/// By how much the second host's time of a packet is later than the first one's.
const fn later_ns([one, other]: [Seen; 2]) -> i64 {
    other.at_ns.saturating_sub(one.at_ns)
}

fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}
