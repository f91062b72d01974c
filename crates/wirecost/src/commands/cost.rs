//! `wirecost cost`: energy, battery life, bytes and money of a capture or a results folder; measured energy beside the model.

mod answer;
pub mod attach;
pub mod bill;
pub mod capture;
mod cells;
mod check;
pub mod current;
pub mod files;
mod fit;
mod labels;
pub mod lives;
mod loads;
mod machine;
mod measured;
mod measurements;
pub mod outcome;
mod recording;
mod shares;
pub mod sure;
pub mod table;
pub mod traffic;

use std::process::ExitCode;

use wirecost_account::{Figures, Terms};
use wirecost_scenario::tariff;

use crate::arguments::CostArguments;
use crate::exit::{self, Failure};
use crate::output;
use files::Prices;
use measured::Measured;
use traffic::Source;

/// Runs the command.
pub fn run(arguments: &CostArguments) -> Result<ExitCode, Failure> {
    if let Some(trace) = &arguments.fit {
        return fit::run(arguments, trace);
    }
    if arguments.source.as_os_str().is_empty() {
        return Err(Failure::usage("cost needs a capture, a results folder or a file of claims")
            .with_hint("wirecost cost CAPTURE --device nrf9160-lte-m, or cost --fit TRACE --capture CAPTURE --device BASE"));
    }
    if arguments.volts.is_some() && arguments.meter.is_none() {
        return Err(Failure::usage("--volts is about the file of a power meter")
            .with_hint("give it with --meter or --fit"));
    }
    if arguments.check {
        return match arguments.source.is_dir() {
            true => measurements::run(arguments),
            false => check::run(arguments),
        };
    }
    if arguments.interval.is_some_and(|interval| interval.is_zero()) {
        return Err(Failure::usage("--interval must be above 0s")
            .with_hint("write the time from one reading to the next, e.g. 15min"));
    }
    if arguments
        .session_lifetime
        .is_some_and(|lifetime| lifetime.is_zero())
    {
        return Err(Failure::usage("--session-lifetime must be above 0s")
            .with_hint("write how long the server resumes or keeps a session, e.g. 1d"));
    }
    current::check(arguments)?;
    let prices = prices(arguments)?;
    let device = prices.device.as_ref();
    // After device and tariff: reading a capture, or simulating lives, takes longest.
    let source = Source::read(arguments, device)?;
    let measured = Measured::read(arguments, device, &source)?;
    let machine = machine::read(arguments);
    let terms = prices.terms();
    let figures = figures(&terms, &source);
    output::table_or_json(
        arguments.json.as_deref(),
        || {
            let mut value = outcome::json(&terms, arguments, &source, &figures);
            value["meter"] = measured.as_ref().map_or(serde_json::Value::Null, Measured::json);
            value["machine"] = machine::json(machine.as_ref(), &figures);
            serde_json::to_string_pretty(&value)
        },
        || {
            let beside = measured.as_ref().map_or_else(String::new, Measured::table);
            let machine = machine.as_ref().map(|energy| machine::text(energy, &figures));
            table::told(arguments, &terms, &source, &figures).draw(output::width())
                + &beside
                + &machine.unwrap_or_default()
        },
    )?;
    current::draw(arguments, device, &source, &figures)?;
    let Some(fault) = &source.fault else {
        // Only at the end: what could be read has been printed.
        return source.unread.map_or(Ok(ExitCode::from(exit::OK)), Err);
    };
    let shown = arguments.source.display();
    output::note(format_args!("error: {shown}: {fault}"));
    output::note("hint: the packets before it are priced; the rest of the file is not");
    Ok(ExitCode::from(exit::INVALID))
}

/// The account of each row.
pub fn figures(terms: &Terms<'_>, source: &Source) -> Vec<Figures> {
    let traffic = source.traffic.iter();
    traffic.map(|traffic| tariff::figures(terms, traffic)).collect()
}

/// What energy and money are computed by.
pub fn prices(arguments: &CostArguments) -> Result<Prices, Failure> {
    Prices::read(
        (arguments.device.as_deref(), &arguments.network),
        &arguments.battery,
        arguments.tariff.as_deref(),
        arguments.fleet,
    )
}
