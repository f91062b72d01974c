//! Device, battery, tariff and number of devices, and what follows from them.

use wirecost_cost::tariff::Bill;
use wirecost_cost::{Tariff, Usage};
use wirecost_energy::{Battery, Device, Energy, Part, Purposes, Repeated, mean_power};
use wirecost_proto::calendar::MONTH_SECONDS;

use crate::{Cycle, Fleet, Traffic};

/// What a life is priced by.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The device, whose energy is modelled.
    pub device: Option<&'a Device>,
    /// The data plan or broker.
    pub tariff: Option<&'a Tariff>,
    /// The battery.
    pub battery: Option<Battery>,
    /// The devices on the plan, and the time that their figures are of.
    pub fleet: Fleet,
}

/// The figures of one device or cell.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Usage of one device per month.
    pub month: Usage,
    /// Mean power by purpose, in watts; `None` without a device.
    pub power: Option<Purposes>,
    /// Energy of a reading with its share of everything else, rest included, in joules; `None` without a device.
    pub each: Option<Energy>,
    /// The same without rest.
    pub active_each: Option<Energy>,
    /// Years until the battery is empty: as the figures are, at the low end and at the high end of their spread.
    pub years: Option<[f64; 3]>,
    /// The bill of one device per month; `None` without a tariff, or where the tariff's service does not take the stack.
    pub bill: Option<Bill>,
    /// Why that service does not take it.
    pub refusal: Option<String>,
    /// Energy of one device per month, in joules; `None` without a device.
    pub month_energy: Option<Energy>,
    /// Whether the readings overlap with their tails, so that energy is an upper bound.
    pub overlaps: bool,
}

/// Nothing drains the battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing drains the battery: the device has no power and the battery no self-discharge")]
pub struct NothingDrains;

impl Terms<'_> {
    /// The figures of some traffic.
    ///
    /// # Errors
    /// Nothing drains the battery.
    pub fn figures(&self, traffic: &Traffic) -> Result<Figures, NothingDrains> {
        let month = traffic.month();
        let power = self.device.map(|device| {
            let repeated: Vec<Repeated<'_>> = traffic.cycles.iter().filter_map(Cycle::repeated).collect();
            mean_power(device, &repeated)
        });
        let years = match (self.battery, &power) {
            (Some(battery), Some(power)) => Some(years(battery, power.total())?),
            _ => None,
        };
        let seconds_each = 1.0 / traffic.rate();
        let of_active = |power: &Purposes| power.sum_of(|purpose| purpose.part != Part::Rest);
        Ok(Figures {
            bill: self.tariff.map(|tariff| tariff.bill(&month)),
            refusal: None,
            month,
            month_energy: power.as_ref().map(|power| power.total().scaled(MONTH_SECONDS)),
            each: power.as_ref().map(|power| power.total().scaled(seconds_each)),
            active_each: power.as_ref().map(|power| of_active(power).scaled(seconds_each)),
            power,
            years,
            overlaps: traffic.overlaps(),
        })
    }
}

/// Years as the figures are, and at the ends of their spread, the shorter first.
fn years(battery: Battery, power: Energy) -> Result<[f64; 3], NothingDrains> {
    let years = |watts| battery.years(watts).ok_or(NothingDrains);
    Ok([years(power.joules)?, years(power.high)?, years(power.low)?])
}
