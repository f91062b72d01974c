//! HDR histogram of durations (Tene's HdrHistogram): constant memory, 3 significant digits.

mod steps;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram as Counts;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Serialize, de, ser};

use crate::chunks::Chunks;
use crate::mean::MeanInterval;
use crate::quantile::{self, Quantile};
use crate::sample::Summary;

pub use steps::Step;

/// The longest duration that has a count of its own, in nanoseconds: 146 years, more than any time-out that a user can
/// set (`wirecost_proto::units::parse_duration`).
pub(crate) const MAX_NS: u64 = 1 << 62;

/// The bound in the file format of a histogram without longer durations, in nanoseconds: 60 s.
const USUAL_NS: u64 = 60_000_000_000;

/// Significant decimal digits of a value.
const DIGITS: u8 = 3;

/// A histogram of durations in nanoseconds.
///
/// It counts in units of 1 ns and keeps every value from 0 to `MAX_NS` to within 0.1 %. It takes 2 kB if the values are close to
/// each other, and at most 220 kB if they are spread over 1 ns to 60 s. Longer durations count as `MAX_NS`; their number is
/// kept separately.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Form,
    above_range: u64,
}

/// The representation of the counts.
#[derive(Clone, Debug)]
enum Form {
    /// One number per place.
    Open(Chunks),
    /// In HdrHistogram's V2 format, compressed.
    Packed(Box<[u8]>),
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self {
            counts: Form::Open(Chunks::default()),
            above_range: 0,
        }
    }

    /// Compresses it to a few hundred bytes until the next value, for a histogram that probably gets no more values.
    pub fn pack(&mut self) {
        if let Form::Open(_) = self.counts {
            let mut bytes = Vec::new();
            self.counts_to_bytes(&mut bytes);
            self.counts = Form::Packed(bytes.into());
        }
    }

    /// The counts in the library's form.
    fn counts(&self) -> Counts<u64> {
        match &self.counts {
            Form::Open(chunks) => {
                let mut counts = none(chunks.largest());
                for (value, times) in chunks.recorded() {
                    counts.saturating_record_n(value, times);
                }
                counts
            }
            Form::Packed(bytes) => unpack(bytes).expect("it was packed here"),
        }
    }

    fn chunks(&self) -> Cow<'_, Chunks> {
        match &self.counts {
            Form::Open(chunks) => Cow::Borrowed(chunks),
            Form::Packed(_) => Cow::Owned(chunks_of(&self.counts())),
        }
    }

    #[inline]
    fn chunks_mut(&mut self) -> &mut Chunks {
        if let Form::Packed(_) = self.counts {
            self.counts = Form::Open(self.chunks().into_owned());
        }
        match &mut self.counts {
            Form::Open(chunks) => chunks,
            Form::Packed(_) => unreachable!("it has just been opened"),
        }
    }

    /// Counts a duration of `nanos` nanoseconds.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.above_range += u64::from(nanos > MAX_NS);
        self.chunks_mut().record(nanos.min(MAX_NS), 1);
    }

    /// The histogram as bytes: the number of values above the range, then HdrHistogram's V2 format, compressed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.above_range.to_be_bytes().to_vec();
        self.counts_to_bytes(&mut bytes);
        bytes
    }

    /// The histogram of bytes from [`Histogram::to_bytes`], packed; `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (above_range, counts) = bytes.split_first_chunk()?;
        unpack(counts)?;
        Some(Self {
            counts: Form::Packed(counts.into()),
            above_range: u64::from_be_bytes(*above_range),
        })
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.chunks_mut().add(&other.chunks());
        self.above_range += other.above_range;
    }

    /// The number of values, including those above the range.
    pub fn len(&self) -> u64 {
        self.chunks().total()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of durations above the range, which count at its end.
    pub(crate) const fn above_range(&self) -> u64 {
        self.above_range
    }

    /// The smallest value that the share `probability` of all values does not exceed, in nanoseconds, to within
    /// 0.1 %; 0 for an empty histogram.
    pub fn quantile(&self, probability: f64) -> u64 {
        self.counts().value_at_quantile(probability).min(MAX_NS)
    }

    /// The number of values up to `nanos`, to within 0.1 % of `nanos`.
    pub fn count_up_to(&self, nanos: u64) -> u64 {
        self.counts().count_between(0, nanos)
    }

    /// The mean in nanoseconds, to within 0.1 %; 0 for an empty histogram.
    pub fn mean(&self) -> f64 {
        self.counts().mean()
    }

    /// The standard deviation in nanoseconds; 0 for an empty histogram.
    pub fn standard_deviation(&self) -> f64 {
        self.counts().stdev()
    }

    /// The smallest value in nanoseconds, to within 0.1 %; 0 for an empty histogram.
    pub fn min(&self) -> u64 {
        self.counts().min()
    }

    /// The largest value in nanoseconds, to within 0.1 %; 0 for an empty histogram.
    pub fn max(&self) -> u64 {
        self.counts().max().min(MAX_NS)
    }

    /// Mean, extremes and the quantiles of results files, each to within 0.1 %; `None` without a value.
    pub fn summary(&self) -> Option<Summary> {
        let counts = self.counts();
        let estimate = |probability| estimate(&counts, probability);
        Some(Summary {
            mean: self.mean_interval()?,
            min: counts.min(),
            max: counts.max().min(MAX_NS),
            p50: estimate(0.5),
            p90: estimate(0.9),
            p95: estimate(0.95),
            p99: estimate(0.99),
            p99_9: estimate(0.999),
        })
    }

    /// The mean; `None` without a value. It has an interval only if all values are equal. The values of a histogram come from
    /// devices that share a link or a target; they depend on each other, and intervals for independent values do not apply.
    fn mean_interval(&self) -> Option<MeanInterval> {
        let recorded = self.chunks().recorded().count();
        let mean = self.mean();
        let interval = (recorded == 1 && self.len() > 1).then_some(mean);
        (recorded > 0).then(|| MeanInterval {
            mean,
            low: interval,
            high: interval,
            n: self.len(),
            low_n: false,
        })
    }

    /// The counts alone, in HdrHistogram's V2 format, compressed.
    pub(crate) fn counts_to_bytes(&self, bytes: &mut Vec<u8>) {
        match &self.counts {
            Form::Open(_) => {
                let written = V2DeflateSerializer::new().serialize(&self.counts(), bytes);
                written.expect("a vector takes all bytes");
            }
            Form::Packed(packed) => bytes.extend_from_slice(packed),
        }
    }

    /// The histogram of counts in that format, with any bounds; `None` for other bytes.
    pub(crate) fn from_counts(bytes: &[u8]) -> Option<Self> {
        let theirs = unpack(bytes)?;
        let mut counts = none(theirs.max());
        counts.add(&theirs).ok()?;
        Some(Self {
            counts: Form::Open(chunks_of(&counts)),
            above_range: 0,
        })
    }

    /// The number of power-of-two buckets.
    pub(crate) fn buckets(&self) -> u8 {
        self.counts().buckets()
    }
}

/// The quantile with its interval; `None` if there are too few values to print it.
fn estimate(counts: &Counts<u64>, probability: f64) -> Option<Quantile> {
    let n = counts.len();
    if !quantile::is_printable(n, probability) {
        return None;
    }
    let (low, high) = quantile::interval_ranks(n, probability);
    Some(Quantile {
        probability,
        value: at_rank(counts, quantile::rank(n, probability)),
        low: low.map(|rank| at_rank(counts, rank)),
        high: high.map(|rank| at_rank(counts, rank)),
        low_n: quantile::is_low_n(n, probability),
    })
}

/// The value of a rank in ascending order, counted from 1; the largest value beyond the last rank.
fn at_rank(counts: &Counts<u64>, rank: u64) -> u64 {
    let mut below = 0;
    let mut values = counts.iter_recorded();
    let reached = values.find(|step| {
        below += step.count_at_value();
        below >= rank
    });
    reached
        .map_or_else(|| counts.max(), |step| step.value_iterated_to())
        .min(MAX_NS)
}

/// Empty counts in the library's form, with room for a value of `largest`, but at most [`MAX_NS`].
fn none(largest: u64) -> Counts<u64> {
    let counts = Counts::new_with_bounds(1, largest.clamp(USUAL_NS, MAX_NS), DIGITS);
    counts.expect("the library accepts bounds from 60 s on")
}

fn chunks_of(counts: &Counts<u64>) -> Chunks {
    let mut chunks = Chunks::default();
    for step in counts.iter_recorded() {
        chunks.record(step.value_iterated_to(), step.count_at_value());
    }
    chunks
}

fn unpack(mut bytes: &[u8]) -> Option<Counts<u64>> {
    Deserializer::new().deserialize(&mut bytes).ok()
}

/// Serializes to the bytes in base64.
impl Serialize for Histogram {
    fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(self.to_bytes()))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(de::Error::custom)?;
        Self::from_bytes(&bytes).ok_or_else(|| de::Error::custom("not a histogram"))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A histogram of some values.
    pub(crate) fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn values_up_to_100_years_are_kept_to_within_0_1_percent() {
        const LONGEST: u64 = 100 * 31_557_600_000_000_000;
        let mut value = 1_000_u64;
        while value <= LONGEST {
            let histogram = of([value]);
            for kept in [histogram.quantile(0.5), histogram.min(), histogram.max()] {
                let error = kept.abs_diff(value) as f64 / value as f64;
                assert!(error <= 0.001, "{value} ns kept as {kept} ns");
            }
            value += value / 10 + 1;
        }
    }

    #[test]
    fn durations_above_the_range_are_counted_apart() {
        let histogram = of([1_000, MAX_NS, MAX_NS + 1, u64::MAX]);
        assert_eq!((histogram.len(), histogram.above_range()), (4, 2));
        assert_eq!(histogram.max(), MAX_NS);
    }

    #[test]
    fn durations_above_a_minute_survive_every_conversion() {
        let minutes = |minutes: u64| minutes * 60_000_000_000;
        let long = of([minutes(1), minutes(2), minutes(90)]);
        let mut packed = long.clone();
        packed.pack();
        let mut merged = of([1_000]);
        merged.merge(&packed);
        let read = Histogram::from_bytes(&long.to_bytes()).expect("a histogram");
        for histogram in [&long, &packed, &merged, &read] {
            let largest = histogram.max() as f64;
            assert!((largest / minutes(90) as f64 - 1.0).abs() < 0.001, "{largest}");
            assert_eq!(histogram.above_range(), 0);
        }
        assert_eq!(long.count_up_to(minutes(3)), 2);
        assert!((long.mean() / minutes(31) as f64 - 1.0).abs() < 0.001);
    }

    #[test]
    fn a_merge_is_as_if_recorded_together() {
        let mut merged = of(1..500);
        merged.merge(&of(500..1_000));
        merged.merge(&of([u64::MAX]));
        let mut together = of(1..1_000);
        together.record(u64::MAX);
        assert!(merged.steps(5).eq(together.steps(5)));
        assert_eq!(merged.above_range(), 1);
    }

    #[test]
    fn a_packed_histogram_is_the_same_and_takes_more_values() {
        let open = of(1..5_000);
        let mut packed = open.clone();
        packed.pack();
        assert!(matches!(&packed.counts, Form::Packed(bytes) if bytes.len() < 5_000));
        assert_eq!((packed.len(), packed.summary()), (open.len(), open.summary()));
        assert_eq!(packed.to_bytes(), open.to_bytes());
        packed.record(7_000);
        packed.merge(&Histogram::from_bytes(&open.to_bytes()).expect("a histogram"));
        assert_eq!(
            (packed.len(), packed.max()),
            (2 * open.len() + 1, of([7_000]).max())
        );
    }

    #[test]
    fn a_copy_is_the_same() {
        let spread = (0..60)
            .map(|power| (1_u64 << power) + 1)
            .chain([0, 0, 1_000, MAX_NS]);
        let histogram = of(spread.chain(std::iter::repeat_n(77_777, 500)));
        let mut merged = Histogram::new();
        merged.merge(&histogram);
        for copy in [histogram.clone(), merged] {
            assert_eq!(copy.to_bytes(), histogram.to_bytes());
            assert_eq!(
                (copy.len(), copy.summary()),
                (histogram.len(), histogram.summary())
            );
            assert!(copy.steps(5).eq(histogram.steps(5)));
        }
    }

    #[test]
    fn a_summary_is_that_of_the_exact_values_to_within_a_thousandth() {
        let values: Vec<u64> = (1..=20_000).map(|i| i * 7_919 % 20_011 * 1_000 + 1_000).collect();
        let exact = crate::Sample::new(values.clone()).expect("values").summary();
        let kept = of(values).summary().expect("values");
        let near = |a: f64, b: f64| (a - b).abs() <= b * 0.001;
        assert_eq!(kept.mean.n, 20_000);
        assert!(near(kept.mean.mean, exact.mean.mean));
        let pairs = [
            (kept.p50, exact.p50),
            (kept.p99, exact.p99),
            (kept.p99_9, exact.p99_9),
        ];
        for (kept, exact) in pairs.map(|(kept, exact)| (kept.unwrap(), exact.unwrap())) {
            assert!(near(kept.value as f64, exact.value as f64), "{kept:?} {exact:?}");
            assert!(
                near(kept.low.unwrap() as f64, exact.low.unwrap() as f64),
                "{kept:?}"
            );
            assert!(
                near(kept.high.unwrap() as f64, exact.high.unwrap() as f64),
                "{kept:?}"
            );
            assert_eq!(kept.low_n, exact.low_n);
        }
    }

    #[test]
    fn a_summary_prints_what_the_number_of_values_allows() {
        assert_eq!(Histogram::new().summary(), None);
        let one = of([5]).summary().expect("a value");
        assert_eq!((one.mean.low, one.p50, one.min, one.max), (None, None, 5, 5));
        let alike = of([5; 20]).summary().expect("values");
        assert_eq!((alike.mean.low, alike.mean.high), (Some(5.0), Some(5.0)));
        let other = of([5, 7]).summary().expect("values");
        assert_eq!((other.mean.low, other.mean.low_n), (None, false));
        let many = of(1..=9_999).summary().expect("values");
        assert!(many.p99.is_some() && many.p99_9.is_none());
    }
}
