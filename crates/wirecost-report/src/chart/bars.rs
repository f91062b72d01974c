//! Stacked bars beside their names: from an axis to the right, or to both sides of it.

use super::svg::{Anchor, Svg, fitted, text_width};
use super::{NARROW, Scale};
use crate::number;

const BAR: f64 = 20.0;
/// Size of the numbers on bars and beside them.
const FONT: f64 = 11.0;
const NAME_FONT: f64 = 12.0;
/// Pixels from line to line of a name.
const NAME_LINE: f64 = 14.0;
/// The largest part of the width that is for names beside the bars.
const NAMES: f64 = 0.36;
/// Pixels of the figure for each number at the axis.
const TICK: f64 = 70.0;

/// Bars before their width is known.
pub(crate) struct BarChart {
    /// Its name.
    pub(crate) name: String,
    /// The unit at the origin of the axis.
    pub(crate) unit: &'static str,
    /// What goes to the left and to the right; empty where all bars go to the right.
    pub(crate) sides: [&'static str; 2],
    /// The bars from the top down.
    pub(crate) rows: Vec<Row>,
}

/// A bar, or the two of a name.
pub(crate) struct Row {
    /// Its name.
    pub(crate) label: String,
    /// What goes to the left, from the axis outwards.
    pub(crate) left: Vec<Part>,
    /// What goes to the right, from the axis outwards.
    pub(crate) right: Vec<Part>,
    /// The sums as text, beside the left bar and beside the right one; empty for none.
    pub(crate) totals: [String; 2],
    /// The row in words, for screen readers.
    pub(crate) told: String,
}

/// A part of a bar.
pub(crate) struct Part {
    /// The class of its colour.
    pub(crate) class: String,
    /// Its length.
    pub(crate) value: f64,
    /// Its number as text; empty for none.
    pub(crate) text: String,
    /// The tooltip.
    pub(crate) title: String,
}

/// The lines of a name that stands above its bar.
fn name_lines(name: &str, width: f64) -> Vec<String> {
    let room = width / text_width("x", NAME_FONT);
    let lines = number::broken(name, room as usize, "").into_iter();
    lines.map(|line| fitted(&line, NAME_FONT, width)).collect()
}

fn sum(parts: &[Part]) -> f64 {
    parts.iter().map(|part| part.value).sum()
}

/// The geometry of a figure of one width.
struct Frame {
    width: f64,
    axis: f64,
    /// Pixels of a unit.
    scale: f64,
    /// The longest bar to the left and to the right.
    longest: [f64; 2],
    top: f64,
    rows: usize,
    /// The lines that names take above their bars; 0 where they stand beside them.
    lines: usize,
}

impl Frame {
    fn new(chart: &BarChart, width: f64) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = &str>, font: f64| {
            texts.map(|text| text_width(text, font)).fold(0.0, f64::max)
        };
        let rows = || chart.rows.iter();
        let names = widest(&mut rows().map(|row| row.label.as_str()), NAME_FONT) + 8.0;
        // Long names beside the bars would leave no room for the bars.
        let are_above = width < NARROW || names > width * NAMES;
        let lines = rows().map(|row| name_lines(&row.label, width).len());
        let lines = if are_above { lines.max().unwrap_or(1) } else { 0 };
        let names = if are_above { 0.0 } else { names };
        let totals = [0, 1].map(|side| {
            let widest = widest(&mut rows().map(|row| row.totals[side].as_str()), FONT);
            if widest > 0.0 { widest + 10.0 } else { 0.0 }
        });
        let longest = [
            rows().map(|row| sum(&row.left)).fold(0.0, f64::max),
            rows().map(|row| sum(&row.right)).fold(0.0, f64::max),
        ];
        let room = width - names - totals[0] - totals[1];
        // One scale for both sides, so that bars can be compared across the axis. Without any value it must not divide by zero.
        let scale = room / (longest[0] + longest[1]).max(f64::MIN_POSITIVE);
        Self {
            width,
            axis: names + totals[0] + longest[0] * scale,
            scale,
            longest,
            top: if chart.sides[1].is_empty() { 6.0 } else { 26.0 },
            rows: chart.rows.len(),
            lines,
        }
    }

    /// Pixels of the names above the bars.
    const fn above(&self) -> f64 {
        self.lines as f64 * NAME_LINE
    }

    const fn pitch(&self) -> f64 {
        28.0 + self.above()
    }

    const fn bar_top(&self, row: usize) -> f64 {
        self.top + row as f64 * self.pitch() + 4.0 + self.above()
    }

    const fn bottom(&self) -> f64 {
        self.top + self.rows as f64 * self.pitch() + 4.0
    }

    /// A line from top to bottom. Where names stand above their bars, it leaves them out.
    fn line(&self, svg: &mut Svg, class: &str, x: f64) {
        if self.lines == 0 {
            svg.line(class, [x, self.top - 2.0], [x, self.bottom()]);
            return;
        }
        for row in 0..self.rows {
            let top = self.bar_top(row);
            svg.line(class, [x, top - 1.0], [x, top + BAR + 2.0]);
        }
    }
}

impl BarChart {
    /// The chart in a width.
    pub(crate) fn draw(&self, width: f64) -> String {
        let frame = Frame::new(self, width);
        let mut svg = Svg::new(width, frame.bottom() + 20.0);
        self.axis(&mut svg, &frame);
        for (index, row) in self.rows.iter().enumerate() {
            let top = frame.bar_top(index);
            if frame.lines == 0 {
                svg.text("name", Anchor::Start, [0.0, top + 14.5], &row.label);
            } else {
                let lines = name_lines(&row.label, width);
                for (below, line) in lines.iter().rev().enumerate() {
                    let y = top - 5.0 - below as f64 * NAME_LINE;
                    svg.text("name", Anchor::Start, [0.0, y], line);
                }
            }
            bar(&mut svg, &frame, top, (&row.left, &row.totals[0]), -1.0);
            bar(&mut svg, &frame, top, (&row.right, &row.totals[1]), 1.0);
        }
        let told: Vec<&str> = self.rows.iter().map(|row| row.told.as_str()).collect();
        svg.finish(&self.name, &told.join(". "))
    }

    fn axis(&self, svg: &mut Svg, frame: &Frame) {
        let [left, right] = self.sides;
        if !right.is_empty() {
            svg.text("muted", Anchor::End, [frame.axis - 8.0, 12.0], left);
            svg.text("muted", Anchor::Start, [frame.axis + 8.0, 12.0], right);
        }
        let scale = Scale::linear(-frame.longest[0], frame.longest[1]);
        let mut free = f64::NEG_INFINITY;
        for tick in scale.ticks(frame.width / TICK) {
            let x = frame.axis + tick * frame.scale;
            let is_axis = tick == 0.0;
            frame.line(svg, if is_axis { "axis" } else { "grid" }, x);
            let number = number::short(tick.abs());
            let text = if is_axis {
                format!("{number} {}", self.unit)
            } else {
                number
            };
            // The first label begins within the figure.
            let half = text_width(&text, FONT) / 2.0;
            let middle = x.max(half);
            if middle - half > free {
                svg.text("tick", Anchor::Middle, [middle, frame.bottom() + 14.0], &text);
                free = middle + half + 3.0;
            }
        }
    }
}

/// The bar of one side: `sign` is 1 to the right, -1 to the left.
fn bar(svg: &mut Svg, frame: &Frame, top: f64, (parts, total): (&[Part], &str), sign: f64) {
    let mut edge = frame.axis;
    for part in parts.iter().filter(|part| part.value > 0.0) {
        let width = part.value * frame.scale;
        let left = if sign > 0.0 { edge } else { edge - width };
        svg.rect(
            &format!("seg {}", part.class),
            [left, top, width, BAR],
            &part.title,
        );
        // A number that does not fit its part would be read as one of the next part.
        if !part.text.is_empty() && width >= text_width(&part.text, FONT) + 3.0 {
            let at = [left + width / 2.0, top + 14.0];
            svg.text(&format!("on {}", part.class), Anchor::Middle, at, &part.text);
        }
        edge += sign * width;
    }
    let anchor = if sign > 0.0 { Anchor::Start } else { Anchor::End };
    if !total.is_empty() {
        svg.text("total", anchor, [edge + sign * 5.0, top + 14.5], total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(label: &str) -> BarChart {
        let part = |value: f64| Part {
            class: "ip".to_owned(),
            value,
            text: value.to_string(),
            title: String::new(),
        };
        BarChart {
            name: "bytes".to_owned(),
            unit: "B",
            sides: ["← down", "up →"],
            rows: vec![Row {
                label: label.to_owned(),
                left: vec![part(20.0)],
                right: vec![part(100.0), part(0.0)],
                totals: ["20".to_owned(), "100".to_owned()],
                told: String::new(),
            }],
        }
    }

    #[test]
    fn a_hostile_name_stays_text() {
        let svg = chart("<script>").draw(680.0);
        assert!(svg.contains("&lt;script&gt;") && !svg.contains("<script>"));
    }

    #[test]
    fn names_too_long_for_their_place_stand_above_their_bars() {
        let long = "a stack with a channel and a connection that is renewed";
        assert!(chart(long).draw(680.0).contains(long));
        // On a phone they take two lines.
        let narrow = chart(long).draw(372.0);
        assert!(
            narrow.contains(">a stack with a channel and a connection that is<")
                && narrow.contains(">renewed<"),
            "{narrow}"
        );
    }

    #[test]
    fn a_part_of_nothing_is_not_drawn() {
        assert_eq!(chart("any").draw(680.0).matches("<rect").count(), 2);
    }
}
