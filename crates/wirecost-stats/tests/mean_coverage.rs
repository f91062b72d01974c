//! How often the interval of a mean encloses the truth, by simulation of what it is used for: response times under loss,
//! whose waits double, and distributions with light, heavy and rare tails. Seeds are fixed and were not chosen.

use wirecost_proto::Rng;
use wirecost_stats::MeanInterval;

/// What an interval of 95 % must at least hold.
const LEAST: f64 = 0.94;

/// The share of samples whose intervals enclose `truth`, among those that have one, and the share of those that have.
fn coverage(samples: u64, truth: f64, draw: impl Fn(Rng) -> Vec<f64>) -> (f64, f64) {
    let intervals = (0..samples).filter_map(|seed| {
        let mean = MeanInterval::from_values(&draw(Rng::new(seed))).expect("values");
        Some([mean.low?, mean.high?])
    });
    let enclosing: Vec<bool> = intervals
        .map(|[low, high]| low <= truth && truth <= high)
        .collect();
    let held = enclosing.iter().filter(|encloses| **encloses).count();
    (
        held as f64 / enclosing.len() as f64,
        enclosing.len() as f64 / samples as f64,
    )
}

/// Fails where less than [`LEAST`] of the intervals hold, or where samples of `n` values have none.
fn expect_coverage(n: usize, truth: f64, draw: impl Fn(&mut Rng) -> f64) {
    let repetitions = 2_000;
    let (held, given) = coverage(repetitions, truth, |mut rng| {
        (0..n).map(|_| draw(&mut rng)).collect()
    });
    assert!(held >= LEAST, "n = {n}: {held} of the intervals hold");
    assert!(given >= 0.99, "n = {n}: {given} of the samples have an interval");
}

/// A protocol that sends again until it is answered.
struct Reliable {
    /// The probability that a packet is lost, each way.
    loss: f64,
    /// The time until it sends again first, in ms: uniform between these. Each further time is twice as long.
    first_wait: [f64; 2],
    /// How often it sends at most. What is never answered is no sample.
    sends: i32,
}

/// A message that is answered at once, in ms.
const ROUND_TRIP: f64 = 25.0;

impl Reliable {
    /// The probability that a message or its answer is lost.
    fn unanswered(&self) -> f64 {
        1.0 - (1.0 - self.loss) * (1.0 - self.loss)
    }

    /// The time until the answer, in ms.
    fn draw(&self, rng: &mut Rng) -> f64 {
        loop {
            let [least, most] = self.first_wait;
            let first = least + (most - least) * rng.next_f64();
            let unanswered = (0..self.sends).take_while(|_| rng.next_f64() < self.unanswered());
            let times = unanswered.count() as i32;
            if times < self.sends {
                return ROUND_TRIP + first * (2_f64.powi(times) - 1.0);
            }
        }
    }

    /// The mean of those times.
    fn mean(&self) -> f64 {
        let first = f64::midpoint(self.first_wait[0], self.first_wait[1]);
        let probability = |times: i32| self.unanswered().powi(times) * (1.0 - self.unanswered());
        let answered: f64 = (0..self.sends).map(probability).sum();
        let waited = |times: i32| probability(times) * first * (2_f64.powi(times) - 1.0);
        ROUND_TRIP + (0..self.sends).map(waited).sum::<f64>() / answered
    }
}

/// RFC 7252 4.8: 2 s times 1 to 1.5, and four retransmissions.
fn coap(loss: f64) -> Reliable {
    Reliable {
        loss,
        first_wait: [2_000.0, 3_000.0],
        sends: 5,
    }
}

/// Linux: at least 200 ms beyond the round trip, and 15 retransmissions.
fn tcp(loss: f64) -> Reliable {
    Reliable {
        loss,
        first_wait: [225.0, 225.0],
        sends: 16,
    }
}

#[test]
fn intervals_cover_mean_coap_response_times_under_loss() {
    for loss in [0.05, 0.1, 0.2] {
        for n in [150, 300, 1_000] {
            let times = coap(loss);
            expect_coverage(n, times.mean(), |rng| times.draw(rng));
        }
    }
}

#[test]
fn intervals_cover_mean_tcp_response_times_under_loss() {
    for loss in [0.05, 0.1] {
        for n in [150, 300, 1_000] {
            let times = tcp(loss);
            expect_coverage(n, times.mean(), |rng| times.draw(rng));
        }
    }
}

#[test]
fn light_and_heavy_tails_have_their_mean_in_the_interval() {
    for n in [150, 300, 1_000] {
        expect_coverage(n, 0.0, |rng| rng.next_normal());
        expect_coverage(n, 1.0, |rng| rng.next_exponential());
        expect_coverage(n, 0.5_f64.exp(), |rng| rng.next_normal().exp());
    }
}

#[test]
fn a_rare_value_that_occurs_is_enough_for_an_interval() {
    for (n, probability) in [(150, 0.01), (150, 0.02), (300, 0.01), (1_000, 0.003)] {
        let truth = 25.0 + 205.0 * probability;
        let draw = |mut rng: Rng| -> Vec<f64> {
            let one = |rng: &mut Rng| 25.0 + 205.0 * f64::from(rng.next_f64() < probability);
            let values: Vec<f64> = (0..n).map(|_| one(&mut rng)).collect();
            // A sample in which it does not occur says nothing of it: whoever knows of loss takes the interval away.
            if values.iter().all(|value| *value == 25.0) {
                return vec![25.0];
            }
            values
        };
        let (held, given) = coverage(2_000, truth, draw);
        assert!(held >= LEAST, "n = {n}, {probability}: {held}");
        assert!(given > 0.7, "n = {n}, {probability}: {given}");
    }
}

#[test]
fn few_normal_values_have_their_mean_in_the_interval_or_none() {
    for (n, at_least) in [(3, 0.3), (10, 0.7), (30, 0.98), (60, 0.99)] {
        let (held, given) = coverage(4_000, 0.0, |mut rng| (0..n).map(|_| rng.next_normal()).collect());
        assert!(held >= LEAST && given >= at_least, "n = {n}: {held} of {given}");
    }
}
