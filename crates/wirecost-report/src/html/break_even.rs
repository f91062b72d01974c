//! The mean cost of a message on a connection with N messages: (connect + close) / N + message + keep-alive, for N from 1 to 10,000,
//! both axes logarithmic. A mark shows where one stack becomes cheaper than another.

use serde::Serialize;
use wirecost_proto::units::counted;
use wirecost_results::Cell;
use wirecost_results::all_in::Parts;
use wirecost_stats::{Estimate, Judgement};

use super::Figure;
use super::logplot::{Curve, LogFigure, Mark};
use crate::columns::Column;
use crate::csv::quoted;
use crate::groups::Group;
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

/// The curves of one quantity, and their crossings as text.
#[derive(Serialize)]
pub(super) struct BreakEven {
    figure: Figure,
    crossings: Vec<String>,
}

/// A cost per message.
#[derive(Clone, Copy)]
pub(super) struct Quantity {
    name: &'static str,
    unit: &'static str,
    write: fn(f64) -> String,
    /// The cost of connect and close, and of the measured message.
    of: fn(&Cell) -> Option<(f64, Estimate)>,
}

/// IP bytes of both directions. Keep-alive counts with the message: it lasts as long as the connection.
pub(super) const BYTES: Quantity = Quantity {
    name: "All-in IP bytes per message",
    unit: "B",
    write: number::bytes,
    of: |cell| {
        let keep_alive = Estimate::exact(Parts::of(cell)?.keep_alive);
        let message = cell.message_bytes()?.plus(&keep_alive);
        Some((cell.connection_bytes()?.value, message))
    },
};

/// Time in ms, without the close.
pub(super) const TIME: Quantity = Quantity {
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
};

/// The curves of a group's valid cells.
pub(super) fn all(group: &Group<'_>, quantity: Quantity) -> BreakEven {
    let lines = Line::all(group, quantity);
    let crossings = Crossing::all(&lines);
    let name = format!("{} by messages per connection, {}", quantity.name, group.heading);
    let figure = log_figure(&lines, &crossings, quantity, &name);
    BreakEven {
        figure: Figure::new(|width| figure.draw(width), data(&lines, quantity)),
        crossings: crossings
            .iter()
            .map(|crossing| crossing.words(&lines, quantity))
            .collect(),
    }
}

/// The cost of N messages over one connection: `fixed + N * each`.
struct Line {
    label: String,
    number: usize,
    fixed: f64,
    each: Estimate,
}

impl Line {
    fn all(group: &Group<'_>, quantity: Quantity) -> Vec<Self> {
        let line = |(number, cell): (usize, &Cell)| {
            let later = later_cell(group, cell);
            let ((connection, first), (_, each)) = ((quantity.of)(cell)?, (quantity.of)(later)?);
            Some(Self {
                label: group.names.label(cell),
                number,
                fixed: connection + first.value - each.value,
                each,
            })
        };
        group
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.valid)
            .filter_map(line)
            .collect()
    }

    /// The cost of each of `n` messages.
    fn at(&self, n: f64) -> f64 {
        self.fixed / n + self.each.value
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

/// A point where the curve of one stack falls below that of another.
struct Crossing {
    /// Messages per connection.
    at: f64,
    cheaper: usize,
    dearer: usize,
}

impl Crossing {
    /// Every crossing between 1 and [`MOST`] messages, the earliest first.
    fn all(lines: &[Line]) -> Vec<Self> {
        let mut all = Vec::new();
        for (cheaper, a) in lines.iter().enumerate() {
            for (dearer, b) in lines.iter().enumerate() {
                let at = (a.fixed - b.fixed) / (b.each.value - a.each.value);
                // The curve that falls below has the more expensive connection.
                let falls_below = a.fixed > b.fixed && a.each.against(&b.each) == Judgement::Less;
                if falls_below && (1.0..=MOST).contains(&at) {
                    all.push(Self { at, cheaper, dearer });
                }
            }
        }
        all.sort_by(|a, b| a.at.total_cmp(&b.at));
        all
    }

    fn words(&self, lines: &[Line], quantity: Quantity) -> String {
        let [cheaper, dearer] = [self.cheaper, self.dearer].map(|line| &lines[line]);
        format!(
            "from {} on {} costs less than {} ({} {} each)",
            counted(self.at.ceil() as u64, "message"),
            cheaper.label,
            dearer.label,
            (quantity.write)(cheaper.at(self.at)),
            quantity.unit,
        )
    }
}

/// The figure before its width is known.
fn log_figure<'a>(
    lines: &[Line],
    crossings: &[Crossing],
    quantity: Quantity,
    name: &'a str,
) -> LogFigure<'a> {
    let curve = |line: &Line| Curve {
        label: line.label.clone(),
        number: line.number,
        points: counts().map(|n| (n, line.at(n))).collect(),
        title: summary(line, quantity),
        marks: Vec::new(),
    };
    let mark = |crossing: &Crossing| {
        let line = &lines[crossing.cheaper];
        Mark {
            at: (crossing.at, line.at(crossing.at)),
            number: line.number,
            radius: 3.0,
            title: crossing.words(lines, quantity),
        }
    };
    let description: Vec<String> = lines.iter().map(|line| summary(line, quantity)).collect();
    LogFigure {
        name,
        description: description.join(". "),
        across: [1.0, MOST],
        ticks: TICKS.map(|(n, text)| (n, text.to_owned())).to_vec(),
        axis: "messages per connection",
        unit: quantity.unit,
        curves: lines.iter().map(curve).collect(),
        marks: crossings.iter().map(mark).collect(),
    }
}

/// The numbers of messages of the points of a curve, evenly spaced on the axis.
fn counts() -> impl Iterator<Item = f64> {
    let steps = DECADES as u32 * STEPS;
    (0..=steps).map(|step| 10f64.powf(f64::from(step) / f64::from(STEPS)))
}

fn summary(line: &Line, quantity: Quantity) -> String {
    let [one, most] = [1.0, MOST].map(|n| (quantity.write)(line.at(n)));
    format!(
        "{}: {one} {unit} with 1 message, {most} {unit} with 10,000",
        line.label,
        unit = quantity.unit
    )
}

fn data(lines: &[Line], quantity: Quantity) -> String {
    let mut csv = format!("stack,messages_per_connection,{}\n", quantity.unit);
    for line in lines {
        let mut counts: Vec<f64> = counts().map(f64::round).collect();
        counts.dedup();
        for n in counts {
            csv += &format!("{},{n},{:.4}\n", quoted(&line.label), line.at(n));
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
            fixed,
            each: Estimate::exact(each),
        }
    }

    #[test]
    fn a_costly_connection_pays_off_where_the_curves_cross() {
        // 1,000 + 100 N = 200 + 180 N at N = 10.
        let lines = [line(1_000.0, 100.0), line(200.0, 180.0)];
        let crossings = Crossing::all(&lines);
        assert_eq!(crossings.len(), 1);
        assert_eq!((crossings[0].at, crossings[0].cheaper), (10.0, 0));
        assert_eq!(lines[0].at(10.0), lines[1].at(10.0));
        assert_eq!(
            crossings[0].words(&lines, BYTES),
            "from 10 messages on 1000+100 costs less than 200+180 (200 B each)"
        );
    }

    #[test]
    fn a_stack_that_is_cheaper_in_both_parts_never_crosses() {
        assert!(Crossing::all(&[line(0.0, 100.0), line(200.0, 180.0)]).is_empty());
        let noisy = [(1_000.0, 100.0, [90.0, 110.0]), (200.0, 104.0, [101.0, 107.0])];
        let noisy = noisy.map(|(fixed, each, interval)| Line {
            each: Estimate {
                value: each,
                interval: Some(interval),
            },
            ..line(fixed, each)
        });
        assert!(Crossing::all(&noisy).is_empty());
        // They would cross below one message.
        assert!(Crossing::all(&[line(20.0, 100.0), line(10.0, 180.0)]).is_empty());
    }
}
