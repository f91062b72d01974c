//! The Gregorian date of a day counted from 1970-01-01, and back.

/// Seconds of a day of UTC, which has no leap seconds here.
pub const SECONDS_OF_A_DAY: u64 = 86_400;

/// Days from 0000-03-01 to 1970-01-01 in the proleptic Gregorian calendar.
const DAYS_BEFORE_1970: u64 = 719_468;
const DAYS_OF_400_YEARS: u64 = 146_097;

/// Year, month (from 1) and day (from 1) of a day since 1970. Years are counted from March inside, so that the leap day comes last.
pub const fn date_of(day: u64) -> (u64, u64, u64) {
    let day = day + DAYS_BEFORE_1970;
    let (era, day) = (day / DAYS_OF_400_YEARS, day % DAYS_OF_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, months have 31, 30, 31, 30, 31 days repeatedly: 153 days in five months.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let after_december = month >= 10;
    let month = if after_december { month - 9 } else { month + 3 };
    (era * 400 + year + after_december as u64, month, day)
}

/// The day since 1970 of a date from that day on: the inverse of [`date_of`].
pub const fn day_of(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year) = (year / 400, year % 400);
    let day = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * DAYS_OF_400_YEARS + 365 * year + year / 4 - year / 100 + day - DAYS_BEFORE_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_the_day_that_it_was_made_of() {
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(date_of(11_016), (2000, 2, 29));
        for day in (0..3_000_000).step_by(13) {
            let (year, month, of_month) = date_of(day);
            assert_eq!(day_of(year, month, of_month), day);
        }
    }
}
