//! Energy of a report and battery life, from the time in each state and the powers of a device file (docs/models/nbiot.md).
//! Modelled, not measured.

use std::time::Duration;

use wirecost_energy::{Account, Device, InCell, Part, State};
use wirecost_nbiot::network::alone::{Alone, DownlinkAnswer};
use wirecost_nbiot::subframe::{PER_SFN_CYCLE, Subframe};
use wirecost_nbiot::{Config, StateTimes};
use wirecost_proto::calendar::{DAY_SECONDS, YEAR_SECONDS};
use wirecost_proto::{Cause, Phase};
use wirecost_results::nbiot::{DeviceMeans, EnergyByState, RunFigures};

/// Delay of the internet between the cells and the servers, each way (study nbiot, section 2.2).
pub(super) const INTERNET: Duration = Duration::from_millis(4);

/// The device file whose powers a run in the cells is given.
pub const DEVICE: &str = "nbiot-tr45820";

/// 5 Wh that nothing but the device drains: the measure of TR 45.820, by which its tables compare networks. What a cell of 5 Wh
/// lives is shorter, and pages show that (`Point::life_years`).
const BATTERY_JOULES: f64 = 5.0 * 3_600.0;

/// Subframes from the begin of a report of the closed form to that of the next: it has no factor in common with a cycle of the system
/// frame number.
const BEGIN_STEP: u64 = 517;

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
        let packet = (phase, Cause::Original);
        let time = |ms: f64| Duration::from_secs_f64(ms / 1e3);
        let times = StateTimes {
            transmit: time(means.transmit_ms),
            receive: time(means.receive_ms),
            monitor: time(means.monitor_ms),
            idle_connected: time(means.wait_ms),
        };
        ReportEnergy {
            connected: self.in_cell().connected(&times, packet),
            beside: self.in_cell().beside(self.interval, packet),
        }
    }

    /// The device in its network.
    const fn in_cell(&self) -> InCell<'_> {
        InCell {
            device: self.device,
            config: self.config,
        }
    }

    /// Mean times of reports of one packet of `bytes`, answered by one of `answer_bytes` if any, where each of the devices with these path
    /// gains in dB is alone in its cell and nothing fails: the closed form beside which a loaded cell stands. `None` without a device, and
    /// where connections have other steps.
    pub fn alone(&self, gains_db: &[f64], bytes: u32, answer_bytes: Option<u32>) -> Option<DeviceMeans> {
        // Servers answer at once.
        let answer = answer_bytes.map(|bytes| DownlinkAnswer {
            bytes,
            after: 2 * INTERNET,
        });
        let mut alone = Alone::new(self.config).ok().flatten()?;
        let mut sum = StateTimes::default();
        for (nth, gain) in gains_db.iter().enumerate() {
            // Reports begin at any time of a cycle of the system frame number.
            let from = Subframe::new(nth as u64 * BEGIN_STEP % PER_SFN_CYCLE);
            let states = match answer {
                Some(answer) => alone.exchange(-gain, bytes, answer, from)?,
                None => alone.report(-gain, bytes, from),
            }
            .states;
            sum.transmit += states.transmit;
            sum.receive += states.receive;
            sum.monitor += states.monitor;
            sum.idle_connected += states.idle_connected;
        }
        let ms = |time: Duration| time.as_secs_f64() * 1e3 / gains_db.len() as f64;
        (!gains_db.is_empty()).then(|| DeviceMeans {
            transmit_ms: ms(sum.transmit),
            receive_ms: ms(sum.receive),
            monitor_ms: ms(sum.monitor),
            wait_ms: ms(sum.idle_connected),
            ..DeviceMeans::default()
        })
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

    /// Times and energy of what else there is until the next report: tracking area updates and rest. An update takes
    /// the steps of a report.
    pub fn between(&self, report: &ReportEnergy, kept: &KeepAliveEnergy) -> Account {
        let mut all = Account::default();
        all.add_all(&report.account(), self.updates(kept.per_report));
        let busy = Self::exchanges(report, kept)
            .total_nanos()
            .saturating_add(all.total_nanos());
        let rest_s = self.interval.as_secs_f64() - busy as f64 / 1e9;
        self.in_cell().rest(rest_s.max(0.0), &mut all);
        all
    }

    /// Energy of a day in mJ: its reports and keep-alives, and what the device does between them.
    pub fn day_mj(&self, report: &ReportEnergy, kept: &KeepAliveEnergy) -> f64 {
        let of_one = Self::exchanges(report, kept).total().joules + self.between(report, kept).total().joules;
        of_one * 1e3 * DAY_SECONDS / self.interval.as_secs_f64()
    }

    /// Years in which the device empties 5 Wh, by the measure of TR 45.820; without end where it has no power.
    pub fn battery_years(&self, day_mj: f64) -> f64 {
        BATTERY_JOULES / (day_mj / 1e3 / DAY_SECONDS * YEAR_SECONDS)
    }

    /// Tracking area updates between two reports: each connection, a keep-alive's too, starts the timer anew.
    fn updates(&self, keep_alives: f64) -> f64 {
        let pause_s = self.interval.as_secs_f64() / (1.0 + keep_alives);
        self.in_cell().updates(pause_s) * (1.0 + keep_alives)
    }
}

#[cfg(test)]
mod tests;
