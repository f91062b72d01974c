//! One axis: what lies beyond a bound is shaded, an interval is a bar, a number a diamond.

use super::Scale;
use super::svg::{Anchor, Svg, text_width};

/// The width of a strip in CSS pixels, for a desktop and a phone.
const WIDTH: f64 = 372.0;
/// The height of the strip, and the pixels below it for the labels.
const HEIGHT: [f64; 2] = [20.0, 16.0];
/// The height of the bar.
const BAR: f64 = 10.0;
/// The least width of the bar.
const THIN: f64 = 4.0;
/// Half the width of the diamond.
const HALF: f64 = 6.0;
/// Size of the labels.
const FONT: f64 = 10.5;

/// A strip before it is drawn.
#[derive(Clone, Debug)]
pub struct Strip {
    /// Its name.
    pub name: String,
    /// What it shows in words, for screen readers.
    pub told: String,
    /// Its axis.
    pub scale: Scale,
    /// What is written at the axis, ascending.
    pub labels: Vec<(f64, String)>,
    /// Whether the labels are shown: of several strips with one axis, the last one has them.
    pub has_labels: bool,
    /// From where to where nothing can be; infinite at the end of the axis.
    pub beyond: Option<[f64; 2]>,
    /// The ends of the interval.
    pub bar: Option<[f64; 2]>,
    /// The number that is compared with the interval.
    pub diamond: Option<f64>,
}

impl Strip {
    /// The strip as SVG.
    pub fn draw(&self) -> String {
        let [bar, labels] = HEIGHT;
        let height = if self.has_labels { bar + labels } else { bar };
        let mut svg = Svg::new(WIDTH, height);
        let place = |value: f64| self.scale.share(value) * WIDTH;
        if let Some([from, to]) = self.beyond.map(|ends| ends.map(place)) {
            svg.rect("beyond", [from, 0.0, to - from, bar], "");
        }
        let mut free = f64::NEG_INFINITY;
        for (value, text) in &self.labels {
            let x = place(*value);
            svg.line("grid", [x, 0.0], [x, bar]);
            let half = text_width(text, FONT) / 2.0;
            let middle = x.clamp(half, WIDTH - half);
            // Labels that touch cannot be read: the later one is left out.
            if self.has_labels && middle - half > free {
                svg.text("tick", Anchor::Middle, [middle, height - 4.0], text);
                free = middle + half + 4.0;
            }
        }
        if let Some([from, to]) = self.bar.map(|ends| ends.map(place)) {
            // An exact figure has an interval without width, which would be no bar at all.
            let width = (to - from).max(THIN);
            let left = from.midpoint(to) - width / 2.0;
            svg.rect("found", [left, (bar - BAR) / 2.0, width, BAR], "");
        }
        if let Some(value) = self.diamond {
            svg.diamond("published", [place(value), bar / 2.0], HALF, "");
        }
        svg.finish(&self.name, &self.told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip() -> Strip {
        Strip {
            name: "size 1 kB".to_owned(),
            told: "published <5 ms>".to_owned(),
            scale: Scale::logarithmic(1.0, 100.0),
            labels: vec![
                (1.0, "1 ms".to_owned()),
                (1.1, "1.1 ms".to_owned()),
                (10.0, "10 ms".to_owned()),
            ],
            has_labels: true,
            beyond: Some([0.0, 10.0]),
            bar: Some([50.0, 50.0]),
            diamond: Some(5.0),
        }
    }

    #[test]
    fn what_cannot_be_ends_at_its_bound_and_a_thin_bar_can_be_seen() {
        let svg = strip().draw();
        assert!(svg.contains(r#"class="beyond" x="0" y="0" width="186""#), "{svg}");
        assert!(svg.contains(r#"width="4" height="10""#), "{svg}");
        assert!(svg.contains("&lt;5 ms&gt;") && !svg.contains("<5 ms>"), "{svg}");
    }

    #[test]
    fn labels_do_not_overlap_and_another_strip_may_have_them() {
        assert_eq!(strip().draw().matches("<text").count(), 2);
        let without = Strip {
            has_labels: false,
            ..strip()
        };
        assert_eq!(without.draw().matches("<text").count(), 0);
        assert_eq!(without.draw().matches("<line").count(), 3);
    }
}
