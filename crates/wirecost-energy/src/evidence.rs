//! Models of energy beside published measurements: each point predicted by a fit that has not seen it.
//!
//! - [`events`]: the charge of an event as a sum of parts, whose figures are fitted
//! - [`states`]: the mean current of a state as a base and a part that grows with one setting
//! - [`device`]: a device file beside the events of its chip
//! - [`errors`]: how far the predictions of a class are from what was measured, and the interval that follows
//!
//! Classes are never pooled: a model that is right about light sleep says nothing about NB-IoT.

pub mod device;
pub mod errors;
pub mod events;
pub mod states;

use crate::measurement::{Point, Publication, Radio, WifiMode};

pub use device::{Beside, beside};
pub use errors::Errors;

/// Points that one model predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Association kept, between beacons, by the mode of power saving.
    Beacons(WifiMode),
    /// The receiver on for a window of each period.
    Windows,
    /// An uplink at a transmit power.
    Uplink(Radio),
    /// Idle with extended discontinuous reception.
    Edrx(Radio),
    /// Traffic with its timers.
    Events(Radio),
}

impl Class {
    /// The class of a point that can be judged; `None` where no model of this crate has such a point.
    pub fn from_point(point: &Point) -> Option<Self> {
        use crate::measurement::Use;
        let settings = &point.settings;
        match (point.usage, point.radio) {
            (Use::Event, radio) => Some(Self::Events(radio)),
            (Use::State, Radio::Wifi) => settings.mode.map(Self::Beacons),
            (Use::State, Radio::EspNow) => Some(Self::Windows),
            (Use::State, radio) if settings.edrx.is_some() => Some(Self::Edrx(radio)),
            (Use::State, radio) if settings.tx_power.is_some() => Some(Self::Uplink(radio)),
            (Use::State | Use::Component, _) => None,
        }
    }

    /// What a person calls it.
    pub fn name(self) -> String {
        match self {
            Self::Beacons(mode) => format!("Wi-Fi kept, {}", mode.name()),
            Self::Windows => "ESP-NOW windows".to_owned(),
            Self::Uplink(radio) => format!("{} uplink by TX power", radio.name()),
            Self::Edrx(radio) => format!("{} idle with eDRX", radio.name()),
            Self::Events(radio) => format!("{} events", radio.name()),
        }
    }
}

wirecost_proto::named! {
    /// What the fit of a prediction has not seen.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Held {
        /// This setting; the other settings of the same device were fitted.
        Setting => "a setting",
        /// This half of its publication, by a draw that was made before any fit.
        Half => "half of a publication",
        /// Its publication.
        Publication => "a publication",
    }
}

/// A point beside its prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name of its publication.
    pub publication: String,
    /// Its name.
    pub id: String,
    /// Its class.
    pub class: Class,
    /// What the fit has not seen.
    pub held: Held,
    /// Coulombs of an event, amperes of a state.
    pub measured: f64,
    /// The same as predicted; an error says why there is no prediction.
    pub predicted: Result<f64, &'static str>,
    /// What makes the point differ from what was fitted, where that is known.
    pub because: Option<String>,
}

impl Row {
    /// The predicted value over the measured one.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.predicted.ok()? / self.measured)
    }
}

/// Every judged point beside the predictions of fits that have not seen it, in the order of the publications.
pub fn rows(publications: &[Publication]) -> Vec<Row> {
    let mut rows = states::rows(publications);
    rows.extend(events::rows(publications));
    rows
}

/// The errors of each class by what was held out, in the order of classes.
pub fn by_class(rows: &[Row]) -> Vec<Errors> {
    let mut keys: Vec<(Class, Held)> = rows.iter().map(|row| (row.class, row.held)).collect();
    keys.sort_unstable();
    keys.dedup();
    let of = |(class, held): (Class, Held)| {
        let own = rows.iter().filter(|row| (row.class, row.held) == (class, held));
        Errors::from_rows(class, held, own)
    };
    keys.into_iter().map(of).collect()
}

/// Points that are events or states and that no model is judged by, with the reason of each.
pub fn not_judged(publications: &[Publication]) -> Vec<(&str, &str)> {
    let points = publications.iter().flat_map(|one| &one.points);
    let reason = |point: &'_ Point| point.not_judged.is_some();
    points
        .filter(|point| reason(point))
        .filter_map(|point| Some((point.id.as_str(), point.not_judged.as_deref()?)))
        .collect()
}
