//! A plot as a chart: lines with the whiskers of their 95 % intervals, published numbers as diamonds.

use wirecost_report::chart::lines::{Curve, LineChart, Mark};
use wirecost_report::chart::plot::Axis;
use wirecost_report::chart::{Figure, Scale, range};
use wirecost_report::csv::quoted;

use super::{Drawing, Line};
use crate::amount::{Dimension, Published};
use crate::claims::Plot;
use crate::strip::labels;

/// The round numbers at an axis of equal steps.
const TICKS: f64 = 5.0;
/// The radius of our figures, and half the width of published numbers, in CSS pixels.
const RADIUS: [f64; 2] = [3.0, 5.5];

/// Where the values of the dimension to the right are: at their numbers, or one after the other.
struct Places<'a> {
    values: &'a [String],
    is_number: bool,
}

impl Places<'_> {
    fn at(&self, value: &str) -> f64 {
        let known = self.values.iter().position(|known| known == value);
        let place = known.unwrap_or_default() as f64 + 1.0;
        number(value).filter(|_| self.is_number).unwrap_or(place)
    }

    fn axis(&self, plot: &Plot) -> Axis {
        let mut labels: Vec<(f64, String)> = self
            .values
            .iter()
            .map(|value| (self.at(value), value.clone()))
            .collect();
        labels.sort_by(|one, other| one.0.total_cmp(&other.0));
        let scale = scale(labels.iter().map(|(at, _)| *at), plot.is_log_x && self.is_number);
        Axis::new(scale, plot.over.as_str()).labelled(labels)
    }
}

/// An axis with room for all numbers, from 0 unless one is below it.
fn scale(numbers: impl Iterator<Item = f64>, is_log: bool) -> Scale {
    if is_log {
        return Scale::logarithmic_around(numbers);
    }
    match range(numbers).unwrap_or([0.0, 1.0]) {
        [least, most] if least < 0.0 => Scale::linear(least, most),
        [_, most] => Scale::from_zero(most),
    }
}

/// The number that a value of a dimension is, if it is one.
fn number(value: &str) -> Option<f64> {
    Published::read(value).ok().map(|number| number.amount.in_unit())
}

/// The figure of a plot. `colour` is the number of a line's colour, which is the same in all plots of a page.
pub(crate) fn figure(plot: &Plot, drawing: &Drawing, colour: &dyn Fn(&str) -> usize) -> Figure {
    let is_number = drawing.values.iter().all(|value| number(value).is_some());
    let places = Places {
        values: &drawing.values,
        is_number,
    };
    let dimension = dimension(drawing);
    let curve = |line: &Line| curve(line, &places, dimension, colour(&line.name));
    let curves: Vec<Curve> = drawing.lines.iter().map(curve).collect();
    let shown = curves.iter().flat_map(|curve| {
        let ours = curve.points.iter().filter_map(|(_, value)| *value);
        let ends = curve.intervals.iter().flat_map(|(_, ends)| *ends);
        ours.chain(ends)
            .chain(curve.diamonds.iter().map(|mark| mark.at.1))
    });
    let up = scale(shown, plot.is_log_y);
    let up = Axis::new(up, "").labelled(labels(up, TICKS, dimension));
    let chart = LineChart::new(plot.title.as_str(), places.axis(plot), up).with(curves);
    Figure::new(|width| chart.draw(width), data(plot, drawing))
}

fn dimension(drawing: &Drawing) -> Dimension {
    let of_line = |line: &Line| {
        let ours = line.ours.values().next().map(|figure| figure.amount.dimension);
        ours.or_else(|| Some(line.published.values().flatten().next()?.1.amount.dimension))
    };
    drawing.lines.iter().find_map(of_line).unwrap_or_default()
}

/// A line in the unit of the axis.
fn curve(line: &Line, places: &Places<'_>, dimension: Dimension, number: usize) -> Curve {
    let mut ours: Vec<_> = line
        .ours
        .iter()
        .map(|(value, figure)| (places.at(value), value, figure))
        .collect();
    // A line is drawn from point to point, and the map has them in the order of their texts.
    ours.sort_by(|one, other| one.0.total_cmp(&other.0));
    let [ring, half] = RADIUS;
    let mark = |at: f64, value: f64, radius: f64, title: String| Mark {
        at: (at, value),
        number,
        radius,
        title,
    };
    let name = &line.name;
    let rings = ours.iter().map(|(at, value, figure)| {
        let title = format!("{name}, {value}: {} here", figure.amount);
        mark(*at, figure.amount.in_unit(), ring, title)
    });
    let published = line.published.iter().flat_map(|(value, numbers)| {
        numbers.iter().map(move |(claim, number)| {
            let title = format!("{name}, {value}: published {number} ({claim})");
            (places.at(value), number.amount.in_unit(), title)
        })
    });
    let mut diamonds: Vec<Mark> = published
        .map(|(at, value, title)| mark(at, value, half, title))
        .collect();
    diamonds.sort_by(|one, other| one.at.0.total_cmp(&other.at.0));
    let interval = |figure: &crate::evidence::Figure| figure.ends().map(|end| end / dimension.step());
    let told: Vec<String> = ours
        .iter()
        .map(|(_, value, figure)| format!("{} at {value}", figure.amount))
        .collect();
    Curve {
        title: format!("{name}: {}", told.join(", ")),
        intervals: ours
            .iter()
            .map(|(at, _, figure)| (*at, interval(figure)))
            .collect(),
        marks: rings.collect(),
        diamonds,
        ..Curve::from_points(
            name.clone(),
            number,
            ours.iter().map(|(at, _, figure)| (*at, figure.amount.in_unit())),
        )
    }
}

/// A row for each of our figures, and for each published number with its claim.
fn data(plot: &Plot, drawing: &Drawing) -> String {
    let mut csv = format!(
        "{},{},published_by,value,unit\n",
        quoted(&plot.lines),
        quoted(&plot.over)
    );
    for line in &drawing.lines {
        for value in &drawing.values {
            let ours = line.ours.get(value).map(|figure| (String::new(), figure.amount));
            let published = line.published.get(value).into_iter().flatten();
            let published = published.map(|(claim, number)| (claim.clone(), number.amount));
            for (claim, amount) in ours.into_iter().chain(published) {
                let [name, value, claim] = [&line.name, value, &claim].map(|text| quoted(text));
                let (number, unit) = (amount.in_unit(), amount.dimension.unit());
                csv += &format!("{name},{value},{claim},{number},{unit}\n");
            }
        }
    }
    csv
}
