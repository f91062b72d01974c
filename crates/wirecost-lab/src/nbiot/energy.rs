//! Energy of a report and battery life, from the time in each state (TR 45.820; docs/models/nbiot.md). Modelled, not measured.

use std::time::Duration;

use wirecost_nbiot::Config;
use wirecost_nbiot::config::IdleMode;
use wirecost_results::nbiot::{DeviceMeans, EnergyByState};

/// Seconds of a year of 365.25 days.
const YEAR_S: f64 = 31_557_600.0;

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// The powers of a device and its battery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnergyModel {
    /// While it transmits at 23 dBm, in mW. TR 45.820.
    pub transmit_mw: f64,
    /// While it receives or monitors NPDCCH, in mW. TR 45.820.
    pub receive_mw: f64,
    /// While it waits within a connection, or is idle and can be reached, in mW. TR 45.820.
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
    /// Energy of a report by state, from the begin of its access to its release, in mJ.
    fn connected_mj(&self, device: &DeviceMeans) -> EnergyByState {
        EnergyByState {
            transmit: self.transmit_mw * device.transmit_ms / 1e3,
            receive: self.receive_mw * device.receive_ms / 1e3,
            monitor: self.receive_mw * device.monitor_ms / 1e3,
            wait: self.idle_mw * device.wait_ms / 1e3,
            synchronisation: self.receive_mw * self.synchronisation_s,
            ..EnergyByState::default()
        }
    }
}

/// What the life of a device's battery follows from, beside the energy of a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetime<'a> {
    /// Powers and battery.
    pub(super) energy: &'a EnergyModel,
    /// The network: what an idle device does.
    pub(super) config: &'a Config,
    /// Time between two reports.
    pub(super) interval: Duration,
}

impl Lifetime<'_> {
    /// Energy of a report by state in mJ, with the active time that follows it in power saving mode.
    pub(super) fn by_state_mj(&self, device: &DeviceMeans) -> EnergyByState {
        EnergyByState {
            active: self.active_mj(),
            ..self.energy.connected_mj(device)
        }
    }

    /// The sum of the same.
    pub(super) fn report_mj(&self, device: &DeviceMeans) -> f64 {
        self.by_state_mj(device).total()
    }

    /// Energy of a day in mJ: its reports, and what the device does between them. A tracking area update takes the steps of a
    /// report: its energy is assumed to be the same.
    pub(super) fn day_mj(&self, report_mj: f64) -> f64 {
        let exchanges = 1.0 + self.updates();
        (exchanges * report_mj + self.idle_mj()) * DAY_S / self.interval.as_secs_f64()
    }

    /// Life of the battery in years.
    pub(super) fn battery_years(&self, day_mj: f64) -> f64 {
        let mean_mw = day_mj / DAY_S;
        self.energy.battery_wh * 3_600.0 * 1e3 / mean_mw / YEAR_S
    }

    /// Energy of the active time in mJ, beyond that of sleep.
    fn active_mj(&self) -> f64 {
        let active_s = f64::from(self.config.idle.active_ms) / 1e3;
        match self.config.idle.mode {
            IdleMode::Psm => self.reachable_mj(active_s.min(self.interval.as_secs_f64())),
            IdleMode::Ideal | IdleMode::Drx | IdleMode::Edrx => 0.0,
        }
    }

    /// Energy between two reports: sleep, or paging occasions and the time in which the device can be reached. The active time of
    /// power saving mode is part of the report.
    fn idle_mj(&self) -> f64 {
        let idle = &self.config.idle;
        let interval_s = self.interval.as_secs_f64();
        let asleep_mj = self.energy.sleep_mw * interval_s;
        let reachable_s = match idle.mode {
            IdleMode::Ideal | IdleMode::Psm => 0.0,
            IdleMode::Drx => interval_s,
            IdleMode::Edrx => {
                let share = f64::from(idle.paging_window_ms) / f64::from(idle.edrx_cycle_ms);
                interval_s * share
            }
        };
        asleep_mj + self.reachable_mj(reachable_s)
    }

    /// Energy of `seconds` in which a device looks for pages, beyond that of sleep.
    fn reachable_mj(&self, seconds: f64) -> f64 {
        let occasions = seconds * 1e3 / f64::from(self.config.rrc.paging_cycle_ms);
        let received_s = occasions * f64::from(self.config.idle.occasion_ms) / 1e3;
        let model = self.energy;
        (model.idle_mw - model.sleep_mw) * seconds + (model.receive_mw - model.idle_mw) * received_s
    }

    /// Tracking area updates between two reports: each connection starts the timer anew (TS 24.301 section 5.3.5).
    fn updates(&self) -> f64 {
        let period_s = f64::from(self.config.idle.tau_period_s);
        match self.config.idle.mode {
            IdleMode::Ideal => 0.0,
            _ => (self.interval.as_secs_f64() / period_s).ceil() - 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Life in years, and energy of a day in mJ, where a connection takes `connected_mj`.
    fn life(mode: IdleMode, connected_mj: f64, hours: u64) -> (f64, f64) {
        let mut config = Config::default();
        config.idle.mode = mode;
        let life = Lifetime {
            energy: &EnergyModel::default(),
            config: &config,
            interval: Duration::from_secs(hours * 3_600),
        };
        let day = life.day_mj(connected_mj + life.active_mj());
        (life.battery_years(day), day)
    }

    fn is_near(value: f64, expected: f64) {
        assert!(
            (value / expected - 1.0).abs() < 0.005,
            "{value} instead of {expected}"
        );
    }

    #[test]
    fn battery_life_follows_from_mean_power() {
        // Half a joule per day and per two hours; nothing but sleep.
        is_near(life(IdleMode::Ideal, 500.0, 24).0, 27.4);
        is_near(life(IdleMode::Ideal, 500.0, 2).0, 6.76);
        is_near(life(IdleMode::Ideal, 0.0, 2).0, 38.0);
    }

    #[test]
    fn paging_occasions_cost_what_the_mode_says() {
        // Sleep of a day is 15 uW x 86,400 s = 1,296 mJ. 10 s of active time: 2.985 mW x 10 s + 87 mW x 20 ms x 10 / 2.56 = 36.65 mJ.
        let (_, ideal) = life(IdleMode::Ideal, 500.0, 24);
        is_near(ideal, 1_796.0);
        is_near(life(IdleMode::Psm, 500.0, 24).1, 1_796.0 + 36.65);
        is_near(life(IdleMode::Psm, 500.0, 2).1, 1_296.0 + 12.0 * 536.65);
        // 2.56 s in each 81.92 s are 2,700 s of the day, at 3.665 mW.
        is_near(life(IdleMode::Edrx, 500.0, 24).1, 1_796.0 + 2_700.0 * 3.665);
        is_near(life(IdleMode::Drx, 500.0, 24).1, 1_796.0 + 86_400.0 * 3.665);
    }

    #[test]
    fn updates_come_only_where_a_device_reports_more_rarely() {
        // Every 3 days: two updates between two reports, each with an active time.
        is_near(life(IdleMode::Psm, 500.0, 72).1, 1_296.0 + 3.0 * 536.65 / 3.0);
        let (_, daily) = life(IdleMode::Psm, 500.0, 24);
        is_near(daily, 1_296.0 + 536.65);
    }
}
