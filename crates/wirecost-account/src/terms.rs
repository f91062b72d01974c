//! Device, battery, tariff and number of devices, and what follows from them.

use wirecost_cost::tariff::Bill;
use wirecost_cost::{Tariff, Usage};
use wirecost_energy::evidence::Beside;
use wirecost_energy::{Battery, Device, Energy, Part, Purposes, Repeated, TooWeak, mean_power};
use wirecost_proto::calendar::{MONTH_SECONDS, Period, YEAR_SECONDS};

use crate::{Cycle, Fleet, ReadingTime, Traffic};

/// What a life is priced by.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The device, whose energy is modelled.
    pub device: Option<&'a Device>,
    /// The data plan or broker.
    pub tariff: Option<&'a Tariff>,
    /// The battery; `None` where no battery life is asked for.
    pub battery: Option<Battery>,
    /// How far the device is from what was measured of its chip; `None` where it was never held against a measurement.
    pub beside: Option<Beside>,
    /// The devices on the plan, and the time that their figures are of.
    pub fleet: Fleet,
}

/// The figures of one device or cell.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Usage of one device per month.
    pub month: Usage,
    /// Messages of one device per month.
    pub messages: f64,
    /// How long a reading takes; `None` where that was not simulated.
    pub time: Option<ReadingTime>,
    /// Mean power by purpose, in watts; `None` without a device.
    pub power: Option<Purposes>,
    /// Energy of a reading with its share of everything else, rest included, in joules; `None` without a device.
    pub each: Option<Energy>,
    /// The same without rest.
    pub active_each: Option<Energy>,
    /// Years until the battery is empty or at the end of its shelf life: as the figures are, and at both ends of what the measurements
    /// of the chip leave open; without measurements, of the spread of the figures.
    pub years: Option<[f64; 3]>,
    /// The bill of one device per month, its share of that of all; `None` without a tariff, or where the tariff's service does not take the stack.
    pub bill: Option<Bill>,
    /// Why that service does not take it.
    pub refusal: Option<String>,
    /// Energy of one device per month, in joules; `None` without a device.
    pub month_energy: Option<Energy>,
    /// Whether the readings overlap with their tails, so that energy is an upper bound.
    pub overlaps: bool,
}

impl Figures {
    /// The messages of one battery's life: as the figures are, and at both ends of their range; `None` without a battery.
    pub fn messages_of_battery(&self) -> Option<[f64; 3]> {
        let months = YEAR_SECONDS / MONTH_SECONDS;
        self.years
            .map(|years| years.map(|years| years * months * self.messages))
    }

    /// The energy from the start of one session to that of the next, rest included, in joules; `None` without a device, or where the
    /// traffic opens no session.
    pub fn session(&self) -> Option<Energy> {
        let sessions = self.month.sessions();
        self.month_energy
            .filter(|_| sessions > 0.0)
            .map(|month| month.scaled(sessions.recip()))
    }

    /// The energy of a reading above what the device draws without traffic, in joules; `None` without a device.
    pub fn above_rest(&self, device: &Device) -> Option<f64> {
        let (each, power) = (self.each?, self.power.as_ref()?.total().joules);
        let above = (power - device.floor().watts).max(0.0);
        (power > 0.0).then(|| each.joules * above / power)
    }
}

impl Terms<'_> {
    /// Why the battery cannot feed the device.
    pub fn too_weak(&self) -> Option<TooWeak> {
        self.battery?.too_weak_for(self.device?)
    }

    /// The figures of some traffic.
    pub fn figures(&self, traffic: &Traffic) -> Figures {
        let month = traffic.month();
        let power = self.device.map(|device| {
            let repeated: Vec<Repeated<'_>> = traffic.cycles.iter().filter_map(Cycle::repeated).collect();
            mean_power(device, &repeated)
        });
        let drained = self.battery.zip(power.as_ref());
        let years = drained.map(|(battery, power)| years(battery, power.total(), self.beside));
        let messages = traffic.messages_in(Period::Month);
        let seconds_each = MONTH_SECONDS / messages;
        // Publications give the energy of a message above rest: the comparable figure is without it.
        let of_active = |power: &Purposes| power.sum_of(|purpose| purpose.part != Part::Rest);
        Figures {
            bill: self.tariff.map(|tariff| tariff.bill(&month, self.fleet.devices)),
            refusal: None,
            month,
            messages,
            time: traffic.time,
            month_energy: power.as_ref().map(|power| power.total().scaled(MONTH_SECONDS)),
            each: power.as_ref().map(|power| power.total().scaled(seconds_each)),
            active_each: power.as_ref().map(|power| of_active(power).scaled(seconds_each)),
            power,
            years,
            overlaps: traffic.overlaps(),
        }
    }
}

/// Years as the figures are, and the shorter and the longer one of the interval: 80 % of the measured events of the chip lie within the
/// factor of the model. Without measurements the ends are those of the spread of the powers.
fn years(battery: Battery, power: Energy, beside: Option<Beside>) -> [f64; 3] {
    let ends = match beside {
        Some(Beside { factor, .. }) => [power.joules * factor, power.joules / factor],
        None => [power.high, power.low],
    };
    [power.joules, ends[0], ends[1]].map(|watts| battery.years(watts))
}
