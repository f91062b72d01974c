//! Time downwards between two hosts: round numbers at the left, a line for each host, arrows, and labels beside the sender.

use super::Scale;
use super::svg::{Anchor, Svg, fitted, spread, text_width};
use crate::number;

/// Size of the labels.
const FONT: f64 = 10.5;
/// Pixels from label to label.
pub(crate) const LINE: f64 = 13.0;
/// Length and half the width of the head of an arrow.
const HEAD: [f64; 2] = [7.0, 3.5];
/// Half the side of the cross of what was lost.
const CROSS: f64 = 4.5;

/// A frame: where its lines are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The width of the figure.
    pub(crate) width: f64,
    /// The right edge of the numbers.
    pub(crate) numbers: f64,
    /// The lines of both hosts.
    pub(crate) hosts: [f64; 2],
    /// Where time begins and how many pixels it takes.
    pub(crate) time: [f64; 2],
    /// The time, in milliseconds.
    pub(crate) scale: Scale,
}

/// A label beside the line of a host.
pub(crate) struct Label {
    /// What it says, cut if it is too long.
    pub(crate) text: String,
    /// What it ends with, in any case.
    pub(crate) tail: String,
    /// Whether it is pale.
    pub(crate) is_faint: bool,
    /// Its time in milliseconds.
    pub(crate) at_ms: f64,
}

impl Frame {
    /// The position of a time.
    pub(crate) fn y(&self, ms: f64) -> f64 {
        self.time[0] + self.scale.share(ms) * self.time[1]
    }

    /// The lower edge.
    pub(crate) const fn bottom(&self) -> f64 {
        self.time[0] + self.time[1]
    }

    /// How many labels fit beside a line.
    pub(crate) const fn room(&self) -> usize {
        (self.time[1] / LINE) as usize
    }

    /// Grid lines with their times, and the lines of both hosts with their names.
    pub(crate) fn draw(&self, svg: &mut Svg, names: [&str; 2]) {
        let above = self.time[0] - 12.0;
        svg.text("muted", Anchor::End, [self.numbers, above], "ms");
        for ms in self.scale.ticks(9.0) {
            let y = self.y(ms);
            svg.line("grid", [self.numbers + 6.0, y], [self.width, y]);
            let at = [self.numbers, y + 3.5];
            svg.text("tick", Anchor::End, at, &number::trimmed(ms, 2));
        }
        for (x, name) in self.hosts.into_iter().zip(names) {
            svg.text("muted", Anchor::Middle, [x, above], name);
            svg.line("life", [x, self.time[0] - 6.0], [x, self.bottom() + 6.0]);
        }
    }

    /// Writes labels beside the first host's line or the second one's, near their times and without overlap.
    pub(crate) fn labels(&self, svg: &mut Svg, host: usize, labels: &[Label], aside: f64) {
        let line = self.hosts[host];
        let (side, anchor, room) = match host {
            0 => (-1.0, Anchor::End, line - self.numbers - aside - 6.0),
            _ => (1.0, Anchor::Start, self.width - line - aside),
        };
        let wanted: Vec<f64> = labels.iter().map(|label| self.y(label.at_ms)).collect();
        // Packets of a microsecond's distance would otherwise be written over one another.
        let placed = spread(&wanted, LINE, [self.time[0], self.bottom()]);
        for ((label, wanted), placed) in labels.iter().zip(wanted).zip(placed) {
            svg.line("leader", [line, wanted], [line + side * (aside - 2.0), placed]);
            let class = if label.is_faint { "packet faint" } else { "packet" };
            let text = fitted(&label.text, FONT, room - text_width(&label.tail, FONT)) + &label.tail;
            svg.text(class, anchor, [line + side * aside, placed + 3.5], &text);
        }
    }
}

/// An arrow to where the receiver has all of it.
pub(crate) fn arrow(svg: &mut Svg, start: [f64; 2], end: [f64; 2]) {
    svg.line("shaft", start, end);
    let (dx, dy) = (end[0] - start[0], end[1] - start[1]);
    let length = dx.hypot(dy).max(1.0);
    let (ux, uy) = (dx / length, dy / length);
    let [along, across] = HEAD;
    let barb = |side: f64| {
        [
            end[0] - along * ux - side * across * uy,
            end[1] - along * uy + side * across * ux,
        ]
    };
    svg.polyline("head", &[barb(1.0), end, barb(-1.0)], "");
}

/// The arrow of what was lost: it ends with a cross.
pub(crate) fn lost(svg: &mut Svg, start: [f64; 2], end: [f64; 2]) {
    svg.line("shaft", start, end);
    let corner = |x: f64, y: f64| [end[0] + x * CROSS, end[1] + y * CROSS];
    svg.line("cross", corner(-1.0, -1.0), corner(1.0, 1.0));
    svg.line("cross", corner(-1.0, 1.0), corner(1.0, -1.0));
}
