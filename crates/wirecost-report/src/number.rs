//! The format of quantities, the same in every figure and table.

use wirecost_proto::shown;
pub use wirecost_proto::shown::grouped;

/// The sign of a missing value.
pub(crate) const NONE: &str = "–";

/// `value` with at most `decimals` decimals, without trailing zeros.
pub(crate) fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A positive `value` with `digits` significant digits: `0.998`, `1.00`, `12.3`.
pub(crate) fn digits(value: f64, digits: i32) -> String {
    let before = if value > 0.0 {
        value.log10().floor() as i32 + 1
    } else {
        1
    };
    let decimals = usize::try_from(digits - before).unwrap_or(0);
    format!("{value:.decimals$}")
}

/// Bytes per sample: a whole number if all samples are equal, one decimal for a mean.
pub(crate) fn bytes(mean: f64) -> String {
    if mean == mean.round() {
        format!("{mean:.0}")
    } else {
        format!("{mean:.1}")
    }
}

/// Bytes in a sentence, without decimals from 100 on: `1,287 B`, `8.4 B`.
pub(crate) fn whole_bytes(bytes: f64) -> String {
    if bytes < 100.0 {
        return format!("{} B", trimmed(bytes, 1));
    }
    format!("{} B", grouped(bytes.round() as u64))
}

/// Nanoseconds as milliseconds, four or five digits.
pub(crate) fn millis(nanos: f64) -> String {
    let millis = nanos / 1e6;
    match millis {
        m if m < 100.0 => format!("{m:.2}"),
        m if m < 1_000.0 => format!("{m:.1}"),
        m => format!("{m:.0}"),
    }
}

/// Nanoseconds as milliseconds, with three decimals below 10 ms.
pub fn latency(nanos: f64) -> String {
    match nanos / 1e6 {
        m if m < 10.0 => format!("{m:.3}"),
        _ => millis(nanos),
    }
}

/// Nanoseconds in a suitable unit.
pub fn duration(nanos: f64) -> String {
    match nanos {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{} µs", digits(n / 1e3, 3)),
        n if n < 1e9 => format!("{} ms", digits(n / 1e6, 3)),
        n => format!("{} s", digits(n / 1e9, 3)),
    }
}

/// Bytes in a suitable unit; kB is 1,000 B.
pub fn data(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 1e3 => format!("{b:.0} B"),
        b if b < 1e6 => format!("{} kB", digits(b / 1e3, 3)),
        b if b < 1e9 => format!("{} MB", digits(b / 1e6, 3)),
        b => format!("{} GB", digits(b / 1e9, 3)),
    }
}

/// A rate per second, a whole number from 100 on.
pub fn rate(per_second: f64) -> String {
    match per_second {
        r if r >= 100.0 => grouped(r.round() as u64),
        r => trimmed(r, 2),
    }
}

/// A share of 1 in per cent; never rounded up to 100 nor down to 0.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p > 99.9 && p < 100.0 => format!("{} %", trimmed((p * 1e3).floor() / 1e3, 3)),
        p if p > 0.0 && p < 0.1 => format!("{} %", digits(p, 2)),
        p => format!("{} %", trimmed(p, 1)),
    }
}

/// Nanoseconds as microseconds, one decimal.
pub(crate) fn micros(nanos: f64) -> String {
    trimmed(nanos / 1e3, 1)
}

/// Bit/s as kbit/s, three digits.
pub(crate) fn kilobits(bits_per_second: f64) -> String {
    let kilobits = bits_per_second / 1e3;
    match kilobits {
        k if k < 10.0 => format!("{k:.2}"),
        k if k < 100.0 => format!("{k:.1}"),
        k => format!("{k:.0}"),
    }
}

/// The text of an optional value, or the sign of a missing one.
pub(crate) fn optional<T>(value: Option<T>, write: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), write)
}

/// `text` without control characters. Names come from files and URLs, and must not control a terminal.
pub fn plain(text: &str) -> String {
    let replace = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(replace).collect()
}

/// Like [`plain`] for a text of several lines, which are kept.
pub(crate) fn plain_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(plain).collect();
    lines.join("\n")
}

/// The lines of `text`, broken between words so that none is longer than `width`, if no word is; all but the first have `indent` before them.
pub fn broken(text: &str, width: usize, indent: &str) -> Vec<String> {
    let length = |text: &str| text.chars().count();
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{indent}{word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The first `width` characters of `text`. The last one is an ellipsis if the text was cut.
pub fn clipped(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept + "…"
}

/// A number at an axis: thousands as k from 10,000 on, millions as M.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{}M", trimmed(value / 1e6, 2)),
        v if v >= 1e4 => format!("{}k", trimmed(value / 1e3, 1)),
        _ => shown::number(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_the_digits_a_reader_needs() {
        assert_eq!(trimmed(0.50, 2), "0.5");
        assert_eq!(trimmed(100.0, 0), "100");
        assert_eq!(bytes(207.0), "207");
        assert_eq!(bytes(207.25), "207.2");
        assert_eq!(millis(25_312_345.0), "25.31");
        assert_eq!(millis(1_250_000_000.0), "1250");
        assert_eq!(kilobits(79_432.0), "79.4");
        assert_eq!(
            [0.998, 1.0, 12.34, 1234.5].map(|v| digits(v, 3)),
            ["0.998", "1.00", "12.3", "1234"]
        );
    }

    #[test]
    fn quantities_of_a_load_have_their_unit() {
        assert_eq!(
            [51_234.0, 9.9e6, 25.3e6].map(latency),
            ["0.051", "9.900", "25.30"]
        );
        assert_eq!(
            [950.0, 38_200.0, 2.5e9].map(duration),
            ["950 ns", "38.2 µs", "2.50 s"]
        );
        assert_eq!([999, 8_640_000].map(data), ["999 B", "8.64 MB"]);
        assert_eq!([0.5, 49_999.6].map(rate), ["0.5", "50,000"]);
        let shares = [0.999_999, 1.0, 0.000_02, 0.0, 0.5].map(percent);
        assert_eq!(shares, ["99.999 %", "100 %", "0.0020 %", "0 %", "50 %"]);
    }

    #[test]
    fn thousands_stand_apart() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345_678, "12,345,678"),
        ];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn clipping_counts_characters_and_shows_itself() {
        assert_eq!(clipped("àbcdef", 6), "àbcdef");
        assert_eq!(clipped("àbcdef", 4), "àbc…");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
    }

    #[test]
    fn numbers_at_an_axis_are_short() {
        let texts = [0.25, 9_000.0, 12_500.0, 2e6, -143.0].map(short);
        assert_eq!(texts, ["0.25", "9,000", "12.5k", "2M", "-143"]);
    }
}
