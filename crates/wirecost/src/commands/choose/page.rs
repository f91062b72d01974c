//! `choice.html` and `choice.md`: the choice for a design document.

use wirecost_account::curve::{self, Curve};
use wirecost_proto::Direction;
use wirecost_report::choice::{Choice, Choices, Current, Ranked, Step};
use wirecost_results::RunFolder;

use super::needs::word;
use super::rows::{self, Row};
use super::table::{self, heads, line, notes};
use super::ways;
use super::{Decision, Inputs, assumptions, matrix, sentence};
use crate::commands::command_line;
use crate::commands::cost::table::{number, time};
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

fn choice(decision: &Decision<'_>, path: &str) -> Choice {
    let Decision {
        inputs,
        rows,
        verified,
        ..
    } = decision;
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
        current: rows.first().and_then(current),
        evidence: evidence(decision),
        files: files(path, !verified.is_empty()),
        assumptions: assumptions::order(inputs, rows)
            .into_iter()
            .chain(notes(inputs, rows, &[]))
            .chain(ways::legend(
                inputs.arguments.every.unwrap_or_default(),
                &rows::ways(rows),
            ))
            .map(|note| note.trim_start_matches("* ").to_owned())
            .collect(),
    }
}

/// The current of a reading of a row.
fn current(row: &Row) -> Option<Current> {
    let figures = row.figures.as_ref()?;
    let curve = figures.curve.as_ref()?;
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
    Some(Current {
        name: format!("{} ({})", row.stack, row.way.name()),
        steps: steps.collect(),
        packets: packets.collect(),
        summary: in_units_of_meters(&figures.outcome, curve),
    })
}

/// What a device takes in the units of power meters.
fn in_units_of_meters(outcome: &wirecost_account::Figures, curve: &Curve) -> String {
    let reading = format!(
        "This reading: {} mC in {}.",
        number(curve.coulombs() * 1e3),
        time(curve.duration())
    );
    let Some((power, each)) = outcome.power.as_ref().zip(outcome.each) else {
        return reading;
    };
    let amperes = power.total().joules / curve.volts;
    format!(
        "{reading} In the mean {} uA, {} mAh a day, {} uWh a message.",
        number(amperes * 1e6),
        number(amperes * 24.0 * 1e3),
        number(each.joules / 3_600.0 * 1e6)
    )
}

fn ranked(inputs: &Inputs<'_>, rows: &[Row]) -> Vec<Ranked> {
    let shown: Vec<usize> = rows::shown(rows).into_iter().map(|(index, _)| index).collect();
    let each = rows.iter().enumerate();
    each.map(|(index, row)| Ranked {
        texts: line(inputs, rows, (index, row)),
        is_met: row.is_met(),
        is_shown: shown.contains(&index),
        parts: parts(inputs, row),
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
