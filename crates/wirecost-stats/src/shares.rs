//! Whether two shares of counted events differ.

use statrs::distribution::{ContinuousCDF, Normal};

/// The two-sided p-value of `some` of `all` against `others` of `all_others` under the same share, by the normal approximation with
/// the pooled share and the correction for continuity (Yates 1934); 1 where either has no events.
///
/// ```
/// let p = wirecost_stats::shares_differ([10, 100], [30, 100]);
/// assert!((p - 0.00078).abs() < 1e-5, "{p}");
/// ```
pub fn shares_differ([some, all]: [u64; 2], [others, all_others]: [u64; 2]) -> f64 {
    let (n, m) = (all as f64, all_others as f64);
    let pooled = (some + others) as f64 / (n + m);
    let variance = pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m);
    if all == 0 || all_others == 0 || variance <= 0.0 {
        return 1.0;
    }
    let distance = (some as f64 / n - others as f64 / m).abs();
    let corrected = (distance - 0.5 * (1.0 / n + 1.0 / m)).max(0.0);
    (2.0 * Normal::standard().sf(corrected / variance.sqrt())).min(1.0)
}
