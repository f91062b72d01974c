//! A device: its power states, the timers between them, and its radio.

use core::time::Duration;

use crate::radio::Radio;

wirecost_proto::named! {
    /// A state of power.
    ///
    /// Named as in device files and output.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum State {
        /// Everything is off that can be.
        Sleep => "sleep",
        /// Ready, without a receiver.
        Idle => "idle",
        /// The receiver is on, and nothing arrives.
        Listen => "listen",
        /// A frame arrives.
        Receive => "receive",
        /// A frame is sent.
        Transmit => "transmit",
        /// The processor works.
        Compute => "compute",
    }
}

/// A power, and how far the true one may be from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// Watts at the voltage of the supply.
    pub watts: f64,
    /// The spread as a part of it, from 0 to 1.
    pub spread: f64,
}

/// A state that a device keeps for some time after its last packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// The state.
    pub state: State,
    /// Its power.
    pub level: Level,
    /// How long, unless a packet comes.
    pub time: Duration,
}

/// Listening now and then while the device rests: paging, beacons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// The time from one to the next.
    pub every: Duration,
    /// How long it listens each time.
    pub listen: Duration,
}

/// What a device needs to leave its rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wake {
    /// How long.
    pub time: Duration,
    /// The mean power.
    pub level: Level,
}

/// How long a device searches where the user does not say it. Assumed: 2 s with a known cell and up to 3 minutes without one were seen,
/// and this is near their geometric mean (docs/models/energy.md).
pub const SEARCH: Duration = Duration::from_secs(20);

/// How often a device loses its network, and how long it searches for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkLoss {
    /// The time from one attach to the next.
    pub every: Duration,
    /// How long the receiver searches for a cell; `None` where the user does not say it: [`SEARCH`].
    pub search: Option<Duration>,
}

impl NetworkLoss {
    /// How long the device searches.
    pub fn search(&self) -> Duration {
        self.search.unwrap_or(SEARCH)
    }
}

/// What the current of sending depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmitter {
    /// The transmit power of the state transmit, in dBm.
    pub dbm: f64,
    /// The power of the device while it sends at 0 dBm.
    pub least: Level,
}

/// The processor's work for packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Processor {
    /// Cycles per second.
    pub hertz: f64,
    /// Cycles for each packet.
    pub cycles_per_packet: f64,
    /// Cycles for each byte of a packet.
    pub cycles_per_byte: f64,
}

/// A figure of a device file and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The key, e.g. `states.transmit`.
    pub key: String,
    /// Line of the file.
    pub line: u64,
    /// Source and date; `None` for a figure that is assumed.
    pub source: Option<String>,
}

/// A device as its file describes it: what it draws in each state, and when it is in which.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Name of its file.
    pub name: String,
    /// What it is.
    pub title: String,
    /// The chip or module, as measurements name it; `None` where none is meant.
    pub chip: Option<String>,
    /// Volts of its supply, at which currents are powers.
    pub volts: f64,
    /// Power by [`State`] `as usize`.
    pub levels: [Level; State::ALL.len()],
    /// The state in which it rests: sleep or idle.
    pub rest: State,
    /// Paging while it rests.
    pub paging: Option<Paging>,
    /// What leaving the rest takes.
    pub wake: Option<Wake>,
    /// The states after a packet, in their order. Their power falls.
    pub tails: Vec<Tail>,
    /// How often it reports its tracking area while it rests (T3412); `None` where it does not. An update is a wake-up.
    pub updates: Option<Duration>,
    /// How often it loses its network and attaches anew; `None` where it never does.
    pub attach: Option<NetworkLoss>,
    /// How long it listens in a paging window of eDRX of 2.56 s; `None` where that is not known.
    pub window_listen: Option<Duration>,
    /// How long it listens in a cycle of discontinuous reception while connected; `None` where that is not known.
    pub cdrx_listen: Option<Duration>,
    /// How sending depends on transmit power; `None` where that is not known.
    pub transmitter: Option<Transmitter>,
    /// The processor; `None` where its work is not modelled.
    pub processor: Option<Processor>,
    /// The radio, or the wire.
    pub radio: Radio,
    /// Where each figure comes from.
    pub provenance: Vec<Provenance>,
}

impl Device {
    /// The charge that an energy is at its supply voltage, in mAh (1 mAh = 3.6 C).
    pub const fn charge_mah(&self, joules: f64) -> f64 {
        joules / self.volts / 3.6
    }

    /// The power of a state.
    pub const fn level(&self, state: State) -> Level {
        self.levels[state as usize]
    }

    /// The mean power while it rests, with its paging.
    pub fn floor(&self) -> Level {
        let rest = self.level(self.rest);
        let Some(paging) = self.paging else {
            return rest;
        };
        let part = paging.listen.as_secs_f64() / paging.every.as_secs_f64();
        let listen = self.level(State::Listen);
        let watts = rest.watts * (1.0 - part) + listen.watts * part;
        let spread = rest.watts * (1.0 - part) * rest.spread + listen.watts * part * listen.spread;
        Level {
            watts,
            // A device that draws nothing has no relative spread.
            spread: if watts > 0.0 { spread / watts } else { 0.0 },
        }
    }

    /// The highest power of a state, a tail or the wake-up, in watts.
    pub fn highest_watts(&self) -> f64 {
        self.packet_watts().max(self.lasting_watts())
    }

    /// The highest power of the states in which packets are sent and received, in watts.
    pub(crate) fn packet_watts(&self) -> f64 {
        highest(self.levels)
    }

    /// The highest power that lasts longer than a packet, in watts: of the wake-up, of the search of a network, of a tail that the device has,
    /// or of its rest.
    pub(crate) fn lasting_watts(&self) -> f64 {
        let tails = self.tails.iter().filter(|tail| !tail.time.is_zero());
        let wake = self.wake.map(|wake| wake.level);
        let search = self.attach.map(|_| self.level(State::Listen));
        let longer = wake.into_iter().chain(search).chain([self.floor()]);
        highest(tails.map(|tail| tail.level).chain(longer))
    }

    /// How long the tails last after the last packet.
    pub fn tail_time(&self) -> Duration {
        self.tails.iter().map(|tail| tail.time).sum()
    }

    /// How many figures are assumed, and how many there are.
    pub fn assumed(&self) -> (usize, usize) {
        let assumed = self.provenance.iter().filter(|figure| figure.source.is_none());
        (assumed.count(), self.provenance.len())
    }
}

fn highest(levels: impl IntoIterator<Item = Level>) -> f64 {
    levels.into_iter().map(|level| level.watts).fold(0.0, f64::max)
}
