//! The figures for a terminal. Every line ends with a line end; what is modelled has a star.

use std::fmt::Write as _;
use std::time::Duration;

use wirecost_cost::Tariff;
use wirecost_cost::tariff::Charge;
use wirecost_energy::{Part, Purposes};
pub use wirecost_proto::shown::{amount, number, time};
use wirecost_proto::units::counted;
use wirecost_proto::{Cause, Layer, Phase};

use wirecost_scenario::tariff::accepted;

use super::outcome::{Asked, Outcome};
use super::traffic::{IN_CELLS, Source, Traffic};
use crate::arguments::CostArguments;

/// The columns of text of both tables.
const TEXT_COLUMNS: [usize; 2] = [0, 1];

/// A share of the energy, by the heading of its column.
type Share = (&'static str, fn(&Purposes) -> f64);

/// Shares that sum to 100 %.
const PARTS: [Share; 6] = [
    ("security", |all| part(all, Part::Layer(Layer::Security))),
    ("other bytes", |all| {
        let others = [Layer::Ip, Layer::Transport, Layer::Application, Layer::Payload];
        let sum: f64 = others
            .into_iter()
            .map(|layer| part(all, Part::Layer(layer)))
            .sum();
        sum + part(all, Part::Compute)
    }),
    ("link", |all| part(all, Part::Link)),
    ("wake", |all| part(all, Part::Wake)),
    ("tail", |all| part(all, Part::Tail)),
    ("rest", |all| part(all, Part::Rest)),
];

/// Shares with their tails and wake-ups, which are also in the parts.
const WHOLES: [Share; 3] = [
    ("connect", |all| all.of_phase(Phase::Connect).joules),
    ("keep-alive", |all| all.of_phase(Phase::KeepAlive).joules),
    ("acknowledgement", |all| {
        all.of_cause(Cause::Acknowledgement).joules
    }),
];

/// The shares that times in each state tell apart: bytes of layers and causes of packets are in `link`.
const OF_TIMES: [&str; 5] = ["link", "wake", "tail", "rest", "keep-alive"];

fn part(all: &Purposes, part: Part) -> f64 {
    all.of_part(part).joules
}

/// The figures, where the energy goes, and what they are modelled by.
pub fn table(arguments: &CostArguments, asked: &Asked<'_>, source: &Source, outcomes: &[Outcome]) -> String {
    let alike = alike(source);
    let mut text = heading(arguments, source, alike);
    let mut rows = vec![heads(asked)];
    let each = source.traffic.iter().zip(outcomes);
    rows.extend(
        each.clone()
            .map(|(traffic, outcome)| row(asked, (traffic, alike), outcome)),
    );
    draw(&rows, &TEXT_COLUMNS, &mut text);
    if asked.device.is_some() {
        text.push_str("\nwhere the energy goes*\n");
        let names = PARTS.iter().chain(&WHOLES).map(|(name, _)| (*name).to_owned());
        let mut rows = vec![
            ["traffic", "repeated"]
                .map(str::to_owned)
                .into_iter()
                .chain(names)
                .collect(),
        ];
        rows.extend(each.map(|(traffic, outcome)| shares((traffic, alike), outcome)));
        draw(&rows, &TEXT_COLUMNS, &mut text);
        text.push_str("The first six sum to 100 %; connect, keep-alive and acknowledgement contain their tails and wake-ups.\n");
    }
    footer(asked, source, outcomes, &mut text);
    text
}

/// The words at the end of the labels of cells that all of them have, with a blank in front; empty for one row, and for devices.
fn alike(source: &Source) -> &str {
    let mut labels = source.traffic.iter().map(|traffic| traffic.label.as_str());
    let first = labels.next().unwrap_or_default();
    let ends = first.match_indices(' ').map(|(at, _)| &first[at..]);
    let is_of_cells = source
        .traffic
        .iter()
        .all(|traffic| !traffic.mode.starts_with("as ") && traffic.mode != "each interval");
    let mut ends = ends.filter(|end| is_of_cells && labels.clone().all(|label| label.ends_with(end)));
    ends.next().unwrap_or_default()
}

/// The label of a row without the words that all rows have.
fn own_label(traffic: &Traffic, alike: &str) -> String {
    let own = traffic.label.strip_suffix(alike);
    own.unwrap_or(&traffic.label).to_owned()
}

fn heading(arguments: &CostArguments, source: &Source, alike: &str) -> String {
    let shown = arguments.source.display();
    let every = source.traffic.first().map_or(0.0, |traffic| traffic.interval);
    let is_one = source.traffic.iter().all(|traffic| traffic.interval == every);
    let every = Duration::from_secs_f64(every);
    match source.traffic.first().map(|traffic| traffic.mode.as_str()) {
        Some("as captured") => format!("{shown}: the capture repeats without a pause\n\n"),
        Some("as run") => {
            format!("{shown}: the mean device repeats what it did in the load, without a pause\n\n")
        }
        Some("each interval") => format!("{shown}: the traffic is repeated every {}\n\n", time(every)),
        _ => {
            let what = if source.has_batches { "message" } else { "reading" };
            let when = match is_one {
                true => format!("every {}", time(every)),
                false => "at the interval of each cell".to_owned(),
            };
            let alike = alike.trim_start();
            let each = if alike.is_empty() {
                String::new()
            } else {
                format!("; each row: {alike}")
            };
            format!("{shown}: one {what} {when}{each}\n\n")
        }
    }
}

fn heads(asked: &Asked<'_>) -> Vec<String> {
    let mut heads = ["traffic", "repeated", "bytes"].map(str::to_owned).to_vec();
    if asked.device.is_some() {
        heads.extend(["mJ*", "mean mW*"].map(str::to_owned));
    }
    if asked.battery.is_some() {
        heads.push("battery years*".to_owned());
    }
    if asked.device.is_some() {
        heads.push("J/month*".to_owned());
    }
    heads.push("MB/month".to_owned());
    if let Some(tariff) = asked.tariff {
        heads.push(match tariff.charge {
            Charge::Bytes { .. } => "charged MB".to_owned(),
            Charge::Messages { .. } => "messages".to_owned(),
        });
        heads.push(format!("{}/month*", tariff.currency));
    }
    heads
}

fn row(asked: &Asked<'_>, (traffic, alike): (&Traffic, &str), outcome: &Outcome) -> Vec<String> {
    let fleet = f64::from(asked.devices);
    let mut row = vec![
        own_label(traffic, alike),
        traffic.mode.clone(),
        number(traffic.bytes_each()),
    ];
    if let Some(power) = &outcome.power {
        let joules = traffic.joules_each();
        row.push(joules.map_or_else(String::new, |joules| number(joules * 1e3)));
        let mark = if outcome.overlaps { "<= " } else { "" };
        row.push(format!("{mark}{}", number(power.total().joules * 1e3)));
    }
    if let Some([years, low, high]) = outcome.years {
        row.push(format!("{} ({} to {})", number(years), number(low), number(high)));
    }
    if let Some(energy) = outcome.month_energy {
        let mark = if outcome.overlaps { "<= " } else { "" };
        row.push(format!("{mark}{}", number(energy.joules * fleet)));
    }
    row.push(number(outcome.month.wire_bytes() * fleet / 1e6));
    if let (Some(bill), Some(tariff)) = (&outcome.bill, asked.tariff) {
        row.push(match tariff.charge {
            Charge::Bytes { .. } => number(bill.charged_bytes * fleet / 1e6),
            Charge::Messages { .. } => number(bill.charged_messages * fleet),
        });
        row.push(amount(bill.amount * fleet));
    } else if asked.tariff.is_some() {
        row.extend(["-", "-"].map(str::to_owned));
    }
    row
}

fn shares((traffic, alike): (&Traffic, &str), outcome: &Outcome) -> Vec<String> {
    let mut row = vec![own_label(traffic, alike), traffic.mode.clone()];
    if let Some(power) = &outcome.power {
        let whole = power.total().joules;
        let share = |(name, of): &Share| {
            let is_known = traffic.mode != IN_CELLS || OF_TIMES.contains(name);
            if whole > 0.0 && is_known {
                format!("{:.1} %", of(power) / whole * 100.0)
            } else {
                "-".to_owned()
            }
        };
        row.extend(PARTS.iter().chain(&WHOLES).map(share));
    }
    row
}

fn footer(asked: &Asked<'_>, source: &Source, outcomes: &[Outcome], text: &mut String) {
    // Writing to a String cannot fail.
    if let Some(device) = asked.device {
        let (assumed, all) = device.assumed();
        let figures = counted(all as u64, "figure");
        let is_in_cells = source.traffic.iter().any(|traffic| traffic.mode == IN_CELLS);
        let what = if is_in_cells {
            "times in each state"
        } else {
            "packets"
        };
        let _ = writeln!(
            text,
            "\n* modelled from the {what} by {}: {}; {assumed} of {figures} assumed",
            device.name, device.title
        );
    }
    if let Some(tariff) = asked.tariff {
        let price = if tariff.is_sourced {
            "from its source"
        } else {
            "an example"
        };
        let _ = writeln!(
            text,
            "* priced by {}: {}; the price is {price}",
            tariff.name, tariff.title
        );
        for line in unpriced(tariff, source, outcomes) {
            let _ = writeln!(text, "{line}");
        }
    }
    if let Some(battery) = asked.battery {
        let percent = battery.self_discharge * 100.0;
        let _ = writeln!(
            text,
            "battery: {} J, loses {} % per year by itself; in parentheses, the range of the spread of the powers",
            number(battery.joules),
            number(percent)
        );
    }
    if asked.devices > 1 {
        let _ = writeln!(
            text,
            "energy, bytes and money per month are those of {}",
            counted(asked.devices.into(), "device")
        );
    }
    if outcomes.iter().any(|outcome| outcome.overlaps) {
        text.push_str("<= the tails of one reading reach into the next, and are counted in full\n");
    }
    for note in &source.notes {
        let _ = writeln!(text, "{note}");
    }
}

/// What a tariff does not price, and what nobody checked.
fn unpriced(tariff: &Tariff, source: &Source, outcomes: &[Outcome]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for why in outcomes.iter().filter_map(|outcome| outcome.refusal.as_ref()) {
        let line = format!("not priced: {why}");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let is_any = source.traffic.iter().any(|traffic| traffic.stack.is_none());
    if is_any && !tariff.takes.is_empty() {
        let takes = accepted(tariff);
        lines.push(format!(
            "the service takes {takes}: whether the capture has these alone is not checked"
        ));
    }
    lines
}

/// Draws rows: columns of text begin with the others of their column, columns of numbers end with them.
pub fn draw(rows: &[Vec<String>], text_columns: &[usize], text: &mut String) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| match text_columns.contains(&column) {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            });
        let line = cells.collect::<Vec<String>>().join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
}
