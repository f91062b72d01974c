//! Seconds since 1970, read and printed as a date.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use wirecost_proto::date::{SECONDS_OF_A_DAY, date_of, day_of};

/// A time in seconds since 1970-01-01 00:00 UTC without leap seconds (POSIX time).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTime(pub u64);

impl UnixTime {
    /// The earliest time.
    pub const MIN: Self = Self(0);
    /// The latest time. A rule until then never expires.
    pub const MAX: Self = Self(u64::MAX);
}

impl From<Duration> for UnixTime {
    fn from(since_1970: Duration) -> Self {
        Self(since_1970.as_secs())
    }
}

impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::MAX {
            return f.write_str("forever");
        }
        let (year, month, day) = date_of(self.0 / SECONDS_OF_A_DAY);
        let second = self.0 % SECONDS_OF_A_DAY;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

/// A text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time: write 2026-12-31T23:59:59Z, 2026-12-31 or forever")]
pub struct NotATime(pub String);

impl FromStr for UnixTime {
    type Err = NotATime;

    /// A date and a time in UTC (RFC 3339 section 5.6), a date alone, which means midnight, or `forever`.
    fn from_str(text: &str) -> Result<Self, NotATime> {
        if text == "forever" {
            return Ok(Self::MAX);
        }
        let (date, time) = text.split_once('T').unwrap_or((text, "00:00:00Z"));
        let parsed = parse_date(date).zip(parse_time(time));
        let (day, second) = parsed.ok_or_else(|| NotATime(text.to_owned()))?;
        Ok(Self(day * SECONDS_OF_A_DAY + second))
    }
}

fn parse_date(text: &str) -> Option<u64> {
    let [year, month, day] = numbers(text, '-', [4, 2, 2])?;
    if year < 1970 || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let since = day_of(year, month, day);
    // Otherwise April 31 would become May 1.
    (date_of(since) == (year, month, day)).then_some(since)
}

fn parse_time(text: &str) -> Option<u64> {
    let [hour, minute, second] = numbers(text.strip_suffix('Z')?, ':', [2, 2, 2])?;
    (hour < 24 && minute < 60 && second < 60).then_some(hour * 3600 + minute * 60 + second)
}

/// Three numbers with these numbers of digits.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut fields = text.split(separator);
    let mut numbers = [0; 3];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let field = fields.next()?;
        let plain = field.len() == digits && field.bytes().all(|byte| byte.is_ascii_digit());
        *number = plain.then(|| field.parse().ok())??;
    }
    fields.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_and_parsed() {
        // `date -u -d @N +%FT%TZ`.
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_234_567_890, "2009-02-13T23:31:30Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ];
        for (seconds, text) in cases {
            assert_eq!(UnixTime(seconds).to_string(), text);
            assert_eq!(text.parse(), Ok(UnixTime(seconds)));
        }
        assert_eq!("forever".parse(), Ok(UnixTime::MAX));
        assert_eq!(UnixTime::MAX.to_string(), "forever");
        assert_eq!("2000-02-29".parse(), Ok(UnixTime(951_782_400)));
    }

    #[test]
    fn an_invalid_date_is_refused() {
        let wrong = [
            "",
            "soon",
            "1969-12-31",
            "2026-13-01",
            "2026-04-31",
            "2026-02-29",
            "2026-1-1",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00+01:00",
            "2026-01-01-01",
            "+026-01-01",
            "2026-01-00",
        ];
        for text in wrong {
            assert_eq!(text.parse::<UnixTime>(), Err(NotATime(text.to_owned())));
        }
    }

    proptest::proptest! {
        #[test]
        fn every_time_survives_print_and_parse(seconds in 0..253_402_300_800_u64) {
            assert_eq!(UnixTime(seconds).to_string().parse(), Ok(UnixTime(seconds)));
        }

        #[test]
        fn every_time_can_be_printed(seconds: u64) {
            assert!(!UnixTime(seconds).to_string().is_empty());
        }
    }
}
