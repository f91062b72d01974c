//! The current of one reading or of a day over time: states in colour, packets as rings.

use serde::Serialize;

use super::Cases;
use crate::chart::lines::{Curve, LineChart, Mark};
use crate::chart::plot::Axis;
use crate::chart::{Figure, Scale};
use crate::html::shown::{Chart, Section, Shown};
use crate::{number, standalone};

/// Seconds from which on the axis has hours.
const HOURS_FROM: f64 = 7_200.0;

/// Seconds of an hour.
const HOUR: f64 = 3_600.0;

/// The current of a reading.
pub(super) const READING: Chart<Cases> = Chart {
    section: Section::Of("current"),
    show: |choice| {
        let current = choice.current.as_ref()?;
        let words = "current of one reading, from its wake-up to the end of its tails; rings are packets, mA on a logarithmic axis";
        current.shown("Current of a reading*", words)
    },
};

/// The current of a day.
pub(super) const DAY: Chart<Cases> = Chart {
    section: Section::Of("current"),
    show: |choice| {
        let words = "mean current of each 5 minutes of its first day, mA on a logarithmic axis";
        choice.day.as_ref()?.shown("Current of a day*", words)
    },
};

/// The current of one reading, or of a day.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Current {
    /// Whose it is.
    pub name: String,
    /// Its states in their order.
    pub steps: Vec<Step>,
    /// Its packets: seconds from the beginning, and what each is.
    pub packets: Vec<(f64, String)>,
    /// What it takes, in the units of power meters.
    pub summary: String,
}

/// A time with one current.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    /// The state.
    pub state: &'static str,
    /// How long, in seconds.
    pub seconds: f64,
    /// Milliamperes at the voltage of the device's supply.
    pub milliamperes: f64,
}

impl Current {
    /// Each step with when it begins.
    fn placed(&self) -> Vec<(f64, &Step)> {
        let mut at = 0.0;
        let each = self.steps.iter().map(|step| {
            let begin = at;
            at += step.seconds;
            (begin, step)
        });
        each.collect()
    }

    /// The steps of each state as a curve with gaps, in the order in which the states come first.
    fn curves(&self) -> Vec<Curve> {
        let placed = self.placed();
        let mut curves: Vec<Curve> = Vec::new();
        for (begin, step) in &placed {
            let number = curves.len();
            let known = curves.iter().position(|curve| curve.label == step.state);
            let index = known.unwrap_or_else(|| {
                curves.push(Curve {
                    label: step.state.to_owned(),
                    number,
                    ..Curve::default()
                });
                number
            });
            let end = begin + step.seconds;
            let points = &mut curves[index].points;
            // Two steps of one state that follow one another have no gap between them.
            points.pop_if(|last| *last == (*begin, None));
            points.extend([
                (*begin, Some(step.milliamperes)),
                (end, Some(step.milliamperes)),
                (end, None),
            ]);
        }
        for curve in &mut curves {
            let own = placed.iter().filter(|(_, step)| step.state == curve.label);
            let (seconds, charge) = own.fold((0.0, 0.0), |(seconds, charge), (_, step)| {
                (seconds + step.seconds, charge + step.seconds * step.milliamperes)
            });
            let [seconds, charge] = [seconds, charge].map(|value| number::digits(value, 3));
            curve.title = format!("{}: {charge} mC in {seconds} s", curve.label);
        }
        curves
    }

    /// The current when something happens.
    fn at(&self, seconds: f64) -> f64 {
        let placed = self.placed();
        let current = placed.iter().rev().find(|(begin, _)| *begin <= seconds);
        current.map_or(0.0, |(_, step)| step.milliamperes)
    }

    /// The chart; `None` without a current.
    fn chart(&self) -> Option<LineChart> {
        let all: f64 = self.steps.iter().map(|step| step.seconds).sum();
        if all <= 0.0 {
            return None;
        }
        let (unit, of_unit) = match all > HOURS_FROM {
            true => ("hours", HOUR),
            false => ("seconds", 1.0),
        };
        // Sleep takes microamperes and sending hundreds of milliamperes: on a linear axis one of them is the axis.
        let up = Scale::logarithmic_around(self.steps.iter().map(|step| step.milliamperes));
        let marks = self.packets.iter().map(|(at, title)| Mark {
            at: (*at / of_unit, self.at(*at)),
            number: 0,
            radius: 3.5,
            title: title.clone(),
        });
        let title = match self.packets.is_empty() {
            true => "Current of a day",
            false => "Current of a reading over time",
        };
        let mut curves = self.curves();
        for (at, _) in curves.iter_mut().flat_map(|curve| &mut curve.points) {
            *at /= of_unit;
        }
        Some(LineChart {
            marks: marks.collect(),
            ..LineChart::new(
                title,
                Axis::new(Scale::linear(0.0, all / of_unit), unit),
                Axis::new(up, "mA, modelled"),
            )
            .with(curves)
        })
    }

    /// The chart as an SVG file that stands alone; `None` without a current.
    pub fn svg(&self) -> Option<String> {
        Some(standalone::drawn(&self.chart()?))
    }

    /// The chart with what it shows; `None` without a current.
    pub(crate) fn shown(&self, title: &str, words: &str) -> Option<Shown> {
        Some(Shown {
            title: title.to_owned(),
            ..Shown::new(
                self.figure()?,
                format!("{}: {words}. {}", self.name, self.summary),
            )
        })
    }

    /// The figure; `None` without a current.
    fn figure(&self) -> Option<Figure> {
        let chart = self.chart()?;
        let mut data = "begin_s,end_s,state,current_ma\n".to_owned();
        for (begin, step) in self.placed() {
            let end = begin + step.seconds;
            data += &format!("{begin:.6},{end:.6},{},{}\n", step.state, step.milliamperes);
        }
        Some(Figure::new(|width| chart.draw(width), data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn current() -> Current {
        let step = |state, seconds, milliamperes| Step {
            state,
            seconds,
            milliamperes,
        };
        Current {
            name: "coap-con".to_owned(),
            steps: vec![
                step("wake-up", 1.5, 20.0),
                step("transmit", 0.01, 105.0),
                step("connected", 5.0, 15.0),
                step("transmit", 0.01, 105.0),
                step("connected", 5.0, 15.0),
            ],
            packets: vec![(1.5, "up: 100 B".to_owned())],
            summary: String::new(),
        }
    }

    #[test]
    fn a_state_is_one_curve_with_a_gap_after_each_of_its_times() {
        let curves = current().curves();
        let labels: Vec<&str> = curves.iter().map(|curve| curve.label.as_str()).collect();
        assert_eq!(labels, ["wake-up", "transmit", "connected"]);
        assert_eq!(
            curves[2]
                .points
                .iter()
                .filter(|(_, value)| value.is_none())
                .count(),
            2
        );
        assert_eq!(curves[2].title, "connected: 150 mC in 10.0 s");
    }

    #[test]
    fn a_day_has_hours_at_its_axis_and_a_file_of_its_own() {
        let day = Current {
            steps: vec![
                Step {
                    state: "rest",
                    seconds: 80_000.0,
                    milliamperes: 0.003,
                },
                Step {
                    state: "transmit",
                    seconds: 6_400.0,
                    milliamperes: 105.0,
                },
            ],
            ..Current::default()
        };
        let svg = day.svg().expect("a file");
        assert!(
            svg.starts_with("<svg") && svg.contains("hours") && svg.contains("Current of a day"),
            "{svg}"
        );
    }

    #[test]
    fn a_packet_is_at_the_current_of_its_time_and_nothing_has_no_figure() {
        assert_eq!(current().at(1.5), 105.0);
        assert!(
            current()
                .figure()
                .is_some_and(|figure| figure.data.lines().count() == 6)
        );
        assert!(Current::default().figure().is_none());
    }
}
