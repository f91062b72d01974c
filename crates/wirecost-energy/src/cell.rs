//! What a device spends in an NB-IoT cell whose model says how long it was in each state (docs/models/nbiot.md). Of the device the
//! powers of its states alone count: the cell has the radio, the way into a connection, and what an idle device does.

use std::time::Duration;

use wirecost_nbiot::config::IdleMode;
use wirecost_nbiot::{Config, StateTimes};
use wirecost_proto::{Cause, Phase};

use crate::account::{Account, Part, Purpose};
use crate::device::{Device, State};

/// How long a device receives to synchronise before it begins random access, in seconds. Assumed.
const SYNCHRONISATION_S: f64 = 0.1;

/// A device and the network that it is in.
#[derive(Clone, Copy, Debug)]
pub struct InCell<'a> {
    /// The powers.
    pub device: &'a Device,
    /// The network: what an idle device does.
    pub config: &'a Config,
}

impl InCell<'_> {
    /// What a connection takes, from the begin of random access to the return to idle, for a packet of `packet`.
    pub fn connected(&self, times: &StateTimes, packet: (Phase, Cause)) -> Account {
        let mut account = Account::default();
        let states = [
            (State::Transmit, times.transmit),
            (State::Receive, times.receive),
            (State::Listen, times.monitor),
            (State::Idle, times.idle_connected),
        ];
        for (state, time) in states {
            account.add_time(
                self.device,
                state,
                time.as_secs_f64(),
                purpose(Part::Link, packet),
            );
        }
        account
    }

    /// What stands beside a connection: synchronisation before it, and after it, in power saving mode, the active time, unless the
    /// device has its next connection within it.
    pub fn beside(&self, until_next: Duration, packet: (Phase, Cause)) -> Account {
        let mut account = Account::default();
        account.add_time(
            self.device,
            State::Listen,
            SYNCHRONISATION_S,
            purpose(Part::Wake, packet),
        );
        // A connection within the active time ends it.
        let active = Duration::from_millis(self.config.idle.active_ms.into()).min(until_next);
        match self.config.idle.mode {
            IdleMode::Psm => {
                self.reachable(active.as_secs_f64(), purpose(Part::Tail, packet), &mut account);
            }
            IdleMode::Ideal | IdleMode::Drx | IdleMode::Edrx => {}
        }
        account
    }

    /// Adds rest: sleep, or the time in which the device can be reached. The active time of power saving mode is no part of it.
    pub fn rest(&self, seconds: f64, to: &mut Account) {
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

    /// Tracking area updates in a pause between the begins of two connections: each connection starts the timer anew (TS 24.301
    /// section 5.3.5). An update takes the steps of a connection: its energy is assumed to be the same.
    pub fn updates(&self, pause_s: f64) -> f64 {
        let period_s = f64::from(self.config.idle.tau_period_s);
        match self.config.idle.mode {
            IdleMode::Ideal => 0.0,
            IdleMode::Psm | IdleMode::Drx | IdleMode::Edrx => ((pause_s / period_s).ceil() - 1.0).max(0.0),
        }
    }

    /// Time in which a device looks for pages: idle, and listening at paging occasions.
    fn reachable(&self, seconds: f64, purpose: Purpose, to: &mut Account) {
        let part = f64::from(self.config.idle.occasion_ms) / f64::from(self.config.rrc.paging_cycle_ms);
        let listening = seconds * part.min(1.0);
        to.add_time(self.device, State::Idle, seconds - listening, purpose);
        to.add_time(self.device, State::Listen, listening, purpose);
    }
}

const fn purpose(part: Part, packet: (Phase, Cause)) -> Purpose {
    Purpose {
        part,
        packet: Some(packet),
    }
}
