//! Which of two hosts sends a packet.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use wirecost_proto::Direction;

use super::log::Seen;
use super::{Log, NoHosts, groups};

/// A packet that each logger has once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Once {
    pub(super) way: Direction,
    /// When the first host had it, by its own clock.
    pub(super) at_ns: i64,
    /// By how much the second host's time is later.
    pub(super) later_ns: i64,
}

/// The directions of the packets.
#[derive(Debug)]
pub(super) struct Sides {
    /// The packets that each logger has once and whose direction is known.
    pub(super) once: Vec<Once>,
    /// The direction of each pair of addresses, by its number in the log of each host.
    ways: [BTreeMap<u32, Direction>; 2],
}

/// When the first host had a packet, and by how much the second host's time is later.
type Compared = (i64, i64);

/// What the packets that each logger has once say of each pair of addresses of the first log.
struct Later {
    /// By how much the second host is later: the median.
    medians: BTreeMap<u32, i64>,
    /// Whether it is later than with the other direction, where both have packets.
    compared: BTreeMap<u32, Ordering>,
}

impl Later {
    fn measured(logs: [&Log; 2]) -> Self {
        let first = logs[0];
        let mut later: BTreeMap<u32, Vec<Compared>> = BTreeMap::new();
        for pair in groups::groups(logs).filter_map(groups::once) {
            let packets = later.entry(pair[0].ends).or_default();
            packets.push((pair[0].at_ns, later_ns(pair)));
        }
        let mut compared = BTreeMap::new();
        for (ends, packets) in &later {
            let opposite = first.opposite(*ends).filter(|opposite| ends < opposite);
            let both = opposite.and_then(|opposite| Some((opposite, later.get(&opposite)?)));
            if let Some((opposite, others)) = both {
                let order = order(packets, others);
                compared.insert(*ends, order);
                compared.insert(opposite, order.reverse());
            }
        }
        let medians = later.into_iter().map(|(ends, packets)| (ends, median(packets)));
        Self {
            medians: medians.collect(),
            compared,
        }
    }

    /// Between the medians of both directions, over all addresses that have both.
    fn between(&self) -> Option<i64> {
        let medians = |order: Ordering| {
            let of_order = self
                .compared
                .iter()
                .filter(move |(_, compared)| **compared == order);
            of_order.filter_map(|(ends, _)| self.medians.get(ends).copied())
        };
        let (low, high) = (medians(Ordering::Less).max()?, medians(Ordering::Greater).min()?);
        Some(low.saturating_add(high.saturating_sub(low) / 2))
    }

    /// The direction of a pair of addresses, whatever the clocks say. `between` decides where no packet of the other direction is in both logs.
    fn way(&self, ends: u32, between: Option<i64>) -> Option<Direction> {
        let order = match self.compared.get(&ends) {
            Some(order) => *order,
            None => self.medians.get(&ends)?.cmp(&between?),
        };
        match order {
            Ordering::Greater => Some(Direction::Up),
            Ordering::Less => Some(Direction::Down),
            Ordering::Equal => None,
        }
    }

    /// Why no packet has a direction.
    fn undirected(&self) -> NoHosts {
        let is_same = |(ends, later): (&u32, &i64)| *later == 0 || self.compared.contains_key(ends);
        if self.medians.is_empty() {
            NoHosts::Nothing
        } else if self.medians.iter().any(is_same) {
            NoHosts::SameTimes
        } else {
            NoHosts::OneWay
        }
    }
}

impl Sides {
    /// Learns the directions: between two addresses, packets with which the second host is later come from the first one, compared with
    /// those of the other direction.
    pub(super) fn known(logs: [&Log; 2]) -> Result<Self, NoHosts> {
        let later = Later::measured(logs);
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
        if sides.once.is_empty() {
            return Err(later.undirected());
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

/// Whether the second host is later with packets of one direction than with those of the other. Only neighbours in time are compared:
/// clocks that drift or are set change little between them.
fn order(one: &[Compared], other: &[Compared]) -> Ordering {
    let one = one.iter().map(|(at, later)| (*at, false, *later));
    let other = other.iter().map(|(at, later)| (*at, true, *later));
    let mut all: Vec<_> = one.chain(other).collect();
    all.sort_unstable();
    let votes = all.iter().zip(all.iter().skip(1)).map(|(before, after)| {
        let order = before.2.cmp(&after.2) as i64;
        match (before.1, after.1) {
            (false, true) => order,
            (true, false) => -order,
            (true, true) | (false, false) => 0,
        }
    });
    votes.sum::<i64>().cmp(&0)
}

/// By how much the second host's time of a packet is later than the first one's.
const fn later_ns([one, other]: [Seen; 2]) -> i64 {
    other.at_ns.saturating_sub(one.at_ns)
}

fn median(packets: Vec<Compared>) -> i64 {
    let mut values: Vec<i64> = packets.into_iter().map(|(_, later)| later).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}
