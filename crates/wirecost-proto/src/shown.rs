//! Quantities as people read them, the same in every table, header and page: `57.1 ms`, `62.5 kbit/s`, `12,747,523`.
//!
//! A value of up to four digits is shown as it is, any other one with three: what is shown reads back as the value within half of its
//! last digit, where it is a form of an option or a file. Machine output keeps the exact forms of [`units`](crate::units).

use alloc::format;
use alloc::string::String;
use core::time::Duration;

use crate::BitRate;

/// A text and the size of its unit, largest first.
type Units = &'static [(&'static str, f64)];

/// Below this, seconds are shown as seconds.
const SECONDS_UP_TO: f64 = 120.0;

/// A time with its unit: `57.1 ms`, `90 s`, `15 min`, `1 d`.
pub fn time(time: Duration) -> String {
    const LONG: Units = &[("d", 86_400.0), ("h", 3_600.0), ("min", 60.0)];
    let nanos = time.as_nanos() as f64;
    let seconds = time.as_secs_f64();
    let whole = LONG.iter().find(|(_, unit)| {
        seconds > 0.0 && time.subsec_nanos() == 0 && time.as_secs().is_multiple_of(*unit as u64)
    });
    if let Some((name, unit)) = whole {
        return format!("{} {name}", grouped((seconds / unit) as u64));
    }
    match seconds {
        seconds if seconds >= SECONDS_UP_TO => scaled(seconds, LONG),
        0.0 => "0 ms".into(),
        _ => scaled(nanos, &[("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)]),
    }
}

/// A bit rate with its unit: `62.5 kbit/s`.
pub fn rate(rate: BitRate) -> String {
    const UNITS: Units = &[("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)];
    scaled(rate.bits_per_second() as f64, UNITS)
}

/// An amount of money with its currency: `USD 0.06`, `EUR 1,234.50`; two digits of less than a cent.
pub fn money(currency: &str, amount: f64) -> String {
    format!("{currency} {}", self::amount(amount))
}

/// An amount of money in a column that names the currency.
pub fn amount(amount: f64) -> String {
    let size = libm::fabs(amount);
    if size >= 0.01 || size == 0.0 {
        return separated(&format!("{amount:.2}"));
    }
    format!("{amount:.*}", decimals(size, 2))
}

/// A number with four digits, or all digits before its point, with thousands separators: `0.0001235`, `12,747,523`.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    separated(&trimmed(value, decimals(value, 4).min(9)))
}

/// A whole number with thousands separators.
pub fn grouped(number: u64) -> String {
    separated(&format!("{number}"))
}

/// A value in the largest unit that it fills: exact where it has up to four digits, else with three.
fn scaled(value: f64, units: Units) -> String {
    let fits = units.iter().find(|(_, unit)| value >= *unit);
    let Some((name, unit)) = fits.or(units.last()) else {
        return number(value);
    };
    let value = value / unit;
    let four = trimmed(value, decimals(value, 4));
    let is_exact = four
        .parse()
        .is_ok_and(|read: f64| libm::fabs(read - value) <= value * 1e-9);
    let text = if is_exact {
        four
    } else {
        trimmed(value, decimals(value, 3))
    };
    format!("{} {name}", separated(&text))
}

/// The decimals that a value needs to have `digits` digits.
fn decimals(value: f64, digits: i32) -> usize {
    let before = libm::floor(libm::log10(libm::fabs(value))) as i32 + 1;
    usize::try_from(digits - before).unwrap_or(0)
}

/// A value with so many decimals, without trailing zeros.
fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// A number's text with a comma before each three digits of its whole part.
fn separated(text: &str) -> String {
    let (sign, rest) = text.split_at(usize::from(text.starts_with('-')));
    let (whole, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::parse_duration;

    #[test]
    fn times_have_the_unit_that_people_use() {
        for (text, shown) in [
            ("57114us", "57.1 ms"),
            ("418500us", "418.5 ms"),
            ("600748376ns", "601 ms"),
            ("12500us", "12.5 ms"),
            ("250ns", "250 ns"),
            ("90s", "90 s"),
            ("60s", "1 min"),
            ("1080s", "18 min"),
            ("90min", "90 min"),
            ("24h", "1 d"),
            ("3500s", "58.3 min"),
            ("0ms", "0 ms"),
        ] {
            let time = parse_duration(text).expect("a time");
            assert_eq!(super::time(time), shown, "{text}");
        }
    }

    #[test]
    fn rates_and_numbers_have_separators_and_units() {
        let rate = |text: &str| super::rate(text.parse().expect("a rate"));
        assert_eq!(rate("62500bit"), "62.5 kbit/s");
        assert_eq!(rate("26150bit"), "26.15 kbit/s");
        assert_eq!(rate("100Mbit"), "100 Mbit/s");
        assert_eq!(grouped(12_747_523), "12,747,523");
        assert_eq!(grouped(999), "999");
        let numbers = [0.0, 0.000_123_456, 0.5, 12.0, 123.456, 98_765.4, -1_234.5].map(number);
        assert_eq!(
            numbers,
            ["0", "0.0001235", "0.5", "12", "123.5", "98,765", "-1,234"]
        );
    }

    #[test]
    fn money_has_its_currency_and_cents() {
        for (value, text) in [
            (0.0625, "USD 0.06"),
            (0.009_7, "USD 0.0097"),
            (0.0, "USD 0.00"),
            (1.0, "USD 1.00"),
            (1_234.5, "USD 1,234.50"),
        ] {
            assert_eq!(money("USD", value), text);
        }
    }

    proptest! {
        #[test]
        fn a_time_reads_back_within_its_last_digit(nanos in 0_u64..3_000_000_000_000_000_000) {
            let shown = time(Duration::from_nanos(nanos)).replace(',', "");
            let read = parse_duration(&shown).expect("a time").as_nanos() as f64;
            // Half of the last of three digits, at most 1 in 200.
            prop_assert!((read - nanos as f64).abs() <= nanos as f64 / 199.0, "{shown}");
        }

        #[test]
        fn a_time_of_up_to_four_digits_reads_back_as_it_is(number in 1_u64..10_000, exponent in 0_u32..6) {
            let exact = Duration::from_nanos(number * 10_u64.pow(exponent));
            prop_assert_eq!(parse_duration(&time(exact)), Ok(exact));
        }

        #[test]
        fn a_rate_reads_back_within_its_last_digit(bits in 1_u64..1_000_000_000_000) {
            let given = BitRate::from_bits_per_second(bits).expect("above 0");
            let shown = rate(given).replace(',', "");
            let read: BitRate = shown.parse().expect("a rate");
            let read = read.bits_per_second() as f64;
            prop_assert!((read - bits as f64).abs() <= bits as f64 / 199.0 + 1.0, "{}", shown);
        }
    }
}
