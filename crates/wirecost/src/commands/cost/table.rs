//! The figures as texts; what is modelled has a star.

use std::time::Duration;

use wirecost_account::reading_time::{ReadingTime, Statistic};
use wirecost_account::{Figures, Terms, Traffic, Way};
use wirecost_cost::Tariff;
use wirecost_energy::Device;
use wirecost_energy::evidence::Beside;
pub use wirecost_proto::shown::{amount, number, time};
use wirecost_proto::units::counted;
use wirecost_report::terminal::listing::{Head, Listing};
use wirecost_scenario::tariff::accepted;

use super::answer::answer;
use super::attach;
use super::bill;
use super::labels::{alike, own_label};
use super::shares;
use super::sure::with_best;
use super::traffic::Source;
use crate::arguments::{CostArguments, FleetArguments};
use crate::commands::told::{Told, ToldTable};

/// The answer, the figures, where the energy goes, and what they are modelled by.
pub fn told(arguments: &CostArguments, terms: &Terms<'_>, source: &Source, outcomes: &[Figures]) -> Told {
    let alike = alike(&source.traffic);
    let best = answer((arguments.fleet, terms), &source.traffic, outcomes, alike);
    let each = source.traffic.iter().zip(outcomes);
    let rows = each
        .clone()
        .map(|(traffic, outcome)| row((arguments.fleet, terms), (source, traffic, alike), outcome));
    let figures = ToldTable {
        caption: "",
        listing: Listing {
            heads: heads(arguments.fleet.per.name(), terms, has_times(source)),
            rows: rows.collect(),
        },
        note: "",
    };
    let shares = terms.device.map(|device| shares::table(device, each, alike));
    Told {
        answers: with_best(terms, best).into_iter().collect(),
        heading: heading(arguments, source, alike),
        tables: [figures].into_iter().chain(shares).collect(),
        notes: footer((arguments.fleet, terms), source, outcomes),
    }
}

fn heading(arguments: &CostArguments, source: &Source, alike: &str) -> String {
    let shown = arguments.source.display();
    let every = source.traffic.first().map_or(0.0, |traffic| traffic.interval);
    // Compared exactly: both come from the same option, and are not computed.
    let is_one = source.traffic.iter().all(|traffic| traffic.interval == every);
    let every = Duration::from_secs_f64(every);
    match source.traffic.first().map(|traffic| traffic.way) {
        Some(Way::Captured) => format!("{shown}: the capture repeats without a pause"),
        Some(Way::Loaded) => {
            format!("{shown}: the mean device repeats what it did in the load, without a pause")
        }
        Some(Way::Repeated) => format!("{shown}: the traffic is repeated every {}", time(every)),
        Some(Way::InCells | Way::NoConnection | Way::Each { .. } | Way::Kept { .. }) | None => {
            let what = if source.has_batches { "message" } else { "reading" };
            let when = match is_one {
                true => format!("every {}", time(every)),
                false => "at the interval of each cell".to_owned(),
            };
            let alike = alike.trim_start_matches([',', ' ']);
            let each = if alike.is_empty() {
                String::new()
            } else {
                format!("; each row: {alike}")
            };
            format!("{shown}: one {what} {when}{each}")
        }
    }
}

/// Whether the time of a reading is known in any row.
fn has_times(source: &Source) -> bool {
    source.traffic.iter().any(|traffic| traffic.time.is_some())
}

fn heads(per: &str, terms: &Terms<'_>, has_times: bool) -> Vec<Head> {
    let mut heads = vec![
        Head::name("traffic"),
        Head::name("repeated"),
        Head::figure("bytes"),
    ];
    if terms.device.is_some() {
        heads.push(Head::figure("mJ*").hidden_at(1));
        heads.push(Head::figure("mean mW*").hidden_at(3));
    }
    if terms.battery.is_some() {
        heads.push(Head::figure("battery years*"));
    }
    if terms.device.is_some() {
        heads.push(Head::figure(format!("J/{per}*")).hidden_at(0));
    }
    heads.push(Head::figure(format!("MB/{per}")).hidden_at(4));
    if let Some(tariff) = terms.tariff {
        let charged = match tariff.is_by_bytes() {
            true => "charged MB",
            false => "messages",
        };
        heads.push(Head::figure(charged).hidden_at(2));
        heads.push(Head::figure(format!("{}/{per}*", tariff.currency)));
    }
    if has_times {
        heads.push(Head::figure("time").hidden_at(0));
    }
    heads
}

fn row(
    (fleet, terms): (FleetArguments, &Terms<'_>),
    (source, traffic, alike): (&Source, &Traffic, &str),
    outcome: &Figures,
) -> Vec<String> {
    let mut row = vec![
        own_label(traffic, alike),
        traffic.way.to_string(),
        number(traffic.bytes_each()),
    ];
    // The cells follow the order and the conditions of `heads`: one more or one less would shift all that follow.
    if let Some((power, each)) = outcome.power.as_ref().zip(outcome.each) {
        row.push(number(each.joules * 1e3));
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
    if let (Some(bill), Some(tariff)) = (&outcome.bill, terms.tariff) {
        row.push(match tariff.is_by_bytes() {
            true => number(fleet.scaled(bill.charged_bytes) / 1e6),
            false => number(fleet.scaled(bill.charged_messages)),
        });
        row.push(amount(fleet.scaled(bill.amount)));
    } else if terms.tariff.is_some() {
        // The tariff cannot price this row, but its two columns are there for the others.
        row.extend(["-", "-"].map(str::to_owned));
    }
    if has_times(source) {
        let total = outcome.time.map(|reading| time(reading.total()));
        row.push(total.unwrap_or_else(|| "-".to_owned()));
    }
    row
}

fn footer(
    (fleet, terms): (FleetArguments, &Terms<'_>),
    source: &Source,
    outcomes: &[Figures],
) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(device) = terms.device {
        let is_in_cells = source.traffic.iter().any(|traffic| traffic.way == Way::InCells);
        let what = if is_in_cells {
            "times in each state"
        } else {
            "packets"
        };
        notes.push(modelled_by(device, what));
        notes.extend(charges(device, source, outcomes));
        notes.extend(attach::words(device, None));
    }
    if let Some(tariff) = terms.tariff {
        notes.push(priced_by(tariff));
        notes.extend(bills(tariff, source, outcomes));
        notes.extend(unpriced(tariff, source, outcomes));
    }
    if let Some(battery) = terms.battery {
        let percent = battery.chemistry.self_discharge * 100.0;
        notes.push(format!(
            "battery: {} J, loses {} % per year by itself, and no life is above its shelf life of {} years; in parentheses, {}",
            number(battery.joules),
            number(percent),
            number(battery.chemistry.shelf_years),
            range_of_years(terms.beside)
        ));
    }
    if terms.fleet.devices > 1 {
        notes.push(format!(
            "energy, bytes and money per {} are those of {}",
            fleet.per.name(),
            counted(terms.fleet.devices.into(), "device")
        ));
    }
    if outcomes.iter().any(|outcome| outcome.overlaps) {
        notes.push("<= the tails of one reading reach into the next, and are counted in full".to_owned());
    }
    notes.extend(of_times(outcomes.iter().filter_map(|outcome| outcome.time)));
    notes.extend(source.notes.iter().cloned());
    notes
}

/// What the range of a life is.
pub const fn range_of_years(beside: Option<Beside>) -> &'static str {
    match beside {
        Some(_) => "the range that the measurements of its chip leave",
        None => "the range of the spread of the powers",
    }
}

/// The most rows that have a sentence of their own below the table.
const MOST_ROWS: usize = 4;

/// What the bill of each row is for; where too many rows would be told, only those that the page's kilobyte changes.
fn bills(tariff: &Tariff, source: &Source, outcomes: &[Figures]) -> Vec<String> {
    let alike = alike(&source.traffic);
    let billed = source.traffic.iter().zip(outcomes);
    let each = billed.filter_map(|(traffic, outcome)| {
        let bill = outcome.bill.as_ref()?;
        let words = match outcomes.len() {
            ..=MOST_ROWS => bill::words(tariff, bill),
            _ => bill::other_kilobyte(tariff, bill)?,
        };
        Some(format!(
            "bill* of {} ({}): {words}",
            own_label(traffic, alike),
            traffic.way
        ))
    });
    each.collect()
}

/// The charge of a reading, and the messages of a battery; nothing where too many rows would be told.
fn charges(device: &Device, source: &Source, outcomes: &[Figures]) -> Option<String> {
    let alike = alike(&source.traffic);
    let each = source.traffic.iter().zip(outcomes).map(|(traffic, outcome)| {
        let charge = device.charge_mah(outcome.each?.joules);
        let above = outcome.above_rest(device)? * 1e3;
        let messages = outcome
            .messages_of_battery()
            .map(|[messages, ..]| format!(", {} messages a battery", number(messages)));
        let session = outcome
            .session()
            .filter(|_| outcome.month.sessions() < outcome.messages)
            .map(|session| format!(", {} mAh a session", number(device.charge_mah(session.joules))));
        Some(format!(
            "{} {} mAh ({} mJ above rest){}{}",
            own_label(traffic, alike),
            number(charge),
            number(above),
            session.unwrap_or_default(),
            messages.unwrap_or_default()
        ))
    });
    let each = each.collect::<Option<Vec<String>>>()?;
    (1..=MOST_ROWS)
        .contains(&each.len())
        .then(|| format!("each time*: {}", each.join("; ")))
}

/// What the times of readings are, where there are any.
pub fn of_times(times: impl Iterator<Item = ReadingTime>) -> Option<String> {
    let any_longest = times
        .map(|time| time.statistic == Statistic::Longest)
        .reduce(|one, other| one || other)?;
    let longest = match any_longest {
        true => ", the longest where there are too few for one",
        false => "",
    };
    Some(format!("time: 95th percentile of a reading{longest}"))
}

/// What energy is modelled from, and by which device file.
pub fn modelled_by(device: &Device, what: &str) -> String {
    let (assumed, all) = device.assumed();
    let figures = counted(all as u64, "figure");
    format!(
        "* modelled from the {what} by {}: {}; {assumed} of {figures} assumed",
        device.name, device.title
    )
}

/// What money is computed by.
pub fn priced_by(tariff: &Tariff) -> String {
    let price = match tariff.is_sourced {
        true => "from its source",
        false => "an example",
    };
    let before = match tariff.is_uncompressed {
        true => "; it counts compressed content by its size before, and this bill by what is sent",
        false => "",
    };
    format!(
        "* priced by {}: {}; the price is {price}{before}",
        tariff.name, tariff.title
    )
}

/// What a tariff does not price, and what nobody checked.
fn unpriced(tariff: &Tariff, source: &Source, outcomes: &[Figures]) -> Vec<String> {
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
