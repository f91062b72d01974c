//! Energy of a report and battery life, from the time in each state and the powers of a device file (docs/models/nbiot.md).
//! Modelled, not measured.

use std::time::Duration;

use wirecost_energy::account::Purpose;
use wirecost_energy::{Account, Battery, Device, Part, State};
use wirecost_nbiot::Config;
use wirecost_nbiot::config::IdleMode;
use wirecost_proto::calendar::DAY_SECONDS;
use wirecost_proto::{Cause, Phase};
use wirecost_results::nbiot::{DeviceMeans, EnergyByState, RunFigures};

/// The device file whose powers a run in the cells is given.
pub const DEVICE: &str = "nbiot-tr45820";

/// How long a device receives to synchronise before a report, in seconds. Assumed.
const SYNCHRONISATION_S: f64 = 0.1;

/// 5 Wh without self-discharge. TR 45.820.
const BATTERY: Battery = Battery {
    joules: 5.0 * 3_600.0,
    self_discharge: 0.0,
};

/// Times and energy of the device that sends a report, from the begin of its access to the end of the active time after it.
#[derive(Clone, Debug, Default)]
pub struct ReportEnergy {
    /// From the begin of its access to its release.
    connected: Account,
    /// Synchronisation, and the active time in power saving mode.
    beside: Account,
}

impl ReportEnergy {
    /// All of it.
    pub fn account(&self) -> Account {
        let mut all = self.connected.clone();
        all.add_all(&self.beside, 1.0);
        all
    }

    /// Its energy in mJ.
    pub fn mj(&self) -> f64 {
        self.by_state_mj().total()
    }

    /// Its energy by state in mJ.
    pub fn by_state_mj(&self) -> EnergyByState {
        let connected = |state| self.connected.of_state(state).joules * 1e3;
        let beside = |part| self.beside.purposes().of_part(part).joules * 1e3;
        EnergyByState {
            transmit: connected(State::Transmit),
            receive: connected(State::Receive),
            monitor: connected(State::Listen),
            wait: connected(State::Idle),
            synchronisation: beside(Part::Wake),
            active: beside(Part::Tail),
            keep_alive: 0.0,
        }
    }
}

/// Keep-alives of a kept connection between two reports.
#[derive(Clone, Debug, Default)]
pub struct KeepAliveEnergy {
    /// How many.
    pub per_report: f64,
    /// What each takes.
    pub each: ReportEnergy,
}

/// What the life of a device's battery follows from, beside the times of a report.
#[derive(Clone, Copy, Debug)]
pub struct Lifetime<'a> {
    /// The powers.
    pub device: &'a Device,
    /// The network: what an idle device does.
    pub config: &'a Config,
    /// Time between two reports.
    pub interval: Duration,
}

impl Lifetime<'_> {
    /// What a report takes.
    pub fn report(&self, means: &DeviceMeans) -> ReportEnergy {
        self.exchange(means, Phase::Message)
    }

    /// What a keep-alive takes.
    pub fn keep_alive(&self, means: &DeviceMeans) -> ReportEnergy {
        self.exchange(means, Phase::KeepAlive)
    }

    fn exchange(&self, means: &DeviceMeans, phase: Phase) -> ReportEnergy {
        let purpose = |part| Purpose {
            part,
            packet: Some((phase, Cause::Original)),
        };
        let mut energy = ReportEnergy::default();
        let times = [
            (State::Transmit, means.transmit_ms),
            (State::Receive, means.receive_ms),
            (State::Listen, means.monitor_ms),
            (State::Idle, means.wait_ms),
        ];
        for (state, ms) in times {
            energy
                .connected
                .add_time(self.device, state, ms / 1e3, purpose(Part::Link));
        }
        energy
            .beside
            .add_time(self.device, State::Listen, SYNCHRONISATION_S, purpose(Part::Wake));
        self.reachable(self.active_s(), purpose(Part::Tail), &mut energy.beside);
        energy
    }

    /// Energy of a report in mJ.
    pub fn report_mj(&self, means: &DeviceMeans) -> f64 {
        self.report(means).mj()
    }

    /// What the keep-alives of some replications take: the mean of those that were measured, nothing where there are none.
    pub fn keep_alives(&self, per_report: f64, runs: &[RunFigures]) -> KeepAliveEnergy {
        let all = || runs.iter().filter_map(|run| run.keep_alives.as_ref());
        let sent: u64 = all().map(|kept| kept.sent).sum();
        let mut each = ReportEnergy::default();
        for kept in all() {
            let share = kept.sent as f64 / sent.max(1) as f64;
            let energy = self.keep_alive(&kept.device);
            each.connected.add_all(&energy.connected, share);
            each.beside.add_all(&energy.beside, share);
        }
        KeepAliveEnergy { per_report, each }
    }

    /// Times and energy of a report and its keep-alives.
    pub fn exchanges(report: &ReportEnergy, kept: &KeepAliveEnergy) -> Account {
        let mut all = report.account();
        all.add_all(&kept.each.account(), kept.per_report);
        all
    }

    /// Times and energy of what else there is until the next report: tracking area updates and rest. An update takes the steps of a
    /// report: its energy is assumed to be the same.
    pub fn between(&self, report: &ReportEnergy, kept: &KeepAliveEnergy) -> Account {
        let mut all = Account::default();
        all.add_all(&report.account(), self.updates(kept.per_report));
        let busy = Self::exchanges(report, kept)
            .total_nanos()
            .saturating_add(all.total_nanos());
        let rest_s = self.interval.as_secs_f64() - busy as f64 / 1e9;
        self.rest(rest_s.max(0.0), &mut all);
        all
    }

    /// Energy of a day in mJ: its reports and keep-alives, and what the device does between them.
    pub fn day_mj(&self, report: &ReportEnergy, kept: &KeepAliveEnergy) -> f64 {
        let of_one = Self::exchanges(report, kept).total().joules + self.between(report, kept).total().joules;
        of_one * 1e3 * DAY_SECONDS / self.interval.as_secs_f64()
    }

    /// Life of the battery in years; without end where nothing drains it.
    pub fn battery_years(&self, day_mj: f64) -> f64 {
        BATTERY.years(day_mj / 1e3 / DAY_SECONDS).unwrap_or(f64::INFINITY)
    }

    /// The time after a report in which the device can be reached, in seconds.
    fn active_s(&self) -> f64 {
        let active_s = f64::from(self.config.idle.active_ms) / 1e3;
        match self.config.idle.mode {
            IdleMode::Psm => active_s.min(self.interval.as_secs_f64()),
            IdleMode::Ideal | IdleMode::Drx | IdleMode::Edrx => 0.0,
        }
    }

    /// Rest between two reports: sleep, or the time in which the device can be reached. The active time of power saving mode is part
    /// of the report.
    fn rest(&self, seconds: f64, to: &mut Account) {
        let idle = &self.config.idle;
        let share = match idle.mode {
            IdleMode::Ideal | IdleMode::Psm => 0.0,
            IdleMode::Drx => 1.0,
            IdleMode::Edrx => f64::from(idle.paging_window_ms) / f64::from(idle.edrx_cycle_ms),
        };
        let purpose = Purpose {
            part: Part::Rest,
            packet: None,
        };
        to.add_time(self.device, State::Sleep, seconds * (1.0 - share), purpose);
        self.reachable(seconds * share, purpose, to);
    }

    /// Time in which a device looks for pages: idle, and listening at paging occasions.
    fn reachable(&self, seconds: f64, purpose: Purpose, to: &mut Account) {
        let part = f64::from(self.config.idle.occasion_ms) / f64::from(self.config.rrc.paging_cycle_ms);
        let listening = seconds * part.min(1.0);
        to.add_time(self.device, State::Idle, seconds - listening, purpose);
        to.add_time(self.device, State::Listen, listening, purpose);
    }

    /// Tracking area updates between two reports: each connection, a keep-alive's too, starts the timer anew (TS 24.301 section
    /// 5.3.5).
    fn updates(&self, keep_alives: f64) -> f64 {
        let period_s = f64::from(self.config.idle.tau_period_s);
        let pause_s = self.interval.as_secs_f64() / (1.0 + keep_alives);
        match self.config.idle.mode {
            IdleMode::Ideal => 0.0,
            _ => ((pause_s / period_s).ceil() - 1.0).max(0.0) * (1.0 + keep_alives),
        }
    }
}

#[cfg(test)]
mod tests;
