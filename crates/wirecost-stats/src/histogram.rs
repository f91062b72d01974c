//! HDR histogram of durations (Tene's HdrHistogram): constant memory, 3 significant digits.

mod packed;
mod places;
mod steps;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram as Counts;
use hdrhistogram::serialization::Deserializer;
use serde::{Deserialize, Serialize, de, ser};

use crate::chunks::{Chunks, Recorded};
use crate::mean::MeanInterval;
use crate::sample::Summary;
use places::{at_rank, both, chunks_of, estimate, largest, mean_of, total};

pub use steps::Step;

/// The longest duration that has a count of its own, in nanoseconds: 146 years, more than any time-out that a user can
/// set (`wirecost_proto::units::parse_duration`).
pub(crate) const MAX_NS: u64 = 1 << 62;

/// The bound in the file format of a histogram without longer durations, in nanoseconds: 60 s.
const USUAL_NS: u64 = 60_000_000_000;

/// Up to this many places with a count, a histogram that is packed is a list of them: most seconds of most loads have fewer, and the
/// compressed form takes a thousand times longer to write and to read.
const FEW: usize = 64;

/// Significant decimal digits of a value.
const DIGITS: u8 = 3;

/// Places of HdrHistogram's first bucket at 3 significant digits: the power of two from 2 x 10^3 on.
pub(crate) const SUB_BUCKETS: u64 = 2_048;

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
    /// The places with a count, of which there are few.
    Few {
        /// In ascending order.
        recorded: Box<[Recorded]>,
        /// The same in HdrHistogram's V2 format, compressed, if it was read from that.
        bytes: Option<Box<[u8]>>,
    },
    /// In HdrHistogram's V2 format, compressed.
    Packed {
        bytes: Box<[u8]>,
        /// The number of counted values, for which nothing needs to be unpacked.
        total: u64,
    },
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
        let Form::Open(chunks) = &self.counts else {
            return;
        };
        self.counts = if chunks.recorded().nth(FEW).is_none() {
            Form::Few {
                recorded: chunks.recorded().collect(),
                bytes: None,
            }
        } else {
            let (mut bytes, total) = (Vec::new(), chunks.total());
            self.counts_to_bytes(&mut bytes);
            let bytes = bytes.into();
            Form::Packed { bytes, total }
        };
    }

    /// The places with a count, in ascending order.
    fn recorded(&self) -> Cow<'_, [Recorded]> {
        match &self.counts {
            Form::Open(chunks) => chunks.recorded().collect(),
            Form::Few { recorded, .. } => Cow::Borrowed(recorded),
            Form::Packed { bytes, .. } => packed::read(bytes).expect("it was packed here").into(),
        }
    }

    #[inline]
    fn chunks_mut(&mut self) -> &mut Chunks {
        if let Form::Few { .. } | Form::Packed { .. } = self.counts {
            self.counts = Form::Open(chunks_of(&self.recorded()));
        }
        match &mut self.counts {
            Form::Open(chunks) => chunks,
            Form::Few { .. } | Form::Packed { .. } => unreachable!("it has just been opened"),
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
        let recorded = packed::read(counts)?;
        let bytes = counts.into();
        Some(Self {
            counts: match recorded.len() {
                ..=FEW => Form::Few {
                    recorded: recorded.into(),
                    bytes: Some(bytes),
                },
                _ => Form::Packed {
                    bytes,
                    total: total(&recorded),
                },
            },
            above_range: u64::from_be_bytes(*above_range),
        })
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.above_range += other.above_range;
        if let Form::Few { recorded: others, .. } = &other.counts
            && let Some(recorded) = self.few_with(others)
        {
            let bytes = None;
            self.counts = Form::Few { recorded, bytes };
            return;
        }
        match &other.counts {
            Form::Open(chunks) if chunks.total() > 0 => self.chunks_mut().add(chunks),
            Form::Open(_) => {}
            Form::Few { .. } | Form::Packed { .. } => {
                for at in other.recorded().iter() {
                    self.chunks_mut().record(at.value, at.times);
                }
            }
        }
    }

    /// Its places and those of another histogram, if both are few: a sum of lists takes no room for places without a count.
    fn few_with(&self, others: &[Recorded]) -> Option<Box<[Recorded]>> {
        let own: &[Recorded] = match &self.counts {
            Form::Few { recorded, .. } => recorded,
            Form::Open(chunks) if chunks.total() == 0 => &[],
            Form::Open(_) | Form::Packed { .. } => return None,
        };
        (own.len() + others.len() <= FEW).then(|| both(own, others))
    }

    /// The number of values, including those above the range.
    pub fn len(&self) -> u64 {
        match &self.counts {
            Form::Open(chunks) => chunks.total(),
            Form::Few { recorded, .. } => total(recorded),
            Form::Packed { total, .. } => *total,
        }
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
        let recorded = self.recorded();
        let rank = (probability.min(1.0) * self.len() as f64).ceil() as u64;
        at_rank(&recorded, rank.max(1))
    }

    /// The number of values up to each of `bounds` in nanoseconds, to within 0.1 % of the bound.
    pub fn counts_up_to<const N: usize>(&self, bounds: [u64; N]) -> [u64; N] {
        let recorded = self.recorded();
        bounds.map(|bound| {
            let until = recorded.partition_point(|at| at.value <= bound);
            total(&recorded[..until])
        })
    }

    /// The mean in nanoseconds, to within 0.1 %; 0 for an empty histogram.
    pub fn mean(&self) -> f64 {
        mean_of(&self.recorded(), self.len())
    }

    /// The standard deviation in nanoseconds; 0 for an empty histogram.
    pub fn standard_deviation(&self) -> f64 {
        let (recorded, all) = (self.recorded(), self.len());
        if all == 0 {
            return 0.0;
        }
        let mean = mean_of(&recorded, all);
        let squares = recorded.iter().fold(0.0, |sum, at| {
            let deviation = at.middle() as f64 - mean;
            sum + deviation * deviation * at.times as f64
        });
        (squares / all as f64).sqrt()
    }

    /// The smallest value in nanoseconds, to within 0.1 %; 0 for an empty histogram.
    pub fn min(&self) -> u64 {
        self.recorded().first().map_or(0, |first| first.value)
    }

    /// The largest value in nanoseconds, to within 0.1 %; 0 for an empty histogram.
    pub fn max(&self) -> u64 {
        largest(&self.recorded())
    }

    /// Mean, extremes and the quantiles of results files, each to within 0.1 %; `None` without a value.
    pub fn summary(&self) -> Option<Summary> {
        if self.is_empty() {
            return None;
        }
        // Once: to unpack the counts takes longer than all that is computed from them.
        let recorded = self.recorded();
        let estimate = |probability| estimate(&recorded, self.len(), probability);
        Some(Summary {
            mean: self.mean_with_interval(&recorded),
            min: recorded.first().map_or(0, |first| first.value),
            max: largest(&recorded),
            p50: estimate(0.5),
            p90: estimate(0.9),
            p95: estimate(0.95),
            p99: estimate(0.99),
            p99_9: estimate(0.999),
        })
    }

    /// The mean of its counts, of which there is one at least. It has an interval only if all values are equal. The values of a histogram come from
    /// devices that share a link or a target; they depend on each other, and intervals for independent values do not apply.
    fn mean_with_interval(&self, recorded: &[Recorded]) -> MeanInterval {
        let are_equal = recorded.len() == 1;
        let mean = mean_of(recorded, self.len());
        let interval = (are_equal && self.len() > 1).then_some(mean);
        MeanInterval {
            mean,
            low: interval,
            high: interval,
            n: self.len(),
            low_n: false,
        }
    }

    /// The counts alone, in HdrHistogram's V2 format, compressed.
    pub(crate) fn counts_to_bytes(&self, bytes: &mut Vec<u8>) {
        match &self.counts {
            Form::Open(_) | Form::Few { bytes: None, .. } => packed::write(&self.recorded(), bytes),
            Form::Few {
                bytes: Some(packed), ..
            }
            | Form::Packed { bytes: packed, .. } => {
                bytes.extend_from_slice(packed);
            }
        }
    }

    /// The histogram of counts in that format, with any bounds; `None` for other bytes.
    pub(crate) fn from_counts(bytes: &[u8]) -> Option<Self> {
        let theirs: Counts<u64> = Deserializer::new().deserialize(&mut { bytes }).ok()?;
        let mut counts = none(theirs.max());
        counts.add(&theirs).ok()?;
        let mut chunks = Chunks::default();
        for step in counts.iter_recorded() {
            chunks.record(step.value_iterated_to(), step.count_at_value());
        }
        Some(Self {
            counts: Form::Open(chunks),
            above_range: 0,
        })
    }

    /// The number of power-of-two buckets of HdrHistogram.
    pub(crate) fn buckets(&self) -> u32 {
        let covered = bound_of(&self.recorded()) >> SUB_BUCKETS.trailing_zeros();
        u64::BITS - covered.leading_zeros() + 1
    }
}

/// The bound in the file format of a histogram of these places.
fn bound_of(recorded: &[Recorded]) -> u64 {
    let largest = recorded.last().map_or(0, |last| last.value);
    largest.clamp(USUAL_NS, MAX_NS)
}

/// Empty counts in the library's form, with room for a value of `largest`, but at most [`MAX_NS`].
fn none(largest: u64) -> Counts<u64> {
    let counts = Counts::new_with_bounds(1, largest.clamp(USUAL_NS, MAX_NS), DIGITS);
    counts.expect("the library accepts bounds from 60 s on")
}

/// The counts in the library's form, to compare with.
#[cfg(test)]
fn in_library(recorded: &[Recorded]) -> Counts<u64> {
    let mut counts = none(bound_of(recorded));
    for at in recorded {
        counts.saturating_record_n(at.value, at.times);
    }
    counts
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
    pub(crate) fn record(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn values_up_to_100_years_are_kept_to_within_0_1_percent() {
        const LONGEST: u64 = 100 * 31_557_600_000_000_000;
        let mut value = 1_000_u64;
        while value <= LONGEST {
            let histogram = record([value]);
            for kept in [histogram.quantile(0.5), histogram.min(), histogram.max()] {
                let error = kept.abs_diff(value) as f64 / value as f64;
                assert!(error <= 0.001, "{value} ns kept as {kept} ns");
            }
            value += value / 10 + 1;
        }
    }

    #[test]
    fn packed_and_open_histograms_add_up_alike() {
        let packed = |values: &[u64]| {
            let mut histogram = record(values.iter().copied());
            histogram.pack();
            histogram
        };
        let many: Vec<u64> = (0..200).map(|value| value * value * 1_000).collect();
        let few: Vec<u64> = [5, 5, 700_000, 3, u64::MAX].into();
        let sets = [&few[..], &many[..20], &many[..60], &many[..], &[]];
        for one in sets {
            for other in sets {
                let all = record(one.iter().chain(other).copied()).to_bytes();
                for begun in [record(one.iter().copied()), packed(one)] {
                    for added in [record(other.iter().copied()), packed(other)] {
                        let mut sum = begun.clone();
                        sum.merge(&added);
                        assert_eq!(sum.to_bytes(), all, "{one:?} and {other:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn durations_above_the_range_are_counted_apart() {
        let histogram = record([1_000, MAX_NS, MAX_NS + 1, u64::MAX]);
        assert_eq!((histogram.len(), histogram.above_range()), (4, 2));
        assert_eq!(histogram.max(), MAX_NS);
    }

    #[test]
    fn durations_above_a_minute_survive_every_conversion() {
        let minutes = |minutes: u64| minutes * 60_000_000_000;
        let long = record([minutes(1), minutes(2), minutes(90)]);
        let mut packed = long.clone();
        packed.pack();
        let mut merged = record([1_000]);
        merged.merge(&packed);
        let read = Histogram::from_bytes(&long.to_bytes()).expect("a histogram");
        for histogram in [&long, &packed, &merged, &read] {
            let largest = histogram.max() as f64;
            assert!((largest / minutes(90) as f64 - 1.0).abs() < 0.001, "{largest}");
            assert_eq!(histogram.above_range(), 0);
        }
        assert_eq!(long.counts_up_to([minutes(3)]), [2]);
        assert!((long.mean() / minutes(31) as f64 - 1.0).abs() < 0.001);
    }

    #[test]
    fn a_packed_histogram_says_its_length_and_takes_more_values() {
        let mut packed = record([1_000, 1_000, u64::MAX]);
        packed.pack();
        packed.merge(&Histogram::new());
        assert!(
            matches!(&packed.counts, Form::Few { recorded, .. } if recorded.len() == 2),
            "nothing has unpacked it"
        );
        let mut read = Histogram::from_bytes(&packed.to_bytes()).expect("a histogram");
        assert_eq!((packed.len(), read.len(), read.is_empty()), (3, 3, false));
        assert!(
            matches!(&read.counts, Form::Few { bytes: Some(_), .. }),
            "nothing inflates or deflates it again"
        );
        read.record(2_000);
        assert_eq!((read.len(), read.above_range()), (4, 1));
        let mut none = Histogram::new();
        none.pack();
        assert_eq!((none.is_empty(), none.summary()), (true, None));
    }

    proptest::proptest! {
        /// In each form, every figure is that of the library, to the last bit.
        #[test]
        fn figures_are_those_of_the_library(
            values in proptest::collection::vec(0..60_u32, 1..200),
            low in 0..1_000_u64,
            probability in 0.0..=1.0,
        ) {
            let values = values.iter().map(|power| (1_u64 << power) + low % (1 << power).max(1));
            let open = record(values);
            let library = in_library(&open.recorded());
            let mut packed = open.clone();
            packed.pack();
            let read = Histogram::from_bytes(&open.to_bytes()).expect("a histogram");
            for histogram in [&open, &packed, &read] {
                assert_eq!(histogram.len(), library.len());
                assert_eq!(histogram.mean().to_bits(), library.mean().to_bits());
                assert_eq!(histogram.standard_deviation().to_bits(), library.stdev().to_bits());
                assert_eq!((histogram.min(), histogram.max()), (library.min(), library.max()));
                if probability > 0.0 {
                    assert_eq!(histogram.quantile(probability), library.value_at_quantile(probability));
                }
                assert_eq!(histogram.buckets(), u32::from(library.buckets()));
                let nanos = library.value_at_quantile(probability);
                assert_eq!(histogram.counts_up_to([nanos]), [library.count_between(0, nanos)]);
                assert_eq!(histogram.to_bytes(), open.to_bytes());
                assert!(histogram.steps(5).eq(open.steps(5)));
            }
        }
    }

    #[test]
    fn a_merge_is_as_if_recorded_together() {
        let mut merged = record(1..500);
        merged.merge(&record(500..1_000));
        merged.merge(&record([u64::MAX]));
        let mut together = record(1..1_000);
        together.record(u64::MAX);
        assert!(merged.steps(5).eq(together.steps(5)));
        assert_eq!(merged.above_range(), 1);
    }

    #[test]
    fn a_packed_histogram_is_the_same_and_takes_more_values() {
        let open = record(1..5_000);
        let mut packed = open.clone();
        packed.pack();
        assert!(matches!(&packed.counts, Form::Packed { bytes, .. } if bytes.len() < 5_000));
        assert_eq!((packed.len(), packed.summary()), (open.len(), open.summary()));
        assert_eq!(packed.to_bytes(), open.to_bytes());
        packed.record(7_000);
        packed.merge(&Histogram::from_bytes(&open.to_bytes()).expect("a histogram"));
        assert_eq!(
            (packed.len(), packed.max()),
            (2 * open.len() + 1, record([7_000]).max())
        );
    }

    #[test]
    fn a_copy_is_the_same() {
        let spread = (0..60)
            .map(|power| (1_u64 << power) + 1)
            .chain([0, 0, 1_000, MAX_NS]);
        let histogram = record(spread.chain(std::iter::repeat_n(77_777, 500)));
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
        let kept = record(values).summary().expect("values");
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
        let one = record([5]).summary().expect("a value");
        assert_eq!((one.mean.low, one.p50, one.min, one.max), (None, None, 5, 5));
        let alike = record([5; 20]).summary().expect("values");
        assert_eq!((alike.mean.low, alike.mean.high), (Some(5.0), Some(5.0)));
        let other = record([5, 7]).summary().expect("values");
        assert_eq!((other.mean.low, other.mean.low_n), (None, false));
        let many = record(1..=9_999).summary().expect("values");
        assert!(many.p99.is_some() && many.p99_9.is_none());
    }
}
