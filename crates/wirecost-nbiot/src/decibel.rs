//! Decibels and linear ratios. Powers are in mW, so that 0 dBm is 1.

/// The ratio of `decibels` dB.
///
/// ```
/// assert!((wirecost_nbiot::decibel::linear(3.0) - 1.995).abs() < 0.001);
/// ```
pub fn linear(decibels: f64) -> f64 {
    libm::exp(decibels * (std::f64::consts::LN_10 / 10.0))
}

/// `ratio` in dB; minus infinity for 0.
pub fn decibels(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

/// Thermal noise power density at 290 K, in dBm/Hz (TR 45.820 section 5.1).
pub const THERMAL_NOISE_DBM_HZ: f64 = -174.0;

/// Noise power in dBm in `bandwidth_hz` with a noise figure of `noise_figure_db`.
pub fn noise_dbm(bandwidth_hz: f64, noise_figure_db: f64) -> f64 {
    THERMAL_NOISE_DBM_HZ + decibels(bandwidth_hz) + noise_figure_db
}

/// The signal-to-noise ratio in dB of a transmission of `power_dbm` over a coupling loss of `loss_db`.
pub fn link_budget_snr_db(power_dbm: f64, loss_db: f64, bandwidth_hz: f64, noise_figure_db: f64) -> f64 {
    power_dbm - loss_db - noise_dbm(bandwidth_hz, noise_figure_db)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_budgets_at_164_db_are_those_of_tr_45_820() {
        let uplink = [
            (3_750.0, -5.74),
            (15_000.0, -11.76),
            (45_000.0, -16.53),
            (90_000.0, -19.54),
            (180_000.0, -22.55),
        ];
        for (bandwidth, snr) in uplink {
            let budget = link_budget_snr_db(23.0, 164.0, bandwidth, 3.0);
            assert!((budget - snr).abs() < 0.006, "{bandwidth} Hz: {budget} dB");
        }
        assert!((link_budget_snr_db(43.0, 164.0, 180_000.0, 5.0) - -4.6).abs() < 0.06);
        assert!((link_budget_snr_db(35.0, 164.0, 180_000.0, 5.0) - -12.6).abs() < 0.06);
    }
}
