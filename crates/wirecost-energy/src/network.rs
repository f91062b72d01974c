//! What a network or an access point sets on a device: timers, paging and beacons, in place of those of its file.

mod attach;
mod connected;
mod coverage;

use core::fmt;
use core::time::Duration;

use wirecost_proto::shown;

pub use attach::Attached;
pub use connected::ConnectedDrx;
pub use coverage::loss_of_level;

use crate::device::{Device, Level, NetworkLoss, Paging, State, Tail, Transmitter};
use crate::radio::Radio;
use crate::timers::Timer;
use coverage::Covered;

/// The time from one beacon to the next: 100 time units of 1,024 us (IEEE 802.11-2020 section 9.4.1.3), as access points send them.
const BEACON: Duration = Duration::from_micros(102_400);

/// How long a connection stays after the last packet of a device that asks for its release, where the file's is longer. A. Kraus,
/// 2022-06, saw about 1 s on NB-IoT.
const RELEASED: Duration = Duration::from_secs(1);

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
    /// The cycle of extended discontinuous reception: in the active time where there is power saving (T3324 or T3412), and else for as
    /// long as nothing is sent.
    pub edrx: Option<Duration>,
    /// Beacons from one that the device listens to, to the next.
    pub dtim: Option<u32>,
    /// Transmit power in dBm.
    pub tx_power: Option<f64>,
    /// Coupling loss in dB, on NB-IoT. Transmit power, where it is not set, and repetitions follow from it.
    pub coupling_loss: Option<f64>,
    /// Discontinuous reception while connected; without it the file's power of the connected state counts.
    pub cdrx: Option<ConnectedDrx>,
    /// How often the device loses its network and attaches anew; without it, never.
    pub attach: Option<NetworkLoss>,
}

/// A setting that a device or a network cannot have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Impossible {
    /// No network has this time.
    Timer(Timer, Duration),
    /// The device sends at 0 dBm to this power.
    TxPower(f64),
    /// No transport format reaches over this coupling loss in dB.
    Unreachable(f64),
    /// An update and the active time after it last at least as long as the time to the next update: the device never saves power.
    NoSaving {
        /// Wake-up and active time.
        awake: Duration,
        /// T3412.
        tau: Duration,
    },
    /// The device listens longer each time than from one time to the next.
    Listening {
        /// How long it listens each time.
        listen: Duration,
        /// The time from one to the next.
        every: Duration,
    },
    /// An attach takes at least as long as the time to the next one.
    Attaching {
        /// From the search to the end of the tails.
        takes: Duration,
        /// The time from one attach to the next.
        every: Duration,
    },
    /// The device file says nothing that this setting changes.
    Absent(&'static str),
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timer(timer, asked) => {
                let (name, nearest) = (timer.name(), timer.nearest(*asked));
                let [asked, nearest] = [asked, &nearest].map(|time| exact(*time));
                write!(f, "no network has {name} of {asked}: the nearest is {nearest}")
            }
            Self::NoSaving { awake, tau } => {
                let [awake, tau] = [awake, tau].map(|time| exact(*time));
                write!(
                    f,
                    "a time between tracking area updates (T3412) of {tau} leaves no power saving: wake-up and active time (T3324) take {awake}"
                )
            }
            Self::Listening { listen, every } => {
                let [listen, every] = [listen, every].map(|time| exact(*time));
                write!(
                    f,
                    "the device listens {listen} each time, and so not every {every}"
                )
            }
            Self::Attaching { takes, every } => {
                let [takes, every] = [takes, every].map(|time| exact(*time));
                write!(f, "an attach takes {takes}, and so comes not every {every}")
            }
            Self::Unreachable(loss) => write!(
                f,
                "no transport format of NB-IoT reaches over a coupling loss of {loss} dB"
            ),
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
        let mut words = settings.words();
        if settings.attach.is_some() {
            // Before C-DRX divides it: a device with two connected states is one of another network than that of the messages.
            self.connected()?;
        }
        if settings.inactivity.is_some() || settings.rai {
            let index = self.connected()?;
            let time = settings.inactivity.unwrap_or(self.tails[index].time);
            self.tails[index].time = match settings.rai {
                // Release assistance never keeps a connection longer than the network's own timer does.
                true => time.min(RELEASED),
                false => time,
            };
            self.is_set("tails.time", index);
        }
        if let Some(cdrx) = settings.cdrx {
            cdrx.put_into(&mut self)?;
        }
        self.save_power(settings)?;
        if let Some(edrx) = settings.edrx {
            self.page(edrx, settings)?;
        }
        if let Some(dtim) = settings.dtim {
            let (Radio::Wifi(_), Some(paging)) = (&self.radio, self.paging) else {
                return Err(Impossible::Absent("beacons that it listens to"));
            };
            self.paging = Some(possible(BEACON * dtim.max(1), paging.listen)?);
            self.is_set("paging.every", 0);
        }
        if let Some(dbm) = settings.tx_power {
            let transmitter = self.transmitter.ok_or(Impossible::Absent(
                "transmitter, how sending depends on its power",
            ))?;
            // Above its highest power a device does not send, and below 0 dBm no figure says what it takes.
            if !(0.0..=transmitter.dbm).contains(&dbm) {
                return Err(Impossible::TxPower(transmitter.dbm));
            }
            self.levels[State::Transmit as usize] = transmitter.at(dbm, self.level(State::Transmit));
        }
        if let Some(loss_db) = settings.coupling_loss {
            words.push(self.cover(loss_db, settings.tx_power)?);
        }
        if let Some(loss) = settings.attach {
            self.lose_network(loss)?;
        }
        if !words.is_empty() {
            self.title = format!("{}; set: {}", self.title, words.join(", "));
        }
        Ok(self)
    }

    /// Sets what follows from a coupling loss; returns words for the title. A transmit power that is set is kept.
    fn cover(&mut self, loss_db: f64, tx_power: Option<f64>) -> Result<String, Impossible> {
        let Radio::NbIot(radio) = self.radio else {
            return Err(Impossible::Absent("repetitions of NB-IoT (radio.nbiot)"));
        };
        let controlled = self.transmitter.filter(|_| tx_power.is_none());
        let most = tx_power.or(self.transmitter.map(|transmitter| transmitter.dbm));
        let covered = Covered::from_radio(radio, loss_db, most, controlled.is_some())?;
        if let Some(transmitter) = controlled {
            // Below 0 dBm nothing is known: it takes what it takes at 0 dBm.
            self.levels[State::Transmit as usize] =
                transmitter.at(covered.dbm.max(0.0), self.level(State::Transmit));
        }
        covered.put_into(self);
        Ok(covered.words(loss_db))
    }

    /// Sets T3324 and T3412.
    fn save_power(&mut self, settings: &Settings) -> Result<(), Impossible> {
        if settings.active.is_some() || settings.tau.is_some() {
            self.wake
                // Power saving is a sleep between updates; a device that rests otherwise has none (TS 23.682, section 4.5.4).
                .filter(|_| self.rest == State::Sleep && self.is_cellular())
                .ok_or(Impossible::Absent("power saving mode"))?;
        }
        if let Some(active) = settings.active {
            had(Timer::Active, active)?;
            let index = self
                .reachable()
                .ok_or(Impossible::Absent("active time before power saving"))?;
            self.tails[index].time = active;
            self.is_set("tails.time", index);
        }
        if let Some(tau) = settings.tau {
            had(Timer::Update, tau)?;
            let awake = self.update().map(|(.., time)| time).sum();
            // The device would be awake for its updates all the time.
            if tau <= awake {
                return Err(Impossible::NoSaving { awake, tau });
            }
            self.updates = Some(tau);
        }
        Ok(())
    }

    /// Sets eDRX. With power saving it is what the device does in its active time; without, it is the device's rest, which begins when
    /// the connection ends.
    fn page(&mut self, cycle: Duration, settings: &Settings) -> Result<(), Impossible> {
        let timer = match self.radio {
            Radio::NbIot(_) => Timer::EdrxNbIot,
            Radio::Cellular(_) => Timer::EdrxLte,
            Radio::Wifi(_) | Radio::Ethernet(_) => return Err(Impossible::Absent("cellular radio")),
        };
        had(timer, cycle)?;
        let listen = self.window_listen.ok_or(Impossible::Absent(
            "window_listen, how long it listens in a paging window",
        ))?;
        let paging = Some(possible(cycle, listen)?);
        let reachable = self.reachable();
        // Without power saving the device rests in eDRX: there is no active time before the rest.
        if settings.active.is_none() && settings.tau.is_none() {
            if let Some(index) = reachable {
                self.tails[index].time = Duration::ZERO;
                self.is_set("tails.time", index);
            }
            self.paging = paging;
            return Ok(());
        }
        let index = reachable.ok_or(Impossible::Absent("active time before power saving"))?;
        // `floor` counts the paging of the device: only while it has the new one does it give the power of the active time.
        let without = core::mem::replace(&mut self.paging, paging);
        self.tails[index].level = self.floor();
        self.paging = without;
        Ok(())
    }

    /// Marks a figure of the file as set: the one of this key that is the `nth` in the file.
    fn is_set(&mut self, key: &str, nth: usize) {
        let mut of_key = self.provenance.iter_mut().filter(|figure| figure.key == key);
        if let Some(figure) = of_key.nth(nth) {
            figure.source = Some("set by an option".to_owned());
        }
    }

    const fn is_cellular(&self) -> bool {
        matches!(self.radio, Radio::Cellular(_) | Radio::NbIot(_))
    }

    /// The tail in which the network keeps the connection: the only one.
    fn connected(&self) -> Result<usize, Impossible> {
        let mut all = self.tails_in(State::Listen);
        match (all.next(), all.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err(Impossible::Absent("connection that is kept for some time")),
            (Some(_), Some(_)) => Err(Impossible::Absent("single state in which it is connected")),
        }
    }

    /// The tail in which the device can be reached.
    fn reachable(&self) -> Option<usize> {
        self.tails_in(State::Idle).next()
    }

    fn tails_in(&self, state: State) -> impl Iterator<Item = usize> {
        let is_cellular = self.is_cellular();
        let tails = self.tails.iter().enumerate();
        tails
            .filter(move |(_, tail)| is_cellular && tail.state == state)
            .map(|(index, _)| index)
    }

    /// What a tracking area update takes: the wake-up, and the active time that starts anew after it (TS 24.301 section 5.3.11).
    pub fn update(&self) -> impl Iterator<Item = (State, Level, Duration)> {
        let wake = self.wake.map(|wake| (State::Listen, wake.level, wake.time));
        let reachable = self.reachable().map(|index| self.tails[index]);
        wake.into_iter()
            .chain(reachable.map(|Tail { state, level, time }| (state, level, time)))
    }

    /// How many tracking area updates come in a rest. The timer starts when the connection before it ends (TS 24.301 section 5.3.5),
    /// and so before the active time, and anew after each update.
    pub fn updates_in(&self, rest: Duration) -> u32 {
        let Some(period) = self.updates.filter(|period| !period.is_zero()) else {
            return 0;
        };
        let active = self
            .reachable()
            .map_or(Duration::ZERO, |index| self.tails[index].time);
        let wake = self.wake.map_or(Duration::ZERO, |wake| wake.time);
        let silent = rest.saturating_add(active).saturating_add(wake);
        u32::try_from(silent.as_nanos() / (period + wake).as_nanos()).unwrap_or(u32::MAX)
    }
}

impl Settings {
    /// What is set, as words of a title.
    fn words(&self) -> Vec<String> {
        let timer = |name: &str, time: Option<Duration>| time.map(|time| format!("{name} {}", exact(time)));
        [
            timer("T3324", self.active),
            timer("T3412", self.tau),
            timer("inactivity", self.inactivity),
            self.rai.then(|| "release assistance".to_owned()),
            timer("eDRX", self.edrx),
            self.dtim.map(|dtim| format!("DTIM {dtim}")),
            self.tx_power.map(|dbm| format!("{dbm} dBm")),
            self.cdrx.map(|cdrx| cdrx.words()),
            self.attach.map(|loss| attach::words(&loss)),
        ]
        .into_iter()
        .flatten()
        .collect()
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

/// A time as it is, in the unit in which it is whole, or in seconds.
pub fn exact(time: Duration) -> String {
    match time.subsec_nanos() {
        0 => shown::time(time),
        _ => format!("{} s", time.as_secs_f64()),
    }
}

/// Listening now and then, where there is time for it.
fn possible(every: Duration, listen: Duration) -> Result<Paging, Impossible> {
    match listen < every {
        true => Ok(Paging { every, listen }),
        false => Err(Impossible::Listening { listen, every }),
    }
}

fn had(timer: Timer, time: Duration) -> Result<(), Impossible> {
    match timer.has(time) {
        true => Ok(()),
        false => Err(Impossible::Timer(timer, time)),
    }
}

#[cfg(test)]
pub(crate) mod tests;
