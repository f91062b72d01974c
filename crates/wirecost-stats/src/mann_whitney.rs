//! Whether one sample tends to be larger than another (Mann and Whitney 1947), whatever their distributions.
//!
//! `diff` tells by it whether a figure moved in all of its samples, however far a few of them are away.

use statrs::distribution::{ContinuousCDF, Normal};

/// The result of a Mann-Whitney U test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// U of the first sample: in how many pairs its value is the larger one, ties counted half.
    pub u: f64,
    /// The probability that a value of the first sample exceeds one of the second, ties counted half: U over the
    /// number of pairs.
    pub superiority: f64,
    /// The standard normal deviate, towards 0 by the continuity correction; above 0 where the first sample is
    /// the larger one.
    pub z: f64,
    /// The two-sided p-value.
    pub p: f64,
}

/// Compares two samples by ranks; `None` where one of them is empty.
///
/// The p-value is that of the normal approximation with tie and continuity correction; it is good from about 8
/// values each on.
///
/// ```
/// let test = wirecost_stats::mann_whitney(&[19.0, 22.0, 16.0, 29.0, 24.0], &[20.0, 11.0, 17.0, 12.0]).unwrap();
/// assert_eq!(test.u, 17.0);
/// ```
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let (n, m) = (first.len() as f64, second.len() as f64);
    let ranked = rank(first, second);
    let u = ranked.first_sum - n * (n + 1.0) / 2.0;
    let z = deviate(u, n, m, ranked.ties);
    let p = 2.0 * Normal::standard().sf(z.abs());
    Some(MannWhitney {
        u,
        superiority: u / (n * m),
        z,
        p: p.min(1.0),
    })
}

/// U's distance from its mean in standard deviations under equal distributions.
fn deviate(u: f64, n: f64, m: f64, ties: f64) -> f64 {
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    let distance = u - n * m / 2.0;
    let corrected = (distance.abs() - 0.5).max(0.0);
    if corrected == 0.0 {
        return 0.0;
    }
    corrected.copysign(distance) / variance.sqrt()
}

/// The first sample's ranks among both samples.
struct Ranked {
    /// The sum of its ranks, ties sharing the mean of theirs.
    first_sum: f64,
    /// The sum of t^3 - t over all groups of t equal values.
    ties: f64,
}

fn rank(first: &[f64], second: &[f64]) -> Ranked {
    let of_first = first.iter().map(|value| (*value, true));
    let of_second = second.iter().map(|value| (*value, false));
    let mut values: Vec<(f64, bool)> = of_first.chain(of_second).collect();
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut ranked = Ranked {
        first_sum: 0.0,
        ties: 0.0,
    };
    let mut before = 0.0;
    for group in values.chunk_by(|one, other| one.0 == other.0) {
        let size = group.len() as f64;
        let of_first = group.iter().filter(|(_, is_first)| *is_first).count() as f64;
        ranked.first_sum += of_first * (before + (size + 1.0) / 2.0);
        ranked.ties += size * size * size - size;
        before += size;
    }
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example_without_ties() {
        let test = mann_whitney(&[19.0, 22.0, 16.0, 29.0, 24.0], &[20.0, 11.0, 17.0, 12.0]).unwrap();
        assert_eq!((test.u, test.superiority), (17.0, 0.85));
        // U - 10 - 1/2 over sqrt(5 x 4 x 10 / 12) = 1.5922.
        assert!((test.z - 1.592_168).abs() < 1e-5, "{}", test.z);
        assert!((test.p - 0.111_347).abs() < 1e-5, "{}", test.p);
    }

    #[test]
    fn a_worked_example_with_ties() {
        // Ozone in New York, May and August 1973 (ppb): W = 127.5, p = 0.0001208.
        let may = [
            41.0, 36.0, 12.0, 18.0, 28.0, 23.0, 19.0, 8.0, 7.0, 16.0, 11.0, 14.0, 18.0, 14.0, 34.0, 6.0,
            30.0, 11.0, 1.0, 11.0, 4.0, 32.0, 23.0, 45.0, 115.0, 37.0,
        ];
        let august = [
            39.0, 9.0, 16.0, 78.0, 35.0, 66.0, 122.0, 89.0, 110.0, 44.0, 28.0, 65.0, 22.0, 59.0, 23.0, 31.0,
            44.0, 21.0, 9.0, 45.0, 168.0, 73.0, 76.0, 118.0, 84.0, 85.0,
        ];
        let test = mann_whitney(&may, &august).unwrap();
        assert_eq!(test.u, 127.5);
        assert!((test.p - 0.000_120_8).abs() < 5e-8, "{}", test.p);
        assert!(test.z < 0.0);
    }

    #[test]
    fn exchanged_samples_mirror_the_result() {
        let (one, other) = ([1.0, 2.0, 2.0, 5.0], [2.0, 3.0, 9.0]);
        let forth = mann_whitney(&one, &other).unwrap();
        let back = mann_whitney(&other, &one).unwrap();
        assert_eq!(forth.u + back.u, 12.0);
        assert_eq!((forth.z, forth.p), (-back.z, back.p));
    }

    #[test]
    fn equal_values_show_no_difference() {
        let test = mann_whitney(&[5.0; 20], &[5.0; 30]).unwrap();
        assert_eq!((test.superiority, test.z, test.p), (0.5, 0.0, 1.0));
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[1.0]).unwrap().p, 1.0);
    }
}
