//! The arguments of every command that prints the table of a comparison.

use clap::{Args, ValueEnum};
use wirecost_report::per::Per;
use wirecost_report::rows::Rows;
use wirecost_report::terminal::Contents;
use wirecost_scenario::options::compare::Options;

use crate::exit::Failure;

/// What the table of a comparison shows.
#[derive(Clone, Copy, Debug, Args)]
pub struct TableArguments {
    /// Unit of the all-in bytes; a day, a month (30 days) and a year (365 days) need --interval
    #[arg(long, value_enum, value_name = "message|day|month|year", default_value_t = PerArgument::Message, hide_default_value = true, hide_possible_values = true)]
    pub per: PerArgument,

    /// Rows of a stack that both engines ran: one (live if measured) or both
    #[arg(long, value_enum, value_name = "one|both", default_value_t = RowsArgument::One, hide_default_value = true, hide_possible_values = true, hide_short_help = true)]
    pub rows: RowsArgument,
}

/// What all-in bytes are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PerArgument {
    /// A message
    Message,
    /// 24 hours
    Day,
    /// 30 days
    Month,
    /// 365 days
    Year,
}

/// The rows of a stack that both engines ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RowsArgument {
    /// The live one
    One,
    /// The live one and the simulated one
    Both,
}

impl TableArguments {
    /// The same for the table.
    pub fn contents(self) -> Contents {
        Contents {
            rows: match self.rows {
                RowsArgument::One => Rows::One,
                RowsArgument::Both => Rows::Both,
            },
            per: match self.per {
                PerArgument::Message => Per::Message,
                PerArgument::Day => Per::Day,
                PerArgument::Month => Per::Month,
                PerArgument::Year => Per::Year,
            },
        }
    }

    /// The flag that the user gave, if any.
    pub fn given(self) -> Option<&'static str> {
        if self.per != PerArgument::Message {
            return Some("--per");
        }
        (self.rows != RowsArgument::One).then_some("--rows")
    }

    /// Refuses a day, a month or a year where no cell has an interval.
    ///
    /// # Errors
    /// The messages of a day cannot be counted.
    pub fn check(self, options: &Options) -> Result<(), Failure> {
        let period = match self.per {
            PerArgument::Message => return Ok(()),
            PerArgument::Day => "day",
            PerArgument::Month => "month",
            PerArgument::Year => "year",
        };
        if options
            .schedules
            .iter()
            .any(|schedule| schedule.interval.is_some())
        {
            return Ok(());
        }
        let why = format!(
            "--per {period} needs the time between two messages of a device, which this comparison leaves open"
        );
        Err(Failure::usage(why).with_hint("add --interval 5min, or interval to the scenario"))
    }
}
