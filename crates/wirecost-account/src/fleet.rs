//! Figures of several devices, of a day, a month or a year.

use wirecost_cost::Usage;
use wirecost_cost::tariff::Bill;
use wirecost_energy::Energy;
use wirecost_proto::calendar::Period;

use crate::Figures;

/// How many devices figures are of, and which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// The number of devices.
    pub devices: u32,
    /// The time.
    pub period: Period,
}

/// The figures of a fleet in its period.
#[derive(Clone, Debug)]
pub struct FleetFigures {
    /// Usage of all devices.
    pub usage: Usage,
    /// Their energy in joules; `None` without a device file.
    pub energy: Option<Energy>,
    /// Their bill; `None` where one device has none.
    pub bill: Option<Bill>,
}

impl Fleet {
    /// One device in a month.
    pub const ONE: Self = Self {
        devices: 1,
        period: Period::Month,
    };

    /// How many months of one device it has.
    fn times(self) -> f64 {
        f64::from(self.devices) * self.period.months()
    }

    /// The figure of all devices in the period, from that of one device in a month. Bills too: that of a device is its share of that of
    /// all, where a tariff rounds or has tiers for all together, and a day or a year has its share of months.
    pub fn scaled(self, of_a_month: f64) -> f64 {
        of_a_month * self.times()
    }
}

impl Figures {
    /// The figures of a fleet of such devices.
    pub fn of_fleet(&self, fleet: Fleet) -> FleetFigures {
        self.times(fleet.times())
    }

    /// The figures of one message, with its share of everything else. A bill is the share of that of a month: a tariff does not round
    /// for each message. `None` without messages.
    pub fn of_message(&self) -> Option<FleetFigures> {
        (self.messages > 0.0).then(|| self.times(1.0 / self.messages))
    }

    /// The monthly figures of one device, multiplied by `times`.
    fn times(&self, times: f64) -> FleetFigures {
        FleetFigures {
            usage: self.month.clone().scaled(times),
            energy: self.month_energy.map(|energy| energy.scaled(times)),
            bill: self.bill.clone().map(|bill| bill.scaled(times)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_of_a_year_has_all_its_devices_and_days() {
        let fleet = |devices, period| Fleet { devices, period };
        let day = fleet(1, Period::Day).scaled(1.0);
        let year = fleet(10, Period::Year).scaled(1.0);
        assert!((year / day - 3_650.0).abs() < 1e-9);
        assert_eq!(Fleet::ONE.scaled(3.0), 3.0);
    }
}
