//! The offset between the monotonic clocks of two machines, from exchanges of messages. No IO, no clock of its own.
//!
//! ```text
//! this clock:   sent ----------------------------- heard
//!                   \  up                  down  /
//! other clock:      received ------------- answered
//!
//! up   >= 0:  offset <= received - sent
//! down >= 0:  offset >= answered - heard
//! ```
//!
//! The offset is what the other clock shows more than this one. Each exchange gives an interval that contains it, however
//! unequal the two ways are. Intervals of several exchanges are intersected, so that the fastest exchange of each way
//! decides. Older intervals are widened by the most that two clocks can drift apart.

/// The most that two clocks drift apart, in parts per million: the kernel changes the rate of a clock by at most 500 ppm
/// (adjtimex(2)), and there are two clocks.
pub const MOST_DRIFT_PPM: u64 = 1_000;

/// The stamps of an exchange, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Before the question was sent, on this clock.
    pub sent_ns: u64,
    /// After the question was received, on the other clock.
    pub received_ns: u64,
    /// Before the answer was sent, on the other clock.
    pub answered_ns: u64,
    /// After the answer was received, on this clock.
    pub heard_ns: u64,
}

/// An interval that contains the offset at a moment of this clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The moment, in nanoseconds of this clock.
    pub at_ns: u64,
    /// The lower end, in nanoseconds.
    pub low_ns: i64,
    /// The upper end, in nanoseconds.
    pub high_ns: i64,
}

/// The drift of the other clock against this one, in parts per million.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The drift.
    pub ppm: f64,
    /// Its bound.
    pub error_ppm: f64,
}

/// The offset over time.
#[derive(Clone, Debug, Default)]
pub struct Offsets {
    /// What is known after the last exchange.
    known: Option<Bounds>,
    /// What was known at the end of each round of exchanges, in order.
    rounds: Vec<Bounds>,
    exchanges: u64,
    longest_ns: u64,
    contradicted: bool,
}

impl Exchange {
    /// The time that the message was on its way, in both directions together.
    pub const fn round_trip_ns(&self) -> u64 {
        let all = self.heard_ns.saturating_sub(self.sent_ns);
        all.saturating_sub(self.answered_ns.saturating_sub(self.received_ns))
    }
}

impl Bounds {
    /// What an exchange says; `None` if its stamps contradict one another.
    pub fn from_exchange(exchange: &Exchange) -> Option<Self> {
        let Exchange {
            sent_ns,
            received_ns,
            answered_ns,
            heard_ns,
        } = *exchange;
        if heard_ns < sent_ns || answered_ns < received_ns {
            return None;
        }
        let half = (heard_ns - sent_ns) / 2;
        let bounds = Self {
            at_ns: sent_ns + half,
            low_ns: difference(answered_ns, heard_ns),
            high_ns: difference(received_ns, sent_ns),
        };
        // The two ends were true at two moments of the exchange.
        Some(bounds.widened(half + 1)).filter(|bounds| bounds.low_ns <= bounds.high_ns)
    }

    /// The middle of what the exchanges allow, from which the true offset is at most [`Bounds::error_ns`] away.
    pub const fn offset_ns(&self) -> i64 {
        self.low_ns.midpoint(self.high_ns)
    }

    /// How far the true offset may be from [`Bounds::offset_ns`].
    pub const fn error_ns(&self) -> u64 {
        self.high_ns.abs_diff(self.low_ns).div_ceil(2)
    }

    /// How far the true offset may be from `used_ns`.
    pub const fn error_of(&self, used_ns: i64) -> u64 {
        let (low, high) = (used_ns.abs_diff(self.low_ns), used_ns.abs_diff(self.high_ns));
        if low > high { low } else { high }
    }

    /// What is known of another moment.
    #[must_use]
    pub const fn at(&self, at_ns: u64) -> Self {
        Self {
            at_ns,
            ..self.widened(self.at_ns.abs_diff(at_ns))
        }
    }

    const fn widened(self, apart_ns: u64) -> Self {
        let more = (apart_ns / 1_000_000 * MOST_DRIFT_PPM)
            .saturating_add((apart_ns % 1_000_000 * MOST_DRIFT_PPM).div_ceil(1_000_000));
        Self {
            low_ns: self.low_ns.saturating_sub_unsigned(more),
            high_ns: self.high_ns.saturating_add_unsigned(more),
            ..self
        }
    }

    /// What both say of the moment of `other`; `None` if they contradict each other.
    fn and(&self, other: &Self) -> Option<Self> {
        let then = self.at(other.at_ns);
        let both = Self {
            at_ns: other.at_ns,
            low_ns: then.low_ns.max(other.low_ns),
            high_ns: then.high_ns.min(other.high_ns),
        };
        (both.low_ns <= both.high_ns).then_some(both)
    }
}

impl Offsets {
    /// Adds an exchange.
    pub fn note(&mut self, exchange: &Exchange) {
        let Some(bounds) = Bounds::from_exchange(exchange) else {
            return;
        };
        self.exchanges += 1;
        self.longest_ns = self.longest_ns.max(exchange.round_trip_ns());
        let known = self.known.map(|known| known.and(&bounds));
        // A clock that was set, or that drifts faster than a clock can, leaves the last exchange alone.
        self.contradicted |= known == Some(None);
        self.known = Some(known.flatten().unwrap_or(bounds));
    }

    /// Ends a round of exchanges.
    pub fn end_round(&mut self) {
        self.rounds.extend(self.known);
    }

    /// What is known after the last exchange.
    pub const fn known(&self) -> Option<Bounds> {
        self.known
    }

    /// The number of exchanges.
    pub const fn exchanges(&self) -> u64 {
        self.exchanges
    }

    /// The longest time on the way so far, in nanoseconds.
    pub const fn longest_round_trip_ns(&self) -> u64 {
        self.longest_ns
    }

    /// Whether a clock was set, or drifted faster than a clock can.
    pub const fn is_contradicted(&self) -> bool {
        self.contradicted
    }

    /// What the rounds before and after a moment say of it.
    pub fn at(&self, at_ns: u64) -> Option<Bounds> {
        let next = self.rounds.partition_point(|round| round.at_ns < at_ns);
        let before = next.checked_sub(1).and_then(|place| self.rounds.get(place));
        let around = before.into_iter().chain(self.rounds.get(next));
        let around = around.map(|round| round.at(at_ns));
        around.reduce(|one, other| one.and(&other).unwrap_or(other))
    }

    /// How far the true offset may have been from `used_ns` at the rounds from `from_ns` to `until_ns`, and at the one before
    /// and the one after.
    pub fn error_between(&self, from_ns: u64, until_ns: u64, used_ns: i64) -> Option<u64> {
        let first = self.rounds.partition_point(|round| round.at_ns < from_ns);
        let behind = self.rounds.partition_point(|round| round.at_ns <= until_ns);
        let last = behind.saturating_add(1).min(self.rounds.len());
        let rounds = self.rounds.get(first.saturating_sub(1)..last)?;
        rounds.iter().map(|round| round.error_of(used_ns)).max()
    }

    /// The drift from the first round to the last; `None` with fewer than two, or if they contradict each other.
    pub fn drift(&self) -> Option<Drift> {
        let (first, last) = (self.rounds.first()?, self.rounds.last()?);
        let apart = last.at_ns.checked_sub(first.at_ns).filter(|apart| *apart > 0)?;
        if self.contradicted {
            return None;
        }
        let ppm = |ns: i64| ns as f64 / apart as f64 * 1e6;
        let moved = last.offset_ns().saturating_sub(first.offset_ns());
        Some(Drift {
            ppm: ppm(moved),
            error_ppm: ppm((first.error_ns() + last.error_ns()) as i64),
        })
    }
}

/// `one - other` on two clocks, whose epochs may be anywhere.
const fn difference(one: u64, other: u64) -> i64 {
    let apart = one as i128 - other as i128;
    if apart > i64::MAX as i128 {
        i64::MAX
    } else if apart < i64::MIN as i128 {
        i64::MIN
    } else {
        apart as i64
    }
}

#[cfg(test)]
mod tests;
