//! How quantities are written: the same everywhere, so that a figure and a table never disagree.

/// What stands where there is no value.
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

/// Bytes per sample: whole where every sample is alike, one decimal for a mean.
pub(crate) fn bytes(mean: f64) -> String {
    if mean == mean.round() {
        format!("{mean:.0}")
    } else {
        format!("{mean:.1}")
    }
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

/// An optional value by `write`, or the sign of absence.
pub(crate) fn optional<T>(value: Option<T>, write: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), write)
}

/// `text` without control characters: names come from files and URLs, and must not command a terminal.
pub(crate) fn plain(text: &str) -> String {
    let replace = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(replace).collect()
}

/// The first `width` characters of `text`, the last of them an ellipsis where something was cut.
pub(crate) fn clipped(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept + "…"
}

/// Steps of 1, 2, 2.5 or 5 times a power of ten that cut `span` into at most `most` parts.
pub(crate) fn nice_step(span: f64, most: f64) -> f64 {
    let least = (span / most).max(f64::MIN_POSITIVE);
    let decade = 10f64.powf(least.log10().floor());
    let fits = |factor: &f64| factor * decade >= least * (1.0 - 1e-9);
    [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(fits).unwrap_or(10.0) * decade
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
    fn clipping_counts_characters_and_shows_itself() {
        assert_eq!(clipped("àbcdef", 6), "àbcdef");
        assert_eq!(clipped("àbcdef", 4), "àbc…");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(nice_step(100.0, 4.0), 25.0);
        assert_eq!(nice_step(101.0, 4.0), 50.0);
        assert_eq!(nice_step(0.9, 10.0), 0.1);
    }
}
