//! Whether thresholds hold, as an exit code.

use wirecost_results::threshold::Threshold;

use crate::exit;

/// 99 where a threshold does not hold, else 0.
pub fn exit_code(thresholds: &[Threshold]) -> u8 {
    if thresholds.iter().all(|threshold| threshold.pass) {
        exit::OK
    } else {
        exit::THRESHOLD
    }
}
