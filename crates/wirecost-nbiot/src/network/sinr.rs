//! SINR of what was on the air, and of what link adaptation expects.

use wirecost_proto::Direction;

use super::{Network, broadcast_share};
use crate::calendar::{Bins, Transmitter};
use crate::decibel::{decibels, linear};
use crate::subframe::Interval;
use crate::ue::{Ue, UeId};

/// Weight of the newest value in smoothed interference. Assumed.
const SMOOTHING: f64 = 1.0 / 32.0;

impl Network {
    /// The SINR at a device over `interval`, as a linear ratio: mean interference of the cells that were on the air, fading of the
    /// serving cell alone.
    pub(super) fn downlink_sinr(&mut self, ue: UeId, interval: Interval) -> f64 {
        let Some(device) = self.ues.get(ue) else {
            return 0.0;
        };
        let carrier = device.carrier;
        let budget = self.budget(device.cell());
        let (first, last) = (
            budget.usable_before(interval.start),
            budget.usable_before(interval.end),
        );
        let usable = (last - first).max(1) as f64;
        let broadcast = broadcast_share(&self.config, carrier);
        let (mut interference, mut shares) = (0.0, 0.0);
        let cells = self.on_carrier(carrier);
        let all = cells.iter().zip(device.gains.linear.iter()).enumerate();
        for (_, (cell, gain)) in all.filter(|(index, _)| *index != device.serving()) {
            let busy = cell.down.busy(first, last) as f64 / usable;
            let share = busy + (1.0 - busy) * broadcast;
            interference += gain * share;
            shares += share;
        }
        let power = self.radio.enb_power_mw;
        let signal = power * device.gain() * device.fading.gain(Direction::Down, interval);
        let sinr = signal / (self.radio.downlink_noise_mw + power * interference);
        let others = cells.len() - 1;
        if others > 0 {
            let activity = &mut self.activity[carrier];
            *activity += SMOOTHING * (shares / others as f64 - *activity);
        }
        sinr
    }

    /// The SINR of a device at its cell per bin over `interval`, as a linear ratio.
    pub(super) fn uplink_sinr(&mut self, ue: UeId, interval: Interval, bins: Bins) -> f64 {
        let Some(device) = self.ues.get(ue) else {
            return 0.0;
        };
        let (serving, cell) = (device.serving(), device.cell());
        let cells = self.on_carrier(device.carrier).iter().enumerate();
        let others = cells.filter(|(cell, _)| *cell != serving);
        let interference: f64 = others
            .map(|(_, cell)| cell.up.interference_mw(serving, interval, bins))
            .sum();
        let power = self.radio.ue_power_mw(device.gain(), device.level) / f64::from(bins.count());
        let signal = power * device.gain() * device.fading.gain(Direction::Up, interval);
        let rise = decibels(1.0 + interference / self.radio.bin_noise_mw);
        let smoothed = &mut self.cells[cell].noise_rise_db;
        *smoothed += SMOOTHING * (rise - *smoothed);
        signal / (self.radio.bin_noise_mw + interference)
    }

    /// What link adaptation expects of the downlink to a device, in dB.
    pub(super) fn expected_downlink_db(&self, device: &Ue) -> f64 {
        let activity = self.activity[device.carrier];
        let sinr = self
            .radio
            .downlink_sinr_db(&device.gains.linear, device.serving(), activity);
        sinr + device.offset_db.down
    }

    /// What link adaptation expects of the uplink of a device with all power on one bin, in dB.
    pub(super) fn expected_uplink_db(&self, device: &Ue) -> f64 {
        let sinr =
            self.radio.bin_snr_db(device.gain(), device.level) - self.cells[device.cell()].noise_rise_db;
        sinr + device.offset_db.up
    }

    /// The interferer that a device is while it transmits on `bins`.
    pub(super) fn transmitter(&self, device: &Ue, bins: Bins) -> Transmitter {
        Transmitter {
            gains: device.gains.linear.clone(),
            bin_power_mw: self.radio.ue_power_mw(device.gain(), device.level) / f64::from(bins.count()),
        }
    }

    /// Whether a device decodes a DCI that was on the air over `interval`.
    pub(super) fn hears_dci(&mut self, ue: UeId, interval: Interval, repetitions: u64) -> bool {
        let sinr = self.downlink_sinr(ue, interval);
        let error_rate = self.config.npdcch.failure.unwrap_or_else(|| {
            let energy = self.adaptation.receivers().npdcch.energy(sinr);
            self.adaptation.dci(repetitions).error_rate(energy)
        });
        let device = self.ues.get_mut(ue);
        device.is_some_and(|device| device.rng.next_f64() >= error_rate)
    }

    /// Moves the outer loop of link adaptation after a first transmission.
    pub(super) fn adapt(&mut self, ue: UeId, direction: Direction, is_decoded: bool) {
        let step = self.config.link.outer_loop_step_db;
        let target = self.config.link.bler_target;
        if let Some(device) = self.ues.get_mut(ue) {
            device.offset_db[direction] += match is_decoded {
                true => step * target / (1.0 - target),
                false => -step,
            };
        }
    }

    /// The energy of the capture threshold, as a linear ratio; `None` where collisions are always lost.
    pub(super) fn capture_ratio(&self) -> Option<f64> {
        self.config.random_access.capture_db.map(linear)
    }
}
