//! How many devices, and how long: the options of every command that gives bytes and money of a fleet.

use clap::{Args, ValueEnum};
use wirecost_proto::calendar::{DAY_SECONDS, MONTH_SECONDS, YEAR_SECONDS};

/// What bytes and money are of.
#[derive(Clone, Copy, Debug, Args)]
pub struct FleetArguments {
    /// Number of devices on the data plan: bytes and money of all
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub devices: u32,

    /// Time that bytes and money are of
    #[arg(long, value_enum, value_name = "day|month|year", default_value_t = PeriodArgument::Month, hide_possible_values = true)]
    pub per: PeriodArgument,
}

/// The time that bytes and money are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PeriodArgument {
    /// 24 hours
    Day,
    /// A month
    #[default]
    Month,
    /// 365 days
    Year,
}

impl PeriodArgument {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// How many months it has.
    pub const fn months(self) -> f64 {
        match self {
            Self::Day => DAY_SECONDS / MONTH_SECONDS,
            Self::Month => 1.0,
            Self::Year => YEAR_SECONDS / MONTH_SECONDS,
        }
    }
}

impl FleetArguments {
    /// The same figure of all devices in the time asked for, from that of one device in a month.
    pub fn scaled(self, of_a_month: f64) -> f64 {
        of_a_month * f64::from(self.devices) * self.per.months()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_of_a_year_has_all_its_devices_and_days() {
        let fleet = |devices, per| FleetArguments { devices, per };
        let day = fleet(1, PeriodArgument::Day).scaled(1.0);
        let year = fleet(10, PeriodArgument::Year).scaled(1.0);
        assert!((year / day - 3_650.0).abs() < 1e-9);
        assert_eq!(fleet(1, PeriodArgument::Month).scaled(3.0), 3.0);
    }
}
