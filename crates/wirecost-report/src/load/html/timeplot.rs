//! Figures over the time of a load: seconds to the right, phases shaded.

use crate::chart::lines::{Curve, LOW, LineChart};
use crate::chart::plot::{Axis, Band};
use crate::chart::{Figure, Scale, range};
use crate::csv::quoted;
use crate::number;

/// What lines are of: the name of the figure, the scale of values, their unit, and a value as text.
pub(super) struct Quantity<'a> {
    pub(super) name: &'a str,
    pub(super) scale: Scale,
    pub(super) unit: &'a str,
    pub(super) write: &'a dyn Fn(f64) -> String,
}

/// A line over the seconds of a load, with gaps at missing values.
pub(super) fn line(label: &str, number: usize, points: Vec<(f64, Option<f64>)>) -> Curve {
    Curve {
        label: label.to_owned(),
        number,
        points,
        ..Curve::default()
    }
}

/// The least and the largest value.
pub(super) fn range_of(lines: &[Curve]) -> Option<[f64; 2]> {
    let points = lines.iter().flat_map(|line| &line.points);
    range(points.filter_map(|(_, value)| *value))
}

/// The scale for times: linear unless the longest is more than thirty times the shortest.
pub(super) fn for_times([least, most]: [f64; 2]) -> Scale {
    match least > 0.0 && most > 30.0 * least {
        true => Scale::logarithmic_around([least, most].into_iter()),
        false => Scale::from_zero(most),
    }
}

/// The axis of the seconds of these phases.
pub(super) fn seconds(bands: &[Band]) -> Axis {
    let [begin, end] = range(bands.iter().flat_map(|band| band.span)).unwrap_or([0.0, 1.0]);
    over([begin, end])
}

fn over([begin, end]: [f64; 2]) -> Axis {
    let scale = Scale::linear(begin, end.max(begin + 1.0)).whole();
    Axis::new(scale, "").written(|second| format!("{} s", number::trimmed(second, 1)))
}

/// The lines of a load as a figure.
pub(super) fn figure(quantity: &Quantity<'_>, bands: &[Band], lines: Vec<Curve>) -> Figure {
    let data = csv(&lines);
    drawn(quantity, seconds(bands), bands, lines, data)
}

/// Lines of several loads as a figure: the loads have no phases in common.
pub(super) fn of_series(quantity: &Quantity<'_>, lines: Vec<Curve>) -> Figure {
    let data = csv_of_series(&lines, quantity.unit);
    let seconds = lines.iter().flat_map(|line| &line.points);
    let end = seconds.map(|(second, _)| *second).fold(1.0, f64::max);
    drawn(quantity, over([0.0, end]), &[], lines, data)
}

fn drawn(quantity: &Quantity<'_>, across: Axis, bands: &[Band], lines: Vec<Curve>, data: String) -> Figure {
    let told = |line: Curve| Curve {
        title: match range_of(std::slice::from_ref(&line)) {
            Some([_, most]) => format!("{}: at most {}", line.label, (quantity.write)(most)),
            None => format!("{}: no value", line.label),
        },
        ..line
    };
    let up = Axis::new(quantity.scale, quantity.unit);
    let chart = LineChart {
        height: LOW,
        bands: bands.to_vec(),
        curves: lines.into_iter().map(told).collect(),
        ..LineChart::new(quantity.name, across, up)
    };
    Figure::new(|width| chart.draw(width), data)
}

/// A row for each point of each line.
fn csv_of_series(lines: &[Curve], unit: &str) -> String {
    let mut text = format!("series,second,{unit}\n");
    for line in lines {
        for (second, value) in &line.points {
            let value = value.map_or(String::new(), |value| number::trimmed(value, 6));
            text += &format!(
                "{},{},{value}\n",
                quoted(&line.label),
                number::trimmed(*second, 1)
            );
        }
    }
    text
}

fn csv(lines: &[Curve]) -> String {
    let names: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
    let mut text = format!("second,{}\n", names.join(","));
    let count = lines.first().map_or(0, |line| line.points.len());
    for index in 0..count {
        let value = |line: &Curve| line.points[index].1.map(|value| number::trimmed(value, 6));
        let values: Vec<String> = lines.iter().map(|line| value(line).unwrap_or_default()).collect();
        let at = number::trimmed(lines[0].points[index].0, 1);
        text += &format!("{at},{}\n", values.join(","));
    }
    text
}
