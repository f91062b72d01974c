//! Energy of a report and battery life, from the time in each state (TR 45.820; docs/models/nbiot.md). Modelled, not measured.

use std::time::Duration;

use wirecost_results::nbiot::{DeviceMeans, EnergyByState};

/// Seconds of a year of 365.25 days.
const YEAR_S: f64 = 31_557_600.0;

/// The powers of a device and its battery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnergyModel {
    /// While it transmits at 23 dBm, in mW. TR 45.820.
    pub transmit_mw: f64,
    /// While it receives or monitors NPDCCH, in mW. TR 45.820.
    pub receive_mw: f64,
    /// While it waits within a connection, in mW. TR 45.820.
    pub idle_mw: f64,
    /// In power saving mode, in mW. TR 45.820.
    pub sleep_mw: f64,
    /// How long it receives to synchronise before a report, in seconds. Assumed.
    pub synchronisation_s: f64,
    /// The battery, in Wh. TR 45.820.
    pub battery_wh: f64,
}

impl Default for EnergyModel {
    fn default() -> Self {
        Self {
            transmit_mw: 545.0,
            receive_mw: 90.0,
            idle_mw: 3.0,
            sleep_mw: 0.015,
            synchronisation_s: 0.1,
            battery_wh: 5.0,
        }
    }
}

impl EnergyModel {
    /// Energy of a report by state.
    pub(super) fn by_state_mj(&self, device: &DeviceMeans) -> EnergyByState {
        EnergyByState {
            transmit: self.transmit_mw * device.transmit_ms / 1e3,
            receive: self.receive_mw * device.receive_ms / 1e3,
            monitor: self.receive_mw * device.monitor_ms / 1e3,
            wait: self.idle_mw * device.wait_ms / 1e3,
            synchronisation: self.receive_mw * self.synchronisation_s,
        }
    }

    /// Life of the battery in years, where a report of `report_mj` follows every `interval` and the device sleeps in between.
    pub(super) fn battery_years(&self, report_mj: f64, interval: Duration) -> f64 {
        let mean_mw = report_mj / interval.as_secs_f64() + self.sleep_mw;
        self.battery_wh * 3_600.0 * 1e3 / mean_mw / YEAR_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn battery_life_follows_from_mean_power() {
        let years =
            |mj, hours: u64| EnergyModel::default().battery_years(mj, Duration::from_secs(hours * 3_600));
        // Half a joule per day and per two hours; nothing but sleep.
        assert!((years(500.0, 24) - 27.4).abs() < 0.1, "{}", years(500.0, 24));
        assert!((years(500.0, 2) - 6.8).abs() < 0.1, "{}", years(500.0, 2));
        assert!((years(0.0, 2) - 38.0).abs() < 0.1, "{}", years(0.0, 2));
    }
}
