//! Crossings: the intervals from which on one line is cheaper than another.

use wirecost_stats::{Estimate, Judgement};

use super::{Line, Quantity};
use crate::number;

/// Where one line falls below another.
pub(crate) struct Crossing {
    /// Interval in nanoseconds.
    pub(crate) at: f64,
    pub(crate) cost: f64,
    pub(crate) cheaper: usize,
    pub(crate) dearer: usize,
}

impl Crossing {
    /// Every crossing, the shortest interval first; crossings of lines of the same stack come first.
    pub(crate) fn all(lines: &[Line]) -> Vec<Self> {
        let mut all = Vec::new();
        for (cheaper, a) in lines.iter().enumerate() {
            for (dearer, b) in lines.iter().enumerate() {
                let crossings = crossings(a, b).into_iter();
                all.extend(crossings.map(|(at, cost)| Self {
                    at,
                    cost,
                    cheaper,
                    dearer,
                }));
            }
        }
        all.sort_by(|a, b| a.at.total_cmp(&b.at));
        all.sort_by_key(|crossing| lines[crossing.cheaper].contender != lines[crossing.dearer].contender);
        all
    }

    /// The crossing as a sentence.
    pub(super) fn words(&self, lines: &[Line], quantity: &Quantity) -> String {
        let [cheaper, dearer] = [self.cheaper, self.dearer].map(|line| lines[line].label.as_str());
        format!(
            "from an interval of about {} on {cheaper} costs less than {dearer} ({} {} each)",
            roughly(self.at),
            number::trimmed(self.cost, 1),
            quantity.unit
        )
    }
}

/// The points where `a` falls below `b`, interpolated linearly: interval and cost.
fn crossings(a: &Line, b: &Line) -> Vec<(f64, f64)> {
    let shared = a.points.iter().filter_map(|(at, own)| {
        let (_, other) = b.points.iter().find(|(other, _)| other == at)?;
        Some((*at, *own, *other))
    });
    let shared: Vec<(f64, Estimate, Estimate)> = shared.collect();
    let judged: Vec<Judgement> = shared.iter().map(|(_, a, b)| a.against(b)).collect();
    // Both sides have to differ beyond their intervals: else noise alone makes the lines cross. Points near the crossing do not.
    let differs = |judgement: &&Judgement| matches!(judgement, Judgement::More | Judgement::Less);
    let falls = |at: usize| {
        let before = judged[..=at].iter().rev().find(differs);
        let after = judged[at + 1..].iter().find(differs);
        (before, after) == (Some(&Judgement::More), Some(&Judgement::Less))
    };
    let cross = |(at, pair): (usize, &[(f64, Estimate, Estimate)])| {
        let [from, to] = pair else { return None };
        // In logarithms, as both axes are: the point has to lie where the drawn lines cross.
        let excess = |(_, a, b): &(f64, Estimate, Estimate)| (a.value / b.value).log10();
        let (before, after) = (excess(from), excess(to));
        if before < 0.0 || after >= 0.0 || !falls(at) {
            return None;
        }
        let share = before / (before - after);
        let between = |from: f64, to: f64| 10f64.powf(from.log10() + share * (to / from).log10());
        Some((between(from.0, to.0), between(from.1.value, to.1.value)))
    };
    shared.windows(2).enumerate().filter_map(cross).collect()
}

/// An interval in nanoseconds, two digits.
pub(crate) fn roughly(nanos: f64) -> String {
    match nanos / 1e9 {
        s if s < 1.0 => format!("{} ms", number::digits(s * 1e3, 2)),
        s if s < 120.0 => format!("{} s", number::digits(s, 2)),
        s if s < 7_200.0 => format!("{} min", number::digits(s / 60.0, 2)),
        s => format!("{} h", number::digits(s / 3_600.0, 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(costs: &[(f64, f64)]) -> Line {
        let point = |(at, each): &(f64, f64)| (*at, Estimate::exact(*each));
        Line {
            label: "any".into(),
            contender: 0,
            number: 0,
            points: costs.iter().map(point).collect(),
        }
    }

    #[test]
    fn lines_cross_where_one_falls_below_the_other() {
        let steady = line(&[(1.0, 100.0), (100.0, 100.0)]);
        let rising = line(&[(1.0, 10.0), (100.0, 1_000.0)]);
        let crossed = crossings(&steady, &rising);
        assert_eq!(crossed.len(), 1);
        assert!((crossed[0].0 - 10.0).abs() < 1e-9 && (crossed[0].1 - 100.0).abs() < 1e-9);
        assert!(crossings(&rising, &steady).is_empty());
    }

    #[test]
    fn a_point_near_the_crossing_does_not_hide_it() {
        let steady = line(&[(1.0, 100.0), (10.0, 100.0), (100.0, 100.0)]);
        let mut rising = line(&[(1.0, 10.0), (10.0, 101.0), (100.0, 1_000.0)]);
        rising.points[1].1.interval = Some([80.0, 122.0]);
        let crossed = crossings(&steady, &rising);
        assert_eq!(crossed.len(), 1);
        assert!((9.0..10.0).contains(&crossed[0].0), "{crossed:?}");
        let mut touching = line(&[(1.0, 10.0), (10.0, 101.0), (100.0, 101.0)]);
        for point in &mut touching.points[1..] {
            point.1.interval = Some([80.0, 122.0]);
        }
        assert!(crossings(&steady, &touching).is_empty());
    }

    #[test]
    fn overlapping_intervals_do_not_cross() {
        let mut steady = line(&[(1.0, 100.0), (100.0, 100.0)]);
        let mut rising = line(&[(1.0, 10.0), (100.0, 1_000.0)]);
        steady.points[0].1.interval = Some([5.0, 195.0]);
        rising.points[0].1.interval = Some([9.0, 11.0]);
        assert!(crossings(&steady, &rising).is_empty());
    }

    #[test]
    fn intervals_have_units_that_people_use() {
        let cases = [
            (0.25, "250 ms"),
            (42.4, "42 s"),
            (760.0, "13 min"),
            (20_000.0, "5.6 h"),
        ];
        for (seconds, text) in cases {
            assert_eq!(roughly(seconds * 1e9), text);
        }
    }
}
