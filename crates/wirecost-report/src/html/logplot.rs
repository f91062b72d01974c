//! Figures with two logarithmic axes: the cost upwards, a quantity to the right.

use super::ends::{self, End};
use super::svg::{Anchor, Svg, text_width};
use crate::number;

const TOP: f64 = 14.0;
const LEFT: f64 = 46.0;
const SPAN: f64 = 270.0;
/// Size of the labels of the axis.
const FONT: f64 = 10.5;

/// A curve with the marks on it.
pub(crate) struct Curve {
    pub(crate) label: String,
    /// Its colour.
    pub(crate) number: usize,
    /// Quantity and cost, ascending.
    pub(crate) points: Vec<(f64, f64)>,
    /// The tooltip.
    pub(crate) title: String,
    pub(crate) marks: Vec<Mark>,
}

/// A circle with a tooltip.
pub(crate) struct Mark {
    pub(crate) at: (f64, f64),
    /// Its colour.
    pub(crate) number: usize,
    pub(crate) radius: f64,
    pub(crate) title: String,
}

/// A figure before its width is known.
pub(crate) struct LogFigure<'a> {
    pub(crate) name: &'a str,
    /// The description for screen readers.
    pub(crate) description: String,
    /// Both ends of the axis to the right.
    pub(crate) across: [f64; 2],
    pub(crate) ticks: Vec<(f64, String)>,
    /// The name of the axis to the right.
    pub(crate) axis: &'a str,
    /// The unit of the cost.
    pub(crate) unit: &'a str,
    pub(crate) curves: Vec<Curve>,
    /// Marks above all curves.
    pub(crate) marks: Vec<Mark>,
}

impl LogFigure<'_> {
    pub(crate) fn draw(&self, width: f64) -> String {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let labels: Vec<&str> = self.curves.iter().map(|curve| curve.label.as_str()).collect();
        let plot = LogPlot::new(self.across, points.map(|(_, cost)| *cost), &labels, width);
        let mut svg = Svg::new(width, plot.height());
        plot.value_axis(&mut svg, &self.ticks, self.axis);
        plot.cost_axis(&mut svg, self.unit);
        for curve in &self.curves {
            let points: Vec<[f64; 2]> = curve.points.iter().map(|point| plot.place(*point)).collect();
            svg.polyline(
                &format!("curve {}", ends::class(curve.number)),
                &points,
                &curve.title,
            );
            curve.marks.iter().for_each(|mark| plot.mark(&mut svg, mark));
        }
        self.marks.iter().for_each(|mark| plot.mark(&mut svg, mark));
        let end = |curve: &Curve| {
            Some(End {
                label: curve.label.clone(),
                number: curve.number,
                at: plot.place(*curve.points.last()?),
            })
        };
        let ends = self.curves.iter().filter_map(end).collect();
        ends::draw(&mut svg, ends, plot.right, [TOP, plot.bottom()]);
        svg.finish(self.name, &self.description)
    }
}

/// The geometry of a figure of one width.
struct LogPlot {
    /// The right edge.
    right: f64,
    span: f64,
    /// Logarithms of the ends of the axis to the right.
    across: [f64; 2],
    /// Logarithms of the least and the most cost that is drawn.
    up: [f64; 2],
}

impl LogPlot {
    /// A plot from `across[0]` to `across[1]` with room for all positive `costs`, and for `labels` on the right.
    fn new(across: [f64; 2], costs: impl Iterator<Item = f64>, labels: &[&str], width: f64) -> Self {
        let costs: Vec<f64> = costs.filter(|cost| *cost > 0.0).map(f64::log10).collect();
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = costs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (least, most) = if least <= most { (least, most) } else { (0.0, 1.0) };
        Self {
            right: ends::right(labels.iter().copied(), width),
            span: SPAN.max(labels.len() as f64 * ends::LINE),
            across: across.map(f64::log10),
            up: [least - 0.04, most + 0.04],
        }
    }

    fn mark(&self, svg: &mut Svg, mark: &Mark) {
        let class = format!("mark {}", ends::class(mark.number));
        svg.circle(&class, self.place(mark.at), mark.radius, &mark.title);
    }

    fn place(&self, (value, cost): (f64, f64)) -> [f64; 2] {
        [self.x(value), self.y(cost)]
    }

    fn x(&self, value: f64) -> f64 {
        let [from, to] = self.across;
        LEFT + (value.log10() - from) / (to - from) * (self.right - LEFT)
    }

    fn y(&self, cost: f64) -> f64 {
        let [least, most] = self.up;
        let share = (cost.max(f64::MIN_POSITIVE).log10() - least) / (most - least);
        TOP + self.span * (1.0 - share)
    }

    /// The lower edge.
    const fn bottom(&self) -> f64 {
        TOP + self.span
    }

    /// The height of the figure, axis and its name included.
    const fn height(&self) -> f64 {
        self.bottom() + 40.0
    }

    /// Grid lines at the `ticks`, with as many labels as fit, and the name of the axis.
    fn value_axis(&self, svg: &mut Svg, ticks: &[(f64, String)], name: &str) {
        let mut edge = f64::NEG_INFINITY;
        for (value, text) in ticks {
            let x = self.x(*value);
            svg.line("grid", [x, TOP], [x, self.bottom()]);
            let half = text_width(text, FONT) / 2.0;
            if x - half > edge {
                svg.text("tick", Anchor::Middle, [x, self.bottom() + 15.0], text);
                edge = x + half + 3.0;
            }
        }
        let middle = (LEFT + self.right) / 2.0;
        svg.text("muted", Anchor::Middle, [middle, self.bottom() + 33.0], name);
    }

    /// Grid lines at round multiples of each power of ten.
    fn cost_axis(&self, svg: &mut Svg, unit: &str) {
        svg.line("axis", [LEFT, TOP], [LEFT, self.bottom()]);
        svg.text("muted", Anchor::End, [LEFT - 5.0, TOP - 4.0], unit);
        let [least, most] = self.up;
        let decades = least.floor() as i32..=most.ceil() as i32;
        let factors: &[f64] = match most - least {
            span if span < 1.0 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            _ => &[1.0, 2.0, 5.0],
        };
        let ticks = decades.flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)));
        for cost in ticks.filter(|cost| (least..=most).contains(&cost.log10())) {
            let y = self.y(cost);
            svg.line("grid", [LEFT, y], [self.right, y]);
            svg.text(
                "tick",
                Anchor::End,
                [LEFT - 5.0, y + 3.5],
                &number::trimmed(cost, 3),
            );
        }
    }
}
