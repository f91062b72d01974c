//! The cost of a message over the interval between messages: all bytes of a device and its server, keep-alive included,
//! divided by the number of messages. Both axes are logarithmic.
//!
//! If the run has connections of one and of many messages, there is a line for each. Their crossing shows from where on
//! a persistent connection pays off.

mod crossing;
mod policy;

use serde::Serialize;
use wirecost_results::{Cell, Summary};
use wirecost_stats::Estimate;

use super::controls::{Control, Controls, panel_classes};
use super::selection::{DRAWN, spread_out};
use super::sweep::{Dimension, Slice, Sweep};
use crate::chart::lines::{Curve, LineChart, Mark};
use crate::chart::plot::Axis;
use crate::chart::{Figure, Scale, ends};
use crate::columns::Column;
use crate::csv::quoted;
use crate::figures::time;
use crate::names::distinct;
use crate::number;
pub(crate) use crossing::{Crossing, roughly};
pub(crate) use policy::pays_off;

/// The lines of a run over the interval.
#[derive(Serialize)]
pub(super) struct Intervals {
    engine: &'static str,
    keep_alive: String,
    controls: Vec<Control>,
    panels: Vec<Panel>,
}

/// The lines at one size and link.
#[derive(Serialize)]
struct Panel {
    classes: String,
    quantities: Vec<Drawn>,
}

/// One quantity, and the crossings of its lines as text.
#[derive(Serialize)]
struct Drawn {
    name: &'static str,
    figure: Figure,
    crossings: Vec<String>,
}

/// A cost per message.
struct Quantity {
    name: &'static str,
    unit: &'static str,
    write: fn(f64) -> String,
    of: fn(&Cell) -> Option<Estimate>,
}

const QUANTITIES: [Quantity; 2] = [
    Quantity {
        name: "All-in IP bytes per message",
        unit: "B",
        write: number::bytes,
        of: Cell::all_in_bytes,
    },
    Quantity {
        name: "Time per message, connect included",
        unit: "ms",
        write: |millis| number::millis(millis * 1e6),
        of: millis,
    },
];

/// Response time and the share of the connect per message, in milliseconds. A message does not wait for a keep-alive or
/// a close.
pub(super) fn millis(cell: &Cell) -> Option<Estimate> {
    let response = Column::Mean.estimate(cell)?;
    let connects = cell
        .connect
        .as_ref()
        .and_then(|connect| connect.response_time_ns.as_ref());
    let messages = messages(cell)?;
    let connect = connects.map_or(Estimate::exact(0.0), |times| {
        let mean = Estimate {
            value: times.mean,
            interval: times.ci95,
        };
        // Each message bears its share of the connects that all of them needed.
        mean.scaled(times.n as f64 / messages)
    });
    Some(response.plus(&connect).scaled(1e-6))
}

fn messages(cell: &Cell) -> Option<f64> {
    let messages = cell.message.as_ref()?.samples;
    (messages > 0).then_some(messages as f64)
}

impl Intervals {
    /// The lines of a run; `None` if the interval does not vary.
    pub(super) fn from_summary(summary: &Summary, sweep: &Sweep<'_>) -> Option<Self> {
        let intervals: Vec<u64> = intervals(sweep);
        // One point is no curve.
        if intervals.len() < 2 {
            return None;
        }
        let fixed = sweep.varied_besides(&[Dimension::Interval, Dimension::Messages]);
        let slices = sweep.slices(&fixed);
        let drawn = spread_out(&slices, DRAWN);
        let mut controls = Controls::new("interval", 0);
        controls.choose("at", drawn.iter().map(|slice| slice.words.join(", ")));
        let panel = |(number, slice): (usize, &&Slice<'_>)| Panel {
            classes: panel_classes(&[number]),
            quantities: QUANTITIES
                .iter()
                .map(|quantity| quantity.drawn(sweep, slice, &intervals))
                .collect(),
        };
        Some(Self {
            engine: sweep.engine,
            keep_alive: summary.scenario.keep_alive().to_owned(),
            controls: controls.finish(),
            panels: drawn.iter().enumerate().map(panel).collect(),
        })
    }

    /// The buttons.
    pub(super) fn controls(&self) -> impl Iterator<Item = &Control> {
        self.controls.iter()
    }
}

/// The intervals of a run in nanoseconds, ascending.
fn intervals(sweep: &Sweep<'_>) -> Vec<u64> {
    let mut all: Vec<u64> = sweep
        .cells
        .iter()
        .filter_map(|(_, cell)| cell.interval_ns)
        .collect();
    all.sort_unstable();
    all.dedup();
    all.retain(|nanos| *nanos > 0);
    all
}

/// The cost of one stack's messages over the interval.
pub(crate) struct Line {
    pub(crate) label: String,
    pub(crate) contender: usize,
    pub(crate) number: usize,
    /// Interval in nanoseconds, ascending, and the cost.
    pub(crate) points: Vec<(f64, Estimate)>,
}

impl Quantity {
    fn drawn(&self, sweep: &Sweep<'_>, slice: &Slice<'_>, intervals: &[u64]) -> Drawn {
        let lines = self.lines(sweep, slice, intervals);
        let crossings = Crossing::all(&lines);
        let name = [vec![format!("{} by interval", self.name)], slice.words.clone()]
            .concat()
            .join(", ");
        let figure = self.chart(&lines, &crossings, intervals, &name);
        Drawn {
            name: self.name,
            figure: Figure::new(|width| figure.draw(width), self.data(&lines)),
            crossings: crossings
                .iter()
                .map(|crossing| crossing.words(&lines, self))
                .collect(),
        }
    }

    /// A line per stack and number of messages per connection; one line for a stack without a connection.
    fn lines(&self, sweep: &Sweep<'_>, slice: &Slice<'_>, intervals: &[u64]) -> Vec<Line> {
        let kind = |(_, cell): &(usize, &Cell)| (sweep.contender(cell), cell.messages_per_connection);
        let kinds = distinct(slice.cells.iter().map(kind));
        let most = |contender: usize| {
            kinds
                .iter()
                .filter(|kind| kind.0 == contender)
                .map(|kind| kind.1)
                .max()
        };
        let line = |(contender, messages): &(usize, u64)| {
            let of_kind = |cell: &&Cell| {
                sweep.contender(cell) == *contender && cell.messages_per_connection == *messages
            };
            let cells: Vec<&Cell> = slice
                .cells
                .iter()
                .map(|(_, cell)| *cell)
                .filter(of_kind)
                .collect();
            let connects = cells.iter().any(|cell| cell.connect.is_some());
            let kept = most(*contender) == Some(*messages);
            let times = if connects && sweep.values(Dimension::Messages).is_some() {
                format!(" ×{messages}")
            } else {
                String::new()
            };
            // Without a connection the number of messages on it changes nothing: one line stands for all.
            (connects || kept).then(|| Line {
                label: sweep.contenders.get(*contender).cloned().unwrap_or_default() + &times,
                contender: *contender,
                number: if kept { *contender } else { ends::again(*contender) },
                points: self.points(&cells, intervals),
            })
        };
        kinds
            .iter()
            .filter_map(line)
            .filter(|line| !line.points.is_empty())
            .collect()
    }

    /// The cost at each interval. A connection per message has no interval: its cost is the same at any.
    fn points(&self, cells: &[&Cell], intervals: &[u64]) -> Vec<(f64, Estimate)> {
        let point = |nanos: &u64| {
            let here = |cell: &&&Cell| cell.interval_ns == Some(*nanos);
            let anywhere = |cell: &&&Cell| cell.interval_ns.is_none() && cell.messages_per_connection == 1;
            let cell = cells.iter().find(here).or_else(|| cells.iter().find(anywhere))?;
            Some((*nanos as f64, (self.of)(cell)?))
        };
        intervals.iter().filter_map(point).collect()
    }

    /// The figure before its width is known.
    fn chart(&self, lines: &[Line], crossings: &[Crossing], intervals: &[u64], name: &str) -> LineChart {
        let curve = |line: &Line| Curve {
            title: self.summary(line),
            ..Curve::from_points(
                line.label.clone(),
                line.number,
                line.points.iter().map(|(at, cost)| (*at, cost.value)),
            )
        };
        let mark = |crossing: &Crossing| Mark {
            at: (crossing.at, crossing.cost),
            number: lines[crossing.cheaper].number,
            radius: 3.0,
            title: crossing.words(lines, self),
        };
        let [least, most] =
            [intervals.first(), intervals.last()].map(|end| end.map_or(1.0, |nanos| *nanos as f64));
        let labels = intervals.iter().map(|nanos| (*nanos as f64, time(*nanos)));
        let across = Axis::new(Scale::logarithmic(least, most), "interval between messages");
        let costs = lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|(_, cost)| cost.value);
        // A kept connection shares its handshake among its messages: costs differ by factors.
        let up = Axis::new(Scale::logarithmic_around(costs), self.unit);
        LineChart {
            curves: lines.iter().map(curve).collect(),
            marks: crossings.iter().map(mark).collect(),
            ..LineChart::new(name, across.labelled(labels.collect()), up)
        }
    }

    fn summary(&self, line: &Line) -> String {
        let said = |(at, cost): &(f64, Estimate)| {
            format!(
                "{} {} at {}",
                (self.write)(cost.value),
                self.unit,
                time(*at as u64)
            )
        };
        let points: Vec<String> = line.points.iter().map(said).collect();
        format!("{}: {}", line.label, points.join(", "))
    }

    fn data(&self, lines: &[Line]) -> String {
        let unit = self.unit;
        let mut csv = format!("stack,interval_ns,{unit},low_{unit},high_{unit}\n");
        for line in lines {
            for (at, cost) in &line.points {
                let value = cost.value;
                let bounds = cost
                    .known_interval()
                    .map_or_else(Default::default, |ends| ends.map(|end| format!("{end:.4}")));
                csv += &format!("{},{at},{value:.4},{}\n", quoted(&line.label), bounds.join(","));
            }
        }
        csv
    }
}
