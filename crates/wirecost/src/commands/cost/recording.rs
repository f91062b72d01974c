//! The file of a power meter in any of its formats, in bins of bounded memory.

mod jls;
mod ppk2;

use std::fs::File;
use std::io;
use std::path::Path;

use wirecost_energy::fit::bins::{Binner, Clipped, TraceBins};
use wirecost_energy::trace::{Fault, SampleReader, TraceError};
use wirecost_files::lines::Lines;
use wirecost_files::{FileFault, Input};

use super::table::number;
use crate::arguments::CostArguments;
use crate::exit::Failure;

/// The most changes of a marker: a clock or a bus on that pin would fill the memory.
const MOST_EDGES: usize = 1 << 20;

/// A trace, and when its marker rises.
pub struct MeterFile {
    /// The trace.
    pub bins: TraceBins,
    /// Seconds of the trace.
    pub markers: Vec<f64>,
}

/// Reads a trace, sample by sample.
pub fn read(path: &Path, arguments: &CostArguments) -> Result<MeterFile, Failure> {
    let shown = path.display();
    let unreadable = |error: FileFault| {
        Failure::usage(format!("cannot read {shown}: {error}"))
            .with_hint("give the CSV export of a power meter, as text in UTF-8, a .ppk2 or a .jls file")
    };
    let open = || Input::Trace.open(path).map_err(unreadable);
    let is = |end: &str| {
        path.extension()
            .is_some_and(|found| found.eq_ignore_ascii_case(end))
    };
    let (bins, markers) = if is("ppk2") {
        ppk2::read([open()?, open()?], arguments)
            .map_err(|fault| Failure::usage(format!("{shown}: {fault}")).with_hint(fault.hint()))?
    } else if is("jls") {
        // A reader for each signal; the first one says whether the file can be read at all.
        open()?;
        jls::read(
            || {
                Input::Trace
                    .open(path)
                    .map_err(|fault| io::Error::from(fault).into())
            },
            arguments,
        )
        .map_err(|fault| Failure::usage(format!("{shown}: {fault}")).with_hint(fault.hint()))?
    } else {
        rows(open()?, &shown.to_string(), arguments, unreadable)?
    };
    let bins = bins.ok_or_else(|| {
        Failure::usage(format!("{shown}: no two samples at different times"))
            .with_hint("export the trace with a line for each sample")
    })?;
    // A clipped current is too low by an unknown amount, and the fit would take it for a measured plateau.
    if let Some(clipped) = &bins.ceiling {
        return Err(cut_off(&shown.to_string(), clipped));
    }
    if let Some(channel) = arguments.marker_channel.as_deref().filter(|_| markers.is_empty()) {
        return Err(
            Failure::usage(format!("{shown}: the marker {channel} never rises"))
                .with_hint("leave out --marker-channel: then the bursts' pattern aligns trace and capture"),
        );
    }
    Ok(MeterFile { bins, markers })
}

/// The refusal of a trace whose highest current the meter's range cut off.
pub fn cut_off(shown: &str, clipped: &Clipped) -> Failure {
    let Clipped {
        amperes,
        times,
        first,
    } = *clipped;
    let (amperes, first) = (number(amperes * 1e3), number(first));
    Failure::usage(format!(
        "{shown}: the current stays at exactly {amperes} mA, its highest, {times} times, first at {first} s: the meter's range cut it off"
    ))
    .with_hint("measure again in a range above the device's highest current")
}

/// Reads the rows of a CSV file.
fn rows(
    file: File,
    shown: &str,
    arguments: &CostArguments,
    unreadable: impl Fn(FileFault) -> Failure,
) -> Result<(Option<TraceBins>, Vec<f64>), Failure> {
    let mut rows = SampleReader::new(arguments.volts, arguments.marker_channel.clone());
    let mut binner = Binner::default();
    // A fault of the whole file, such as too few samples, has no line.
    let wrong = |error: TraceError| {
        let place = match error.line {
            0 => shown.to_owned(),
            line => format!("{shown}:{line}"),
        };
        Failure::usage(format!("{place}: {}", error.fault)).with_hint(hint(&error.fault))
    };
    for line in Lines::new(file) {
        if let Some(sample) = rows.line(&line.map_err(&unreadable)?).map_err(wrong)? {
            binner.add(sample);
        }
    }
    let markers = rows.rises().to_vec();
    rows.finish().map_err(wrong)?;
    Ok((binner.finish(), markers))
}

/// What to do about a fault.
pub const fn hint(fault: &Fault) -> &'static str {
    match fault {
        Fault::NoVoltage => "give the voltage of the supply with --volts 3.3V",
        Fault::TwoVoltages(_) => "leave out --volts",
        Fault::NoMarker(_) | Fault::NoBit(_) => {
            "export each digital channel as a column of its own, D0 to D7, and name one with --marker-channel"
        }
        Fault::NoUnit(_) | Fault::UnknownUnit(..) => {
            "write the unit in parentheses after the name, e.g. Current(uA)"
        }
        Fault::NoColumn(_) => {
            "the first line names the columns: Timestamp(ms),Current(uA) and, if it was measured, Voltage(V)"
        }
        Fault::TwoColumns(..) => "leave one of them in the file",
        Fault::Gap { .. } | Fault::GapAt { .. } | Fault::TimeGoesBack { .. } => {
            "export the trace again without missing samples: energy between them is not measured"
        }
        _ => {
            "give the CSV export of a power meter: a line with the columns' names, then one line for each sample"
        }
    }
}
