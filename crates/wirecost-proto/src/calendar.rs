//! How long a day, a month and a year are wherever figures are given for one: a month has 30 days and a year has 365. A year is
//! therefore not twelve months, as in the tables of operators and makers of batteries.

/// Seconds of a day.
pub const DAY_SECONDS: f64 = 86_400.0;
/// Days of a month.
pub const MONTH_DAYS: f64 = 30.0;
/// Seconds of a month.
pub const MONTH_SECONDS: f64 = MONTH_DAYS * DAY_SECONDS;
/// Seconds of a year.
pub const YEAR_SECONDS: f64 = 365.0 * DAY_SECONDS;

crate::named! {
    /// A time that figures of a life are given for.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Period {
        /// 24 hours.
        Day => "day",
        /// 30 days.
        #[default]
        Month => "month",
        /// 365 days.
        Year => "year",
    }
}

impl Period {
    /// Its seconds.
    pub const fn seconds(self) -> f64 {
        match self {
            Self::Day => DAY_SECONDS,
            Self::Month => MONTH_SECONDS,
            Self::Year => YEAR_SECONDS,
        }
    }

    /// How many months it has.
    pub const fn months(self) -> f64 {
        self.seconds() / MONTH_SECONDS
    }

    /// How often it has what repeats after so many seconds. Every figure of a period is that of what repeats, times this.
    pub const fn times(self, every_seconds: f64) -> f64 {
        self.seconds() / every_seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_what_repeats_as_often_as_it_fits() {
        let quarters = Period::ALL.map(|period| period.times(900.0));
        assert_eq!(quarters, [96.0, 2_880.0, 35_040.0]);
        assert_eq!(Period::Month.months(), 1.0);
        assert_eq!(Period::Day.months() * 30.0, 1.0);
    }
}
