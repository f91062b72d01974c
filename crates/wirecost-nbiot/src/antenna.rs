//! The antenna pattern of a sector.

use crate::config::RadioConfig;

/// Directions of the sectors' antennas, in degrees from east (TR 36.942 section 4.2).
pub const BORESIGHTS_DEG: [f64; 3] = [30.0, 150.0, 270.0];

/// The attenuation in dB (0 or negative) at `angle_deg` from the antenna's direction: `-min(12 (angle / w)^2, A)` (TR 36.942 section
/// 4.2).
pub fn attenuation_db(radio: &RadioConfig, angle_deg: f64) -> f64 {
    // `libm::remainder` brings the angle to -180 to 180 degrees.
    let off = libm::remainder(angle_deg, 360.0) / radio.ant_hpbw_deg;
    -(12.0 * off * off).min(radio.ant_front_back_db)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_power_is_left_at_half_the_beam_width() {
        let radio = RadioConfig::default();
        assert!((attenuation_db(&radio, 32.5) - -3.0).abs() < 1e-9);
        assert!((attenuation_db(&radio, 360.0 - 32.5) - -3.0).abs() < 1e-9);
        assert_eq!(attenuation_db(&radio, 180.0), -20.0);
    }
}
