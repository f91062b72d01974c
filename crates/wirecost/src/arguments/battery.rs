//! The battery of a device: the options of every command that gives its life.

use clap::Args;
use wirecost_proto::Probability;
use wirecost_scenario::electric::BatterySize;

/// The battery of a device.
#[derive(Clone, Debug, Default, Args)]
pub struct BatteryArguments {
    /// Battery, e.g. 2400mAh@3.6V: adds its life in years
    #[arg(long = "battery", value_name = "CHARGE@VOLTS", requires = "device", value_parser = size)]
    pub battery: Option<BatterySize>,

    /// Kind of its cells: what they lose, how long they stay good and what they can feed: alkaline, li-fes2, li-ion, li-mno2,
    /// li-socl2-bobbin, li-socl2-spiral, or a file [default: 1 % a year, 10 years, any current]
    #[arg(long, value_name = "NAME|FILE", requires = "battery")]
    pub chemistry: Option<String>,

    /// Part of its charge that the battery loses by itself per year [default: that of --chemistry, or 1%]
    #[arg(long, value_name = "P", requires = "battery")]
    pub self_discharge: Option<Probability>,
}

fn size(text: &str) -> Result<BatterySize, String> {
    text.parse().map_err(|error| format!("{error}"))
}
