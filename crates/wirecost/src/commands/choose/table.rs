//! The ranking for a terminal, and as JSON.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wirecost_proto::units::counted;
use wirecost_results::link_text::LinkShown;
use wirecost_stats::MeanInterval;

use super::rows::{Figures, Row, Spread};
use super::{Inputs, Verified};
use crate::commands::cost::table::{amount, draw, number, time};

/// The ranking, what it is modelled by, and what was verified.
pub(super) fn table(inputs: &Inputs<'_>, rows: &[Row], verified: &[Verified]) -> String {
    let mut text = format!("{}\n\n", asked(inputs));
    let mut lines = vec![heads(inputs)];
    lines.extend(rows.iter().map(|row| line(inputs, row)));
    let last = heads(inputs).len() - 1;
    draw(&lines, &[0, 1, last], &mut text);
    for note in notes(inputs, rows, verified) {
        text.push_str(&format!("{note}\n"));
    }
    text
}

/// What was asked, in one line.
pub(super) fn asked(inputs: &Inputs<'_>) -> String {
    let arguments = inputs.arguments;
    let every = time(arguments.every.unwrap_or_default());
    format!("{} every {every} over {}", arguments.content(), link(inputs))
}

/// What a row's bytes are of: a message, where it carries several readings.
pub(super) fn unit(inputs: &Inputs<'_>) -> &'static str {
    match inputs.arguments.readings.readings {
        Some(2..) => "message",
        _ => "reading",
    }
}

/// The link as text, which says so if it loses nothing.
pub(super) fn link(inputs: &Inputs<'_>) -> String {
    let text = LinkShown(inputs.link).to_string();
    match text.contains("loss") {
        true => text,
        false => text + ", no loss",
    }
}

/// The headings of the columns.
pub(super) fn heads(inputs: &Inputs<'_>) -> Vec<String> {
    let mut heads = ["stack", "connection", "bytes", "MB/month"]
        .map(str::to_owned)
        .to_vec();
    if inputs.device.is_some() {
        heads.push("mW*".to_owned());
    }
    if inputs.arguments.battery.is_some() {
        heads.push("battery*".to_owned());
    }
    heads.push("p95".to_owned());
    if let Some(tariff) = &inputs.tariff {
        heads.push(format!("{}/month*", tariff.currency));
    }
    heads.push("why not".to_owned());
    heads
}

/// The cells of a row.
pub(super) fn line(inputs: &Inputs<'_>, row: &Row) -> Vec<String> {
    let mut line = vec![row.stack.to_string(), row.way.clone()];
    let why = why(row);
    let Some(figures) = &row.figures else {
        line.resize(heads(inputs).len() - 1, "-".to_owned());
        line.push(why);
        return line;
    };
    line.push(bytes(&figures.bytes));
    line.push(number(figures.month_bytes / 1e6));
    if let Some(watts) = &figures.watts {
        line.push(number(watts.mean.mean * 1e3));
    }
    if let Some([years, low, high]) = figures.outcome.years {
        line.push(format!("{years:.1} y ({low:.1} to {high:.1})"));
    }
    line.push(
        figures
            .time
            .map_or_else(|| "-".to_owned(), |(time, _)| self::time(time)),
    );
    if let Some(bill) = &figures.outcome.bill {
        line.push(amount(bill.amount));
    }
    line.push(why);
    line
}

/// Bytes per reading, with their interval where devices differ by a byte.
fn bytes(bytes: &Spread) -> String {
    let text = number(bytes.mean.mean.round());
    match bytes.interval().map(|ends| ends.map(f64::round)) {
        None => format!("{text} (no interval)"),
        Some([low, high]) if low == high => text,
        Some([low, high]) if bytes.mean.low_n => format!("{text} [{low:.0} to {high:.0}]"),
        Some([low, high]) => format!("{text} ({low:.0} to {high:.0})"),
    }
}

/// Why a stack is not the first one.
fn why(row: &Row) -> String {
    let mut why = row.fails.clone();
    why.extend(row.beside_first().map(str::to_owned));
    why.extend(row.note.clone());
    let says_losses = row.fails.iter().any(|why| why.starts_with("delivery: loses"));
    if let Some(Figures {
        lost: (lost @ 1.., offered),
        ..
    }) = &row.figures
        && !says_losses
    {
        why.push(format!("{lost} of {offered} readings lost"));
    }
    why.join("; ")
}

/// What bytes are, and what the figures are modelled by.
pub(super) fn basis(inputs: &Inputs<'_>) -> Vec<String> {
    let mut notes = vec![String::new()];
    notes.push(format!(
        "bytes: IP packets per {}, both ways, with its share of connects, keep-alives and closes; simulated",
        unit(inputs)
    ));
    if let Some(device) = &inputs.device {
        let (assumed, all) = device.assumed();
        notes.push(format!(
            "* modelled from the simulated packets by {}: {}; {assumed} of {all} figures assumed",
            device.name, device.title
        ));
    }
    if let Some(tariff) = &inputs.tariff {
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
    notes
}

/// The same with what is in the columns of the ranking, and what was verified.
pub(super) fn notes(inputs: &Inputs<'_>, rows: &[Row], verified: &[Verified]) -> Vec<String> {
    let mut notes = basis(inputs);
    notes.extend(another_port(inputs, rows));
    notes.extend(intervals(rows));
    if inputs.arguments.battery.is_some() {
        notes.push("battery: in parentheses the range of the spread of the device's powers".to_owned());
    }
    let longest = |row: &Row| {
        row.figures
            .as_ref()
            .and_then(|figures| figures.time)
            .is_some_and(|(_, what)| what != "p95")
    };
    if rows.iter().any(longest) {
        notes.push(
            "p95 is the longest time where there are too few readings for a 95th percentile".to_owned(),
        );
    }
    notes.extend(verified.iter().map(verdict));
    notes
}

/// What the figures of stacks assume whose server knows a device by its UDP port, where the address translator gives it another one
/// between two readings.
fn another_port(inputs: &Inputs<'_>, rows: &[Row]) -> Option<String> {
    let every = inputs.arguments.every.unwrap_or_default();
    inputs
        .link
        .nat
        .new_udp_port()
        .filter(|timeout| *timeout <= every)?;
    let stacks: BTreeSet<String> = rows
        .iter()
        .filter(|row| row.stack.is_known_by_port())
        .map(|row| row.stack.to_string())
        .collect();
    let stacks: Vec<String> = stacks.into_iter().collect();
    (!stacks.is_empty()).then(|| {
        format!(
            "{}: the NAT gives another port between two readings, which ends a kept session; assumed: the device knows the time-out \
             and makes a new one before it sends",
            stacks.join(", ")
        )
    })
}

/// What the means are over, and what is in the brackets behind them.
fn intervals(rows: &[Row]) -> Vec<String> {
    let figures = rows.iter().filter_map(|row| row.figures.as_ref());
    let bytes: Vec<&MeanInterval> = figures.map(|figures| &figures.bytes.mean).collect();
    let counts = || bytes.iter().map(|bytes| bytes.n);
    let (Some(fewest), Some(most)) = (counts().min(), counts().max()) else {
        return Vec::new();
    };
    let range = if fewest < most {
        format!("{fewest} to ")
    } else {
        String::new()
    };
    let mut notes = vec![format!(
        "means over {range}{} of each way, with their 95 % interval where devices differ",
        counted(most, "device")
    )];
    if bytes.iter().any(|bytes| bytes.low_n && bytes.n > 1) {
        notes.push("in square brackets the least and the most of a device: too few for an interval, so skewed are they".to_owned());
    }
    notes
}

/// Whether a stack's live measurement has the simulated bytes.
pub(super) fn verdict(verified: &Verified) -> String {
    let outcome = match (&verified.reason, &verified.difference) {
        (Some(reason), _) => format!("not measured live: {reason}"),
        (None, Some(None)) => "measured live: packets and bytes as simulated".to_owned(),
        (None, Some(Some(difference))) => format!("measured live, and differs: {difference}"),
        (None, None) => "measured live, without a simulated cell beside it".to_owned(),
    };
    format!("{}: {outcome}", verified.stack)
}

/// The choice as JSON.
pub(super) fn json(inputs: &Inputs<'_>, rows: &[Row], verified: &[Verified]) -> Value {
    json!({
        "asked": asked(inputs),
        "device": inputs.device.as_ref().map(|device| &device.name),
        "tariff": inputs.tariff.as_ref().map(|tariff| &tariff.name),
        "best": rows.first().filter(|row| row.is_met()).map(|row| row.stack.to_string()),
        "rows": rows.iter().map(row_json).collect::<Vec<Value>>(),
        "verified": verified.iter().map(|verified| json!({
            "stack": verified.stack,
            "equal": verified.difference.as_ref().map(Option::is_none),
            "reason": verified.reason,
        })).collect::<Vec<Value>>(),
    })
}

fn row_json(row: &Row) -> Value {
    let interval = |Spread {
                        mean,
                        range: [least, most],
                    }: &Spread| {
        json!({"mean": mean.mean, "low": mean.low, "high": mean.high, "n": mean.n, "least": least, "most": most})
    };
    let figures = row.figures.as_ref().map(|figures| {
        json!({
            "bytes_per_reading": interval(&figures.bytes),
            "bytes_per_month": figures.month_bytes,
            "mean_power_w": figures.watts.as_ref().map(interval),
            "battery_years": figures.outcome.years.map(|[years, low, high]| json!({"years": years, "low": low, "high": high})),
            "money_per_month": figures.outcome.bill.map(|bill| bill.amount),
            "time_s": figures.time.map(|(time, _)| time.as_secs_f64()),
            "time_is": figures.time.map(|(_, what)| what),
            "readings_lost": figures.lost.0,
            "readings": figures.lost.1,
        })
    });
    json!({
        "stack": row.stack.to_string(),
        "connection": row.way,
        "is_met": row.is_met(),
        "fails": row.fails,
        "note": row.note,
        "beside_first": row.beside_first(),
        "figures": figures,
    })
}
