//! The mean cost of a message on a connection with N messages, both axes logarithmic. A mark shows where one stack becomes cheaper
//! than another.
//!
//! Where each message settles, it is (connect + close) / N + message + keep-alive, for N from 1 to 10,000. Where messages have an
//! interval, the server may end a connection between them, and keep-alives depend on it: the figure has the lives that were run, one
//! point for each number of messages, with the figures of the table. Nothing between two of them is claimed.

use wirecost_proto::units::counted;
use wirecost_results::all_in::Parts;
use wirecost_results::{Cell, Summary};
use wirecost_stats::{Estimate, Judgement};

use super::Drawn;
use crate::chart::lines::{Curve, LineChart, Mark};
use crate::chart::plot::Axis;
use crate::chart::{Figure, Scale};
use crate::columns::Column;
use crate::csv::quoted;
use crate::groups::{Group, have_one_place};
use crate::html::interval::millis;
use crate::html::shown::{Chart, Section, Shown};
use crate::number;

/// The largest number of messages on the axis, and its decades.
const MOST: f64 = 10_000.0;
const DECADES: f64 = 4.0;
const TICKS: [(f64, &str); 5] = [
    (1.0, "1"),
    (10.0, "10"),
    (100.0, "100"),
    (1_000.0, "1,000"),
    (MOST, "10,000"),
];
/// Points of a curve per decade.
const STEPS: u32 = 12;

/// All-in bytes of a message.
pub(super) const BYTES: Chart<Drawn> = Chart {
    section: Section::Of("break-even"),
    show: |of| {
        let words = "All-in IP bytes per message, both directions";
        Some(shown(&of.group, of.summary, ALL_IN_BYTES, words))
    },
};

/// Time of a message.
pub(super) const TIME: Chart<Drawn> = Chart {
    section: Section::Of("break-even"),
    show: |of| {
        let words = "Time per message: connect and response";
        Some(shown(&of.group, of.summary, CONNECT_AND_RESPONSE, words))
    },
};

/// A cost per message.
#[derive(Clone, Copy)]
struct Quantity {
    name: &'static str,
    unit: &'static str,
    write: fn(f64) -> String,
    /// The cost of connect and close, and of the measured message.
    of: fn(&Cell) -> Option<(f64, Estimate)>,
    /// The cost of a message of a life, with its share of everything else.
    of_life: fn(&Cell) -> Option<Estimate>,
}

/// IP bytes of both directions. Keep-alive counts with the message: it lasts as long as the connection.
const ALL_IN_BYTES: Quantity = Quantity {
    name: "All-in IP bytes per message",
    unit: "B",
    write: number::bytes,
    of: |cell| {
        let keep_alive = Estimate::exact(Parts::from_cell(cell)?.keep_alive);
        let message = cell.message_bytes()?.plus(&keep_alive);
        Some((cell.connection_bytes()?.value, message))
    },
    of_life: Cell::all_in_bytes,
};

/// Time in ms, without the close.
const CONNECT_AND_RESPONSE: Quantity = Quantity {
    name: "Time per message",
    unit: "ms",
    write: |millis| number::millis(millis * 1e6),
    of: |cell| {
        let message = Column::Mean.estimate(cell)?.scaled(1e-6);
        let Some(connect) = &cell.connect else {
            return Some((0.0, message));
        };
        let connect = connect.response_time_ns.as_ref()?;
        let message = Estimate {
            interval: message.interval.filter(|_| connect.ci95.is_some()),
            ..message
        };
        Some((connect.mean / 1e6, message))
    },
    of_life: millis,
};

/// The curves of a group's valid cells; of lives with those of the same stacks that differ in the messages of a connection alone.
fn shown(group: &Group<'_>, summary: &Summary, quantity: Quantity, words: &str) -> Shown {
    let lines = Line::all(group, summary, quantity);
    let crossings = Crossing::all(&lines);
    let name = format!("{} by messages per connection, {}", quantity.name, group.heading);
    let figure = chart(&lines, &crossings, quantity, &name);
    let figure = Figure::new(|width| figure.draw(width), data(&lines, quantity));
    Shown {
        remarks_are: "where one becomes cheaper than another",
        remarks: crossings
            .iter()
            .map(|crossing| crossing.words(&lines, quantity))
            .collect(),
        ..Shown::new(figure, words)
    }
}

/// The cost of the messages of a connection.
struct Line {
    label: String,
    number: usize,
    cost: Cost,
}

enum Cost {
    /// N messages cost `fixed + N * each`.
    Shared { fixed: f64, each: Estimate },
    /// A message costs this much at each number of messages that was run, ascending.
    Lives(Vec<(u64, Estimate)>),
}

impl Line {
    fn all(group: &Group<'_>, summary: &Summary, quantity: Quantity) -> Vec<Self> {
        let cells = group.iter().enumerate().filter(|(_, cell)| cell.valid);
        let line = |(number, cell): (usize, &Cell)| {
            let cost = match cell.interval_ns {
                Some(_) => Cost::lives(cell, summary, quantity)?,
                None => Cost::shared(group, cell, quantity)?,
            };
            Some(Self {
                label: group.names.label(cell),
                number,
                cost,
            })
        };
        cells.filter_map(line).collect()
    }

    /// Messages of a connection and the cost of each, ascending.
    fn points(&self) -> Vec<(f64, f64)> {
        match &self.cost {
            Cost::Shared { fixed, each } => counts().map(|n| (n, fixed / n + each.value)).collect(),
            Cost::Lives(points) => {
                let point = |(n, each): &(u64, Estimate)| (*n as f64, each.value);
                points.iter().map(point).collect()
            }
        }
    }
}

impl Cost {
    fn shared(group: &Group<'_>, cell: &Cell, quantity: Quantity) -> Option<Self> {
        let later = later_cell(group, cell);
        let ((connection, first), (_, each)) = ((quantity.of)(cell)?, (quantity.of)(later)?);
        let fixed = connection + first.value - each.value;
        Some(Self::Shared { fixed, each })
    }

    fn lives(cell: &Cell, summary: &Summary, quantity: Quantity) -> Option<Self> {
        let is_alike = |other: &&Cell| {
            let of = |cell: &Cell| {
                (
                    cell.stack.clone(),
                    cell.start.clone(),
                    cell.engine.clone(),
                    cell.target.clone(),
                )
            };
            of(other) == of(cell) && other.valid && have_one_place(other, cell)
        };
        let of_life = |life: &Cell| Some((life.messages_per_connection, (quantity.of_life)(life)?));
        let alike = summary.cells.iter().filter(is_alike);
        let mut points: Vec<(u64, Estimate)> = alike.filter_map(of_life).collect();
        points.sort_by_key(|(n, _)| *n);
        // Both engines may have lived the same life: two points above one another draw a vertical line.
        points.dedup_by_key(|(n, _)| *n);
        (!points.is_empty()).then_some(Self::Lives(points))
    }
}

/// The cell whose message is like the later messages of a connection: the cell itself, or, if its message was early
/// data, a cell of the same stack with another start.
fn later_cell<'a>(group: &Group<'a>, cell: &'a Cell) -> &'a Cell {
    let is_sibling = |other: &&Cell| {
        !other.early_message && other.valid && group.names.stack(other) == group.names.stack(cell)
    };
    let sibling = group.iter().find(is_sibling).filter(|_| cell.early_message);
    sibling.unwrap_or(cell)
}

/// A number of messages from which on one stack is cheaper than another.
struct Crossing {
    /// Messages per connection.
    at: f64,
    /// Of lives, the largest number below it at which it was not.
    before: Option<u64>,
    cheaper: usize,
    dearer: usize,
    /// The cost of each message there, of the cheaper one and of the dearer one.
    costs: [f64; 2],
}

impl Crossing {
    /// Every crossing between 1 and [`MOST`] messages, the earliest first.
    fn all(lines: &[Line]) -> Vec<Self> {
        let mut all = Vec::new();
        for (cheaper, a) in lines.iter().enumerate() {
            for (dearer, b) in lines.iter().enumerate() {
                let found = crossings(&a.cost, &b.cost).into_iter();
                all.extend(found.map(|(at, before, costs)| Self {
                    at,
                    before,
                    cheaper,
                    dearer,
                    costs,
                }));
            }
        }
        all.sort_by(|a, b| a.at.total_cmp(&b.at));
        all
    }

    fn words(&self, lines: &[Line], quantity: Quantity) -> String {
        let [cheaper, dearer] = [self.cheaper, self.dearer].map(|line| &lines[line].label);
        let [own, other] = self.costs.map(quantity.write);
        let at = counted(self.at.ceil() as u64, "message");
        match self.before {
            None => format!(
                "from {at} on {cheaper} costs less than {dearer} ({own} {} each)",
                quantity.unit
            ),
            Some(before) => format!(
                "with {at} a connection {cheaper} costs less than {dearer} ({own} and {other} {} each), with {before} it does not",
                quantity.unit
            ),
        }
    }
}

/// Where `a` falls below `b`: messages, of lives the number before, and both costs.
fn crossings(a: &Cost, b: &Cost) -> Vec<(f64, Option<u64>, [f64; 2])> {
    match (a, b) {
        (
            Cost::Shared { fixed, each },
            Cost::Shared {
                fixed: other_fixed,
                each: other_each,
            },
        ) => {
            // Parallel curves make this infinite or no number, and neither is in the range below.
            let at = (fixed - other_fixed) / (other_each.value - each.value);
            // The curve that falls below has the more expensive connection.
            // Judged by the intervals: a difference within them is noise, and so would be the crossing.
            let falls_below = fixed > other_fixed && each.against(other_each) == Judgement::Less;
            // Below one message there is no connection, and beyond the axis there is no place for the mark.
            let is_shown = falls_below && (1.0..=MOST).contains(&at);
            is_shown
                .then(|| {
                    (
                        at,
                        None,
                        [fixed / at + each.value, other_fixed / at + other_each.value],
                    )
                })
                .into_iter()
                .collect()
        }
        (Cost::Lives(own), Cost::Lives(others)) => {
            let shared = own.iter().filter_map(|(n, each)| {
                let (_, other) = others.iter().find(|(other, _)| other == n)?;
                Some((*n, *each, *other))
            });
            let shared: Vec<(u64, Estimate, Estimate)> = shared.collect();
            let falls_below = |pair: &[(u64, Estimate, Estimate)]| {
                let [(before, a, b), (at, own, other)] = pair else {
                    return None;
                };
                let falls = a.against(b) != Judgement::Less && own.against(other) == Judgement::Less;
                falls.then_some((*at as f64, Some(*before), [own.value, other.value]))
            };
            shared.windows(2).filter_map(falls_below).collect()
        }
        // One is a curve, the other has points alone: a crossing between its points is not known.
        (Cost::Shared { .. }, Cost::Lives(_)) | (Cost::Lives(_), Cost::Shared { .. }) => Vec::new(),
    }
}

/// The figure before its width is known.
fn chart(lines: &[Line], crossings: &[Crossing], quantity: Quantity, name: &str) -> LineChart {
    let dot = |line: &Line, at: (f64, f64)| Mark {
        at,
        number: line.number,
        radius: 2.0,
        title: summary(line, quantity),
    };
    let curve = |line: &Line| {
        let points = line.points();
        let marks = match &line.cost {
            // Such a curve is computed and not measured at any point: a dot would claim that it is.
            Cost::Shared { .. } => Vec::new(),
            Cost::Lives(_) => points.iter().map(|at| dot(line, *at)).collect(),
        };
        Curve {
            title: summary(line, quantity),
            marks,
            ..Curve::from_points(line.label.clone(), line.number, points.into_iter())
        }
    };
    let mark = |crossing: &Crossing| {
        let line = &lines[crossing.cheaper];
        Mark {
            at: (crossing.at, crossing.costs[0]),
            number: line.number,
            radius: 3.0,
            title: crossing.words(lines, quantity),
        }
    };
    let across = Axis::new(Scale::logarithmic(1.0, MOST), "messages per connection");
    let ticks = TICKS.map(|(n, text)| (n, text.to_owned()));
    let curves: Vec<Curve> = lines.iter().map(curve).collect();
    let costs = curves.iter().flat_map(|curve| &curve.points);
    let costs = costs.filter_map(|(_, cost)| *cost);
    let up = Axis::new(Scale::logarithmic_around(costs), quantity.unit);
    LineChart {
        marks: crossings.iter().map(mark).collect(),
        ..LineChart::new(name, across.labelled(ticks.into()), up)
    }
    .with(curves)
}

/// The numbers of messages of the points of a curve, evenly spaced on the axis.
fn counts() -> impl Iterator<Item = f64> {
    let steps = DECADES as u32 * STEPS;
    (0..=steps).map(|step| 10f64.powf(f64::from(step) / f64::from(STEPS)))
}

fn summary(line: &Line, quantity: Quantity) -> String {
    let unit = quantity.unit;
    let words = |(n, each): &(f64, f64)| {
        format!(
            "{} {unit} with {}",
            (quantity.write)(*each),
            counted(n.round() as u64, "message")
        )
    };
    let points = line.points();
    let said: Vec<String> = match &line.cost {
        Cost::Shared { .. } => [points.first(), points.last()]
            .into_iter()
            .flatten()
            .map(words)
            .collect(),
        Cost::Lives(_) => points.iter().map(words).collect(),
    };
    format!("{}: {}", line.label, said.join(", "))
}

fn data(lines: &[Line], quantity: Quantity) -> String {
    let mut csv = format!("stack,messages_per_connection,{}\n", quantity.unit);
    for line in lines {
        let mut rows: Vec<(f64, f64)> = match &line.cost {
            Cost::Shared { fixed, each } => {
                let whole = counts().map(f64::round);
                whole.map(|n| (n, fixed / n + each.value)).collect()
            }
            Cost::Lives(_) => line.points(),
        };
        rows.dedup_by_key(|(n, _)| *n);
        for (n, each) in rows {
            csv += &format!("{},{n},{each:.4}\n", quoted(&line.label));
        }
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fixed: f64, each: f64) -> Line {
        Line {
            label: format!("{fixed}+{each}"),
            number: 0,
            cost: Cost::Shared {
                fixed,
                each: Estimate::exact(each),
            },
        }
    }

    fn lives(label: &str, costs: &[(u64, f64)]) -> Line {
        let point = |(n, each): &(u64, f64)| (*n, Estimate::exact(*each));
        Line {
            label: label.to_owned(),
            number: 0,
            cost: Cost::Lives(costs.iter().map(point).collect()),
        }
    }

    #[test]
    fn lives_cross_at_the_numbers_that_were_run() {
        let lines = [
            lives("kept", &[(1, 2_477.0), (96, 301.0)]),
            lives("reconnecting", &[(1, 2_475.0), (96, 2_338.0)]),
        ];
        let crossings = Crossing::all(&lines);
        let words: Vec<String> = crossings
            .iter()
            .map(|crossing| crossing.words(&lines, ALL_IN_BYTES))
            .collect();
        assert_eq!(
            words,
            [
                "with 96 messages a connection kept costs less than reconnecting (301 and 2338 B each), with 1 it does not"
            ]
        );
        assert_eq!(
            lines[0].points(),
            [(1.0, 2_477.0), (96.0, 301.0)],
            "nothing between is claimed"
        );
    }

    #[test]
    fn a_costly_connection_pays_off_where_the_curves_cross() {
        // 1,000 + 100 N = 200 + 180 N at N = 10.
        let lines = [line(1_000.0, 100.0), line(200.0, 180.0)];
        let crossings = Crossing::all(&lines);
        assert_eq!(crossings.len(), 1);
        assert_eq!((crossings[0].at, crossings[0].cheaper), (10.0, 0));
        assert_eq!(crossings[0].costs, [200.0, 200.0]);
        assert_eq!(
            crossings[0].words(&lines, ALL_IN_BYTES),
            "from 10 messages on 1000+100 costs less than 200+180 (200 B each)"
        );
    }

    #[test]
    fn a_stack_that_is_cheaper_in_both_parts_never_crosses() {
        assert!(Crossing::all(&[line(0.0, 100.0), line(200.0, 180.0)]).is_empty());
        let noisy = [(1_000.0, 100.0, [90.0, 110.0]), (200.0, 104.0, [101.0, 107.0])];
        let noisy = noisy.map(|(fixed, each, interval)| Line {
            cost: Cost::Shared {
                fixed,
                each: Estimate {
                    value: each,
                    interval: Some(interval),
                },
            },
            ..line(fixed, each)
        });
        assert!(Crossing::all(&noisy).is_empty());
        // They would cross below one message.
        assert!(Crossing::all(&[line(20.0, 100.0), line(10.0, 180.0)]).is_empty());
    }
}
