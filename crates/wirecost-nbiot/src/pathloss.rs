//! Path loss between a device and a site.

use crate::config::RadioConfig;

/// The path loss in dB over `distance_m` metres outdoors: `I + S log10(d / 1 km)` (TR 45.820 annex D; TR 36.942 section 4.5).
pub fn path_loss_db(radio: &RadioConfig, distance_m: f64) -> f64 {
    radio.path_loss_1km_db + radio.path_loss_slope_db * libm::log10(distance_m / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_times_the_distance_costs_the_slope() {
        let radio = RadioConfig::default();
        assert!((path_loss_db(&radio, 1_000.0) - 120.9).abs() < 1e-12);
        assert!((path_loss_db(&radio, 100.0) - 83.3).abs() < 1e-9);
    }
}
