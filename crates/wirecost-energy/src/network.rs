//! What a network or an access point sets on a device: timers, paging and beacons, in place of those of its file.

use core::fmt;
use core::time::Duration;

use crate::device::{Device, Level, Paging, State, Tail, Transmitter};
use crate::radio::Radio;
use crate::timers::Timer;

/// The time from one beacon to the next: 100 time units of 1,024 us (IEEE 802.11-2020 section 9.4.1.3), as access points send them.
const BEACON: Duration = Duration::from_micros(102_400);

/// How long a connection stays after the last packet of a device that asks for its release, where the file's is longer. A. Kraus,
/// 2022-06, saw about 1 s on NB-IoT.
const RELEASED: Duration = Duration::from_secs(1);

/// The paging window of eDRX that the device files' listening is of. The maker's currents of the nRF9160 are of this one.
pub const PAGING_WINDOW: Duration = Duration::from_millis(2_560);

/// What is set. `None` leaves what the device file has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// T3324: how long the device can be reached before power saving.
    pub active: Option<Duration>,
    /// T3412: the time from one tracking area update to the next. Each connection starts it anew (TS 24.301 section 5.3.5).
    pub tau: Option<Duration>,
    /// How long the network keeps a silent connection.
    pub inactivity: Option<Duration>,
    /// Whether the device asks for the release of its connection with its last packet (TS 36.321 section 5.4.5, TS 24.301 section
    /// 9.9.4.25).
    pub rai: bool,
    /// The cycle of extended discontinuous reception.
    pub edrx: Option<Duration>,
    /// Beacons from one that the device listens to, to the next.
    pub dtim: Option<u32>,
    /// Transmit power in dBm.
    pub tx_power: Option<f64>,
}

/// A setting that a device or a network cannot have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Impossible {
    /// No network has this time.
    Timer(Timer, Duration),
    /// The device sends at 0 dBm to this power.
    TxPower(f64),
    /// The device file says nothing that this setting changes.
    Absent(&'static str),
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timer(timer, asked) => {
                let (name, nearest) = (timer.name(), timer.nearest(*asked));
                write!(
                    f,
                    "no network has {name} of {asked:?}: the nearest is {nearest:?}"
                )
            }
            Self::TxPower(most) => write!(f, "the device sends at 0 dBm to {most} dBm"),
            Self::Absent(what) => write!(f, "the device has no {what}"),
        }
    }
}

impl Device {
    /// The same device with these settings.
    ///
    /// # Errors
    /// No network has a time, or the device has nothing that a setting changes.
    pub fn set(mut self, settings: &Settings) -> Result<Self, Impossible> {
        if settings.inactivity.is_some() || settings.rai {
            let connected = self
                .connected()
                .ok_or(Impossible::Absent("connection that is kept for some time"))?;
            connected.time = settings.inactivity.unwrap_or(connected.time);
            if settings.rai {
                connected.time = connected.time.min(RELEASED);
            }
        }
        if let Some(active) = settings.active {
            had(Timer::Active, active)?;
            self.reachable()
                .ok_or(Impossible::Absent("active time before power saving"))?
                .time = active;
        }
        if let Some(tau) = settings.tau {
            had(Timer::Update, tau)?;
            self.wake.ok_or(Impossible::Absent("wake-up from power saving"))?;
            self.updates = Some(tau);
        }
        if let Some(edrx) = settings.edrx {
            let timer = match self.radio {
                Radio::NbIot(_) => Timer::EdrxNbIot,
                Radio::Cellular(_) => Timer::EdrxLte,
                Radio::Wifi(_) | Radio::Ethernet(_) => return Err(Impossible::Absent("cellular radio")),
            };
            had(timer, edrx)?;
            let listen = self.window_listen.ok_or(Impossible::Absent(
                "window_listen, how long it listens in a paging window",
            ))?;
            self.paging = Some(Paging { every: edrx, listen });
        }
        if let Some(dtim) = settings.dtim {
            let (Radio::Wifi(_), Some(paging)) = (&self.radio, self.paging) else {
                return Err(Impossible::Absent("beacons that it listens to"));
            };
            let every = BEACON * dtim.max(1);
            self.paging = Some(Paging { every, ..paging });
        }
        if let Some(dbm) = settings.tx_power {
            let transmitter = self.transmitter.ok_or(Impossible::Absent(
                "transmitter, how sending depends on its power",
            ))?;
            if !(0.0..=transmitter.dbm).contains(&dbm) {
                return Err(Impossible::TxPower(transmitter.dbm));
            }
            self.levels[State::Transmit as usize] = transmitter.at(dbm, self.level(State::Transmit));
        }
        Ok(self)
    }

    /// The tail in which the network keeps the connection.
    fn connected(&mut self) -> Option<&mut Tail> {
        let is_cellular = matches!(self.radio, Radio::Cellular(_) | Radio::NbIot(_));
        self.tails
            .iter_mut()
            .find(|tail| is_cellular && tail.state == State::Listen)
    }

    /// The tail in which the device can be reached.
    fn reachable(&mut self) -> Option<&mut Tail> {
        let is_cellular = matches!(self.radio, Radio::Cellular(_) | Radio::NbIot(_));
        self.tails
            .iter_mut()
            .find(|tail| is_cellular && tail.state == State::Idle)
    }

    /// How many tracking area updates come in a rest: the timer starts when the rest begins.
    pub fn updates_in(&self, rest: Duration) -> u32 {
        let period = self.updates.filter(|period| !period.is_zero());
        let updates = period.map_or(0, |period| rest.as_nanos() / period.as_nanos());
        u32::try_from(updates).unwrap_or(u32::MAX)
    }
}

impl Transmitter {
    /// The level of sending at a power, where `full` is that at the highest one: it grows with the milliwatts.
    fn at(self, dbm: f64, full: Level) -> Level {
        let milliwatts = |dbm: f64| 10_f64.powf(dbm / 10.0);
        let part = (milliwatts(dbm) - 1.0) / (milliwatts(self.dbm) - 1.0);
        Level {
            watts: self.least.watts + (full.watts - self.least.watts) * part,
            spread: full.spread,
        }
    }
}

fn had(timer: Timer, time: Duration) -> Result<(), Impossible> {
    match timer.has(time) {
        true => Ok(()),
        false => Err(Impossible::Timer(timer, time)),
    }
}

#[cfg(test)]
mod tests;
