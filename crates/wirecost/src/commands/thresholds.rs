//! The exit code of thresholds.

use wirecost_results::threshold::Threshold;

use crate::exit;

/// 99 if a threshold fails, or else 0.
pub fn exit_code(thresholds: &[Threshold]) -> u8 {
    if thresholds.iter().all(|threshold| threshold.pass) {
        exit::OK
    } else {
        exit::THRESHOLD
    }
}
