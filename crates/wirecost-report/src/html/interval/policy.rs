//! Whether a kept connection takes fewer bytes than one that carries fewer messages, and up to which interval: in words.

use wirecost_results::Summary;
use wirecost_stats::{Estimate, Judgement};

use super::super::sweep::{Dimension, Sweep};
use super::{Crossing, Line, QUANTITIES, intervals};
use crate::number::whole_bytes;

/// A sentence for each stack and pair of numbers of messages per connection, at each size and link; none where that
/// number does not vary.
pub(crate) fn pays_off(summary: &Summary) -> Vec<String> {
    let sweep = Sweep::from_summary(summary);
    let intervals = intervals(&sweep);
    if sweep.values(Dimension::Messages).is_none() || intervals.is_empty() {
        return Vec::new();
    }
    let [quantity, _] = &QUANTITIES;
    let fixed = sweep.varied_besides(&[Dimension::Interval, Dimension::Messages]);
    let of_slice = |slice: &super::Slice<'_>| -> Vec<String> {
        let lines = quantity.lines(&sweep, slice, &intervals);
        let crossings = Crossing::all(&lines);
        // Between two stacks a crossing is an answer to another question, which the chart shows.
        let is_policy =
            |crossing: &&Crossing| lines[crossing.cheaper].contender == lines[crossing.dearer].contender;
        let crossed = crossings.iter().filter(is_policy);
        let crossed = crossed.map(|crossing| crossing.words(&lines, quantity));
        let said = crossed.chain(never_crossed(&lines, &crossings));
        let place = slice.words.join(", ");
        said.map(|text| {
            if place.is_empty() {
                text
            } else {
                format!("{place}: {text}")
            }
        })
        .collect()
    };
    let mut said: Vec<String> = sweep.slices(&fixed).iter().flat_map(of_slice).collect();
    if let Some(last) = said.last_mut() {
        last.push_str("; ×N: messages per connection");
    }
    said
}

/// The pairs of lines of one stack of which one is cheaper at every interval.
fn never_crossed(lines: &[Line], crossings: &[Crossing]) -> Vec<String> {
    let mut said = Vec::new();
    for (cheaper, a) in lines.iter().enumerate() {
        for (dearer, b) in lines.iter().enumerate() {
            let cross = |crossing: &Crossing| {
                [crossing.cheaper, crossing.dearer] == [cheaper, dearer]
                    || [crossing.cheaper, crossing.dearer] == [dearer, cheaper]
            };
            if cheaper != dearer && a.contender == b.contender && !crossings.iter().any(cross) {
                said.extend(always_less(a, b));
            }
        }
    }
    said
}

/// That `a` costs less than `b` at every interval, with the figures of the longest one.
fn always_less(a: &Line, b: &Line) -> Option<String> {
    let pairs = a.points.iter().zip(&b.points);
    let costs = pairs.filter(|(a, b)| a.0 == b.0).map(|(a, b)| (a.1, b.1));
    let costs: Vec<(Estimate, Estimate)> = costs.collect();
    let (own, other) = *costs.last()?;
    let always = if costs.len() > 1 { " at every interval" } else { "" };
    costs
        .iter()
        .all(|(a, b)| a.against(b) == Judgement::Less)
        .then(|| {
            format!(
                "{} costs less than {}{always} ({} and {} a message all-in)",
                a.label,
                b.label,
                whole_bytes(own.value),
                whole_bytes(other.value)
            )
        })
}
