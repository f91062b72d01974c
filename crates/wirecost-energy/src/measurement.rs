//! What others measured: published charges, energies and currents of devices, with what was set.

use core::time::Duration;

/// The points of one publication.
#[derive(Clone, Debug, PartialEq)]
pub struct Publication {
    /// The name of its file.
    pub name: String,
    /// Who published it, where and when.
    pub title: String,
    /// Its points.
    pub points: Vec<Point>,
}

wirecost_proto::named! {
    /// What a point can be used for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Use {
        /// Traffic with its timers: from the wake-up to the rest.
        Event => "event",
        /// The mean current of one state with its timers, without traffic.
        State => "state",
        /// One current without timers: it tests no model.
        Component => "component",
    }
}

wirecost_proto::named! {
    /// The radio of a point.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Radio {
        /// LTE-M.
        LteM => "LTE-M",
        /// NB-IoT.
        NbIot => "NB-IoT",
        /// A cellular radio that the publication does not name.
        Cellular => "cellular",
        /// Wi-Fi whose association is kept.
        Wifi => "Wi-Fi, kept",
        /// Wi-Fi that joins anew for each event.
        WifiJoined => "Wi-Fi, joined anew",
        /// ESP-NOW: the receiver is on for a window of each period.
        EspNow => "ESP-NOW",
        /// None, or not said.
        None => "no radio",
    }
}

/// A measured value in the unit of its quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured {
    /// Coulombs.
    Charge(f64),
    /// Joules.
    Energy(f64),
    /// Amperes.
    Current(f64),
    /// Watts.
    Power(f64),
    /// A part of a battery per day.
    Share(f64),
}

wirecost_proto::named! {
    /// What a device does in an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Does {
        /// A tracking area update.
        Update => "update",
        /// A message up that nothing answers.
        OneWay => "one-way",
        /// A message up and its answer.
        Exchange => "exchange",
        /// The modem is switched on, exchanges a message, and is switched off.
        OnOff => "on-off",
        /// It registers with the network.
        Attach => "attach",
        /// It opens a connection.
        Connect => "connect",
        /// It starts, and does nothing else.
        Boot => "boot",
        /// It joins its network, and sends nothing.
        Join => "join",
        /// One frame without a connection.
        Datagram => "datagram",
    }
}

wirecost_proto::named! {
    /// How the processor and the radio save power while the association with Wi-Fi is kept.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum WifiMode {
        /// The radio is off between beacons.
        ModemSleep => "modem sleep",
        /// The same, and the processor's clock is lowered.
        ModemSleepScaled => "modem sleep with frequency scaling",
        /// The processor is stopped as well.
        LightSleep => "light sleep",
        /// Everything is off.
        DeepSleep => "deep sleep",
    }
}

wirecost_proto::named! {
    /// How an address is had on Wi-Fi.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Address {
        /// It is configured.
        Static => "static",
        /// It is asked for.
        Dhcp => "dhcp",
    }
}

/// What was set. `None` is what the publication does not say, or what the radio does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Transmit power in dBm.
    pub tx_power: Option<f64>,
    /// The highest current that was seen, in amperes.
    pub peak: Option<f64>,
    /// T3324.
    pub active: Option<Duration>,
    /// T3412.
    pub tau: Option<Duration>,
    /// How long the network keeps a silent connection.
    pub inactivity: Option<Duration>,
    /// Whether the device asks for the release of its connection.
    pub rai: Option<bool>,
    /// The cycle of discontinuous reception while connected.
    pub cdrx: Option<Duration>,
    /// The cycle of extended discontinuous reception.
    pub edrx: Option<Duration>,
    /// Its paging window.
    pub paging_window: Option<Duration>,
    /// Beacons from one that is listened to, to the next.
    pub dtim: Option<u32>,
    /// How Wi-Fi saves power.
    pub mode: Option<WifiMode>,
    /// How an address is had.
    pub address: Option<Address>,
    /// How long the receiver of ESP-NOW is on.
    pub window: Option<Duration>,
    /// From one such window to the next.
    pub every: Option<Duration>,
}

/// A published value.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its name, which no other point has.
    pub id: String,
    /// Its line in the file.
    pub line: u64,
    /// What it can be used for.
    pub usage: Use,
    /// The chip or the module.
    pub device: String,
    /// The board that it is on; the chip alone, or not said, without one.
    pub board: Option<String>,
    /// The radio.
    pub radio: Radio,
    /// Whether it was measured at the bench of a maker, and not in a live network.
    pub is_bench: bool,
    /// What is on the measured supply.
    pub rail: String,
    /// Volts of that supply; `None` where they are not said.
    pub supply: Option<f64>,
    /// The value.
    pub measured: Measured,
    /// How long it took.
    pub time: Option<Duration>,
    /// What the device does; `None` without an event.
    pub does: Option<Does>,
    /// Bytes of IP packets up.
    pub up: u64,
    /// Bytes of IP packets down.
    pub down: u64,
    /// What was set.
    pub settings: Settings,
    /// Why no model is judged by it, though it is an event or a state.
    pub not_judged: Option<String>,
    /// Where in the publication.
    pub place: String,
}

impl Point {
    /// Whether a model can be judged by it.
    pub const fn is_judged(&self) -> bool {
        !matches!(self.usage, Use::Component) && self.not_judged.is_none()
    }

    /// The charge of an event in coulombs. An energy is one at the voltage of its supply.
    pub fn charge(&self) -> Option<f64> {
        match self.measured {
            Measured::Charge(coulombs) => Some(coulombs),
            Measured::Energy(joules) => Some(joules / self.supply?),
            Measured::Current(_) | Measured::Power(_) | Measured::Share(_) => None,
        }
    }

    /// The mean current of a state in amperes.
    pub const fn current(&self) -> Option<f64> {
        match self.measured {
            Measured::Current(amperes) => Some(amperes),
            Measured::Charge(_) | Measured::Energy(_) | Measured::Power(_) | Measured::Share(_) => None,
        }
    }
}
