//! Curves in a frame, described as data.

use super::ends::{self, End};
use super::plot::{Axis, Band, Plot};

/// The height of the frame of most charts.
pub const HEIGHT: f64 = 250.0;
/// The height of the frame of a chart over time, of which a page has several.
pub const LOW: f64 = 150.0;

/// A chart of curves before its width is known.
pub struct LineChart {
    /// Its name.
    pub name: String,
    /// The axis to the right.
    pub across: Axis,
    /// The axis upwards.
    pub up: Axis,
    /// The height of the frame.
    pub height: f64,
    /// Parts of the axis to the right.
    pub bands: Vec<Band>,
    /// Dashed lines upwards with their names.
    pub limits: Vec<(f64, String)>,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Marks above all curves.
    pub marks: Vec<Mark>,
    /// Whether the names of curves are at their ends; otherwise the page has a legend.
    pub has_names: bool,
}

/// A curve with what belongs to it.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Its name.
    pub label: String,
    /// Its colour.
    pub number: usize,
    /// The tooltip, and its part of the description for screen readers.
    pub title: String,
    /// Where and how much, ascending; without a value there is a gap.
    pub points: Vec<(f64, Option<f64>)>,
    /// Where, and the ends of the interval.
    pub intervals: Vec<(f64, [f64; 2])>,
    /// Marks on it.
    pub marks: Vec<Mark>,
    /// Numbers of somebody else that it is compared with, as diamonds; `radius` is half their width.
    pub diamonds: Vec<Mark>,
    /// Pixels by which it is moved to the right, so that its intervals hide no others.
    pub shift: f64,
}

/// A point with a tooltip.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Where and how much.
    pub at: (f64, f64),
    /// Its colour.
    pub number: usize,
    /// The radius of its ring, in pixels.
    pub radius: f64,
    /// The tooltip.
    pub title: String,
}

impl Curve {
    /// A curve without gaps.
    pub fn from_points(label: String, number: usize, points: impl Iterator<Item = (f64, f64)>) -> Self {
        Self {
            label,
            number,
            points: points.map(|(at, value)| (at, Some(value))).collect(),
            ..Self::default()
        }
    }

    /// Where it ends; a curve of diamonds alone at the last of them.
    fn last(&self) -> Option<[f64; 2]> {
        let mut points = self.points.iter().rev();
        let last = points.find_map(|(at, value)| Some([*at, (*value)?]));
        last.or_else(|| self.diamonds.last().map(|mark| mark.at.into()))
    }
}

impl LineChart {
    /// An empty chart with these axes.
    pub fn new(name: impl Into<String>, across: Axis, up: Axis) -> Self {
        Self {
            name: name.into(),
            across,
            up,
            height: HEIGHT,
            bands: Vec::new(),
            limits: Vec::new(),
            curves: Vec::new(),
            marks: Vec::new(),
            has_names: true,
        }
    }

    /// The chart with these curves.
    pub fn with(self, curves: Vec<Curve>) -> Self {
        Self { curves, ..self }
    }

    /// The chart in a width.
    pub fn draw(&self, width: f64) -> String {
        let names: Vec<&str> = match self.has_names {
            true => self.curves.iter().map(|curve| curve.label.as_str()).collect(),
            false => Vec::new(),
        };
        let axes = [&self.across, &self.up];
        let mut plot = Plot::new(axes, &self.bands, &names, [width, self.height]);
        for (at, name) in &self.limits {
            plot.limit(*at, name);
        }
        for curve in &self.curves {
            self.curve(&mut plot, curve);
        }
        // After the curves, which would cover them.
        self.marks.iter().for_each(|mark| draw_mark(&mut plot, mark, 0.0));
        if self.has_names {
            let end = |curve: &Curve| {
                Some(End {
                    label: curve.label.clone(),
                    number: curve.number,
                    at: plot.place(curve.last()?),
                })
            };
            let ends = self.curves.iter().filter_map(end).collect();
            plot.ends(ends);
        }
        plot.svg.finish(&self.name, &self.description())
    }

    /// What its curves and marks tell.
    fn description(&self) -> String {
        let of_curve = |curve: &Curve| match curve.title.is_empty() {
            true => curve.label.clone(),
            false => curve.title.clone(),
        };
        let curves: Vec<String> = self.curves.iter().map(of_curve).collect();
        curves.join(". ")
    }

    fn curve(&self, plot: &mut Plot, curve: &Curve) {
        let class = ends::class(curve.number);
        let moved = |plot: &Plot, at: f64, value: f64| {
            let [x, y] = plot.place([at, value]);
            [x + curve.shift, y]
        };
        for (at, interval) in &curve.intervals {
            let [from, to] = interval.map(|end| moved(plot, *at, end));
            plot.svg.line(&format!("whisker {class}"), from, to);
        }
        // Not through a gap: a line there would claim values that nobody measured.
        for run in curve.points.split(|(_, value)| value.is_none()) {
            let points = run
                .iter()
                .filter_map(|(at, value)| Some(moved(plot, *at, (*value)?)));
            match thinned(points).as_slice() {
                [] => {}
                // A line of one point is invisible.
                [alone] => plot
                    .svg
                    .circle(&format!("dot {class}"), *alone, 1.6, &curve.title),
                points => plot.svg.polyline(&format!("curve {class}"), points, &curve.title),
            }
        }
        for mark in &curve.marks {
            draw_mark(plot, mark, curve.shift);
        }
        for mark in &curve.diamonds {
            let [x, y] = moved(plot, mark.at.0, mark.at.1);
            plot.svg.diamond(&class, [x, y], mark.radius, &mark.title);
        }
    }
}

fn draw_mark(plot: &mut Plot, mark: &Mark, shift: f64) {
    let [x, y] = plot.place([mark.at.0, mark.at.1]);
    let class = format!("mark {}", ends::class(mark.number));
    plot.svg.circle(&class, [x + shift, y], mark.radius, &mark.title);
}

/// The points without those nearer than a pixel to the one before; the last always stays.
fn thinned(points: impl Iterator<Item = [f64; 2]>) -> Vec<[f64; 2]> {
    let mut kept: Vec<[f64; 2]> = Vec::new();
    let mut last = None;
    for point in points {
        let is_near = |before: &[f64; 2]| (before[0] - point[0]).hypot(before[1] - point[1]) < 1.0;
        last = Some(point);
        if !kept.last().is_some_and(is_near) {
            kept.push(point);
            last = None;
        }
    }
    // Two points in one place are a dot.
    kept.extend(last.filter(|_| kept.len() > 1));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Scale;

    fn chart(points: &[(f64, Option<f64>)]) -> String {
        let axis = |name: &str| Axis::new(Scale::from_zero(10.0), name);
        let mut chart = LineChart::new("a <chart>", axis("s"), axis("ms"));
        chart.curves = vec![Curve {
            label: "<b>".to_owned(),
            points: points.to_vec(),
            ..Curve::default()
        }];
        chart.draw(400.0)
    }

    #[test]
    fn a_gap_divides_a_curve_and_a_point_alone_is_a_dot() {
        let svg = chart(&[(0.0, Some(1.0)), (1.0, Some(2.0)), (2.0, None), (3.0, Some(1.0))]);
        assert_eq!(svg.matches("<polyline").count(), 1);
        assert_eq!(svg.matches("class=\"dot s0\"").count(), 1);
        assert!(!chart(&[(0.0, None)]).contains("<polyline"));
    }

    #[test]
    fn a_chart_has_a_name_and_a_description_and_names_stay_text() {
        let svg = chart(&[(0.0, Some(1.0))]);
        assert!(
            svg.contains("<title>a &lt;chart&gt;</title><desc>&lt;b&gt;</desc>"),
            "{svg}"
        );
        assert!(svg.contains("role=\"img\"") && !svg.contains("<b>"));
    }

    #[test]
    fn points_within_a_pixel_are_one_and_the_last_stays() {
        let points = [[0.0, 0.0], [0.4, 0.0], [2.0, 0.0], [2.2, 0.0]];
        assert_eq!(thinned(points.into_iter()), [[0.0, 0.0], [2.0, 0.0], [2.2, 0.0]]);
    }
}
