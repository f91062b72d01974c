//! A trace in bins of equal width, of bounded memory: each has its mean power, or nothing where nothing was measured.

use core::ops::Range;

use crate::trace::{Fault, MAX_GAP_INTERVALS, Sample, Trace};

/// The most bins of a trace. A longer one has wider bins.
pub const MOST: usize = 1 << 23;

/// Samples that tell the time from one to the next.
const FIRST: usize = 1_000;

/// Reads samples into bins as wide as the time from one sample to the next.
#[derive(Clone, Debug, Default)]
pub struct Binner {
    /// The first samples, until the width is known.
    first: Vec<Sample>,
    bins: Option<TraceBins>,
    /// The bin that is being filled: its index, its sum and its samples.
    open: (usize, f64, u32),
    joules: f64,
    coulombs: f64,
    ceiling: Ceiling,
}

/// A trace in intervals of equal width, with which a fit compares the model.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceBins {
    /// When the first bin begins, in seconds of the trace.
    pub start: f64,
    /// Seconds of a bin.
    pub width: f64,
    /// Volts of the supply.
    pub volts: f64,
    /// Whether a bin is the mean of several samples, because the trace is long.
    pub is_averaged: bool,
    /// Gaps: more than [`MAX_GAP_INTERVALS`] intervals without a sample.
    pub gaps: u64,
    /// Where a meter's range cut the current off, if it did.
    pub ceiling: Option<Clipped>,
    /// Watts of each bin; NaN in a gap.
    watts: Vec<f32>,
}

/// A current that a meter cut off at the end of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clipped {
    /// The highest current, in amperes.
    pub amperes: f64,
    /// How often the trace stays there.
    pub times: u64,
    /// When it does so first, in seconds of the trace.
    pub first: f64,
}

/// Watches whether the highest current is a range's end: noise moves every sample, but not one that a range cuts off.
#[derive(Clone, Debug, Default)]
struct Ceiling {
    last: Option<f64>,
    highest: f64,
    /// Equal samples at the highest current up to here.
    run: u32,
    times: u64,
    first: f64,
    /// Samples below the highest, and those of them that equal the one before.
    below: u64,
    equal: u64,
}

impl Ceiling {
    /// So many equal samples are no accident.
    const RUN: u32 = 8;
    /// So often it must come: one flat top may be a device's.
    const TIMES: u64 = 3;

    fn add(&mut self, sample: &Sample) {
        let is_equal = self.last == Some(sample.amperes);
        self.last = Some(sample.amperes);
        if sample.amperes > self.highest {
            (self.highest, self.run, self.times) = (sample.amperes, 1, 0);
        } else if sample.amperes < self.highest {
            self.below += 1;
            self.equal += u64::from(is_equal);
        } else {
            self.run = if is_equal { self.run + 1 } else { 1 };
            if self.run == Self::RUN {
                self.times += 1;
                if self.times == 1 {
                    self.first = sample.seconds;
                }
            }
        }
    }

    /// What was cut off. Nothing can be told of a trace without noise, whose samples are equal everywhere.
    fn clipped(&self) -> Option<Clipped> {
        let has_noise = self.equal * 10 < self.below;
        (has_noise && self.times >= Self::TIMES).then_some(Clipped {
            amperes: self.highest,
            times: self.times,
            first: self.first,
        })
    }
}

/// Where a meter's range cut the current of samples off, if it did.
pub fn clipped(samples: &[Sample]) -> Option<Clipped> {
    let mut ceiling = Ceiling::default();
    samples.iter().for_each(|sample| ceiling.add(sample));
    ceiling.clipped()
}

impl Binner {
    /// Adds the next sample. Times never go back.
    pub fn add(&mut self, sample: Sample) {
        self.joules += sample.watts;
        self.coulombs += sample.amperes;
        self.ceiling.add(&sample);
        if self.bins.is_none() {
            self.first.push(sample);
            if self.first.len() == FIRST {
                self.open();
            }
            return;
        }
        self.put(sample);
    }

    /// The trace; `None` where it has no two samples at different times.
    pub fn finish(mut self) -> Option<TraceBins> {
        if self.bins.is_none() {
            self.open();
        }
        self.close();
        let mut bins = self.bins?;
        bins.volts = self.joules / self.coulombs;
        bins.ceiling = self.ceiling.clipped();
        Some(bins)
    }

    /// Begins the bins with the first samples.
    fn open(&mut self) {
        let times = self.first.iter().map(|sample| sample.seconds);
        let steps = times.clone().zip(times.skip(1)).map(|(from, to)| to - from);
        let mut steps: Vec<f64> = steps.filter(|step| *step > 0.0).collect();
        let (Some(first), false) = (self.first.first(), steps.is_empty()) else {
            return;
        };
        let middle = steps.len() / 2;
        // The median, as some meters write samples in blocks with a larger step between them.
        let width = *steps.select_nth_unstable_by(middle, f64::total_cmp).1;
        self.bins = Some(TraceBins {
            // A sample is in the middle of its bin, so that rounding of its time does not move it to the next one.
            start: first.seconds - width / 2.0,
            width,
            volts: 0.0,
            is_averaged: false,
            gaps: 0,
            ceiling: None,
            watts: Vec::new(),
        });
        for sample in core::mem::take(&mut self.first) {
            self.put(sample);
        }
    }

    fn put(&mut self, sample: Sample) {
        let Some(bins) = &mut self.bins else {
            return;
        };
        let mut index = bins.index(sample.seconds);
        while index >= MOST {
            // The open bin's own half is closed first.
            self.close();
            let Some(bins) = &mut self.bins else {
                return;
            };
            bins.halve();
            index = bins.index(sample.seconds);
            self.open = (bins.watts.len(), 0.0, 0);
        }
        if index > self.open.0 {
            self.close();
            let Some(bins) = &mut self.bins else {
                return;
            };
            bins.skip_to(index);
            self.open = (index, 0.0, 0);
        }
        self.open.1 += sample.watts;
        self.open.2 += 1;
    }

    /// Ends the bin that is being filled.
    fn close(&mut self) {
        let (_, sum, count) = self.open;
        if let Some(bins) = self.bins.as_mut().filter(|_| count > 0) {
            bins.watts.push((sum / f64::from(count)) as f32);
        }
        self.open.2 = 0;
    }
}

impl TraceBins {
    /// The trace with a sample in the middle of each bin.
    ///
    /// # Errors
    /// A gap, of which a bin has nothing, or fewer than two bins.
    pub fn trace(&self) -> Result<Trace, Fault> {
        let is_missing = |watts: &f32| !watts.is_finite();
        if let Some(first) = self.watts.iter().position(is_missing) {
            let missing = self.watts[first..].iter().take_while(|watts| is_missing(watts));
            let intervals = (missing.count() + 1) as f64;
            return Err(Fault::GapAt {
                from: self.time(first),
                seconds: intervals * self.width,
                intervals,
            });
        }
        if self.len() < 2 {
            return Err(Fault::NoTime);
        }
        let samples = self.watts.iter().enumerate().map(|(index, watts)| {
            let watts = f64::from(*watts);
            Sample {
                seconds: self.time(index) + self.width / 2.0,
                amperes: watts / self.volts,
                watts,
            }
        });
        Ok(Trace::even(samples.collect(), self.width))
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.watts.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.watts.is_empty()
    }

    /// The bin of a time.
    pub fn index(&self, seconds: f64) -> usize {
        ((seconds - self.start) / self.width).max(0.0) as usize
    }

    /// When a bin begins.
    pub fn time(&self, index: usize) -> f64 {
        self.start + index as f64 * self.width
    }

    /// Watts of each bin.
    pub fn watts(&self) -> &[f32] {
        &self.watts
    }

    /// The bins that lie within a time.
    pub fn within(&self, from: f64, to: f64) -> Range<usize> {
        let first = ((from - self.start) / self.width).ceil().max(0.0) as usize;
        let after = ((to - self.start) / self.width).floor().max(0.0) as usize;
        let after = after.min(self.len());
        first.min(after)..after
    }

    /// Fills up to a bin: with the value before it, or, where that is long ago, with nothing.
    fn skip_to(&mut self, index: usize) {
        let missing = index.saturating_sub(self.watts.len());
        let is_gap = missing as f64 > MAX_GAP_INTERVALS;
        self.gaps += u64::from(is_gap);
        let fill = match is_gap {
            true => f32::NAN,
            false => self.watts.last().copied().unwrap_or(f32::NAN),
        };
        self.watts.resize(index.max(self.watts.len()), fill);
    }

    /// Makes the bins twice as wide.
    fn halve(&mut self) {
        let pairs = self
            .watts
            .chunks(2)
            .map(|pair| pair.iter().sum::<f32>() / pair.len() as f32);
        self.watts = pairs.collect();
        self.width *= 2.0;
        self.is_averaged = true;
    }
}

/// Sums of bins from the first one on: the mean of any range at once.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    sums: Vec<f64>,
    /// How many of them have a value.
    counts: Vec<u32>,
}

impl Sums {
    pub(super) fn from_bins(bins: &TraceBins) -> Self {
        let (mut sums, mut counts) = (vec![0.0], vec![0]);
        let (mut sum, mut count) = (0.0, 0);
        for watts in bins.watts() {
            if watts.is_finite() {
                sum += f64::from(*watts);
                count += 1;
            }
            sums.push(sum);
            counts.push(count);
        }
        Self { sums, counts }
    }

    /// Whether every bin of a range has a value.
    pub(super) fn is_whole(&self, range: &Range<usize>) -> bool {
        (self.counts[range.end] - self.counts[range.start]) as usize == range.len()
    }

    pub(super) fn sum(&self, range: Range<usize>) -> f64 {
        self.sums[range.end] - self.sums[range.start]
    }

    /// The mean of a range; 0 of none.
    pub(super) fn mean(&self, range: Range<usize>) -> f64 {
        self.sum(range.clone()) / range.len().max(1) as f64
    }

    /// Where the mean changes in a range, `count` times: the ends of all parts but the last, in their order. Each is where the squares
    /// about the means of the two parts beside it are least.
    pub(super) fn changes(&self, range: Range<usize>, count: usize) -> Vec<usize> {
        let mut ends: Vec<usize> = Vec::new();
        while ends.len() < count {
            let borders: Vec<usize> = [range.start]
                .into_iter()
                .chain(ends.clone())
                .chain([range.end])
                .collect();
            let parts = borders
                .windows(2)
                .filter_map(|pair| self.change(pair[0]..pair[1]));
            let Some((_, at)) = parts.max_by(|one, other| one.0.total_cmp(&other.0)) else {
                break;
            };
            ends.push(at);
            ends.sort_unstable();
        }
        // The first borders were chosen before the later ones were known: moved again within their neighbours, they settle.
        for _ in 0..3 {
            for index in 0..ends.len() {
                let from = index.checked_sub(1).map_or(range.start, |before| ends[before]);
                let to = ends.get(index + 1).copied().unwrap_or(range.end);
                if let Some((_, at)) = self.change(from..to) {
                    ends[index] = at;
                }
            }
        }
        ends
    }

    /// The best change in a range, and by how much it lessens the sum of squares.
    fn change(&self, range: Range<usize>) -> Option<(f64, usize)> {
        let of = |sum: f64, count: usize| sum * sum / count as f64;
        let whole = of(self.sum(range.clone()), range.len());
        let each = (range.start + 1..range.end).map(|at| {
            let left = of(self.sum(range.start..at), at - range.start);
            let right = of(self.sum(at..range.end), range.end - at);
            (left + right - whole, at)
        });
        each.max_by(|one, other| one.0.total_cmp(&other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seconds: f64, watts: f64) -> Sample {
        Sample {
            seconds,
            amperes: watts / 2.0,
            watts,
        }
    }

    #[test]
    fn bins_are_samples_in_their_middles_and_a_gap_is_none() {
        let bins = |missing: std::ops::Range<u32>| {
            let mut binner = Binner::default();
            for index in (0..100_u32).filter(|index| !missing.contains(index)) {
                binner.add(Sample {
                    seconds: f64::from(index) * 0.1,
                    amperes: 0.01,
                    watts: 0.033,
                });
            }
            binner.finish().expect("samples")
        };
        let trace = bins(0..0).trace().expect("whole");
        assert!((trace.joules(trace.start(), trace.end()).expect("covered") - 9.9 * 0.033).abs() < 1e-6);
        assert!((trace.samples()[7].amperes - 0.01).abs() < 1e-9);
        assert!((trace.samples()[7].seconds - 0.7).abs() < 1e-9);
        let refused = bins(50..70).trace().expect_err("a gap");
        assert_eq!(
            refused.to_string(),
            "a gap of 2.100000 s from 4.950000 s on: 21 sample intervals"
        );
    }

    #[test]
    fn a_bin_is_a_sample_and_a_gap_has_no_value() {
        let mut binner = Binner::default();
        for at in (0..10).chain(40..50) {
            binner.add(sample(f64::from(at) * 0.1, f64::from(at)));
        }
        let bins = binner.finish().expect("samples");
        assert_eq!((bins.len(), bins.gaps, bins.is_averaged), (50, 1, false));
        assert!((bins.width - 0.1).abs() < 1e-9 && (bins.volts - 2.0).abs() < 1e-9);
        assert_eq!((bins.watts()[9], bins.watts()[40]), (9.0, 40.0));
        assert!(bins.watts()[20].is_nan());
    }

    #[test]
    fn a_trace_longer_than_the_bins_is_averaged_and_its_energy_stays() {
        let mut binner = Binner::default();
        let count = MOST * 3 / 2;
        for at in 0..count {
            binner.add(sample(at as f64 * 1e-3, (at % 2) as f64));
        }
        let bins = binner.finish().expect("samples");
        assert!(bins.is_averaged && bins.len() <= MOST);
        assert!((bins.width - 2e-3).abs() < 1e-9);
        let sums = Sums::from_bins(&bins);
        assert!((sums.mean(0..bins.len()) - 0.5).abs() < 1e-3);
    }

    #[test]
    fn changes_of_the_mean_are_found() {
        let mut binner = Binner::default();
        for at in 0..1_000 {
            let watts = match at {
                0..300 => 5.0,
                300..450 => 1.0,
                _ => 0.1,
            };
            binner.add(sample(f64::from(at), watts + f64::from(at % 3) * 0.05));
        }
        let bins = binner.finish().expect("samples");
        assert_eq!(Sums::from_bins(&bins).changes(0..1_000, 2), [300, 450]);
    }

    #[test]
    fn a_flat_top_above_noise_is_the_end_of_a_range() {
        let trace = |noise: f64, range: f64| {
            let mut binner = Binner::default();
            for at in 0..1_000_u32 {
                let level = if at % 100 < 20 { 5.0 } else { 1.0 };
                // No two neighbours are equal.
                let noisy = level + noise * f64::from(at * 7 % 11);
                binner.add(sample(f64::from(at), noisy.min(range)));
            }
            binner.finish().expect("samples").ceiling
        };
        let clipped = trace(0.01, 4.0).expect("clipped");
        assert_eq!((clipped.amperes, clipped.times, clipped.first), (2.0, 10, 7.0));
        assert_eq!(trace(0.01, 9.0), None);
        assert_eq!(trace(0.0, 4.0), None);
    }
}
