//! `choice.html` and `choice.md`: the choice for a design document.

use wirecost_report::choice::{Choice, Choices, Current, Ranked};
use wirecost_results::RunFolder;

use super::needs::word;
use super::rows::{self, Row};
use super::sensitivity::Sensitivity;
use super::table::{self, heads, line, notes};
use super::ways;
use super::{Decision, Inputs, assumptions, matrix, sentence};
use crate::commands::command_line;
use crate::commands::cost::table::time;
use crate::commands::cost::{bill, current};
use crate::exit::{self, Failure};

/// Writes both pages into a folder. The evidence of each decision is in the folder at the path beside it.
pub(super) fn write(
    folder: &RunFolder,
    title: &str,
    decisions: &[(&Decision<'_>, String)],
) -> Result<(), Failure> {
    let choices = Choices {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        title: title.to_owned(),
        matrix_heads: matrix::HEADS.map(str::to_owned).to_vec(),
        matrix: match decisions {
            [_] => Vec::new(),
            all => all.iter().map(|(decision, _)| matrix::line(decision)).collect(),
        },
        cases: decisions
            .iter()
            .map(|(decision, path)| choice(decision, path))
            .collect(),
        command: command_line::recorded(),
    };
    let html =
        wirecost_report::choice::html(&choices).map_err(|error| Failure::new(exit::INTERNAL, error))?;
    folder.write("choice.html", html.as_bytes())?;
    folder.write(
        "choice.md",
        wirecost_report::choice::markdown(&choices).as_bytes(),
    )?;
    Ok(())
}

/// The choice as the pages have it. The evidence is in the folder at this path.
pub(super) fn choice(decision: &Decision<'_>, path: &str) -> Choice {
    let Decision {
        inputs,
        rows,
        verified,
        further,
        ..
    } = decision;
    let [current, day] = currents(inputs, rows.first());
    Choice {
        name: decision.name.clone().unwrap_or_default(),
        answer: sentence::answer(rows),
        reasons: sentence::reasons(decision),
        per: inputs.arguments.fleet.per.name(),
        requirements: requirements(inputs),
        heads: heads(inputs, rows)
            .iter()
            .map(|head| head.text().to_owned())
            .collect(),
        rows: ranked(inputs, rows),
        current,
        day,
        intervals: further.intervals.clone(),
        sensitivity: further
            .sensitivity
            .as_ref()
            .map(Sensitivity::shown)
            .unwrap_or_default(),
        evidence: evidence(decision),
        files: files(path, !verified.is_empty()),
        assumptions: assumptions::order(inputs, rows)
            .into_iter()
            .chain(notes(inputs, rows, &[]))
            .chain(bill_of_first(inputs, rows))
            .chain(ways::legend(
                inputs.arguments.every.unwrap_or_default(),
                &rows::ways(rows),
            ))
            .map(|note| note.trim_start_matches("* ").to_owned())
            .collect(),
    }
}

/// What the bill of the first row is for.
fn bill_of_first(inputs: &Inputs<'_>, rows: &[Row]) -> Option<String> {
    let row = rows.first()?;
    let bill = row.figures.as_ref()?.outcome.bill.as_ref()?;
    let words = bill::words(inputs.tariff.as_ref()?, bill);
    Some(format!("bill of {} ({}): {words}", row.stack, row.way.name()))
}

/// The current of a reading and of a day of a row.
fn currents(inputs: &Inputs<'_>, row: Option<&Row>) -> [Option<Current>; 2] {
    let Some((row, figures)) = row.and_then(|row| Some((row, row.figures.as_ref()?))) else {
        return [None, None];
    };
    let name = || format!("{} ({})", row.stack, row.way.name());
    let [reading, day] = figures.currents(inputs.device.as_ref());
    [
        reading.map(|curve| current::reading(name(), &curve, &figures.outcome)),
        day.map(|curve| current::day(name(), &curve, &figures.outcome)),
    ]
}

fn ranked(inputs: &Inputs<'_>, rows: &[Row]) -> Vec<Ranked> {
    let shown: Vec<usize> = rows::shown(rows).into_iter().map(|(index, _)| index).collect();
    let each = rows.iter().enumerate();
    each.map(|(index, row)| Ranked {
        texts: line(inputs, rows, (index, row)),
        is_met: row.is_met(),
        is_shown: shown.contains(&index),
        parts: parts(inputs, row),
        layers: row.layers,
        years: row.figures.as_ref().and_then(|figures| figures.outcome.years),
    })
    .collect()
}

/// The bytes of connects and closes, messages and keep-alives of the devices in the time asked for.
fn parts(inputs: &Inputs<'_>, row: &Row) -> [f64; 3] {
    let Some((figures, parts)) = row.figures.as_ref().zip(row.parts) else {
        return [0.0; 3];
    };
    let parts = [parts.connection, parts.message, parts.keep_alive];
    let all = parts.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let bytes = inputs.arguments.fleet.scaled(figures.month_bytes);
    parts.map(|part| part / all * bytes)
}

fn requirements(inputs: &Inputs<'_>) -> Vec<(&'static str, String)> {
    let arguments = inputs.arguments;
    let every = time(arguments.every.unwrap_or_default());
    let contents = arguments.contents().each();
    let contents: Vec<String> = contents.iter().map(ToString::to_string).collect();
    let mut list = vec![
        ("reading", format!("{} every {every}", contents.join(" or "))),
        ("link", sentence::properties(inputs)),
        ("delivery", word(arguments.delivery)),
    ];
    if let Some(within) = arguments.within {
        list.push(("within", time(within)));
    }
    if !arguments.reach.is_empty() {
        let words: Vec<String> = arguments.reach.iter().map(|reach| word(*reach)).collect();
        list.push(("reach", words.join(", ")));
    }
    if let Some(class) = arguments.device_class {
        list.push(("device class", format!("{class} (RFC 7228)")));
    }
    if let Some(device) = &inputs.device {
        list.push(("device", format!("{}: {}", device.name, device.title)));
    }
    if let Some((size, battery)) = arguments.battery.battery.zip(inputs.battery) {
        let milliampere_hours = size.ampere_hours * 1e3;
        let discharge = battery.chemistry.self_discharge * 100.0;
        list.push((
            "battery",
            format!(
                "{milliampere_hours}mAh@{}V, loses {discharge} % a year by itself, good for {} years",
                size.volts, battery.chemistry.shelf_years
            ),
        ));
    }
    if let Some(years) = arguments.battery_years {
        list.push(("battery years", format!("at least {years}")));
    }
    if let Some(most) = arguments.monthly_bytes {
        list.push(("monthly bytes of a device", format!("at most {most}")));
    }
    if let Some(tariff) = &inputs.tariff {
        list.push(("tariff", format!("{}: {}", tariff.name, tariff.title)));
    }
    let keep_alives = ways::keep_alives(arguments, &inputs.link);
    let keep_alives: Vec<String> = keep_alives.iter().map(|keep_alive| time(*keep_alive)).collect();
    list.push(("keep-alive", keep_alives.join(", ")));
    if !arguments.start.is_empty() {
        let starts: Vec<String> = arguments.start.iter().map(ToString::to_string).collect();
        list.push(("start", starts.join(", ")));
    }
    if arguments.pipelined_connect {
        list.push(("connect", "pipelined".to_owned()));
    }
    if arguments.fleet.devices > 1 {
        list.push(("devices", arguments.fleet.devices.to_string()));
    }
    list.push(("ordered by", word(arguments.by)));
    list
}

fn evidence(decision: &Decision<'_>) -> Vec<String> {
    let seed = decision.inputs.arguments.seed;
    let mut evidence = vec![format!(
        "every stack was simulated packet by packet in virtual time with seed {seed}; the same seed gives the same figures"
    )];
    evidence.extend(decision.verified.iter().map(table::verdict));
    if decision.verified.is_empty() {
        evidence.push("nothing was measured live; --verify does that for the first three".to_owned());
    }
    evidence
}

fn files(path: &str, is_verified: bool) -> Vec<(&'static str, String)> {
    let mut files = vec![
        ("report of all figures", format!("{path}report.html")),
        ("packets", format!("{path}capture/sim.pcapng")),
        ("figures", format!("{path}summary.json")),
        ("the choice as data", format!("{path}choice.json")),
    ];
    if is_verified {
        files.push(("live measurement", format!("{path}verify/report.html")));
    }
    files
}
