//! The figures for a terminal. Every line ends with a line end; what is modelled has a star.

use std::time::Duration;

use wirecost_cost::tariff::Charge;
use wirecost_energy::{Part, Purposes};
use wirecost_proto::units::{DisplayDuration, counted};
use wirecost_proto::{Cause, Layer, Phase};
use wirecost_report::terminal::listing::{Head, Listing};
use wirecost_report::terminal::paragraph;

use super::outcome::{Asked, Outcome};
use super::traffic::{IN_CELLS, Source, Traffic};
use crate::arguments::{CostArguments, FleetArguments};

/// What has the columns that do not fit.
const ELSEWHERE: &str = "--json";

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

/// The answer, the figures, where the energy goes, and what they are modelled by, in `width` columns.
pub fn table(
    arguments: &CostArguments,
    asked: &Asked<'_>,
    source: &Source,
    outcomes: &[Outcome],
    width: usize,
) -> String {
    let alike = alike(source);
    let mut text = answer((arguments.fleet, asked), source, outcomes, alike)
        .map_or_else(String::new, |answer| paragraph(&answer, width) + "\n");
    text.push_str(&paragraph(&heading(arguments, source, alike), width));
    text.push('\n');
    let each = source.traffic.iter().zip(outcomes);
    let rows = each
        .clone()
        .map(|(traffic, outcome)| row((arguments.fleet, asked), (traffic, alike), outcome));
    let figures = Listing {
        heads: heads(arguments.fleet.per.name(), asked),
        rows: rows.collect(),
    };
    text.push_str(&figures.draw(width, ELSEWHERE));
    if asked.device.is_some() {
        text.push_str("\nwhere the energy goes*\n");
        let shares = Listing {
            heads: share_heads(),
            rows: each
                .map(|(traffic, outcome)| shares((traffic, alike), outcome))
                .collect(),
        };
        text.push_str(&shares.draw(width, ELSEWHERE));
        text.push_str(&paragraph(
            "The first six sum to 100 %; connect, keep-alive and acknowledgement contain their tails and wake-ups.",
            width,
        ));
    }
    text.push('\n');
    for note in footer((arguments.fleet, asked), source, outcomes) {
        text.push_str(&paragraph(&note, width));
    }
    text
}

/// The row that costs least, in a sentence: what lasts longest on a battery, else what needs the least energy, money or bytes.
fn answer(
    (fleet, asked): (FleetArguments, &Asked<'_>),
    source: &Source,
    outcomes: &[Outcome],
    alike: &str,
) -> Option<String> {
    let cost = |outcome: &Outcome| match (&outcome.power, &outcome.bill) {
        (Some(power), _) => power.total().joules,
        (None, Some(bill)) => bill.amount,
        (None, None) => outcome.month.wire_bytes(),
    };
    let each = source.traffic.iter().zip(outcomes);
    let (traffic, outcome) = each.min_by(|(_, one), (_, other)| cost(one).total_cmp(&cost(other)))?;
    let per = fleet.per.name();
    let mut parts = Vec::new();
    if let Some([years, low, high]) = outcome.years {
        let (years, low, high) = (number(years), number(low), number(high));
        parts.push(format!("{years} years on the battery ({low} to {high})"));
    } else if let Some(power) = &outcome.power {
        parts.push(format!("{} mW in the mean", number(power.total().joules * 1e3)));
    }
    parts.push(format!(
        "{} MB a {per}",
        number(fleet.scaled(outcome.month.wire_bytes()) / 1e6)
    ));
    if let (Some(bill), Some(tariff)) = (&outcome.bill, asked.tariff) {
        parts.push(format!(
            "{} {} a {per}",
            tariff.currency,
            number(fleet.scaled(bill.amount))
        ));
    }
    let least = match outcomes.len() {
        1 => String::new(),
        all => {
            let what = match (&outcome.years, &outcome.power, &outcome.bill) {
                (Some(_), ..) => "lasts longest",
                (None, Some(_), _) => "needs the least energy",
                (None, None, Some(_)) => "costs the least money",
                (None, None, None) => "has the fewest bytes",
            };
            format!(" {what} of {all} rows")
        }
    };
    let of = match asked.devices {
        1 => String::new(),
        devices => format!("; bytes and money of {}", counted(devices.into(), "device")),
    };
    let (label, mode) = (own_label(traffic, alike), &traffic.mode);
    Some(format!("{label} ({mode}){least}: {}{of}.", parts.join(", ")))
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
        Some("as captured") => format!("{shown}: the capture repeats without a pause"),
        Some("as run") => {
            format!("{shown}: the mean device repeats what it did in the load, without a pause")
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
            format!("{shown}: one {what} {when}{each}")
        }
    }
}

/// A time in the largest unit that gives a whole number. The random numbers of cells follow from [`DisplayDuration`], so that it cannot
/// have hours.
pub fn time(time: Duration) -> String {
    let units = [(86_400, "d"), (3_600, "h")];
    let seconds = time.as_secs();
    let unit = units
        .into_iter()
        .find(|(unit, _)| seconds > 0 && time.subsec_nanos() == 0 && seconds.is_multiple_of(*unit));
    unit.map_or_else(
        || DisplayDuration(time).to_string(),
        |(unit, name)| format!("{}{name}", seconds / unit),
    )
}

fn heads(per: &str, asked: &Asked<'_>) -> Vec<Head> {
    let mut heads = vec![
        Head::name("traffic"),
        Head::name("repeated"),
        Head::figure("bytes"),
    ];
    if asked.device.is_some() {
        heads.push(Head::figure("mJ*").hidden_at(1));
        heads.push(Head::figure("mean mW*").hidden_at(3));
    }
    if asked.battery.is_some() {
        heads.push(Head::figure("battery years*"));
    }
    if asked.device.is_some() {
        heads.push(Head::figure(format!("J/{per}*")).hidden_at(0));
    }
    heads.push(Head::figure(format!("MB/{per}")).hidden_at(4));
    if let Some(tariff) = asked.tariff {
        let charged = match tariff.charge {
            Charge::Bytes { .. } => "charged MB",
            Charge::Messages { .. } => "messages",
        };
        heads.push(Head::figure(charged).hidden_at(2));
        heads.push(Head::figure(format!("{}/{per}*", tariff.currency)));
    }
    heads
}

/// The columns of the shares. Those of single causes give way first.
fn share_heads() -> Vec<Head> {
    let parts = PARTS.iter().map(|(name, _)| Head::figure(*name).hidden_at(1));
    let wholes = WHOLES.iter().map(|(name, _)| Head::figure(*name).hidden_at(0));
    [Head::name("traffic"), Head::name("repeated")]
        .into_iter()
        .chain(parts)
        .chain(wholes)
        .collect()
}

fn row(
    (fleet, asked): (FleetArguments, &Asked<'_>),
    (traffic, alike): (&Traffic, &str),
    outcome: &Outcome,
) -> Vec<String> {
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
        row.push(format!("{mark}{}", number(fleet.scaled(energy.joules))));
    }
    row.push(number(fleet.scaled(outcome.month.wire_bytes()) / 1e6));
    if let (Some(bill), Some(tariff)) = (&outcome.bill, asked.tariff) {
        row.push(match tariff.charge {
            Charge::Bytes { .. } => number(fleet.scaled(bill.charged_bytes) / 1e6),
            Charge::Messages { .. } => number(fleet.scaled(bill.charged_messages)),
        });
        row.push(number(fleet.scaled(bill.amount)));
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

fn footer(
    (fleet, asked): (FleetArguments, &Asked<'_>),
    source: &Source,
    outcomes: &[Outcome],
) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(device) = asked.device {
        let (assumed, all) = device.assumed();
        let figures = counted(all as u64, "figure");
        let is_in_cells = source.traffic.iter().any(|traffic| traffic.mode == IN_CELLS);
        let what = if is_in_cells {
            "times in each state"
        } else {
            "packets"
        };
        notes.push(format!(
            "* modelled from the {what} by {}: {}; {assumed} of {figures} assumed",
            device.name, device.title
        ));
    }
    if let Some(tariff) = asked.tariff {
        let price = if tariff.is_sourced {
            "from its source"
        } else {
            "an example"
        };
        notes.push(format!(
            "* priced by {}: {}; the price is {price}",
            tariff.name, tariff.title
        ));
    }
    if let Some(battery) = asked.battery {
        let percent = battery.self_discharge * 100.0;
        notes.push(format!(
            "battery: {} J, loses {} % per year by itself; in parentheses, the range of the spread of the powers",
            number(battery.joules),
            number(percent)
        ));
    }
    if asked.devices > 1 {
        notes.push(format!(
            "energy, bytes and money per {} are those of {}",
            fleet.per.name(),
            counted(asked.devices.into(), "device")
        ));
    }
    if outcomes.iter().any(|outcome| outcome.overlaps) {
        notes.push("<= the tails of one reading reach into the next, and are counted in full".to_owned());
    }
    notes.extend(source.notes.iter().cloned());
    notes
}

/// A number with four digits, or all digits before its point.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = value.abs().log10().floor() as i32;
    let decimals = (3 - digits).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let texts = [0.0, 0.000_123_456, 0.5, 12.0, 123.456, 98_765.4].map(number);
        assert_eq!(texts, ["0", "0.0001235", "0.5", "12", "123.5", "98765"]);
        assert_eq!(
            [0.0, 900.0, 7_200.0, 172_800.0, 90.0, 0.5].map(|seconds| time(Duration::from_secs_f64(seconds))),
            ["0ms", "15min", "2h", "2d", "90s", "500ms"]
        );
    }
}
