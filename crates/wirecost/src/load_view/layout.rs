//! Fits entries, sparklines and colours into lines of a given width.

use wirecost_report::number;

/// Characters between two entries.
const GAP: usize = 2;
/// The shortest and the longest sparkline, in seconds.
const SPARKS: [usize; 2] = [10, 60];

/// Whether colours may be used.
#[derive(Clone, Copy)]
pub(super) struct Dress {
    color: bool,
}

impl Dress {
    pub(super) const fn new(color: bool) -> Self {
        Self { color }
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(super) fn alarm(self, text: &str) -> String {
        self.with("31", text)
    }
}

/// A part of a line. If the line is too long, the entry with the highest number is removed first. Number 0 is never
/// removed.
pub(super) struct Entry {
    goes: u8,
    text: String,
}

impl Entry {
    pub(super) const fn always(text: String) -> Self {
        Self { goes: 0, text }
    }

    pub(super) const fn from_text(goes: u8, text: String) -> Self {
        Self { goes, text }
    }
}

/// The entries that fit. If even those with number 0 do not fit, the line is cut.
pub(super) fn fitted(entries: &[Entry], width: usize) -> String {
    let join = |most: u8| {
        let kept = entries
            .iter()
            .filter(|entry| entry.goes <= most && !entry.text.is_empty());
        let kept: Vec<&str> = kept.map(|entry| entry.text.as_str()).collect();
        kept.join(&" ".repeat(GAP))
    };
    let most = entries.iter().map(|entry| entry.goes).max().unwrap_or(0);
    let fits = (0..=most).rev().map(join).find(|line| chars(line) <= width);
    fits.unwrap_or_else(|| number::clipped(&join(0), width))
}

/// The line with a sparkline of the latest `values` at its end, as far as there is room.
pub(super) fn with_sparks(line: String, values: &[Option<f64>], width: usize, dress: Dress) -> String {
    let room = width.saturating_sub(chars(&line) + GAP).min(SPARKS[1]);
    if room < SPARKS[0] {
        return line;
    }
    let latest = &values[values.len().saturating_sub(room)..];
    line + &" ".repeat(GAP) + &dress.with("36", &sparks(latest))
}

/// Eight heights from 0 to the largest value; a dot for a missing value.
fn sparks(values: &[Option<f64>]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let spark = |value: &Option<f64>| match value {
        None => '·',
        Some(value) if most > 0.0 => {
            let step = (value / most * HEIGHTS.len() as f64).ceil() as usize;
            HEIGHTS[step.clamp(1, HEIGHTS.len()) - 1]
        }
        Some(_) => HEIGHTS[0],
    };
    values.iter().map(spark).collect()
}

/// A bar of `width` characters, filled up to a `share` of 1.
pub(super) fn bar(share: f64, width: usize) -> String {
    let done = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    format!("[{}{}]", "=".repeat(done), " ".repeat(width - done))
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparks_rise_with_their_values() {
        assert_eq!(sparks(&[Some(0.0), Some(1.0), None, Some(8.0)]), "▁▁·█");
        assert_eq!(sparks(&[Some(0.0)]), "▁");
    }
}
