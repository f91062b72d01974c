//! The figures for a terminal. Every line ends with a line end; what is modelled has a star.

use std::fmt::Write as _;
use std::time::Duration;

use wirecost_account::{Figures, Terms, Traffic, Way};
use wirecost_cost::Tariff;
use wirecost_cost::tariff::Charge;
use wirecost_energy::{Part, Purposes};
pub use wirecost_proto::shown::{amount, number, time};
use wirecost_proto::units::counted;
use wirecost_proto::{Cause, Layer, Phase};

use wirecost_scenario::tariff::accepted;

use super::traffic::Source;
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
pub fn table(arguments: &CostArguments, terms: &Terms<'_>, source: &Source, figures: &[Figures]) -> String {
    let alike = alike(source);
    let mut text = heading(arguments, source, alike);
    let mut rows = vec![heads(terms)];
    let each = source.traffic.iter().zip(figures);
    rows.extend(
        each.clone()
            .map(|(traffic, figures)| row(terms, (traffic, alike), figures)),
    );
    draw(&rows, &TEXT_COLUMNS, &mut text);
    if terms.device.is_some() {
        text.push_str("\nwhere the energy goes*\n");
        let names = PARTS.iter().chain(&WHOLES).map(|(name, _)| (*name).to_owned());
        let mut rows = vec![
            ["traffic", "repeated"]
                .map(str::to_owned)
                .into_iter()
                .chain(names)
                .collect(),
        ];
        rows.extend(each.map(|(traffic, figures)| shares((traffic, alike), figures)));
        draw(&rows, &TEXT_COLUMNS, &mut text);
        text.push_str("The first six sum to 100 %; connect, keep-alive and acknowledgement contain their tails and wake-ups.\n");
    }
    footer(terms, source, figures, &mut text);
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
        .all(|traffic| traffic.way.is_life() || traffic.way == Way::InCells);
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
    match source.traffic.first().map(|traffic| traffic.way) {
        Some(Way::Captured) => format!("{shown}: the capture repeats without a pause\n\n"),
        Some(Way::Loaded) => {
            format!("{shown}: the mean device repeats what it did in the load, without a pause\n\n")
        }
        Some(Way::Repeated) => format!("{shown}: the traffic is repeated every {}\n\n", time(every)),
        Some(Way::InCells | Way::NoConnection | Way::Each { .. } | Way::Kept { .. }) | None => {
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

fn heads(terms: &Terms<'_>) -> Vec<String> {
    let mut heads = ["traffic", "repeated", "bytes"].map(str::to_owned).to_vec();
    if terms.device.is_some() {
        heads.extend(["mJ*", "mean mW*"].map(str::to_owned));
    }
    if terms.battery.is_some() {
        heads.push("battery years*".to_owned());
    }
    if terms.device.is_some() {
        heads.push("J/month*".to_owned());
    }
    heads.push("MB/month".to_owned());
    if let Some(tariff) = terms.tariff {
        heads.push(match tariff.charge {
            Charge::Bytes { .. } => "charged MB".to_owned(),
            Charge::Messages { .. } => "messages".to_owned(),
        });
        heads.push(format!("{}/month*", tariff.currency));
    }
    heads
}

fn row(terms: &Terms<'_>, (traffic, alike): (&Traffic, &str), figures: &Figures) -> Vec<String> {
    let fleet = f64::from(terms.devices);
    let mut row = vec![
        own_label(traffic, alike),
        traffic.way.to_string(),
        number(traffic.bytes_each()),
    ];
    if let Some((power, each)) = figures.power.as_ref().zip(figures.each) {
        row.push(number(each.joules * 1e3));
        let mark = if figures.overlaps { "<= " } else { "" };
        row.push(format!("{mark}{}", number(power.total().joules * 1e3)));
    }
    if let Some([years, low, high]) = figures.years {
        row.push(format!("{} ({} to {})", number(years), number(low), number(high)));
    }
    if let Some(energy) = figures.month_energy {
        let mark = if figures.overlaps { "<= " } else { "" };
        row.push(format!("{mark}{}", number(energy.joules * fleet)));
    }
    row.push(number(figures.month.wire_bytes() * fleet / 1e6));
    if let (Some(bill), Some(tariff)) = (&figures.bill, terms.tariff) {
        row.push(match tariff.charge {
            Charge::Bytes { .. } => number(bill.charged_bytes * fleet / 1e6),
            Charge::Messages { .. } => number(bill.charged_messages * fleet),
        });
        row.push(amount(bill.amount * fleet));
    } else if terms.tariff.is_some() {
        row.extend(["-", "-"].map(str::to_owned));
    }
    row
}

fn shares((traffic, alike): (&Traffic, &str), figures: &Figures) -> Vec<String> {
    let mut row = vec![own_label(traffic, alike), traffic.way.to_string()];
    if let Some(power) = &figures.power {
        let whole = power.total().joules;
        let share = |(name, of): &Share| {
            let is_known = traffic.way != Way::InCells || OF_TIMES.contains(name);
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

fn footer(terms: &Terms<'_>, source: &Source, figures: &[Figures], text: &mut String) {
    // Writing to a String cannot fail.
    if let Some(device) = terms.device {
        let (assumed, all) = device.assumed();
        let figures = counted(all as u64, "figure");
        let is_in_cells = source.traffic.iter().any(|traffic| traffic.way == Way::InCells);
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
    if let Some(tariff) = terms.tariff {
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
        for line in unpriced(tariff, source, figures) {
            let _ = writeln!(text, "{line}");
        }
    }
    if let Some(battery) = terms.battery {
        let percent = battery.self_discharge * 100.0;
        let _ = writeln!(
            text,
            "battery: {} J, loses {} % per year by itself; in parentheses, the range of the spread of the powers",
            number(battery.joules),
            number(percent)
        );
    }
    if terms.devices > 1 {
        let _ = writeln!(
            text,
            "energy, bytes and money per month are those of {}",
            counted(terms.devices.into(), "device")
        );
    }
    if figures.iter().any(|figures| figures.overlaps) {
        text.push_str("<= the tails of one reading reach into the next, and are counted in full\n");
    }
    for note in &source.notes {
        let _ = writeln!(text, "{note}");
    }
}

/// What a tariff does not price, and what nobody checked.
fn unpriced(tariff: &Tariff, source: &Source, figures: &[Figures]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for why in figures.iter().filter_map(|figures| figures.refusal.as_ref()) {
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
