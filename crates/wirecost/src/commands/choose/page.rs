//! `choice.html` and `choice.md`: the choice for a design document.

use wirecost_proto::units::counted;
use wirecost_report::choice::{Choice, Choices, Ranked};
use wirecost_results::RunFolder;

use super::needs::word;
use super::rows::Row;
use super::table::{self, heads, line, notes};
use super::{Decision, Inputs, matrix};
use crate::arguments::By;
use crate::commands::command_line;
use crate::commands::cost::table::time;
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
    let best = rows.first().filter(|row| row.is_met());
    Choice {
        name: decision.name.clone().unwrap_or_default(),
        answer: best.map_or_else(
            || "No stack meets the requirements.".to_owned(),
            |row| format!("{} ({})", row.stack, row.way),
        ),
        reasons: reasons(decision),
        requirements: requirements(inputs),
        heads: heads(inputs),
        rows: rows.iter().map(|row| ranked(inputs, row)).collect(),
        evidence: evidence(decision),
        files: files(path, !verified.is_empty()),
        assumptions: notes(inputs, rows, &[])
            .into_iter()
            .filter(|note| !note.is_empty())
            .map(|note| note.trim_start_matches("* ").to_owned())
            .collect(),
    }
}

fn ranked(inputs: &Inputs<'_>, row: &Row) -> Ranked {
    Ranked {
        texts: line(inputs, row),
        is_met: row.is_met(),
        parts: row.parts.map_or([0.0; 3], |parts| {
            [parts.connection, parts.message, parts.keep_alive]
        }),
    }
}

/// What the answer costs, how many stacks meet the requirements, and which cannot be told apart from it.
fn reasons(decision: &Decision<'_>) -> Vec<String> {
    let rows = &decision.rows;
    let met = rows.iter().filter(|row| row.is_met()).count();
    let mut reasons = Vec::new();
    match rows.first().filter(|row| row.is_met()) {
        Some(best) => reasons.push(format!(
            "It has the least {} of those that meet the requirements: {}.",
            by_words(decision.inputs.arguments.by),
            matrix::figures(&decision.inputs, best)
        )),
        None => reasons.extend(rows.first().map(|nearest| {
            format!(
                "The nearest is {} ({}): {}.",
                nearest.stack,
                nearest.way,
                nearest.fails.join("; ")
            )
        })),
    }
    reasons.push(format!(
        "{met} of {} meet the requirements.",
        counted(rows.len() as u64, "stack and way").replace("stack and ways", "stacks and ways")
    ));
    let beside = rows.iter().filter_map(|row| {
        let words = row.beside_first()?;
        Some(format!("{} ({}): {words}", row.stack, row.way))
    });
    let beside: Vec<String> = beside.collect();
    if !beside.is_empty() {
        reasons.push(format!("Not behind it: {}.", beside.join("; ")));
    }
    reasons
}

const fn by_words(by: By) -> &'static str {
    match by {
        By::Bytes => "bytes",
        By::Energy => "energy",
        By::Money => "money",
        By::Time => "time",
    }
}

fn requirements(inputs: &Inputs<'_>) -> Vec<(&'static str, String)> {
    let arguments = inputs.arguments;
    let every = time(arguments.every.unwrap_or_default());
    let mut list = vec![
        (
            table::unit(inputs),
            format!("{} every {every}", arguments.content()),
        ),
        ("link", table::link(inputs)),
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
    if let Some(battery) = &arguments.battery {
        let milliampere_hours = battery.ampere_hours * 1e3;
        let discharge = arguments.self_discharge.value() * 100.0;
        list.push((
            "battery",
            format!(
                "{milliampere_hours}mAh@{}V, loses {discharge} % a year by itself",
                battery.volts
            ),
        ));
    }
    if let Some(years) = arguments.battery_years {
        list.push(("battery years", format!("at least {years}")));
    }
    if let Some(most) = arguments.monthly_bytes {
        list.push(("monthly bytes", format!("at most {most}")));
    }
    if let Some(tariff) = &inputs.tariff {
        list.push(("tariff", format!("{}: {}", tariff.name, tariff.title)));
    }
    list.push(("keep-alive", time(arguments.keep_alive)));
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
