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
