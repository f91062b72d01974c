//! A point of a claim as a strip: the impossible region shaded, our interval a bar, the published number a diamond.

use wirecost_report::chart::strip::Strip;
use wirecost_report::chart::{Scale, range};

use crate::amount::{Amount, Dimension};
use crate::judge::JudgedPoint;

/// The round numbers of an axis of equal steps, if it is too short for powers of ten.
const TICKS: f64 = 6.0;

/// An axis with room for every number of these points, in the unit of its ticks; `None` if there is nothing to draw.
pub(crate) fn scale<'a>(points: impl Iterator<Item = &'a JudgedPoint>) -> Option<Scale> {
    let numbers = points.flat_map(|point| {
        let ends = point.ours_interval.into_iter().flatten();
        let single = [point.published_value, point.bound_value, point.ours_value];
        let amounts = single.into_iter().flatten().chain(ends);
        amounts.map(Amount::in_unit).collect::<Vec<_>>()
    });
    // A third of a decade on either side.
    let [least, most] = range(numbers.filter(|number| *number > 0.0))?;
    Some(Scale::logarithmic(least / 2.0, most * 2.0))
}

/// The strip of a point as SVG; empty if it has neither a published number nor a bound. Of several strips on one axis,
/// the last one has the labels.
pub(crate) fn svg(
    point: &JudgedPoint,
    scale: Option<Scale>,
    dimension: Dimension,
    has_labels: bool,
) -> String {
    let has_number = point.published_value.is_some() || point.bound_value.is_some();
    let Some(scale) = scale.filter(|_| has_number) else {
        return String::from("<span></span>");
    };
    // The axis is logarithmic: zero and less have no place on it.
    let positive = |amount: &Amount| amount.value > 0.0;
    let bar = point.ours_value.filter(positive);
    let bar = bar.map(|ours| point.ours_interval.unwrap_or([ours; 2]));
    let beyond = |bound: Amount| match point.is_upper_bound {
        true => [bound.in_unit(), f64::INFINITY],
        false => [0.0, bound.in_unit()],
    };
    let strip = Strip {
        name: name(point),
        told: told(point),
        scale,
        labels: labels(scale, TICKS, dimension),
        has_labels,
        beyond: point.bound_value.map(beyond),
        bar: bar.map(|ends| ends.map(Amount::in_unit)),
        diamond: point.published_value.filter(positive).map(Amount::in_unit),
    };
    strip.draw()
}

/// The round numbers of an axis in the unit of its ticks, with their units.
pub(crate) fn labels(scale: Scale, most: f64, dimension: Dimension) -> Vec<(f64, String)> {
    let text = |tick: f64| Amount::given_in_unit(tick, dimension).to_string();
    scale
        .ticks(most)
        .into_iter()
        .map(|tick| (tick, text(tick)))
        .collect()
}

/// Which of the points of a claim it is.
fn name(point: &JudgedPoint) -> String {
    let at = point.at.iter().map(|(name, value)| format!("{name} {value}"));
    match at.collect::<Vec<_>>().join(", ") {
        at if at.is_empty() => "the published number".to_owned(),
        at => at,
    }
}

/// The strip in words, for those who do not see it. Its texts are numbers with units.
fn told(point: &JudgedPoint) -> String {
    let parts = [
        ("published", &point.published),
        ("bound", &point.bound),
        ("ours", &point.ours),
    ];
    let texts = parts
        .iter()
        .filter_map(|(name, text)| Some(format!("{name} {}", text.as_ref()?)));
    texts.collect::<Vec<_>>().join(", ")
}
