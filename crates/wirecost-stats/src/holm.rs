//! p-values of many comparisons at once (Holm 1979).
//!
//! No command calls it: it is there for the comparison of a study's claims with measured samples.

/// Adjusted p-values in the order given: rejecting those at or below a level keeps the probability of any false
/// rejection below that level, however the tests depend on one another.
///
/// The k-th smallest of m p-values is multiplied by m - k + 1 and raised to the adjusted one before it; at most 1.
///
/// ```
/// assert_eq!(wirecost_stats::holm(&[0.02, 0.01]), [0.02, 0.02]);
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut ascending: Vec<(usize, f64)> = p_values.iter().copied().enumerate().collect();
    ascending.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut largest: f64 = 0.0;
    let tests = ascending.len();
    for (rank, (_, p)) in ascending.iter_mut().enumerate() {
        largest = largest.max(*p * (tests - rank) as f64).min(1.0);
        *p = largest;
    }
    ascending.sort_by_key(|(place, _)| *place);
    ascending.into_iter().map(|(_, p)| p).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn a_single_test_is_left_alone_and_none_exceeds_1() {
        assert_eq!(holm(&[0.3]), [0.3]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
