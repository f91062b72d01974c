//! The current of a device over time, for a page and for a file.

use std::path::Path;
use std::time::Duration;

use wirecost_account::Figures;
use wirecost_account::curve::{self, Curve};
use wirecost_energy::Device;
use wirecost_proto::Direction;
use wirecost_report::choice::{Current, Step};

use super::table::{number, time};
use super::traffic::Source;
use crate::arguments::CostArguments;
use crate::exit::Failure;
use crate::output;

/// The times of a day of which the mean is drawn. 288 are as many as a chart can show.
const SLOT: Duration = Duration::from_secs(300);

/// A reading as reports draw it.
pub fn reading(name: String, curve: &Curve, outcome: &Figures) -> Current {
    let steps = curve.segments.iter().map(|segment| Step {
        state: curve::name(segment),
        seconds: segment.nanos as f64 / 1e9,
        milliamperes: segment.watts / curve.volts * 1e3,
    });
    let packets = curve.packets.iter().map(|sent| {
        let way = match sent.direction {
            Direction::Up => "up",
            Direction::Down => "down",
        };
        (sent.at.as_secs_f64(), format!("{way}: {} B", sent.bytes))
    });
    Current {
        name,
        steps: steps.collect(),
        packets: packets.collect(),
        summary: in_units_of_meters(outcome, curve),
    }
}

/// A day as reports draw it: the mean of each [`SLOT`].
pub fn day(name: String, curve: &Curve, outcome: &Figures) -> Current {
    let steps = curve.means(SLOT).into_iter().map(|amperes| Step {
        state: "mean of 5 min",
        seconds: SLOT.as_secs_f64(),
        milliamperes: amperes * 1e3,
    });
    Current {
        name,
        steps: steps.collect(),
        packets: Vec::new(),
        summary: in_units_of_meters(outcome, curve),
    }
}

/// What a device takes in the units of power meters.
fn in_units_of_meters(outcome: &Figures, curve: &Curve) -> String {
    let what = match curve.packets.is_empty() {
        true => "This day",
        false => "This reading",
    };
    let this = format!(
        "{what}: {} mC in {}.",
        number(curve.coulombs() * 1e3),
        time(curve.duration())
    );
    let Some((power, each)) = outcome.power.as_ref().zip(outcome.each) else {
        return this;
    };
    let amperes = power.total().joules / curve.volts;
    format!(
        "{this} In the mean {} uA, {} mAh a day, {} uWh a message.",
        number(amperes * 1e6),
        number(amperes * 24.0 * 1e3),
        number(each.joules / 3_600.0 * 1e6)
    )
}

/// The files of `--curve` and `--day-curve`.
fn files(arguments: &CostArguments) -> [(&'static str, Option<&Path>); 2] {
    [
        ("--curve", arguments.curve.as_deref()),
        ("--day-curve", arguments.day_curve.as_deref()),
    ]
}

/// Finds files that cannot be written before anything is priced.
///
/// # Errors
/// One cannot be written, or is stdout, which has the table.
pub fn check(arguments: &CostArguments) -> Result<(), Failure> {
    let files = files(arguments);
    if let Some((flag, _)) = files.iter().find(|(_, path)| path.is_some_and(output::is_stdout)) {
        return Err(
            Failure::usage(format!("{flag} - would mix a picture with the table")).with_hint("name a file"),
        );
    }
    output::check_files(&files)
}

/// Draws the first row into the files of `--curve` and `--day-curve`.
///
/// # Errors
/// No row has packets in time, there are too many of them to be drawn, or a file cannot be written.
pub fn draw(
    arguments: &CostArguments,
    device: Option<&Device>,
    source: &Source,
    figures: &[Figures],
) -> Result<(), Failure> {
    let files = files(arguments);
    let Some((flag, _)) = files.iter().find(|(_, path)| path.is_some()) else {
        return Ok(());
    };
    let shown_source = arguments.source.display();
    let (Some(device), Some(lived)) = (device, source.lived.as_ref()) else {
        return Err(Failure::usage(format!(
            "{shown_source} has no packets of one device, which {flag} draws"
        ))
        .with_hint(
            "give a capture, or the folder of a comparison on a link that is no modelled NB-IoT cell",
        ));
    };
    for (flag, path) in files {
        let Some(path) = path else { continue };
        let row = &source.traffic[lived.row];
        let (name, outcome) = (row.label.clone(), &figures[lived.row]);
        let drawn = match flag {
            "--curve" => lived
                .packets
                .reading(device, lived.interval)
                .map(|curve| reading(name, &curve, outcome)),
            _ => lived
                .packets
                .day(device, lived.every)
                .map(|curve| day(name, &curve, outcome)),
        };
        let drawn = drawn.ok_or_else(|| {
            Failure::usage(format!(
                "{shown_source}: the first row has no packets that {flag} could draw, or too many"
            ))
            .with_hint("ask with a longer --interval, or draw the reading alone with --curve")
        })?;
        let svg = drawn.svg().unwrap_or_default();
        wirecost_files::output::write_named(path, svg)
            .map_err(|error| output::unwritable(flag, path, &error))?;
        output::note(format_args!(
            "{}: {}, modelled. {}",
            path.display(),
            drawn.name,
            drawn.summary
        ));
    }
    Ok(())
}
