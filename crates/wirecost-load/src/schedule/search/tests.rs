use proptest::prelude::*;
use wirecost_results::rate_search::{Bound, RateSearch};

use super::*;

/// A trial that lost this share of its messages.
fn trial(rate: f64, loss_ratio: f64) -> RateTrial {
    RateTrial {
        rate,
        good: loss_ratio <= Goal::LOSS_RATIO,
        loss_ratio: Some(loss_ratio),
        ..RateTrial::default()
    }
}

/// A trial against a server that answers so many messages per second.
fn of_capacity(rate: f64, capacity: f64) -> RateTrial {
    trial(rate, (1.0 - capacity / rate).max(0.0))
}

/// Searches with the trial of each rate, given the number of trials before it.
fn search(first: f64, run: impl Fn(f64, usize) -> RateTrial) -> RateSearch {
    let input = Input {
        goal: Goal::default(),
        first,
        least: 1.0,
    };
    let mut trials: Vec<RateTrial> = Vec::new();
    while let Some(NextTrial { rate, repeat }) = input.next(&trials) {
        assert_eq!(
            repeat as usize,
            trials.iter().filter(|trial| trial.rate == rate).count()
        );
        trials.push(run(rate, trials.len()));
    }
    RateSearch {
        trials,
        ..RateSearch::default()
    }
    .concluded(true)
}

fn bounds(found: &RateSearch) -> [f64; 2] {
    [found.relevant_lower_bound, found.relevant_upper_bound].map(|bound| bound.expect("a bound"))
}

/// A server whose capacity, in messages per second, is multiplied by these factors trial by trial, again and again.
struct Simulated {
    capacity: f64,
    factors: &'static [f64],
    /// The relevant bounds that the reference finds.
    reference: [f64; 2],
}

const STEADY: &[f64] = &[1.0];
/// Every fifth trial is disturbed.
const DISTURBED: &[f64] = &[1.0, 1.0, 1.0, 1.0, 0.5];
/// The capacity differs by up to 2 % from trial to trial.
const NOISY: &[f64] = &[1.0, 0.98, 1.02, 0.99, 1.01];

/// The bounds are those that the code of the RFC's authors finds: `MLRsearch` 1.2.1 of the Python Package Index, with
/// a measurer that forwards the least of what is offered and capacity x duration, the configuration `min_load=1, max_load=1e6`
/// without a warm-up, and `SearchGoal(loss_ratio=0.01, exceed_ratio=0.5, relative_width=0.02, initial_trial_duration=1,
/// final_trial_duration=1, duration_sum=5, preceding_targets=1)`.
const SIMULATED: [Simulated; 11] = [
    of_reference(250.0, STEADY, [248.163, 253.226]),
    of_reference(4_000.0, STEADY, [4_029.611, 4_111.829]),
    of_reference(12_345.0, STEADY, [12_238.249, 12_487.952]),
    of_reference(123_456.0, STEADY, [122_382.494, 124_879.521]),
    of_reference(700_000.0, STEADY, [695_192.796, 709_377.146]),
    of_reference(250.0, DISTURBED, [248.163, 253.226]),
    of_reference(4_000.0, DISTURBED, [4_029.611, 4_111.829]),
    of_reference(123_456.0, DISTURBED, [122_382.494, 124_879.521]),
    of_reference(250.0, NOISY, [248.163, 253.226]),
    of_reference(4_000.0, NOISY, [3_949.037, 4_029.611]),
    of_reference(123_456.0, NOISY, [122_382.494, 124_879.521]),
];

const fn of_reference(capacity: f64, factors: &'static [f64], reference: [f64; 2]) -> Simulated {
    Simulated {
        capacity,
        factors,
        reference,
    }
}

#[test]
fn the_bounds_are_those_of_the_reference_within_the_goal_width() {
    for server in SIMULATED {
        // The capacity itself differs as much from trial to trial.
        let most = server.factors.iter().copied().fold(1.0, f64::max);
        let apart_at_most = Goal::default().width + (most - 1.0);
        for first in [10.0, 1_000.0, 900_000.0] {
            let found = search(first, |rate, index| {
                let factor = server.factors[index % server.factors.len()];
                of_capacity(rate, server.capacity * factor)
            });
            let ours = bounds(&found);
            for (ours, theirs) in ours.iter().zip(server.reference) {
                assert!(
                    (ours / theirs - 1.0).abs() <= apart_at_most,
                    "{} x {:?} from {first}: {ours} for {theirs}",
                    server.capacity,
                    server.factors
                );
            }
            let enough = if server.factors == STEADY { 45 } else { MOST };
            assert!(found.trials.len() < enough, "{}", found.trials.len());
        }
    }
}

#[test]
fn one_bad_trial_does_not_move_the_bounds() {
    let steady = search(1_000.0, |rate, _| of_capacity(rate, 4_000.0));
    let [low, high] = bounds(&steady);
    for spoiled in 0..steady.trials.len() {
        let noisy = search(1_000.0, |rate, index| match index == spoiled {
            true => trial(rate, 1.0),
            false => of_capacity(rate, 4_000.0),
        });
        let found = bounds(&noisy);
        assert!(
            found[0] <= 4_000.0 / 0.99
                && 4_000.0 / 0.99 < found[1]
                && found[1] - found[0] <= 0.021 * found[1],
            "trial {spoiled}: {found:?}, steady {low} to {high}"
        );
    }
}

#[test]
fn a_rate_that_fails_when_repeated_is_searched_below() {
    let found = search(1_000.0, |rate, index| {
        let capacity = if index < 10 { 4_000.0 } else { 3_000.0 };
        of_capacity(rate, capacity)
    });
    assert!(found.relevant_lower_bound <= Some(3_100.0), "{found:?}");
}

#[test]
fn a_search_without_one_of_its_bounds_ends_at_the_last_rate() {
    let held = search(1_000.0, |rate, _| trial(rate, 0.0));
    assert_eq!(
        (held.relevant_lower_bound, held.relevant_upper_bound),
        (Some(HIGHEST), None)
    );
    let failed = search(1_000.0, |rate, _| trial(rate, 1.0));
    assert_eq!(
        (failed.conditional_throughput, failed.relevant_upper_bound),
        (None, Some(1.0))
    );
    assert!(failed.trials.len() < 20);
}

#[test]
fn a_trial_that_the_generator_spoiled_is_repeated_before_the_search_goes_down() {
    let spoiled = |rate: f64, is_spoiled: bool| RateTrial {
        by_generator: is_spoiled,
        ..trial(rate, if is_spoiled { 1.0 } else { 0.0 })
    };
    let found = search(1_000.0, |rate, index| match rate {
        // Disturbed once, at the first trial of each rate below the limit of the target.
        rate if rate <= 4_000.0 => spoiled(rate, index == 0),
        rate => trial(rate, 1.0),
    });
    assert!(found.trials.iter().all(|trial| trial.rate >= 1_000.0));
    assert!(!found.ended_by_generator && found.relevant_lower_bound > Some(3_900.0));
    let starved = search(1_000.0, |rate, _| spoiled(rate, rate > 4_000.0));
    assert!(starved.ended_by_generator && starved.relevant_lower_bound > Some(3_900.0));
}

#[test]
fn rates_have_three_digits() {
    assert_eq!((rounded_up(100.4), rounded_up(0.3)), (101.0, 0.3));
    assert_eq!(
        [1.234_5, 44.72, 2_828.4, 123_456.0].map(rounded),
        [1.23, 44.7, 2_830.0, 123_000.0]
    );
}

proptest! {
    /// A server of one capacity has it between the relevant bounds, as near as the goal or three digits allow.
    #[test]
    fn the_capacity_is_between_the_relevant_bounds(capacity in 2.0_f64..500_000.0, first in 1.0_f64..1e6) {
        let found = search(first, |rate, _| of_capacity(rate, capacity));
        let [low, high] = bounds(&found);
        let limit = capacity / (1.0 - Goal::LOSS_RATIO);
        prop_assert!(low <= limit * (1.0 + 1e-9) && limit * (1.0 - 1e-9) <= high, "{} to {}", low, high);
        prop_assert!(Goal::default().is_reached(low, high) || rounded((low * high).sqrt()) == low || rounded((low * high).sqrt()) == high);
        prop_assert!(found.conditional_throughput <= Some(capacity * (1.0 + 1e-9)));
    }

    /// Whatever the trials say, the search ends, and the bounds are what their own trials say.
    #[test]
    fn every_search_ends_with_bounds_that_its_trials_support(results in prop::collection::vec(any::<[bool; 2]>(), MOST), first in 1.0_f64..1e6) {
        let found = search(first, |rate, index| {
            let [good, by_generator] = results[index];
            RateTrial { by_generator: !good && by_generator, ..trial(rate, if good { 0.0 } else { 1.0 }) }
        });
        prop_assert!(found.trials.len() <= MOST);
        let all = AtRate::all(&found.trials);
        for (rate, bound) in [(found.relevant_lower_bound, Bound::Lower), (found.relevant_upper_bound, Bound::Upper)] {
            let at = rate.map(|rate| all.iter().find(|at| at.rate == rate).expect("a tried rate"));
            prop_assert!(at.is_none_or(|at| at.bound(&found.goal) == Some(bound)));
        }
        if let (Some(low), Some(high)) = (found.relevant_lower_bound, found.relevant_upper_bound) {
            prop_assert!(low < high);
        }
    }
}
