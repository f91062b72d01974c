//! What a report takes, in parts: times by state, air time by channel, energy by state.

use serde::Serialize;
use wirecost_results::nbiot::Point;

use super::choices::{Choice, load_words};
use crate::chart::Figure;
use crate::chart::bars::{BarChart, Part, Row};
use crate::csv::quoted;
use crate::html::controls::{Control, Controls, panel_classes};
use crate::html::grid::{Grid, GridRow};
use crate::number;

/// A figure of bars in parts.
struct Split {
    title: &'static str,
    words: &'static str,
    unit: &'static str,
    decimals: usize,
    parts: [&'static str; 5],
    of: fn(&Point) -> [f64; 5],
}

const SPLITS: [Split; 3] = [
    Split {
        title: "Time in each state",
        words: "From random access until the device is released; monitor is the share of waiting time that search spaces take",
        unit: "ms",
        decimals: 0,
        parts: ["transmit", "receive", "monitor", "wait", ""],
        of: |point| {
            let device = &point.device;
            [
                device.transmit_ms,
                device.receive_ms,
                device.monitor_ms,
                device.wait_ms,
                0.0,
            ]
        },
    },
    Split {
        title: "Time on the air",
        words: "Transmissions of the device and for it, by channel; format 2 of NPUSCH carries HARQ-ACKs",
        unit: "ms",
        decimals: 1,
        parts: ["NPRACH", "NPDCCH", "NPDSCH", "NPUSCH format 1", "NPUSCH format 2"],
        of: |point| {
            let device = &point.device;
            let down = [device.npdcch_ms, device.npdsch_ms];
            [
                device.nprach_ms,
                down[0],
                down[1],
                device.npusch_ms,
                device.ack_ms,
            ]
        },
    },
    Split {
        title: "Energy by state*",
        words: "Energy of a report. Modelled from the time in each state; beside it is synchronisation, which is assumed, the active time \
            of power saving mode, and keep-alives",
        unit: "mJ",
        decimals: 1,
        parts: ["transmit", "receive", "monitor", "wait", "beside it"],
        of: |point| {
            let energy = &point.energy_by_state_mj;
            let beside = energy.synchronisation + energy.active + energy.keep_alive;
            [
                energy.transmit,
                energy.receive,
                energy.monitor,
                energy.wait,
                beside,
            ]
        },
    },
];

/// What a report takes in parts, for each choice of curves at each load.
#[derive(Serialize)]
pub(super) struct Parts {
    pub(super) controls: Vec<Control>,
    panels: Vec<Panel>,
}

#[derive(Serialize)]
struct Panel {
    classes: String,
    figures: Vec<SplitFigure>,
}

/// A figure with the names of its parts, each with its class.
#[derive(Serialize)]
struct SplitFigure {
    title: &'static str,
    words: String,
    legend: Vec<(String, &'static str)>,
    figure: Figure,
    table: Grid,
}

impl Parts {
    pub(super) fn from_choices(choices: &[Choice<'_>]) -> Self {
        let mut controls = Controls::new("parts", 0);
        let loads = choices.first().map(Choice::loads).unwrap_or_default();
        controls.choose(
            "reports per second and cell",
            loads.iter().map(|load| load_words(*load)),
        );
        controls.choose("curves", choices.iter().map(|choice| choice.name.clone()));
        let mut panels = Vec::new();
        for (row, load) in loads.iter().enumerate() {
            for (column, choice) in choices.iter().enumerate() {
                let curves = choice.curves.iter();
                let points = curves.filter_map(|curve| Some((curve.label.clone(), curve.at(*load)?)));
                let points: Vec<(String, &Point)> = points.collect();
                panels.push(Panel {
                    classes: panel_classes(&[row, column]),
                    figures: SPLITS.iter().map(|split| split.figure(&points, *load)).collect(),
                });
            }
        }
        Self {
            controls: controls.finish(),
            panels,
        }
    }
}

type Bar = (String, [f64; 5]);

impl Split {
    fn figure(&self, points: &[(String, &Point)], load: f64) -> SplitFigure {
        let bars = points
            .iter()
            .map(|(label, point)| (label.clone(), (self.of)(point)));
        let bars: Vec<Bar> = bars.collect();
        let chart = self.chart(&bars, load);
        let legend = self.named().map(|(index, name)| (format!("k{index}"), name));
        SplitFigure {
            title: self.title,
            words: format!("{}, at {}", self.words, load_words(load)),
            legend: legend.collect(),
            figure: Figure::new(|width| chart.draw(width), self.data(&bars)),
            table: self.table(&bars, load),
        }
    }

    /// The parts that it has.
    fn named(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let parts = self.parts.into_iter().enumerate();
        parts.filter(|(_, name)| !name.is_empty())
    }

    fn chart(&self, bars: &[Bar], load: f64) -> BarChart {
        BarChart {
            name: format!("{} at {}", self.title, load_words(load)),
            unit: self.unit,
            sides: [""; 2],
            rows: bars.iter().map(|bar| self.row(bar)).collect(),
        }
    }

    fn row(&self, bar: &Bar) -> Row {
        let (label, parts) = bar;
        let part = |(index, name): (usize, &str)| {
            let text = self.number(parts[index]);
            Part {
                class: format!("k{index}"),
                value: parts[index],
                title: format!("{label}: {name} {text} {}", self.unit),
                text,
            }
        };
        let total = format!("{} {}", self.number(parts.iter().sum()), self.unit);
        Row {
            label: label.clone(),
            left: Vec::new(),
            right: self.named().map(part).collect(),
            totals: [String::new(), total],
            told: self.told(bar),
        }
    }

    fn number(&self, value: f64) -> String {
        match value {
            v if v >= 1_000.0 => number::grouped(v.round() as u64),
            v => format!("{v:.*}", self.decimals),
        }
    }

    fn told(&self, (label, parts): &Bar) -> String {
        let part =
            |(index, name): (usize, &str)| format!("{name} {} {}", self.number(parts[index]), self.unit);
        let parts: Vec<String> = self.named().map(part).collect();
        format!("{label}: {}", parts.join(", "))
    }

    fn table(&self, bars: &[Bar], load: f64) -> Grid {
        let columns = self.named().map(|(_, name)| (name, self.unit));
        let head: Vec<(&str, &str)> = std::iter::once(("stack", ""))
            .chain(columns)
            .chain([("all", self.unit)])
            .collect();
        let row = |(label, parts): &Bar| {
            let own = self.named().map(|(index, _)| self.number(parts[index]));
            GridRow::plain(
                label.clone(),
                own.chain([self.number(parts.iter().sum())]).collect(),
            )
        };
        let caption = format!("{} at {}", self.title, load_words(load));
        Grid::new(&caption, &head, bars.iter().map(row).collect())
    }

    fn data(&self, bars: &[Bar]) -> String {
        let names: Vec<&str> = self.named().map(|(_, name)| name).collect();
        let mut text = format!("curve,unit,{}\n", names.join(","));
        for (label, parts) in bars {
            let values = self.named().map(|(index, _)| number::trimmed(parts[index], 4));
            let values: Vec<String> = values.collect();
            text += &format!("{},{},{}\n", quoted(label), self.unit, values.join(","));
        }
        text
    }
}
