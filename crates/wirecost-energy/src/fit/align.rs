//! Which burst of a trace is which of a capture: two lists of times on clocks of their own.

/// The part of the bursts that must have a burst of the other list.
const FEWEST: f64 = 0.8;

/// A second alignment that fits as well as this part of the best one makes the answer ambiguous.
const NEARLY: f64 = 0.9;

/// The largest difference of two bursts that are one, in seconds: a capture beside the server is late by up to this on NB-IoT.
const MOST_LATE: f64 = 3.0;

/// The most bursts of the first list from which alignments are tried, and the most alignments: a noisy trace has a burst in each of its
/// bins.
const TRIED: usize = 40;
const MOST_SHIFTS: usize = 20_000;

/// The most bursts by which an alignment is scored, evenly taken from the first list.
const SCORED: usize = 200;

/// Why no alignment was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Misaligned {
    /// Most bursts of the capture have no burst of the trace.
    Apart {
        /// Bursts that fit in the best alignment.
        matched: usize,
        /// Bursts of the capture.
        bursts: usize,
    },
    /// A second alignment fits nearly as well.
    Ambiguous {
        /// Seconds from the clock of the capture to that of the trace, in both.
        shifts: [f64; 2],
    },
}

/// The alignment of two lists of times: pairs of indices of both.
#[derive(Clone, Debug, PartialEq)]
pub struct Aligned {
    /// Seconds from the clock of the first list to that of the second.
    pub shift: f64,
    /// Indices of both lists.
    pub pairs: Vec<(usize, usize)>,
}

/// Aligns the times of `one` with those of `other`, both rising.
///
/// # Errors
/// No shift brings most of them together, or two do.
pub fn align(one: &[f64], other: &[f64]) -> Result<Aligned, Misaligned> {
    let late = tolerance(one).min(tolerance(other));
    let some: Vec<f64> = one
        .iter()
        .copied()
        .step_by(one.len().div_ceil(SCORED).max(1))
        .collect();
    let mut scored: Vec<(f64, f64)> = shifts(one, other)
        .map(|shift| (score(&some, other, shift, late), shift))
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0));
    let Some((best, first)) = scored.first().copied() else {
        return Err(Misaligned::Apart {
            matched: 0,
            bursts: one.len(),
        });
    };
    let pairs = pairs(one, other, first, late);
    // By the shorter list: the trace may begin later or end earlier than the capture. Two at least, as one burst meets anything.
    if (pairs.len() as f64) < FEWEST * one.len().min(other.len()).max(2) as f64 {
        return Err(Misaligned::Apart {
            matched: pairs.len(),
            bursts: one.len(),
        });
    }
    // Strictly periodic traffic fits again one period later: only the user can tell which is meant.
    let second = scored
        .iter()
        .find(|(score, shift)| (shift - first).abs() > 2.0 * late && *score >= NEARLY * best);
    if let Some((_, second)) = second {
        return Err(Misaligned::Ambiguous {
            shifts: [first, *second],
        });
    }
    let mut apart: Vec<f64> = pairs.iter().map(|(from, to)| other[*to] - one[*from]).collect();
    let middle = apart.len() / 2;
    // The median of the pairs is better than the shift that was tried, which is the difference of two single bursts.
    let shift = *apart.select_nth_unstable_by(middle, f64::total_cmp).1;
    Ok(Aligned { shift, pairs })
}

/// The shifts that are tried: each brings a burst of one list onto one of the other.
fn shifts(one: &[f64], other: &[f64]) -> impl Iterator<Item = f64> {
    let tried = (MOST_SHIFTS / other.len().max(1)).clamp(1, TRIED);
    let froms = one.iter().take(tried);
    froms
        .flat_map(|from| other.iter().map(move |to| to - from))
        .take(MOST_SHIFTS)
}

/// How far two times may be apart that are one: a tenth of the shortest time between two.
fn tolerance(times: &[f64]) -> f64 {
    let steps = times.iter().zip(times.iter().skip(1)).map(|(from, to)| to - from);
    steps.fold(MOST_LATE, |least, step| least.min(step / 10.0))
}

/// The index of the time that is nearest.
fn nearest(times: &[f64], at: f64) -> Option<usize> {
    let after = times.partition_point(|time| *time < at);
    let near = [after.checked_sub(1), Some(after)].into_iter().flatten();
    near.filter(|index| *index < times.len())
        .min_by(|one, two| (times[*one] - at).abs().total_cmp(&(times[*two] - at).abs()))
}

fn pairs(one: &[f64], other: &[f64], shift: f64, late: f64) -> Vec<(usize, usize)> {
    let each = one.iter().enumerate().filter_map(|(index, from)| {
        let at = nearest(other, from + shift)?;
        ((other[at] - from - shift).abs() <= late).then_some((index, at))
    });
    each.collect()
}

fn score(one: &[f64], other: &[f64], shift: f64, late: f64) -> f64 {
    let near = |from: &f64| {
        let at = nearest(other, from + shift)?;
        Some((1.0 - (other[at] - from - shift).abs() / late).max(0.0))
    };
    one.iter().filter_map(near).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times whose steps differ.
    fn uneven() -> Vec<f64> {
        (0..50_u32)
            .map(|at| f64::from(at) * 30.0 + f64::from(at * at % 17))
            .collect()
    }

    #[test]
    fn a_pattern_is_found_on_another_clock_with_late_packets() {
        let one = uneven();
        let other: Vec<f64> = one
            .iter()
            .enumerate()
            .map(|(at, time)| time + 1_234.5 + 0.1 * (at % 3) as f64)
            .collect();
        let aligned = align(&one, &other[5..]).expect("an alignment");
        assert!((aligned.shift - 1_234.6).abs() < 0.15, "{}", aligned.shift);
        assert_eq!(aligned.pairs.len(), 45);
        assert_eq!(aligned.pairs[0], (5, 0));
    }

    #[test]
    fn what_is_tried_is_bounded_and_a_long_pattern_is_still_found() {
        let noise: Vec<f64> = (0..MOST_SHIFTS as u32 * 3).map(f64::from).collect();
        assert_eq!(shifts(&uneven(), &noise).count(), MOST_SHIFTS);
        assert_eq!(shifts(&uneven(), &uneven()).count(), TRIED * 50);
        // A linear congruential generator, so that no part of the pattern comes again.
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            f64::from((state >> 16) % 17)
        };
        let one: Vec<f64> = (0..1_000_u32).map(|at| f64::from(at) * 30.0 + next()).collect();
        let other: Vec<f64> = one.iter().map(|time| time + 7.25).collect();
        let aligned = align(&one, &other).expect("an alignment");
        assert!((aligned.shift - 7.25).abs() < 1e-6 && aligned.pairs.len() == 1_000);
    }

    #[test]
    fn equal_steps_are_ambiguous_and_another_pattern_is_refused() {
        let even: Vec<f64> = (0..50_u32).map(|at| f64::from(at) * 30.0).collect();
        assert!(matches!(align(&even, &even), Err(Misaligned::Ambiguous { .. })));
        let other: Vec<f64> = (0..50_u32)
            .map(|at| f64::from(at) * 41.0 + f64::from(at * at % 23))
            .collect();
        assert!(matches!(align(&uneven(), &other), Err(Misaligned::Apart { .. })));
        assert!(align(&[], &even).is_err());
    }
}
