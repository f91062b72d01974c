//! The quantities that a run varies, and their values in each cell.

use std::collections::BTreeMap;

use wirecost_results::{Cell, Summary};

use crate::figures::{both_ways, loss, other_words, rate, rtt_ns, time};
use crate::names::{Names, distinct, is_modelled};

/// A quantity that a run may vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dimension {
    Size,
    Rtt,
    Loss,
    Rate,
    /// The other impairments of the link.
    Rest,
    Messages,
    Interval,
}

/// A value of a dimension. Values are ordered by the quantity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Value {
    order: [u64; 2],
    /// The value as text.
    pub(super) text: String,
}

impl Dimension {
    const ALL: [Self; 7] = [
        Self::Size,
        Self::Rtt,
        Self::Loss,
        Self::Rate,
        Self::Rest,
        Self::Messages,
        // The order of the enum is that of the axes and of the words: what a reader asks for first stands first.
        Self::Interval,
    ];

    /// What it is called.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Rtt => "RTT",
            Self::Loss => "loss",
            Self::Rate => "rate",
            Self::Rest => "link also",
            Self::Messages => "messages per connection",
            Self::Interval => "interval",
        }
    }

    /// The value of the cell.
    pub(super) fn read(self, cell: &Cell) -> Value {
        let (link, size) = (&cell.link, cell.payload_bytes);
        // Shares as parts in 10^12. A link without a rate is faster than any with one.
        let share = |share: f64| (share * 1e12) as u64;
        let speed = |rate: Option<u64>| rate.unwrap_or(u64::MAX);
        let (order, text) = match self {
            Self::Size => match &cell.readings {
                Some(readings) => ([readings.count, size], format!("{readings}: {size} B")),
                None => ([size, 0], format!("{size} B")),
            },
            Self::Rtt => ([rtt_ns(link), 0], time(rtt_ns(link))),
            Self::Loss => (
                [share(link.up.loss), share(link.down.loss)],
                both_ways(link, loss),
            ),
            Self::Rate => (
                [speed(link.up.rate_bps), speed(link.down.rate_bps)],
                both_ways(link, rate),
            ),
            Self::Rest => ([0; 2], other_words(link)),
            Self::Messages => (
                [cell.messages_per_connection, 0],
                cell.messages_per_connection.to_string(),
            ),
            Self::Interval => {
                let interval = cell.interval_ns;
                (
                    [interval.unwrap_or(0), 0],
                    interval.map_or_else(|| "settled".to_owned(), time),
                )
            }
        };
        Value { order, text }
    }
}

/// A dimension that varies, and its values in order.
pub(super) type Varied = (Dimension, Vec<Value>);

/// The cells of a run that maps show, all of one engine.
pub(super) struct Sweep<'a> {
    /// Each cell with its index in the summary.
    pub(super) cells: Vec<(usize, &'a Cell)>,
    /// The dimensions that vary, with their values.
    varied: Vec<Varied>,
    /// The competing combinations of stack and start, in the order of the run.
    pub(super) contenders: Vec<String>,
    /// The text that names the engine; empty if the run has one engine.
    pub(super) engine: &'static str,
    names: Names,
}

impl<'a> Sweep<'a> {
    /// The cells of the engine with more valid figures; live cells if both have equally many.
    pub(super) fn from_summary(summary: &'a Summary) -> Self {
        let names = Names::from_summary(summary);
        // An invalid figure in a chart is read as one that counts; the tables have it with its mark.
        let ran = |cell: &Cell| cell.valid && cell.message.is_some();
        let of_engine = |modelled: bool| -> Vec<(usize, &Cell)> {
            let cells = summary.cells.iter().enumerate();
            cells
                .filter(|(_, cell)| ran(cell) && is_modelled(cell) == modelled)
                .collect()
        };
        let (live, simulated) = (of_engine(false), of_engine(true));
        let (cells, engine) = match (live.len(), simulated.len()) {
            (_, 0) => (live, ""),
            (0, _) => (simulated, "Simulated: modelled in virtual time, not measured."),
            (a, b) if a >= b => (live, "Shows the measured cells, not the simulated ones."),
            _ => (simulated, "Shows the simulated cells, as fewer were measured."),
        };
        let contenders = distinct(cells.iter().map(|(_, cell)| names.contender(cell)));
        let varied = Dimension::ALL
            .into_iter()
            .map(|dimension| (dimension, values(&cells, dimension)));
        Self {
            varied: varied.filter(|(_, values)| values.len() > 1).collect(),
            cells,
            contenders,
            engine,
            names,
        }
    }

    /// The index of the contender of a cell.
    pub(super) fn contender(&self, cell: &Cell) -> usize {
        let name = self.names.contender(cell);
        self.contenders
            .iter()
            .position(|contender| *contender == name)
            .unwrap_or(0)
    }

    /// The varied dimensions other than `axes`.
    pub(super) fn varied_besides(&self, axes: &[Dimension]) -> Vec<&Varied> {
        let varied = self.varied.iter();
        varied
            .filter(|(dimension, _)| !axes.contains(dimension))
            .collect()
    }

    /// The cells by the values of the `fixed` dimensions, in the order of these values.
    pub(super) fn slices(&self, fixed: &[&Varied]) -> Vec<Slice<'a>> {
        let mut by_choice: BTreeMap<Vec<usize>, Vec<(usize, &Cell)>> = BTreeMap::new();
        for (index, cell) in &self.cells {
            let choose = |(dimension, values): &&Varied| {
                let value = dimension.read(cell);
                // By place and not by text: texts sort as words, 100 before 20.
                values.iter().position(|other| *other == value).unwrap_or(0)
            };
            let chosen = fixed.iter().map(choose).collect();
            by_choice.entry(chosen).or_default().push((*index, cell));
        }
        let slice = |(chosen, cells): (Vec<usize>, Vec<(usize, &'a Cell)>)| {
            let word = |((dimension, values), place): (&&Varied, &usize)| {
                Some(format!("{} {}", dimension.name(), values.get(*place)?.text))
            };
            Slice {
                words: fixed.iter().zip(&chosen).filter_map(word).collect(),
                chosen,
                cells,
            }
        };
        by_choice.into_iter().map(slice).collect()
    }

    /// The values of a dimension that the cells have, in order.
    pub(super) fn all_values(&self, dimension: Dimension) -> Vec<Value> {
        values(&self.cells, dimension)
    }

    /// The values of a dimension; `None` if it does not vary.
    pub(super) fn values(&self, dimension: Dimension) -> Option<&[Value]> {
        let varied = self.varied.iter().find(|(varied, _)| *varied == dimension)?;
        Some(&varied.1)
    }
}

/// What the cells of a run have in common and what varies, as names and texts: size, RTT and loss always, the others where
/// they are not the default.
pub(super) fn conditions(summary: &Summary) -> Vec<(&'static str, String)> {
    /// The largest number of values that are listed.
    const LISTED: usize = 6;
    let cells: Vec<(usize, &Cell)> = summary.cells.iter().enumerate().collect();
    let of_dimension = |dimension: Dimension| {
        let values = values(&cells, dimension);
        let usual = match dimension {
            Dimension::Size | Dimension::Rtt | Dimension::Loss => None,
            Dimension::Rate => Some("unlimited"),
            Dimension::Rest => Some(""),
            Dimension::Messages => Some("1"),
            Dimension::Interval => Some("settled"),
        };
        let texts: Vec<&str> = values
            .iter()
            .map(|value| match value.text.as_str() {
                "" => "none",
                text => text,
            })
            .collect();
        let said = match &texts[..] {
            [first, .., last] if texts.len() > LISTED => {
                format!("{first} to {last}, {} values", texts.len())
            }
            texts => texts.join(" / "),
        };
        let is_usual = values.len() == 1 && values.iter().any(|value| Some(value.text.as_str()) == usual);
        // What nobody asked for and what is as always would hide the few conditions that count.
        (!is_usual && !values.is_empty()).then(|| (dimension.name(), said))
    };
    Dimension::ALL.into_iter().filter_map(of_dimension).collect()
}

/// The cells at one value of every dimension but some.
pub(super) struct Slice<'a> {
    /// The index of the value of each fixed dimension.
    pub(super) chosen: Vec<usize>,
    /// The values as text.
    pub(super) words: Vec<String>,
    /// Each cell with its index in the summary.
    pub(super) cells: Vec<(usize, &'a Cell)>,
}

fn values(cells: &[(usize, &Cell)], dimension: Dimension) -> Vec<Value> {
    let mut values: Vec<Value> = cells.iter().map(|(_, cell)| dimension.read(cell)).collect();
    values.sort_unstable();
    values.dedup();
    values
}
