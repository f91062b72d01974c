//! Names at the ends of curves, and the colours of curves.

use super::svg::{Anchor, Svg, fitted, spread, text_width};

/// The number of colours.
const COLORS: usize = 12;
const FONT: f64 = 11.0;
/// Pixels from name to name.
pub(crate) const LINE: f64 = 14.0;

/// The class of the curve of this number. A curve that reuses a colour is dotted.
pub(crate) fn class(number: usize) -> String {
    let again = if number < COLORS { "" } else { " again" };
    format!("s{}{again}", number % COLORS)
}

/// The number of a second curve of the same colour: a dotted one.
pub(crate) const fn again(number: usize) -> usize {
    number % COLORS + COLORS
}

/// The end of a curve and its name.
pub(crate) struct End {
    /// The name.
    pub(crate) label: String,
    /// The number of its colour.
    pub(crate) number: usize,
    /// The end of the curve.
    pub(crate) at: [f64; 2],
}

/// The right edge of a plot of this width that leaves room for `labels`.
pub(crate) fn right<'a>(labels: impl Iterator<Item = &'a str>, width: f64) -> f64 {
    let longest = labels.map(|label| text_width(label, FONT)).fold(0.0, f64::max);
    width - (longest + 26.0).min(width * 0.42)
}

/// Writes each name to the right of `right`, as near to the end of its curve as possible without overlap, within
/// `range`.
pub(crate) fn draw(svg: &mut Svg, mut ends: Vec<End>, right: f64, range: [f64; 2]) {
    // `spread` takes them in ascending order, and leaders do not cross.
    ends.sort_by(|a, b| a.at[1].total_cmp(&b.at[1]));
    let wanted: Vec<f64> = ends.iter().map(|end| end.at[1]).collect();
    for (end, y) in ends.iter().zip(spread(&wanted, LINE, range)) {
        let class = class(end.number);
        svg.line(&format!("leader {class}"), end.at, [right + 16.0, y]);
        let room = svg.width() - right - 20.0;
        let text = fitted(&end.label, FONT, room);
        svg.text(
            &format!("end {class}"),
            Anchor::Start,
            [right + 20.0, y + 3.5],
            &text,
        );
    }
}
