//! Axes of a figure, and the names at the ends of its curves.

use crate::html::ends::{self, End};
use crate::html::svg::{Anchor, Svg, text_width};
use crate::number;

const TOP: f64 = 22.0;
const SPAN: f64 = 240.0;
const LEFT: f64 = 50.0;
/// Size of the labels of axes.
const FONT: f64 = 10.5;

/// An axis from one value to another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    ends: [f64; 2],
    is_logarithmic: bool,
}

impl Scale {
    /// An axis whose ends differ.
    pub(super) fn linear(least: f64, most: f64) -> Self {
        Self {
            ends: [least, if most > least { most } else { least + 1.0 }],
            is_logarithmic: false,
        }
    }

    /// An axis of powers of ten, from and to positive values.
    pub(super) fn logarithmic(least: f64, most: f64) -> Self {
        let least = least.max(1e-3);
        Self {
            ends: [least, most.max(least * 2.0)],
            is_logarithmic: true,
        }
    }

    /// Where a value is, from 0 to 1; beyond the ends, at the end.
    fn share(self, value: f64) -> f64 {
        let of = |value: f64| {
            if self.is_logarithmic {
                value.max(1e-9).log10()
            } else {
                value
            }
        };
        let [least, most] = self.ends.map(of);
        ((of(value) - least) / (most - least)).clamp(0.0, 1.0)
    }

    fn ticks(self, most: f64) -> Vec<f64> {
        let [from, to] = self.ends;
        if self.is_logarithmic {
            let decades = from.log10().floor() as i32..=to.log10().ceil() as i32;
            let ticks = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|factor| factor * 10f64.powi(decade)));
            return ticks.filter(|tick| (from..=to).contains(tick)).collect();
        }
        let step = number::nice_step(to - from, most);
        let first = (from / step - 1e-9).ceil() as i64;
        let last = (to / step + 1e-9).floor() as i64;
        (first..=last).map(|index| index as f64 * step).collect()
    }
}

/// A figure with two axes under construction.
pub(super) struct Plot {
    pub(super) svg: Svg,
    right: f64,
    across: Scale,
    up: Scale,
    span: f64,
}

/// What stands at the axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct AxisNames<'a> {
    /// Below the axis to the right.
    pub(super) across: &'a str,
    /// Above the axis upwards.
    pub(super) up: &'a str,
}

impl Plot {
    /// Empty axes, with room for `labels` at the right.
    pub(super) fn new<'a>(
        (across, up): (Scale, Scale),
        names: AxisNames<'_>,
        labels: impl Iterator<Item = &'a str> + Clone,
        width: f64,
    ) -> Self {
        let span = SPAN.max(labels.clone().count() as f64 * ends::LINE);
        let mut plot = Self {
            svg: Svg::new(width, TOP + span + 38.0),
            right: ends::right(labels, width),
            across,
            up,
            span,
        };
        plot.value_axis(names.up);
        plot.across_axis(names.across);
        plot
    }

    /// The position of a point.
    pub(super) fn place(&self, [across, up]: [f64; 2]) -> [f64; 2] {
        let x = LEFT + self.across.share(across) * (self.right - LEFT);
        [x, TOP + self.span * (1.0 - self.up.share(up))]
    }

    const fn bottom(&self) -> f64 {
        TOP + self.span
    }

    fn value_axis(&mut self, name: &str) {
        self.svg.text("muted", Anchor::Start, [0.0, 11.0], name);
        for tick in self.up.ticks(5.0) {
            let y = self.place([self.across.ends[0], tick])[1];
            self.svg.line("grid", [LEFT, y], [self.right, y]);
            let text = number::trimmed(tick, 3);
            self.svg.text("tick", Anchor::End, [LEFT - 6.0, y + 3.5], &text);
        }
        self.svg.line("axis", [LEFT, TOP], [LEFT, self.bottom()]);
    }

    fn across_axis(&mut self, name: &str) {
        let bottom = self.bottom();
        let mut edge = f64::NEG_INFINITY;
        for tick in self.across.ticks(8.0) {
            let x = self.place([tick, 0.0])[0];
            self.svg.line("grid", [x, TOP], [x, bottom]);
            let text = number::trimmed(tick, 3);
            let half = text_width(&text, FONT) / 2.0;
            if x - half > edge {
                self.svg.text("tick", Anchor::Middle, [x, bottom + 15.0], &text);
                edge = x + half + 4.0;
            }
        }
        self.svg.line("axis", [LEFT, bottom], [self.right, bottom]);
        let middle = LEFT.midpoint(self.right);
        self.svg
            .text("muted", Anchor::Middle, [middle, bottom + 32.0], name);
    }

    /// A dashed line upwards with a name.
    pub(super) fn mark_across(&mut self, value: f64, name: &str) {
        let [from, to] = self.across.ends;
        if !(from..=to).contains(&value) {
            return;
        }
        let [x, _] = self.place([value, 0.0]);
        self.svg.line("limit", [x, TOP], [x, self.bottom()]);
        let (anchor, side) = match x + text_width(name, FONT) + 6.0 < self.right {
            true => (Anchor::Start, 4.0),
            false => (Anchor::End, -4.0),
        };
        let at = [x + side, self.bottom() - 6.0];
        self.svg.text("tick", anchor, at, name);
    }

    /// The names at the ends of curves: label, colour and last point of each.
    pub(super) fn ends(&mut self, ends: impl Iterator<Item = (String, usize, [f64; 2])>) {
        let ends = ends.map(|(label, number, at)| End {
            label,
            number,
            at: self.place(at),
        });
        let ends: Vec<End> = ends.collect();
        let range = [TOP, self.bottom()];
        ends::draw(&mut self.svg, ends, self.right, range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        assert_eq!(Scale::linear(-143.0, -128.0).ticks(5.0), [-140.0, -135.0, -130.0]);
        assert_eq!(Scale::linear(0.0, 4.0).ticks(8.0).len(), 9);
        assert_eq!(Scale::logarithmic(0.3, 6.0).ticks(5.0), [0.5, 1.0, 2.0, 5.0]);
    }

    #[test]
    fn what_is_beyond_an_axis_is_at_its_end() {
        let scale = Scale::linear(0.0, 100.0);
        assert_eq!(
            [scale.share(-20.0), scale.share(50.0), scale.share(180.0)],
            [0.0, 0.5, 1.0]
        );
    }
}
