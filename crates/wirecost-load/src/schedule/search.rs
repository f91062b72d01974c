//! The search for the conditional throughput (RFC 9971): which trial to run next. It has no clock: it sees results alone.
//!
//! ```text
//! first rate --good--> x 2 until one is bad --.
//!     `--bad--> / 2 until one is good --------+--> middle of the bounds until they are as near as the goal asks
//!                                             '--> trials at both bounds until the goal's duration sum classifies them
//! ```
//!
//! Single trials lead the way (in the RFC's words: a target that precedes the goal, with a shorter duration sum). If further
//! trials make a bound something else, the bounds move, and the search goes on there. A trial that was bad by the generator says nothing
//! of the target, so no bound moves down before its rate is classified.

use wirecost_results::rate_search::{AtRate, Goal, RateTrial};

/// Max Load: the highest rate, in messages per second.
const HIGHEST: f64 = 1_000_000.0;
/// The most trials of a search. Noise could move the bounds for ever.
const MOST: usize = 80;

/// A load to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextTrial {
    /// Its rate, in messages per second.
    pub rate: f64,
    /// How many trials of this rate were run before it.
    pub repeat: u32,
}

/// What a search is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// The search goal.
    pub goal: Goal,
    /// The rate of the first trial, in messages per second.
    pub first: f64,
    /// Min Load: the lowest rate, in messages per second.
    pub least: f64,
}

impl Input {
    /// The next trial after `trials`; `None` at the end of the search.
    pub fn next(&self, trials: &[RateTrial]) -> Option<NextTrial> {
        let all = AtRate::all(trials);
        let (Some(lowest), Some(highest)) = (all.first(), all.last()) else {
            return Some(self.at(self.first));
        };
        if trials.len() >= MOST {
            return None;
        }
        let above = all.iter().position(|at| !at.holds());
        let below = above.unwrap_or(all.len()).checked_sub(1);
        match [below, above].map(|index| index.map(|index| all[index])) {
            [_, None] => (highest.rate < HIGHEST)
                .then(|| self.at(highest.rate * 2.0))
                .or_else(|| self.again(*highest)),
            [_, Some(high)] if high.by_generator > 0 && high.bound(&self.goal).is_none() => self.again(high),
            [None, Some(_)] => (lowest.rate > self.least())
                .then(|| self.at(lowest.rate / 2.0))
                .or_else(|| self.again(*lowest)),
            [Some(low), Some(high)] => {
                // The geometric mean: the goal is a ratio of rates, so that halving must be by ratio too.
                let middle = rounded((low.rate * high.rate).sqrt());
                // Rounding may give one of the bounds again, and the search would not end.
                let is_between = low.rate < middle && middle < high.rate;
                match is_between && !self.goal.is_reached(low.rate, high.rate) {
                    true => Some(self.at(middle)),
                    false => self.again(low).or_else(|| self.again(high)),
                }
            }
        }
    }

    fn least(&self) -> f64 {
        rounded_up(self.least)
    }

    /// The first trial at a rate.
    fn at(&self, rate: f64) -> NextTrial {
        NextTrial {
            rate: rounded(rate).min(HIGHEST).max(self.least()),
            repeat: 0,
        }
    }

    /// Another trial at a rate; `None` if the rate is classified.
    fn again(&self, at: AtRate) -> Option<NextTrial> {
        at.bound(&self.goal).is_none().then_some(NextTrial {
            rate: at.rate,
            repeat: at.trials(),
        })
    }
}

/// Three significant digits, the nearest ones.
fn rounded(rate: f64) -> f64 {
    to_three_digits(rate, f64::round)
}

/// Three significant digits, not below `rate`.
fn rounded_up(rate: f64) -> f64 {
    to_three_digits(rate, f64::ceil)
}

fn to_three_digits(rate: f64, to_whole: fn(f64) -> f64) -> f64 {
    let unit = 10f64.powi(rate.log10().floor() as i32 - 2);
    // Below a unit of 1, the division is exact in decimal text, and the product is not.
    if unit >= 1.0 {
        to_whole(rate / unit) * unit
    } else {
        let parts = (1.0 / unit).round();
        to_whole(rate * parts) / parts
    }
}

#[cfg(test)]
mod tests;
