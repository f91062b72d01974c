//! Figures against load: a curve per stack and size, with the interval over seeds at each load.

use serde::Serialize;
use wirecost_results::nbiot::{Estimate, NbiotSummary, Point, RunFigures, quantile_s};
use wirecost_stats::mean::MeanInterval;

use super::Plotted;
use super::choices::{Choice, Curve, load_words};
use crate::chart::lines::{Curve as Line, LineChart, Mark};
use crate::chart::plot::Axis;
use crate::chart::{Figure, Scale};
use crate::csv::quoted;
use crate::html::controls::{Control, Controls, panel_classes};
use crate::html::grid::{Grid, GridRow};
use crate::number;

/// Pixels between the whiskers of neighbouring curves, so that they do not hide one another.
const APART: f64 = 1.5;

/// A quantity that is drawn against load.
pub(super) struct Quantity {
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    pub(super) words: String,
    /// Values are multiplied by it for the unit.
    pub(super) scale: f64,
    pub(super) decimals: usize,
    /// Where the axis begins and ends, where that does not follow from the values.
    pub(super) ends: [Option<f64>; 2],
    pub(super) of: fn(&Point) -> Option<Estimate>,
}

/// The four figures of the study: 2a, 2b, 3 and 4.
pub(super) fn study(summary: &NbiotSummary) -> [Quantity; 4] {
    let deadline = summary.setting.deadline_s;
    [
        quantity(
            ("Device throughput", "bit/s", 1.0, 0),
            "Mean of report size over delay, of reports that arrived (figure 2a of the study)",
            |point| point.device_throughput_bit_s,
        ),
        quantity(
            ("Cell throughput", "bit/s", 1.0, 0),
            &format!(
                "Bits of reports that arrived within {deadline} s, per second and cell (figure 2b of the study)"
            ),
            |point| Some(point.cell_throughput_bit_s),
        ),
        Quantity {
            ends: [None, Some(100.0)],
            ..quantity(
                ("Availability", "%", 100.0, 1),
                &format!("Share of reports that arrived within {deadline} s (figure 3 of the study)"),
                |point| Some(point.served),
            )
        },
        quantity(
            ("Lowest served path gain", "dB", 1.0, 1),
            &format!(
                "Path gain of the worst placed device whose report arrived within {deadline} s; the mean over seeds of each one's lowest \
                 (figure 4 of the study)"
            ),
            |point| point.lowest_served_path_gain_db,
        ),
    ]
}

/// How much of the cells is used.
pub(super) fn usage() -> [Quantity; 4] {
    let share = |name, words: &str, of| Quantity {
        // The same axis for each share, so that a carrier that is nearly idle looks so.
        ends: [Some(0.0), Some(100.0)],
        ..quantity((name, "%", 100.0, 1), words, of)
    };
    [
        share(
            "DCI",
            "DCI occasions of coverage level 0 that are used",
            |point| Some(point.dci_use),
        ),
        share(
            "Downlink",
            "Usable downlink subframes with NPDCCH or NPDSCH",
            |point| Some(point.downlink_use),
        ),
        share("Uplink", "The uplink carrier with NPUSCH", |point| {
            Some(point.uplink_use)
        }),
        from_zero(quantity(
            ("DCIs per report", "DCIs", 1.0, 2),
            "DCIs of all coverage levels in the window, by reports that were generated in it",
            |point| over_seeds(point, |run| Some(run.dci_per_report)),
        )),
    ]
}

/// What a report takes.
pub(super) fn report() -> [Quantity; 4] {
    let delay = |name, share_words: &str, of| {
        from_zero(quantity(
            (name, "s", 1.0, 2),
            &format!(
                "{share_words} from generation to arrival at the server, of reports that arrived; the mean of each seed's"
            ),
            of,
        ))
    };
    [
        delay("Median delay", "Median delay", |point| {
            // Of each seed by itself: only so is there a spread between seeds for the interval.
            over_seeds(point, |run| quantile_s(run.delays_ms.iter(), 0.5))
        }),
        delay("95 % delay", "95 % quantile of the delay", |point| {
            over_seeds(point, |run| quantile_s(run.delays_ms.iter(), 0.95))
        }),
        from_zero(quantity(
            ("Energy of a report*", "J", 1e-3, 3),
            "From the time in each state. Modelled",
            |point| Some(point.energy_over_seeds_mj),
        )),
        from_zero(quantity(
            ("Time on the air", "ms", 1.0, 0),
            "NPRACH, NPDCCH, NPDSCH and NPUSCH of a device and its report",
            |point| {
                over_seeds(point, |run| {
                    let device = &run.device;
                    let down = device.npdcch_ms + device.npdsch_ms;
                    Some(device.nprach_ms + down + device.npusch_ms + device.ack_ms)
                })
            },
        )),
    ]
}

fn quantity(
    (title, unit, scale, decimals): (&'static str, &'static str, f64, usize),
    words: &str,
    of: fn(&Point) -> Option<Estimate>,
) -> Quantity {
    Quantity {
        title,
        unit,
        words: words.to_owned(),
        scale,
        decimals,
        ends: [None, None],
        of,
    }
}

fn from_zero(quantity: Quantity) -> Quantity {
    Quantity {
        ends: [Some(0.0), None],
        ..quantity
    }
}

/// The mean over replications of a figure that the point does not hold.
fn over_seeds(point: &Point, of: fn(&RunFigures) -> Option<f64>) -> Option<Estimate> {
    let values: Vec<f64> = point.runs.iter().filter_map(of).collect();
    let interval = MeanInterval::from_values(&values)?;
    Some(Estimate {
        mean: interval.mean,
        low: interval.low,
        high: interval.high,
    })
}

/// The figures of some quantities, for each choice of curves.
#[derive(Serialize)]
pub(super) struct Panels {
    pub(super) controls: Vec<Control>,
    panels: Vec<Panel>,
}

/// The figures of one choice.
#[derive(Serialize)]
struct Panel {
    classes: String,
    figures: Vec<Plotted>,
}

impl Panels {
    /// The figures; `prefix` makes the names of the buttons unique in the page.
    pub(super) fn from_choices(
        prefix: &'static str,
        choices: &[Choice<'_>],
        quantities: &[Quantity],
    ) -> Self {
        let mut controls = Controls::new(prefix, 0);
        controls.choose("curves", choices.iter().map(|choice| choice.name.clone()));
        let panel = |(number, choice): (usize, &Choice<'_>)| Panel {
            classes: panel_classes(&[number]),
            figures: quantities
                .iter()
                .map(|quantity| quantity.plotted(choice))
                .collect(),
        };
        Self {
            controls: controls.finish(),
            panels: choices.iter().enumerate().map(panel).collect(),
        }
    }
}

/// A mean with the ends of its interval, in the unit of the figure.
#[derive(Clone, Copy)]
struct Value {
    mean: f64,
    interval: Option<[f64; 2]>,
}

impl Quantity {
    fn value(&self, point: &Point) -> Option<Value> {
        let estimate = (self.of)(point)?;
        let interval = estimate.low.zip(estimate.high);
        Some(Value {
            mean: estimate.mean * self.scale,
            interval: interval.map(|(low, high)| [low * self.scale, high * self.scale]),
        })
    }

    fn text(&self, value: Value) -> String {
        let number = |value: f64| format!("{value:.*}", self.decimals);
        match value.interval {
            Some([low, high]) => format!("{} ({} to {})", number(value.mean), number(low), number(high)),
            None => number(value.mean),
        }
    }

    fn plotted(&self, choice: &Choice<'_>) -> Plotted {
        let chart = self.chart(choice);
        Plotted {
            title: self.title.to_owned(),
            words: self.words.clone(),
            figure: Figure::new(|width| chart.draw(width), self.data(choice)),
            table: self.table(choice),
        }
    }

    /// The ends of the axis of values: those that are given, or those of the means with some room.
    fn scale_of(&self, choice: &Choice<'_>) -> Scale {
        let points = choice.curves.iter().flat_map(|curve| &curve.points);
        let means = points.filter_map(|point| Some(self.value(point)?.mean));
        let [least, most] = means.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, most], mean| {
            [least.min(mean), most.max(mean)]
        });
        let (least, most) = if least <= most { (least, most) } else { (0.0, 1.0) };
        let room = ((most - least) * 0.08).max(most.abs() * 0.01);
        // Positive values that reach down to near 0 begin there.
        let begin = if least >= 0.0 && least < most * 0.6 {
            0.0
        } else {
            least - room
        };
        Scale::linear(self.ends[0].unwrap_or(begin), self.ends[1].unwrap_or(most + room))
    }

    fn chart(&self, choice: &Choice<'_>) -> LineChart {
        let most = choice.loads().last().copied().unwrap_or(1.0);
        let across = Axis::new(Scale::linear(0.0, most * 1.03), "reports per second and cell");
        let up = Axis::new(self.scale_of(choice), self.unit);
        let name = format!("{} against load, {}", self.title, choice.name);
        let middle = choice.curves.len() as f64 / 2.0 - 0.5;
        let curve = |curve: &Curve<'_>| Line {
            shift: (curve.number as f64 - middle) * APART,
            ..self.curve(curve)
        };
        LineChart::new(name, across, up).with(choice.curves.iter().map(curve).collect())
    }

    fn curve(&self, curve: &Curve<'_>) -> Line {
        let values = curve
            .points
            .iter()
            .filter_map(|point| Some((point, self.value(point)?)));
        let values: Vec<(&&Point, Value)> = values.collect();
        let interval = |(point, value): &(&&Point, Value)| Some((point.load, value.interval?));
        let mark = |(point, value): &(&&Point, Value)| Mark {
            at: (point.load, value.mean),
            number: curve.number,
            radius: 2.6,
            title: format!(
                "{} at {}: {} {}",
                curve.label,
                load_words(point.load),
                self.text(*value),
                self.unit
            ),
        };
        let points = values.iter().map(|(point, value)| (point.load, value.mean));
        Line {
            title: self.told(curve),
            intervals: values.iter().filter_map(interval).collect(),
            marks: values.iter().map(mark).collect(),
            ..Line::from_points(curve.label.clone(), curve.number, points)
        }
    }

    /// The curve in words.
    fn told(&self, curve: &Curve<'_>) -> String {
        let part = |point: &&Point| {
            let value = self.value(point)?;
            let mean = number::trimmed(value.mean, self.decimals);
            Some(format!("{mean} {} at {}", self.unit, load_words(point.load)))
        };
        let parts: Vec<String> = curve.points.iter().filter_map(part).collect();
        format!("{}: {}", curve.label, parts.join(", "))
    }

    fn table(&self, choice: &Choice<'_>) -> Grid {
        let columns = choice
            .curves
            .iter()
            .map(|curve| (curve.label.as_str(), self.unit));
        let head: Vec<(&str, &str)> = std::iter::once(("load", "")).chain(columns).collect();
        let rows = choice.loads().into_iter().map(|load| {
            let value = |curve: &Curve<'_>| {
                let value = curve.at(load).and_then(|point| self.value(point));
                number::optional(value, |value| self.text(value))
            };
            GridRow::plain(load_words(load), choice.curves.iter().map(value).collect())
        });
        Grid::new(&format!("{} against load", self.title), &head, rows.collect())
    }

    fn data(&self, choice: &Choice<'_>) -> String {
        let mut text = format!(
            "curve,reports_per_s_per_cell,mean_{0},low_{0},high_{0}\n",
            self.unit
        );
        for curve in &choice.curves {
            for point in &curve.points {
                let value = self.value(point);
                let [low, high] = match value.and_then(|value| value.interval) {
                    Some(ends) => ends.map(|end| number::trimmed(end, 6)),
                    None => [String::new(), String::new()],
                };
                let mean = value.map_or(String::new(), |value| number::trimmed(value.mean, 6));
                text += &format!("{},{},{mean},{low},{high}\n", quoted(&curve.label), point.load);
            }
        }
        text
    }
}
