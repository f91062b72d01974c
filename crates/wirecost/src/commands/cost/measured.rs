//! `--meter`: what a power meter measured, beside what the model says for the same packets.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use wirecost_account::traffic::Activity;
use wirecost_energy::fit::bins;
use wirecost_energy::trace::{Reader, Trace, TraceError};
use wirecost_energy::{Device, Energy};
use wirecost_files::lines::Lines;
use wirecost_files::{FileFault, Input};
use wirecost_report::terminal::listing::{Head, Listing};

use super::recording::{self, hint};
use super::table::number;
use super::traffic::Source;
use crate::arguments::CostArguments;
use crate::exit::Failure;
use crate::output;

/// Samples outside the window that a measured idle power needs.
const IDLE_SAMPLES: f64 = 10.0;

/// The part of a value by which the arithmetic of floating-point numbers may move it.
const ROUNDING: f64 = 1e-6;

/// How the trace was aligned.
#[derive(Clone, Copy, Debug)]
enum Alignment {
    /// The first packet up is at this time of the trace, in seconds.
    Marker(f64),
    /// The first wake-up begins at the first rise above the rest by some amperes.
    Rise { at: f64, rest: f64, by: f64 },
}

/// A figure, modelled and measured.
struct Pair {
    name: String,
    key: &'static str,
    modelled: Energy,
    measured: Option<f64>,
}

/// What a meter measured, beside the model.
pub struct Measured {
    file: String,
    device: String,
    trace: Trace,
    alignment: Alignment,
    /// The start and the end of the device's activity in the trace, in seconds.
    window: [f64; 2],
    pairs: Vec<Pair>,
}

impl Measured {
    /// Reads the file of `--meter`, if there is one, and aligns it with the capture.
    pub fn read(
        arguments: &CostArguments,
        device: Option<&Device>,
        source: &Source,
    ) -> Result<Option<Self>, Failure> {
        let (Some(path), Some(device)) = (&arguments.meter, device) else {
            return Ok(None);
        };
        let activity = only_activity(arguments, source)?;
        let file = path.display().to_string();
        let trace = trace(path, arguments)?;
        let alignment = alignment(arguments, &file, &trace)?;
        let window = window(alignment, activity, &file, &trace)?;
        Ok(Some(Self {
            pairs: pairs(device, activity, &trace, window),
            device: device.name.clone(),
            file,
            trace,
            alignment,
            window,
        }))
    }

    /// The figures as JSON: joules and watts. `modelled` has its range; the residual is measured minus modelled.
    pub fn json(&self) -> Value {
        let figures = self.pairs.iter().map(|pair| {
            let Energy { joules, low, high } = pair.modelled;
            let residual = pair.measured.map(|measured| residual(measured, joules));
            let figures = json!({
                "modelled": {"mean": joules, "low": low, "high": high},
                "measured": pair.measured,
                "residual": residual,
                "residual_of_measured": pair.share(),
            });
            (pair.key.to_owned(), figures)
        });
        let [from, to] = self.window;
        let (marker_s, rise_s) = match self.alignment {
            Alignment::Marker(at) => (Some(at), None),
            Alignment::Rise { at, .. } => (None, Some(at)),
        };
        json!({
            "file": self.file,
            "marker_s": marker_s,
            "rise_s": rise_s,
            "window_s": {"from": from, "to": to},
            "covered_s": {"from": self.trace.start(), "to": self.trace.end()},
            "samples": self.trace.samples().len(),
            "sample_interval_s": self.trace.interval(),
            "longest_sample_interval_s": self.trace.longest_step(),
            "figures": serde_json::Map::from_iter(figures),
        })
    }

    /// The figures for a terminal.
    pub fn table(&self) -> String {
        let mut text = format!("\n{} beside the model of {}\n", self.file, self.device);
        let figures = ["modelled*", "range*", "measured", "residual", "residual %"];
        let figures = figures.map(Head::figure).into_iter();
        let pairs = Listing {
            heads: [Head::name("")].into_iter().chain(figures).collect(),
            rows: self.pairs.iter().map(Pair::row).collect(),
        };
        text.push_str(&pairs.draw(output::width(), "--json"));
        let aligned = match self.alignment {
            Alignment::Marker(at) => format!("the first packet up is at {} s", number(at)),
            Alignment::Rise { at, rest, by } => format!(
                "the first wake-up begins at {} s, where the current rises {} mA above the rest of {} mA",
                number(at),
                number(by * 1e3),
                number(rest * 1e3)
            ),
        };
        let [from, to] = self.window;
        let trace = &self.trace;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "residual: measured - modelled, in % of the measured\n\
             aligned: {aligned}; compared: {} s to {} s, from the first wake-up to the end of the last tail\n\
             meter: {} samples/s from {} s to {} s; the longest gap is {} times the sample interval",
            number(from),
            number(to),
            number(1.0 / trace.interval()),
            number(trace.start()),
            number(trace.end()),
            number(trace.longest_step() / trace.interval()),
        );
        text
    }
}

impl Pair {
    /// The residual as a part of the measured value.
    fn share(&self) -> Option<f64> {
        let measured = self.measured.filter(|measured| *measured != 0.0)?;
        Some(residual(measured, self.modelled.joules) / measured)
    }

    fn row(&self) -> Vec<String> {
        let Energy { joules, low, high } = self.modelled.scaled(1e3);
        let missing = || "-".to_owned();
        let measured = self.measured.map(|measured| measured * 1e3);
        vec![
            self.name.clone(),
            number(joules),
            format!("{} to {}", number(low), number(high)),
            measured.map_or_else(missing, number),
            measured.map_or_else(missing, |measured| number(residual(measured, joules))),
            self.share()
                .map_or_else(missing, |share| format!("{:.1} %", share * 100.0)),
        ]
    }
}

/// Measured minus modelled; 0 where they differ by no more than the rounding of the arithmetic.
fn residual(measured: f64, modelled: f64) -> f64 {
    let difference = measured - modelled;
    if difference.abs() <= measured.abs() * ROUNDING {
        0.0
    } else {
        difference
    }
}

/// The activity of the only device of a capture.
fn only_activity<'a>(arguments: &CostArguments, source: &'a Source) -> Result<&'a Activity, Failure> {
    let shown = arguments.source.display();
    if let [traffic] = &source.traffic[..]
        && let Some(activity) = &traffic.activity
    {
        return Ok(activity);
    }
    if arguments.source.is_dir() {
        return Err(Failure::usage(format!(
            "--meter needs a capture, and {shown} is a results folder"
        ))
        .with_hint("give the capture that was recorded while the meter measured"));
    }
    let names: Vec<&str> = source
        .traffic
        .iter()
        .map(|traffic| traffic.label.as_str())
        .collect();
    Err(Failure::usage(format!(
        "a meter measures one device, and {shown} has {}",
        names.len()
    ))
    .with_hint(format!("give --client with one of {}", names.join(", "))))
}

fn trace(path: &Path, arguments: &CostArguments) -> Result<Trace, Failure> {
    let shown = path.display();
    let is_recording = path.extension().is_some_and(|end| {
        ["ppk2", "jls"]
            .iter()
            .any(|known| end.eq_ignore_ascii_case(known))
    });
    if is_recording {
        let read = recording::read(path, arguments)?;
        return read
            .bins
            .trace()
            .map_err(|fault| Failure::usage(format!("{shown}: {fault}")).with_hint(hint(&fault)));
    }
    let unreadable = |error: FileFault| {
        Failure::usage(format!("cannot read {shown}: {error}"))
            .with_hint("give the CSV export of a power meter, as text in UTF-8, a .ppk2 or a .jls file")
    };
    let wrong = |error: TraceError| {
        let place = if error.line > 0 {
            format!("{shown}:{}", error.line)
        } else {
            shown.to_string()
        };
        Failure::usage(format!("{place}: {}", error.fault)).with_hint(hint(&error.fault))
    };
    let mut reader = Reader::new(arguments.volts);
    for line in Lines::new(Input::Trace.open(path).map_err(unreadable)?) {
        reader.line(&line.map_err(unreadable)?).map_err(wrong)?;
    }
    let trace = reader.finish().map_err(wrong)?;
    match bins::clipped(trace.samples()) {
        // Its energy is too low by an unknown amount, and the residual would blame the model for it.
        Some(clipped) => Err(recording::cut_off(&shown.to_string(), &clipped)),
        None => Ok(trace),
    }
}

fn alignment(arguments: &CostArguments, file: &str, trace: &Trace) -> Result<Alignment, Failure> {
    if let Some(marker) = arguments.marker {
        return Ok(Alignment::Marker(marker.as_secs_f64()));
    }
    let by = arguments.marker_rise;
    let rest = trace.rest_amperes();
    let at = trace.rise_above(rest + by).ok_or_else(|| {
        let begins_above = trace
            .samples()
            .first()
            .is_some_and(|sample| sample.amperes > rest + by);
        let rest = number(rest * 1e3);
        let by = number(by * 1e3);
        let message = if begins_above {
            format!("{file} begins more than {by} mA above its rest of {rest} mA, so that its first rise is missing")
        } else {
            format!("{file} never rises {by} mA above its rest of {rest} mA")
        };
        Failure::usage(message)
            .with_hint("give the time of the first packet up with --marker, or another rise with --marker-rise")
    })?;
    Ok(Alignment::Rise { at, rest, by })
}

/// The device's activity in the trace's time.
fn window(alignment: Alignment, activity: &Activity, file: &str, trace: &Trace) -> Result<[f64; 2], Failure> {
    let from = match alignment {
        Alignment::Rise { at, .. } => at,
        Alignment::Marker(at) => {
            let first_up = activity.first_up.ok_or_else(|| {
                Failure::usage("the capture has no packet up, so --marker has no packet to be aligned with")
                    .with_hint("leave --marker out: the first wake-up is aligned with the first rise")
            })?;
            // The packet leaves the radio after the wake-up, which costs energy and is in the window.
            at - first_up - activity.wake
        }
    };
    let to = from + activity.seconds();
    let (start, end) = (trace.start(), trace.end());
    // A window that reaches out of the trace would lack energy, and the residual would blame the model for it.
    if from < start || to > end {
        return Err(Failure::usage(format!(
            "{file} does not cover the capture: it has {} s to {} s, and the device is active from {} s to {} s, \
             with its wake-up and its tails",
            number(start),
            number(end),
            number(from),
            number(to)
        ))
        .with_hint("measure from before the first packet until the device rests again, or check --marker"));
    }
    Ok([from, to])
}

fn pairs(device: &Device, activity: &Activity, trace: &Trace, window: [f64; 2]) -> Vec<Pair> {
    let [from, to] = window;
    let seconds = to - from;
    let modelled = activity.account.total();
    let measured = trace.joules(from, to);
    let mut pairs = vec![Pair {
        name: format!("mJ in {} s", number(seconds)),
        key: "joules",
        modelled,
        measured,
    }];
    // A capture may have keep-alives alone: then there is no reading to divide by.
    if activity.readings > 0.0 {
        pairs.push(Pair {
            name: format!("mJ per reading, of {}", number(activity.readings)),
            key: "joules_per_reading",
            modelled: modelled.scaled(1.0 / activity.readings),
            measured: measured.map(|joules| joules / activity.readings),
        });
    }
    if seconds > 0.0 {
        pairs.push(Pair {
            name: "mean mW".to_owned(),
            key: "mean_watts",
            modelled: modelled.scaled(1.0 / seconds),
            measured: measured.map(|joules| joules / seconds),
        });
    }
    let outside = (from - trace.start()) + (trace.end() - to);
    let idle = trace
        .joules(trace.start(), from)
        .zip(trace.joules(to, trace.end()))
        // A mean over fewer samples is the noise of the meter, and would stand beside the model as if it were measured.
        .filter(|_| outside >= trace.interval() * IDLE_SAMPLES)
        .map(|(before, after)| (before + after) / outside);
    pairs.push(Pair {
        name: format!("idle mW, in the other {} s", number(outside)),
        key: "idle_watts",
        // A second of it in nanoseconds, so that joules are watts.
        modelled: Energy::at_level(device.floor(), 1_000_000_000),
        measured: idle,
    });
    pairs
}
