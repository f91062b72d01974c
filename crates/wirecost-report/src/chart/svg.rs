//! A small writer of SVG: elements, escaped attributes and text, and labels that do not overlap.

use std::fmt::Write as _;

/// A figure under construction. Coordinates are CSS pixels from the top left.
pub(crate) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// The anchor of a text.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    /// It begins at its place.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

impl Anchor {
    const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

impl Svg {
    /// An empty figure.
    pub(crate) const fn new(width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            body: String::new(),
        }
    }

    /// The width in CSS pixels.
    pub(crate) const fn width(&self) -> f64 {
        self.width
    }

    /// A circle with a tooltip.
    pub(crate) fn circle(&mut self, class: &str, [x, y]: [f64; 2], radius: f64, title: &str) {
        let place = format!(r#"cx="{}" cy="{}" r="{}""#, px(x), px(y), px(radius));
        self.element("circle", class, &place, title);
    }

    /// A rectangle with a tooltip.
    pub(crate) fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4], title: &str) {
        let place = format!(
            r#"x="{}" y="{}" width="{}" height="{}""#,
            px(x),
            px(y),
            px(width),
            px(height)
        );
        self.element("rect", class, &place, title);
    }

    /// A straight line.
    pub(crate) fn line(&mut self, class: &str, from: [f64; 2], to: [f64; 2]) {
        let place = format!(
            r#"x1="{}" y1="{}" x2="{}" y2="{}""#,
            px(from[0]),
            px(from[1]),
            px(to[0]),
            px(to[1])
        );
        self.element("line", class, &place, "");
    }

    /// Connected lines with a tooltip.
    pub(crate) fn polyline(&mut self, class: &str, points: &[[f64; 2]], title: &str) {
        let place = format!(r#"points="{}""#, joined(points));
        self.element("polyline", class, &place, title);
    }

    /// A path with a tooltip; `data` is its description in SVG's own language.
    pub(crate) fn path(&mut self, class: &str, data: &str, title: &str) {
        self.element("path", class, &format!(r#"d="{}""#, escaped(data)), title);
    }

    /// A diamond around a point, with a tooltip; `half` is half its width.
    pub(crate) fn diamond(&mut self, class: &str, [x, y]: [f64; 2], half: f64, title: &str) {
        let [x, top, half] = [x, y - half, half].map(px);
        let data = format!("M{x} {top}l{half} {half}-{half} {half}-{half}-{half}z");
        self.path(&format!("diamond {class}"), &data, title);
    }

    /// A text with its baseline at `at`.
    pub(crate) fn text(&mut self, class: &str, anchor: Anchor, at: [f64; 2], text: &str) {
        let _ = write!(
            self.body,
            r#"<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>"#,
            escaped(class),
            px(at[0]),
            px(at[1]),
            anchor.name(),
            escaped(text)
        );
    }

    /// Groups everything that `draw` draws, with a tooltip.
    pub(crate) fn group(&mut self, class: &str, title: &str, draw: impl FnOnce(&mut Self)) {
        let _ = write!(
            self.body,
            r#"<g class="{}"><title>{}</title>"#,
            escaped(class),
            escaped(title)
        );
        draw(self);
        self.body += "</g>";
    }

    fn element(&mut self, name: &str, class: &str, place: &str, title: &str) {
        let title = match title {
            "" => String::new(),
            title => format!("<title>{}</title>", escaped(title)),
        };
        let _ = write!(
            self.body,
            r#"<{name} class="{}" {place}>{title}</{name}>"#,
            escaped(class)
        );
    }

    /// The finished figure, with its name and its description for screen readers.
    pub(crate) fn finish(self, name: &str, description: &str) -> String {
        format!(
            r#"<svg viewBox="0 0 {w} {h}" style="max-width:{w}px" role="img" aria-label="{name}"><title>{name}</title><desc>{desc}</desc>{body}</svg>"#,
            w = px(self.width),
            h = px(self.height),
            name = escaped(name),
            desc = escaped(description),
            body = self.body,
        )
    }
}

/// An upper bound of the width of `text` in pixels at `size`, for any sans-serif font.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.62
}

/// The part of `text` that fits into `room` pixels at `size`.
pub(crate) fn fitted(text: &str, size: f64, room: f64) -> String {
    crate::number::clipped(text, (room / text_width("x", size)) as usize)
}

/// Positions at least `gap` apart within `range`, near the `wanted` ones. `wanted` ascends. Positions are pushed down
/// first, then back up.
pub(crate) fn spread(wanted: &[f64], gap: f64, range: [f64; 2]) -> Vec<f64> {
    let mut least = range[0];
    let mut placed: Vec<f64> = wanted
        .iter()
        .map(|wanted| {
            let place = wanted.max(least);
            least = place + gap;
            place
        })
        .collect();
    let mut most = range[1];
    // Pushed down alone, the last ones would end below the range.
    for place in placed.iter_mut().rev() {
        *place = place.min(most);
        most = *place - gap;
    }
    placed
}

/// Escapes `text` for an element or a quoted attribute. Control characters, which XML does not allow, are replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::number::plain(text).chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            _ => out.push(c),
        }
    }
    out
}

fn joined(points: &[[f64; 2]]) -> String {
    let points = points.iter().map(|[x, y]| format!("{},{}", px(*x), px(*y)));
    points.collect::<Vec<_>>().join(" ")
}

fn px(value: f64) -> String {
    crate::number::trimmed(value, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_stay_inside() {
        let placed = spread(&[10.0, 11.0, 12.0, 99.0, 100.0], 12.0, [0.0, 100.0]);
        assert!(
            placed.windows(2).all(|pair| pair[1] - pair[0] >= 12.0),
            "{placed:?}"
        );
        assert!(
            placed.iter().all(|place| (0.0..=100.0).contains(place)),
            "{placed:?}"
        );
    }

    #[test]
    fn names_cannot_leave_their_element() {
        assert_eq!(escaped("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
    }
}
