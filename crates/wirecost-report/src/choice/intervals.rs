//! What a month costs against the interval between readings, both axes logarithmic. A mark shows where one row becomes cheaper than
//! another one.

use serde::Serialize;
use wirecost_stats::Estimate;

use super::Cases;
use crate::chart::lines::{Curve, LineChart, Mark};
use crate::chart::plot::Axis;
use crate::chart::{Figure, Scale, ends};
use crate::csv::quoted;
use crate::figures::time;
use crate::html::interval::{Crossing, Line, roughly};
use crate::html::shown::{Chart, Section, Shown};
use crate::number;

/// The cost of rows against the interval.
pub(super) const COST: Chart<Cases> = Chart {
    section: Section::Of("current"),
    show: |choice| Some(choice.intervals.as_ref()?.shown(&choice.name)),
};

/// The cost of rows at several intervals.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CostByInterval {
    /// The quantity with what it is of: `MB a month`.
    pub unit: String,
    /// The interval that was asked for, in nanoseconds.
    pub asked: u64,
    /// The rows.
    pub lines: Vec<CostLine>,
    /// What is to be known about the points.
    pub note: String,
}

/// The cost of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CostLine {
    /// The row in a few words.
    pub label: String,
    /// The number of its stack among those that are drawn.
    pub stack: usize,
    /// Its cost by the interval, ascending.
    pub points: Vec<CostPoint>,
}

/// The cost at an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostPoint {
    /// The interval in nanoseconds.
    pub at: u64,
    /// The cost, in the unit of all.
    pub value: f64,
    /// The 95 % interval of the cost; `None` where the devices are too few for one.
    pub range: Option<[f64; 2]>,
    /// Whether it was simulated at this interval; otherwise the packets are those of another one.
    pub is_simulated: bool,
}

impl CostByInterval {
    /// Where one row becomes cheaper than another one, a sentence each.
    pub fn break_even(&self) -> Vec<String> {
        let lines = self.lines();
        let crossings = Crossing::all(&lines).into_iter();
        crossings.map(|crossing| self.words(&lines, &crossing)).collect()
    }

    fn shown(&self, case: &str) -> Shown {
        let lines = self.lines();
        let crossings = Crossing::all(&lines);
        let name = format!("{} by interval {case}", self.unit).trim_end().to_owned();
        let chart = self.chart(&lines, &crossings, &name);
        let words = format!(
            "{} by the time from one reading to the next; a ring is an interval that was simulated. {}",
            self.unit, self.note
        );
        Shown {
            title: "Cost against the interval".to_owned(),
            remarks_are: "from which interval on one costs less than another",
            remarks: self.break_even(),
            ..Shown::new(
                Figure::new(|width| chart.draw(width), self.data()),
                words.trim_end(),
            )
        }
    }

    fn lines(&self) -> Vec<Line> {
        let point = |point: &CostPoint| {
            let estimate = Estimate {
                value: point.value,
                interval: point.range,
            };
            (point.at as f64, estimate)
        };
        let mut seen = Vec::new();
        let lines = self.lines.iter().map(|line| {
            // The second way of a stack has its colour, dotted.
            let is_first = !seen.contains(&line.stack);
            seen.push(line.stack);
            Line {
                label: line.label.clone(),
                contender: line.stack,
                number: if is_first {
                    line.stack
                } else {
                    ends::again(line.stack)
                },
                points: line.points.iter().map(point).collect(),
            }
        });
        lines.collect()
    }

    fn words(&self, lines: &[Line], crossing: &Crossing) -> String {
        let [cheaper, dearer] = [crossing.cheaper, crossing.dearer].map(|line| lines[line].label.as_str());
        format!(
            "from about {} on {cheaper} costs less than {dearer} ({} {})",
            roughly(crossing.at),
            number::digits(crossing.cost, 2),
            self.unit
        )
    }

    fn chart(&self, lines: &[Line], crossings: &[Crossing], name: &str) -> LineChart {
        let curve = |(line, cost): (&Line, &CostLine)| Curve {
            title: self.told(cost),
            marks: self.rings(line, cost),
            ..Curve::from_points(
                line.label.clone(),
                line.number,
                line.points.iter().map(|(at, cost)| (*at, cost.value)),
            )
        };
        let mark = |crossing: &Crossing| Mark {
            at: (crossing.at, crossing.cost),
            number: lines[crossing.cheaper].number,
            radius: 4.0,
            title: self.words(lines, crossing),
        };
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let mut intervals: Vec<u64> = points().map(|point| point.at).collect();
        intervals.sort_unstable();
        intervals.dedup();
        let [least, most] = [intervals.first(), intervals.last()].map(|end| end.map_or(1.0, |at| *at as f64));
        let labels = intervals.iter().map(|nanos| (*nanos as f64, time(*nanos)));
        let across = Axis::new(
            Scale::logarithmic(least, most),
            "time from one reading to the next",
        );
        let up = Axis::new(
            Scale::logarithmic_around(points().map(|point| point.value)),
            self.unit.clone(),
        );
        LineChart {
            marks: crossings.iter().map(mark).collect(),
            limits: vec![(self.asked as f64, "asked".to_owned())],
            ..LineChart::new(name, across.labelled(labels.collect()), up)
        }
        .with(lines.iter().zip(&self.lines).map(curve).collect())
    }

    /// The points of a line that were simulated.
    fn rings(&self, line: &Line, cost: &CostLine) -> Vec<Mark> {
        let simulated = cost.points.iter().filter(|point| point.is_simulated);
        let ring = |point: &CostPoint| Mark {
            at: (point.at as f64, point.value),
            number: line.number,
            radius: 2.0,
            title: format!("{}: {}", line.label, self.at(point)),
        };
        simulated.map(ring).collect()
    }

    fn at(&self, point: &CostPoint) -> String {
        format!(
            "{} {} at {}",
            number::digits(point.value, 3),
            self.unit,
            time(point.at)
        )
    }

    fn told(&self, line: &CostLine) -> String {
        let ends = [line.points.first(), line.points.last()].into_iter().flatten();
        let ends: Vec<String> = ends.map(|point| self.at(point)).collect();
        format!("{}: {}", line.label, ends.join(", "))
    }

    fn data(&self) -> String {
        let mut csv = format!(
            "row,interval_s,{},low,high,simulated\n",
            self.unit.replace(' ', "_")
        );
        for line in &self.lines {
            for point in &line.points {
                let ends = point
                    .range
                    .map(|ends| ends.map(|end| format!("{end:.6}")))
                    .unwrap_or_default();
                csv += &format!(
                    "{},{},{:.6},{},{}\n",
                    quoted(&line.label),
                    point.at as f64 / 1e9,
                    point.value,
                    ends.join(","),
                    point.is_simulated
                );
            }
        }
        csv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals() -> CostByInterval {
        let line = |label: &str, stack, costs: &[(u64, f64, bool)]| CostLine {
            label: label.to_owned(),
            stack,
            points: costs
                .iter()
                .map(|(seconds, value, is_simulated)| CostPoint {
                    at: seconds * 1_000_000_000,
                    value: *value,
                    range: Some([*value; 2]),
                    is_simulated: *is_simulated,
                })
                .collect(),
        };
        CostByInterval {
            unit: "MB a month".to_owned(),
            asked: 900_000_000_000,
            lines: vec![
                line(
                    "each <a>",
                    0,
                    &[(60, 90.0, false), (900, 6.0, true), (86_400, 0.06, false)],
                ),
                line(
                    "kept",
                    0,
                    &[(60, 9.0, true), (900, 3.0, true), (86_400, 2.5, true)],
                ),
            ],
            note: String::new(),
        }
    }

    #[test]
    fn the_break_even_point_is_said_and_marked() {
        let said = intervals().break_even();
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with("from about ") && said[0].contains(" on each <a> costs less than kept ("),
            "{said:?}"
        );
        let shown = intervals().shown("");
        assert_eq!(shown.remarks, said);
        let figure = shown.figure.expect("a figure");
        assert_eq!(figure.data.lines().count(), 7);
        assert!(
            figure
                .data
                .starts_with("row,interval_s,MB_a_month,low,high,simulated\n")
        );
    }

    #[test]
    fn only_simulated_points_have_a_ring_and_names_stay_text() {
        let all = intervals();
        let lines = all.lines();
        let rings: Vec<usize> = lines
            .iter()
            .zip(&all.lines)
            .map(|(line, cost)| all.rings(line, cost).len())
            .collect();
        assert_eq!(rings, [1, 3]);
        let svg = all.chart(&lines, &Crossing::all(&lines), "any").draw(680.0);
        assert!(
            svg.contains("&lt;a&gt;") && !svg.contains("<a>") && svg.contains("asked"),
            "{svg}"
        );
    }
}
