//! How many devices, and how long: the options of every command that gives bytes and money of a fleet.

use clap::{Args, ValueEnum};
use wirecost_account::Fleet;
use wirecost_proto::calendar::Period;
use wirecost_scenario::table::count;

/// What bytes and money are of.
#[derive(Clone, Copy, Debug, Args)]
pub struct FleetArguments {
    /// Number of devices on the data plan: bytes and money of all
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u32>, allow_hyphen_values = true)]
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
    /// The period.
    pub const fn period(self) -> Period {
        match self {
            Self::Day => Period::Day,
            Self::Month => Period::Month,
            Self::Year => Period::Year,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.period().name()
    }
}

impl FleetArguments {
    /// The fleet that is asked for.
    pub const fn fleet(self) -> Fleet {
        Fleet {
            devices: self.devices,
            period: self.per.period(),
        }
    }

    /// The same figure of all devices in the time asked for, from that of one device in a month.
    pub fn scaled(self, of_a_month: f64) -> f64 {
        self.fleet().scaled(of_a_month)
    }
}
