//! Dates and times in results files.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wirecost_proto::date::{date_of, day_of};

/// A time as RFC 3339 writes it, in UTC, whole seconds.
pub fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date_of(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    )
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
        .then(|| UNIX_EPOCH + Duration::from_secs(day_of(year, month, day) * 86_400 + of_day))
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
