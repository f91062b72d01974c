//! Samples of time as results files print them.

use wirecost_stats::{Histogram, MeanInterval, Quantile, Sample, Summary};

use super::summary::Times;

impl Times {
    /// The times of the messages of each device, in nanoseconds; `None` without a message.
    ///
    /// The messages of one device depend on each other: the interval of the mean is that of the devices' means. Where
    /// lost packets are retransmitted, a few long waits decide the mean. It has an interval only if `enough` devices
    /// were measured and at least one message has waited. `enough` is 0 where no packet is lost or none is
    /// retransmitted.
    pub fn of_devices(devices: &[Vec<u64>], enough: u64) -> Option<Self> {
        let nanos: Vec<u64> = devices.concat();
        let least = *nanos.iter().min()?;
        // A retransmission waits at least a round trip longer: without one nothing is known of how often that happens.
        let has_waited = nanos.iter().any(|time| *time >= 2 * least);
        let measured = || devices.iter().filter(|times| !times.is_empty());
        let is_too_few = enough > 0 && (!has_waited || (measured().count() as u64) < enough);
        let mut summary = Sample::new(nanos)?.summary();
        if devices.iter().any(|times| times.len() > 1) {
            let means: Vec<f64> = measured().map(|times| mean_of(times)).collect();
            summary.mean = around(summary.mean, MeanInterval::from_values(&means)?);
        }
        if is_too_few {
            summary.mean = summary.mean.without_interval();
        }
        Some(summary.into())
    }

    /// The times of a histogram, each to within 0.1 %; `None` without a value.
    pub fn of_histogram(histogram: &Histogram) -> Option<Self> {
        histogram.summary().map(Self::from)
    }
}

fn mean_of(times: &[u64]) -> f64 {
    times.iter().map(|time| *time as f64).sum::<f64>() / times.len() as f64
}

/// `mean` with an interval as wide as that of `devices`.
fn around(mean: MeanInterval, devices: MeanInterval) -> MeanInterval {
    let shifted = |end: Option<f64>| end.map(|end| end - devices.mean + mean.mean);
    MeanInterval {
        low: shifted(devices.low),
        high: shifted(devices.high),
        low_n: devices.low_n,
        ..mean
    }
}

impl From<Summary> for Times {
    fn from(summary: Summary) -> Self {
        let quantiles = [
            ("p50", summary.p50),
            ("p90", summary.p90),
            ("p95", summary.p95),
            ("p99", summary.p99),
            ("p999", summary.p99_9),
        ];
        let value = |quantile: Option<Quantile>| quantile.map(|quantile| quantile.value);
        let interval = |quantile: &Quantile| Some([quantile.low?, quantile.high?]);
        let printed = || {
            quantiles
                .iter()
                .filter_map(|(name, quantile)| Some((*name, quantile.as_ref()?)))
        };
        Self {
            n: summary.mean.n,
            mean: summary.mean.mean,
            ci95: summary
                .mean
                .low
                .zip(summary.mean.high)
                .map(|(low, high)| [low, high]),
            p50: value(summary.p50),
            p90: value(summary.p90),
            p95: value(summary.p95),
            p99: value(summary.p99),
            p999: value(summary.p99_9),
            min: summary.min,
            max: summary.max,
            quantile_ci95: printed()
                .map(|(name, quantile)| (name.to_owned(), interval(quantile)))
                .collect(),
            low_n: printed()
                .filter(|(_, quantile)| quantile.low_n)
                .map(|(name, _)| name)
                .chain(summary.mean.low_n.then_some("mean"))
                .map(str::to_owned)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_histogram(values: impl IntoIterator<Item = u64>) -> Option<Times> {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        Times::of_histogram(&histogram)
    }

    #[test]
    fn only_what_the_number_of_values_allows_is_printed() {
        assert_eq!(of_histogram([]), None);
        let few = of_histogram(1..=150).expect("values");
        assert_eq!((few.n, few.p99, few.p999), (150, Some(149), None));
        assert_eq!(few.low_n, ["p95", "p99"]);
        assert_eq!(few.quantile_ci95["p99"], None);
        assert_eq!(few.quantile_ci95["p50"], Some([63, 88]));
        let many = of_histogram((0..10_000).map(|_| 1_000)).expect("values");
        assert_eq!(
            (many.p999, many.quantile_ci95["p999"]),
            (Some(1_000), Some([1_000; 2]))
        );
    }

    #[test]
    fn times_above_a_minute_are_printed_as_they_are() {
        let times = of_histogram((1..=200).map(|second| second * 1_000_000_000)).expect("values");
        let seconds = |nanos: Option<u64>| (nanos.expect("a quantile") as f64 / 1e9).round();
        assert_eq!(
            [times.p50, times.p95, Some(times.max)].map(seconds),
            [100.0, 190.0, 200.0]
        );
        assert!((times.mean / 1e9 - 100.5).abs() < 0.2, "{}", times.mean);
        assert_eq!(times.ci95, None, "what is in a histogram depends on each other");
    }

    /// `common` devices of 25 ms, and `rare` of 250 ms.
    fn devices(common: usize, rare: usize) -> Vec<Vec<u64>> {
        [vec![vec![25_000_000]; common], vec![vec![250_000_000]; rare]].concat()
    }

    #[test]
    fn a_mean_under_loss_has_an_interval_once_enough_has_waited() {
        let given = |common, rare, enough| {
            let times = Times::of_devices(&devices(common, rare), enough).expect("values");
            assert_eq!(
                times.low_n.iter().any(|name| name == "mean"),
                times.ci95.is_none()
            );
            times.ci95.is_some()
        };
        assert!(given(150, 0, 0), "nothing is lost");
        assert!(!given(150, 0, 150), "nobody knows what the waits are like");
        assert!(given(149, 1, 150));
        assert!(!given(148, 1, 150), "too few for what waits double to");
        assert!(!given(989, 10, 1_000) && given(990, 10, 1_000));
        assert_eq!(Times::of_devices(&[Vec::new()], 0), None);
    }

    #[test]
    fn messages_of_one_device_are_one_value_of_the_mean() {
        // Each device has a level of its own: 20 messages say no more of it than one.
        let level = |device: u64| 20_000_000 + device % 7 * 1_000_000;
        let once: Vec<Vec<u64>> = (0..140).map(|device| vec![level(device)]).collect();
        let often: Vec<Vec<u64>> = (0..140).map(|device| vec![level(device); 20]).collect();
        let [once, often] = [once, often].map(|devices| Times::of_devices(&devices, 0).expect("values"));
        assert_eq!((once.mean, once.ci95), (often.mean, often.ci95));
        assert_eq!((once.n, often.n), (140, 2_800));
    }

    #[test]
    fn exact_values_and_a_histogram_of_small_ones_are_the_same() {
        // Below 2,048 ns the histogram has a counter for each value.
        let values: Vec<u64> = (1..=2_000).collect();
        let (exact, kept) = (
            Times::of_devices(std::slice::from_ref(&values), 0),
            of_histogram(values.clone()),
        );
        let quantiles = |times: Option<Times>| times.map(|times| (times.quantile_ci95, times.p50, times.p99));
        assert_eq!(quantiles(exact), quantiles(kept));
    }
}
