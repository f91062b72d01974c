//! The search for the highest rate that holds: which rate to try next.
//!
//! ```text
//! first rate --holds--> x 2 until one fails --.
//!     `--fails--> / 2 until one holds --------+--> middle of the border until it is 2 % wide --> repeat both sides
//! ```
//!
//! A rate holds if most of its loads do. If a repeated load changes that, the border moves, and the search goes on there.

use wirecost_results::rate_search::{AtRate, RateTrial};

/// The border is found when the rate above it is at most this many times the rate below it.
const WIDTH: f64 = 1.02;
/// How many loads each side of the border has.
const REPEATS: u32 = 3;
/// The highest rate, in messages per second.
const HIGHEST: f64 = 1_000_000.0;
/// The most loads of a search. Noise could move the border for ever.
const MOST: usize = 60;

/// A load to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextTrial {
    /// Its rate, in messages per second.
    pub rate: f64,
    /// How many loads of this rate were run before it.
    pub repeat: u32,
}

/// The next load after `trials`, of which the first is at the rate `first` and none below the rate `least`; `None` at the
/// end of the search.
pub fn next(first: f64, least: f64, trials: &[RateTrial]) -> Option<NextTrial> {
    let all = AtRate::all(trials);
    let (Some(lowest), Some(highest)) = (all.first(), all.last()) else {
        return Some(NextTrial {
            rate: first.max(rounded_up(least)),
            repeat: 0,
        });
    };
    if trials.len() >= MOST {
        return None;
    }
    let new = |rate: f64| NextTrial {
        rate: rounded(rate).min(HIGHEST).max(rounded_up(least)),
        repeat: 0,
    };
    match AtRate::border(&all).map(|index| index.map(|index| all[index])) {
        [_, None] => (highest.rate < HIGHEST)
            .then(|| new(highest.rate * 2.0))
            .or_else(|| again(*highest)),
        [None, Some(_)] => (lowest.rate > rounded_up(least))
            .then(|| new(lowest.rate / 2.0))
            .or_else(|| again(*lowest)),
        [Some(low), Some(high)] => {
            let middle = rounded((low.rate * high.rate).sqrt());
            let is_wide = high.rate > low.rate * WIDTH && low.rate < middle && middle < high.rate;
            match is_wide {
                true => Some(new(middle)),
                false => again(low).or_else(|| again(high)),
            }
        }
    }
}

/// Another load at a side of the border; `None` if it has enough.
fn again(at: AtRate) -> Option<NextTrial> {
    (at.loads() < REPEATS).then_some(NextTrial {
        rate: at.rate,
        repeat: at.loads(),
    })
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
mod tests {
    use wirecost_results::rate_search::RateSearch;

    use super::*;

    /// Searches with loads that hold by `holds`, given the rate and the number of the load.
    fn search(first: f64, holds: impl Fn(f64, usize) -> bool) -> RateSearch {
        let mut trials: Vec<RateTrial> = Vec::new();
        while let Some(NextTrial { rate, .. }) = next(first, 1.0, &trials) {
            let held = holds(rate, trials.len());
            trials.push(RateTrial {
                rate,
                held,
                ..RateTrial::default()
            });
        }
        RateSearch {
            trials,
            ..RateSearch::default()
        }
        .concluded(true)
    }

    #[test]
    fn a_known_limit_is_found_from_either_side() {
        for limit in [3.0, 250.0, 4_000.0, 123_456.0] {
            for first in [1.0, 1_000.0, 900_000.0] {
                let found = search(first, |rate, _| rate <= limit);
                let rate = found.rate.expect("a rate");
                assert!(
                    rate <= limit && rate > limit / 1.03,
                    "{limit}: {rate} from {first}"
                );
                let [low, high] = found.interval.map(|end| end.expect("an end"));
                assert!(low == rate && high > limit && high < limit * 1.03, "{low} {high}");
                let border = found.trials.iter().filter(|trial| trial.rate == rate);
                assert_eq!(border.count(), 3);
                assert!(found.trials.len() < 40, "{}", found.trials.len());
            }
        }
    }

    #[test]
    fn one_bad_load_does_not_move_the_border() {
        let steady = search(1_000.0, |rate, _| rate <= 4_000.0);
        let low = steady.rate.expect("a rate");
        let last = steady.trials.iter().rposition(|trial| trial.rate == low);
        let noisy = search(1_000.0, |rate, index| rate <= 4_000.0 && Some(index) != last);
        assert_eq!(noisy.rate, Some(low));
        assert!(noisy.interval[0] < Some(low), "{:?}", noisy.interval);
    }

    #[test]
    fn a_rate_that_fails_when_repeated_is_searched_below() {
        let found = search(1_000.0, |rate, index| {
            rate <= 4_000.0 && (index < 10 || rate < 3_000.0)
        });
        assert!(found.rate.is_some_and(|rate| rate < 3_000.0), "{:?}", found.rate);
    }

    #[test]
    fn a_search_without_a_border_ends_at_the_last_rate() {
        let held = search(1_000.0, |_, _| true);
        assert_eq!((held.rate, held.interval[1]), (Some(HIGHEST), None));
        let failed = search(1_000.0, |_, _| false);
        assert_eq!((failed.rate, failed.interval), (None, [None, Some(1.0)]));
        assert!(failed.trials.len() < 20);
    }

    #[test]
    fn rates_have_three_digits() {
        assert_eq!((rounded_up(100.4), rounded_up(0.3)), (101.0, 0.3));
        assert_eq!(
            [1.234_5, 44.72, 2_828.4, 123_456.0].map(rounded),
            [1.23, 44.7, 2_830.0, 123_000.0]
        );
    }
}
