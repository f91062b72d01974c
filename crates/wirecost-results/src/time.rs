//! Dates and times in results files.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time as RFC 3339 writes it, in UTC, whole seconds.
pub fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_from_days(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    )
}

/// The Gregorian date of a day counted from 1970-01-01, by counting in eras of 400 years that begin in March.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Reads such a text; `None` if it is not a time.
pub fn from_rfc3339(text: &str) -> Option<SystemTime> {
    let fields: Vec<u64> = text
        .strip_suffix('Z')?
        .split(['-', 'T', ':'])
        .map(|field| field.parse().ok())
        .collect::<Option<_>>()?;
    let [year, month, day, hours, minutes, seconds] = fields[..] else {
        return None;
    };
    let is_sound = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_of_day = hours < 24 && minutes < 60 && seconds < 60;
    let of_day = hours * 3600 + minutes * 60 + seconds;
    (is_sound && is_of_day)
        .then(|| UNIX_EPOCH + Duration::from_secs(days_from_civil(year, month, day) * 86_400 + of_day))
}

/// The day of a Gregorian date, counted from 1970-01-01: the inverse of [`civil_from_days`].
fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, of_era) = (year / 400, year % 400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339_writes_them() {
        let at = |seconds| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_795_181_696), "2026-11-20T13:34:56Z");
    }

    #[test]
    fn times_are_read_back() {
        for seconds in (0..4_000_000_000).step_by(86_399 * 17) {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(from_rfc3339(&rfc3339(time)), Some(time));
        }
        for text in [
            "",
            "2026-11-20",
            "2026-13-20T13:34:56Z",
            "2026-11-20T24:00:00Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(from_rfc3339(text), None, "{text}");
        }
    }
}
