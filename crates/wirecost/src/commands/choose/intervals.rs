//! What a month of the first rows costs against the interval: from the packets of the question where the device does nothing between two
//! readings, and by simulations (`--sensitivity`) where it keeps a connection.

use std::time::Duration;

use wirecost_account::Way as Connection;
use wirecost_proto::calendar::MONTH_SECONDS;
use wirecost_report::choice::{CostByInterval, CostLine, CostPoint};
use wirecost_stats::Estimate;

use super::Inputs;
use super::input::Change;
use super::others::{Contender, Contenders, Named, Other};
use super::rows::{self, Row};
use super::simulated::Found;
use crate::arguments::By;
use crate::exit::Failure;
use wirecost_proto::time::nanos;

/// The stacks that are drawn, each with its first way of each use of connections.
const STACKS: usize = 4;
/// The intervals of the picture in seconds, and those of them that are simulated.
const SECONDS: [(u64, bool); 14] = [
    (10, false),
    (30, false),
    (60, true),
    (120, false),
    (300, true),
    (600, false),
    (900, true),
    (1_800, false),
    (3_600, true),
    (7_200, false),
    (14_400, false),
    (21_600, true),
    (43_200, false),
    (86_400, true),
];
/// How far from the interval that was asked for the picture goes.
const FACTOR: u32 = 100;
/// The most payload of the devices of a cell that is simulated for the picture or for a page, in bytes.
pub(in crate::commands) const MOST_PAYLOAD: u64 = 32_000_000;

/// The rows that are drawn.
pub(super) fn drawn(rows: &[Row]) -> Vec<&Row> {
    let mut drawn: Vec<&Row> = Vec::new();
    let has_figures = rows::shown(rows).into_iter().map(|(_, row)| row);
    for row in has_figures.filter(|row| row.figures.is_some()) {
        let is_known = drawn.iter().any(|other| other.stack == row.stack);
        let stacks = drawn
            .iter()
            .enumerate()
            .filter(|(place, row)| !drawn[..*place].iter().any(|other| other.stack == row.stack));
        let is_alike =
            |other: &&Row| other.stack == row.stack && kind(other.way.connection) == kind(row.way.connection);
        if !drawn.iter().any(is_alike) && (is_known || stacks.count() < STACKS) {
            drawn.push(row);
        }
    }
    drawn
}

/// The same uses of connections have the same words.
const fn kind(connection: Connection) -> &'static str {
    match connection {
        Connection::Kept { .. } => "persistent",
        Connection::Each { .. } => "each",
        Connection::NoConnection
        | Connection::Captured
        | Connection::Loaded
        | Connection::Repeated
        | Connection::InCells => "",
    }
}

/// The cost of the rows that are drawn; `None` without any. Kept connections are simulated where `named` is given.
///
/// # Errors
/// The packets of a cell cannot be read.
pub(super) fn cost(
    contenders: &Contenders<'_>,
    rows: &[Row],
    named: Option<&Named<'_>>,
) -> Result<Option<CostByInterval>, Failure> {
    let inputs = contenders.inputs;
    let asked = inputs.arguments.every.unwrap_or_default();
    let mut stacks = Vec::new();
    let mut lines = Vec::new();
    for row in drawn(rows) {
        let Some(contender) = contenders.of_row(row) else {
            continue;
        };
        let points = points(contenders, contender, named)?;
        let stack = stacks
            .iter()
            .position(|stack| *stack == row.stack)
            .unwrap_or_else(|| {
                stacks.push(row.stack);
                stacks.len() - 1
            });
        lines.push(CostLine {
            label: format!("{} {}", row.stack, kind(row.way.connection))
                .trim_end()
                .to_owned(),
            stack,
            points,
        });
    }
    Ok((!lines.is_empty()).then(|| CostByInterval {
        unit: unit(inputs),
        asked: nanos(asked),
        note: note(&lines, named.is_some()),
        lines,
    }))
}

fn unit(inputs: &Inputs<'_>) -> String {
    let per = inputs.arguments.fleet.per.name();
    match inputs.arguments.by {
        By::Bytes | By::Time => format!("MB a {per}"),
        By::Energy => "mAh* a month".to_owned(),
        By::Money => {
            let currency = inputs
                .tariff
                .as_ref()
                .map_or("", |tariff| tariff.currency.as_str());
            format!("{currency}* a {per}")
        }
    }
}

fn note(lines: &[CostLine], has_simulations: bool) -> String {
    let has_alone = lines.iter().any(|line| line.points.len() == 1);
    let mut note = "Where nothing is sent between two readings, the points without a ring are its packets at other times.".to_owned();
    if has_alone && !has_simulations {
        note +=
            " What a persistent connection costs at another interval must be simulated: --sensitivity does.";
    } else if lines
        .iter()
        .any(|line| line.points.iter().all(|point| point.is_simulated))
    {
        note += " Persistent connections were simulated at each ring; between two of them the line is drawn, not computed.";
    }
    note
}

fn points(
    contenders: &Contenders<'_>,
    contender: &Contender<'_>,
    named: Option<&Named<'_>>,
) -> Result<Vec<CostPoint>, Failure> {
    let inputs = contenders.inputs;
    let asked = inputs.arguments.every.unwrap_or_default();
    let mut points = Vec::new();
    for (every, is_simulated) in intervals(asked) {
        if every == asked {
            points.extend(cost_of(inputs, contender.row).map(|cost| point(every, cost, true)));
            continue;
        }
        let change = Change::to_interval(inputs, every);
        let is_kept = contender.row.way.is_kept();
        // What cannot be told at other times is simulated as far as that was asked for.
        let nothing = |_: &str| -> Option<Found> { None };
        let nowhere = Named::new(&nothing);
        let named = named
            .filter(|_| is_simulated && is_kept && contenders.payload_at(contender, &change) <= MOST_PAYLOAD);
        let other = contenders.other(contender, &change, named.unwrap_or(&nowhere), measured(inputs))?;
        if let Other::Row(row) = other {
            points.extend(cost_of(inputs, &row).map(|cost| point(every, cost, is_kept)));
        }
    }
    Ok(points)
}

/// The intervals of the picture around the one that was asked for, which is one of them.
fn intervals(asked: Duration) -> Vec<(Duration, bool)> {
    let all = SECONDS.map(|(seconds, is_simulated)| (Duration::from_secs(seconds), is_simulated));
    let is_near = |every: Duration| every * FACTOR >= asked && every <= asked.saturating_mul(FACTOR);
    let mut near: Vec<(Duration, bool)> = all
        .into_iter()
        .filter(|(every, _)| is_near(*every) && *every != asked)
        .collect();
    near.push((asked, true));
    near.sort();
    near
}

fn point(every: Duration, cost: Estimate, is_simulated: bool) -> CostPoint {
    CostPoint {
        at: nanos(every),
        value: cost.value,
        range: cost.interval,
        is_simulated,
    }
}

/// Leaves what the quantity of the picture needs.
fn measured(inputs: &Inputs<'_>) -> fn(&mut Inputs<'_>) {
    match inputs.arguments.by {
        By::Bytes | By::Time => |inputs| {
            (inputs.device, inputs.battery, inputs.tariff) = (None, None, None);
        },
        By::Energy => |inputs| (inputs.battery, inputs.tariff) = (None, None),
        By::Money => |inputs| (inputs.device, inputs.battery) = (None, None),
    }
}

/// What a row costs in the time asked for, or in a month where it is charge.
fn cost_of(inputs: &Inputs<'_>, row: &Row) -> Option<Estimate> {
    let figures = row.figures.as_ref()?;
    let fleet = inputs.arguments.fleet;
    let by = inputs.arguments.by;
    match by {
        By::Bytes | By::Time => {
            let bytes = rows::estimate(row, By::Bytes)?;
            let megabytes = fleet.scaled(figures.month_bytes) / 1e6;
            (bytes.value > 0.0).then(|| bytes.scaled(megabytes / bytes.value))
        }
        By::Energy => {
            let charge = inputs.device.as_ref()?.charge_mah(MONTH_SECONDS);
            Some(rows::estimate(row, by)?.scaled(charge))
        }
        By::Money => Some(rows::estimate(row, by)?.scaled(fleet.scaled(1.0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_that_was_asked_for_is_among_those_of_the_picture() {
        let seconds = |asked| -> Vec<u64> {
            let all = intervals(Duration::from_secs(asked));
            all.iter().map(|(every, _)| every.as_secs()).collect()
        };
        assert_eq!(seconds(900).first(), Some(&10));
        assert!(seconds(900).contains(&900) && seconds(900).len() == SECONDS.len());
        assert!(seconds(700).contains(&700) && seconds(700).is_sorted());
        assert_eq!(seconds(1).last(), Some(&60));
    }
}
