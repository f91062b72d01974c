//! How far the clocks of two hosts are apart.

use serde::Serialize;
use wirecost_proto::Direction;

use super::NoHosts;
use super::sides::{Once, Sides};

/// What the time of a packet is wrong by: a host notes it some time before or after the packet is on the wire.
const NOISE_NS: i64 = 100_000;

/// The most that a clock drifts against another: crystals differ by up to 0.0001, and the kernel corrects a clock by up to 0.0005 of
/// its rate (`MAXFREQ` and `adjtime` of Linux). What differs by more was set.
const MOST_DRIFT: f64 = 0.001;

/// What the packets say of the clocks of both hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum HostClocks {
    /// A constant difference, or one that grows or shrinks evenly, explains all packets.
    Steady(ClockOffset),
    /// No such difference explains the packets: a clock was set, or changed its rate. How long a packet took is unknown.
    Set {
        /// The least that it was set by, in nanoseconds.
        at_least_ns: u64,
    },
}

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
    /// The least time that a packet takes by this estimate, less what the times are wrong by.
    #[serde(skip)]
    least_ns: i64,
}

impl HostClocks {
    /// Estimates the difference of the clocks, with a drift where no constant difference explains all packets.
    pub(super) fn estimated(sides: &Sides) -> Result<Self, NoHosts> {
        let once = &sides.once;
        let times = || once.iter().map(|once| once.at_ns);
        let (Some(start), Some(end)) = (times().min(), times().max()) else {
            return Err(NoHosts::OneWay);
        };
        let middle = start.saturating_add(end.saturating_sub(start) / 2);
        let constant = bounds(once, middle, 0.0).ok_or(NoHosts::OneWay)?;
        let (widest, steepness) = widest(once, middle).ok_or(NoHosts::OneWay)?;
        let room = widest.max(constant.room());
        if room < -NOISE_NS {
            return Ok(Self::Set {
                at_least_ns: room.unsigned_abs(),
            });
        }
        let (drift, taken) = if constant.room() < -NOISE_NS {
            (steepness, bounds(once, middle, steepness).ok_or(NoHosts::OneWay)?)
        } else {
            (0.0, constant)
        };
        Ok(Self::Steady(ClockOffset {
            at_ns: middle,
            ahead_ns: taken.centre(),
            within_ns: room.max(0) / 2,
            drift_ns_per_s: drift * 1e9,
            // By the middle between the bounds, a packet takes half of the room between them or more. Half of this is for copies that are
            // not in the bounds.
            least_ns: taken.room().max(0) / 4 - NOISE_NS,
        }))
    }

    /// The difference of the clocks, if it is known.
    pub const fn offset(&self) -> Option<&ClockOffset> {
        match self {
            Self::Steady(offset) => Some(offset),
            Self::Set { .. } => None,
        }
    }
}

impl ClockOffset {
    /// The least time that a packet takes, by this estimate and with what the times are wrong by.
    pub(super) const fn least_ns(&self) -> i64 {
        self.least_ns
    }

    /// What a time of the second host is by the clock of the first.
    pub(super) fn of_first(&self, second_ns: i64) -> i64 {
        let about = second_ns.saturating_sub(self.ahead_ns);
        let drifted = self.drift_ns_per_s * (about.saturating_sub(self.at_ns) as f64 / 1e9);
        about.saturating_sub(drifted as i64)
    }
}

/// What the packets say about the clock: no less than `low`, no more than `high`.
#[derive(Clone, Copy)]
struct Bounds {
    low: i64,
    high: i64,
}

impl Bounds {
    /// Their distance; negative where they exclude each other.
    const fn room(self) -> i64 {
        self.high.saturating_sub(self.low)
    }

    const fn centre(self) -> i64 {
        self.low.saturating_add(self.room() / 2)
    }
}

/// The bounds that the packets set, each of which takes at least no time, if the difference grows by `drift` from the time `from` on.
/// `None` unless both directions have a packet.
fn bounds(once: &[Once], from: i64, drift: f64) -> Option<Bounds> {
    let later = |way: Direction| {
        let of_way = once.iter().filter(move |once| once.way == way);
        of_way.map(move |once| {
            once.later_ns
                .saturating_sub((drift * once.at_ns.saturating_sub(from) as f64) as i64)
        })
    };
    Some(Bounds {
        low: later(Direction::Down).max()?,
        high: later(Direction::Up).min()?,
    })
}

/// The drift that leaves the most room between the bounds of both directions, and this room: the line in the middle of the widest strip
/// between both clouds of packets. `None` unless both directions have a packet.
fn widest(once: &[Once], from: i64) -> Option<(i64, f64)> {
    /// Halvings after which the drift is known to less than a nanosecond in ten years.
    const HALVINGS: usize = 60;
    let base = once.first()?.later_ns;
    // A time, and by how much the second host is later with a packet.
    let points = |way: Direction| -> Vec<(f64, f64)> {
        let of_way = once.iter().filter(|once| once.way == way);
        let point = |once: &Once| {
            (
                once.at_ns.saturating_sub(from) as f64,
                once.later_ns.saturating_sub(base) as f64,
            )
        };
        of_way.map(point).collect()
    };
    let (down, up) = (points(Direction::Down), points(Direction::Up));
    let (mut least, mut most) = (-MOST_DRIFT, MOST_DRIFT);
    let mut best = (f64::NEG_INFINITY, 0.0);
    for _ in 0..HALVINGS {
        let drift = f64::midpoint(least, most);
        let rest = |(at, later): &(f64, f64)| later - drift * at;
        let compared = |one: &&(f64, f64), other: &&(f64, f64)| rest(one).total_cmp(&rest(other));
        let low = down.iter().max_by(compared)?;
        let high = up.iter().min_by(compared)?;
        let room = rest(high) - rest(low);
        if room > best.0 {
            best = (room, drift);
        }
        // A larger drift moves the bounds apart where the lower one is set later than the upper one. The room is concave in the drift, so
        // that the largest is on this side.
        if low.0 > high.0 {
            least = drift;
        } else {
            most = drift;
        }
    }
    Some((best.0.round() as i64, best.1))
}
