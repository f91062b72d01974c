//! The ranking for a terminal, and as JSON.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wirecost_proto::shown;
use wirecost_proto::units::counted;
use wirecost_report::terminal::listing::{Head, Listing};
use wirecost_report::terminal::paragraph;
use wirecost_scenario::certificates::profile;
use wirecost_scenario::options::handshake::Handshake;
use wirecost_security::certificate::Chain;
use wirecost_stack::Stack;
use wirecost_stats::MeanInterval;

use super::rows::{self, Figures, Row, Spread};
use super::sensitivity::Sensitivity;
use super::{Decision, Inputs, Verified, assumptions, quantum, sentence, ways};
use crate::commands::cost::lives::TIMES_OF_CELL;
use crate::commands::cost::outcome;
use crate::commands::cost::table::{amount, modelled_by, number, of_times, priced_by, range_of_years};
use crate::commands::cost::{attach, bill};

/// What has all rows and columns.
const ELSEWHERE: &str = "choice.md";

/// The answer, the ranking, what it rests on, and what was verified, for a terminal of `width` columns.
pub(super) fn table(decision: &Decision<'_>, width: usize) -> String {
    let Decision {
        inputs,
        rows,
        verified,
        added,
        further,
        ..
    } = decision;
    let mut text = paragraph(&sentence::paragraph(decision), width);
    text += &format!("\n{}", paragraph(&sentence::asked(inputs), width));
    let shown = rows::shown(rows);
    let left_out = rows.len() - shown.len();
    let listing = Listing {
        heads: heads(inputs, rows),
        rows: shown.into_iter().map(|row| line(inputs, rows, row)).collect(),
    };
    text += &listing.draw(width, ELSEWHERE);
    if left_out > 0 {
        text += &paragraph(
            &format!(
                "{left_out} rows differ from one above only in how connections start; {ELSEWHERE} has them"
            ),
            width,
        );
    }
    for line in quantum::lines(inputs, added) {
        text += &paragraph(&line, width);
    }
    if let Some(sensitivity) = &further.sensitivity {
        text.push('\n');
        text += &sensitivity.text(width);
    }
    text.push('\n');
    text += "the figures and their order rest on:\n";
    for assumption in assumptions::order(inputs, rows) {
        text += &paragraph(&format!("- {assumption}"), width);
    }
    text.push('\n');
    let legend = ways::legend(inputs.arguments.every.unwrap_or_default(), &rows::ways(rows));
    for note in legend.iter().chain(&notes(inputs, rows, verified)) {
        text += &paragraph(note, width);
    }
    text
}

/// The headings of the columns.
pub(super) fn heads(inputs: &Inputs<'_>, rows: &[Row]) -> Vec<Head> {
    let per = inputs.arguments.fleet.per.name();
    let mut heads = vec![
        Head::figure("row"),
        Head::name("stack"),
        Head::name("connection"),
        Head::figure("bytes"),
        Head::figure(format!("MB/{per}")).hidden_at(3),
    ];
    if inputs.device.is_some() {
        heads.push(Head::figure("mW*").hidden_at(2));
    }
    if inputs.battery.is_some() {
        heads.push(Head::figure("battery*"));
    }
    heads.push(Head::figure("time"));
    if has_parts(rows) {
        heads.push(Head::name("its parts").hidden_at(0));
    }
    if let Some(tariff) = &inputs.tariff {
        heads.push(Head::figure(format!("{}/{per}*", tariff.currency)).hidden_at(1));
    }
    if rows.iter().any(|row| !remarks(row).is_empty()) {
        heads.push(Head::remark("remarks"));
    }
    heads
}

/// Whether the time of a reading has several parts in any row.
fn has_parts(rows: &[Row]) -> bool {
    rows.iter()
        .filter_map(Row::time)
        .any(|time| time.parts().len() > 1)
}

/// The texts of a row, which is the `index`th of all.
pub(super) fn line(inputs: &Inputs<'_>, rows: &[Row], (index, row): (usize, &Row)) -> Vec<String> {
    let mut line = vec![(index + 1).to_string(), row.stack.to_string(), row.way.name()];
    let remarks = remarks(row);
    let columns = heads(inputs, rows).len();
    let has_remarks = rows.iter().any(|row| !self::remarks(row).is_empty());
    let Some(figures) = &row.figures else {
        line.resize(columns - usize::from(has_remarks), "-".to_owned());
        line.push(remarks);
        return line;
    };
    let fleet = inputs.arguments.fleet;
    line.push(bytes(&figures.bytes));
    line.push(number(fleet.scaled(figures.month_bytes) / 1e6));
    if let Some(watts) = &figures.watts {
        line.push(number(watts.mean.mean * 1e3));
    }
    if let Some([years, low, high]) = figures.outcome.years {
        line.push(format!("{years:.1} y ({low:.1} to {high:.1})"));
    }
    line.push(
        row.time()
            .map_or_else(|| "-".to_owned(), |time| shown::time(time.total())),
    );
    if has_parts(rows) {
        let parts = row.time().map_or_else(Vec::new, |time| time.parts());
        let parts = parts
            .iter()
            .map(|(name, part)| format!("{name} {}", shown::time(*part)));
        line.push(parts.collect::<Vec<String>>().join(", "));
    }
    if let Some(bill) = &figures.outcome.bill {
        line.push(amount(fleet.scaled(bill.amount)));
    } else if inputs.tariff.is_some() {
        line.push("-".to_owned());
    }
    if has_remarks {
        line.push(remarks);
    }
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

/// What a row does not meet, and what to know about it.
fn remarks(row: &Row) -> String {
    let mut remarks: Vec<String> = row.fails.iter().map(|fail| format!("not met: {fail}")).collect();
    remarks.extend(row.beside_first().map(str::to_owned));
    remarks.extend(row.note.clone());
    let says_losses = row.fails.iter().any(|why| why.starts_with("delivery: loses"));
    if let Some(Figures {
        lost: (lost @ 1.., offered),
        ..
    }) = &row.figures
        && !says_losses
    {
        remarks.push(format!("{lost} of {offered} readings lost"));
    }
    remarks.join("; ")
}

/// What bytes are, and what the figures are modelled by.
pub(super) fn basis(inputs: &Inputs<'_>) -> Vec<String> {
    let mut notes = vec![
        "bytes: IP packets per reading, both ways, with its share of connects, keep-alives and closes; simulated"
            .to_owned(),
    ];
    if let Some(device) = &inputs.device {
        notes.push(modelled_by(device, "simulated packets"));
        if inputs.link.cell.is_some() {
            notes.push(format!("* {TIMES_OF_CELL}"));
        }
    }
    if let Some(tariff) = &inputs.tariff {
        notes.push(priced_by(tariff));
    }
    notes
}

/// The same with what is in the columns of the ranking, and what was verified.
pub(super) fn notes(inputs: &Inputs<'_>, rows: &[Row], verified: &[Verified]) -> Vec<String> {
    let mut notes = basis(inputs);
    notes.extend(attaches(inputs, rows));
    notes.extend(first_with_other_kilobyte(inputs, rows));
    notes.extend(another_port(inputs, rows));
    notes.extend(intervals(rows));
    notes.extend(inputs.battery.map(|battery| {
        format!(
            "battery: in parentheses {}; no life is above the shelf life of {} years",
            range_of_years(inputs.beside),
            number(battery.chemistry.shelf_years)
        )
    }));
    notes.extend(of_times(rows.iter().filter_map(Row::time)));
    let devices = inputs.arguments.fleet.devices;
    if devices > 1 {
        notes.push(format!(
            "bytes and money per {} are those of {}",
            inputs.arguments.fleet.per.name(),
            counted(devices.into(), "device")
        ));
    }
    notes.extend(verified.iter().map(verdict));
    notes
}

/// What an attach takes, and its share of the first row.
fn attaches(inputs: &Inputs<'_>, rows: &[Row]) -> Option<String> {
    let first = rows.first().and_then(|row| row.figures.as_ref());
    let power = first.and_then(|figures| figures.outcome.power.as_ref());
    attach::words(inputs.device.as_ref()?, power)
}

/// Both bills of the first row, where the page of the tariff does not say how large its kilobyte is.
fn first_with_other_kilobyte(inputs: &Inputs<'_>, rows: &[Row]) -> Option<String> {
    let first = rows.first()?;
    let bill = first.figures.as_ref()?.outcome.bill.as_ref()?;
    let both = bill::other_kilobyte(inputs.tariff.as_ref()?, bill)?;
    Some(format!(
        "bill of a device with {} ({}): {both}",
        first.stack,
        first.way.name()
    ))
}

/// What the figures of stacks assume whose server knows a device by its UDP port, where the address translator gives it another one
/// between two readings.
fn another_port(inputs: &Inputs<'_>, rows: &[Row]) -> Option<String> {
    let timeout = inputs.link.nat.new_udp_port()?;
    // A message with several readings comes less often than they do.
    let is_silent = |row: &&Row| timeout <= ways::interval(inputs.arguments, row.way.readings);
    let stacks: BTreeSet<String> = rows
        .iter()
        .filter(|row| row.stack.is_known_by_port())
        .filter(is_silent)
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

/// A sentence on a stack's live measurement: whether it has the simulated bytes, or why there is none.
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
pub(super) fn json(decision: &Decision<'_>) -> Value {
    let Decision {
        inputs,
        rows,
        verified,
        added,
        further,
        ..
    } = decision;
    json!({
        "asked": sentence::asked(inputs),
        "device": inputs.device.as_ref().map(|device| &device.name),
        "tariff": inputs.tariff.as_ref().map(|tariff| &tariff.name),
        "best": rows.first().filter(|row| row.is_met()).map(|row| row.stack.to_string()),
        "devices": inputs.arguments.fleet.devices,
        "per": inputs.arguments.fleet.per.name(),
        "handshake": handshake_json(inputs, rows),
        "assumptions": assumptions::order(inputs, rows),
        "rows": rows.iter().map(|row| row_json(inputs, row)).collect::<Vec<Value>>(),
        "verified": verified.iter().map(|verified| json!({
            "stack": verified.stack,
            "equal": verified.difference.as_ref().map(Option::is_none),
            "reason": verified.reason,
        })).collect::<Vec<Value>>(),
        "post_quantum_adds": quantum::json(added),
        "sensitivity": further.sensitivity.as_ref().map(Sensitivity::json),
    })
}

/// The certificates and groups of the ranking's TLS; `null` where no stack has a handshake with certificates.
fn handshake_json(inputs: &Inputs<'_>, rows: &[Row]) -> Value {
    let stacks: Vec<Stack> = rows.iter().map(|row| row.stack).collect();
    if !Handshake::is_of(&stacks) {
        return Value::Null;
    }
    let used = inputs.handshake_used();
    let kind = used.kind();
    json!({
        "certificate": kind.key.to_string(),
        "chain": kind.chain.to_string(),
        "certificates": chain_json(kind.chain),
        "group": used.offered().groups.to_string(),
        "cipher": used.offered().cipher.to_string(),
        "dtls_leaf": used.dtls_leaf,
    })
}

/// Whose each certificate of a chain is, its bytes in DER, and whether these are assumed; `null` for chains that each run makes.
fn chain_json(chain: Chain) -> Value {
    if let Some(profile) = profile(chain) {
        let each = profile.certificates.iter();
        return each
            .map(|one| json!({"of": one.of, "bytes": one.bytes, "is_assumed": !one.is_sourced}))
            .collect();
    }
    let sizes = chain.sizes().map(|sizes| {
        let each = sizes.certificates();
        each.map(|bytes| json!({"of": null, "bytes": bytes, "is_assumed": false}))
            .collect()
    });
    sizes.unwrap_or(Value::Null)
}

fn row_json(inputs: &Inputs<'_>, row: &Row) -> Value {
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
            "battery_years": figures.outcome.years.map(outcome::years_json),
            "fleet": outcome::fleet_json(&figures.outcome.of_fleet(inputs.arguments.fleet.fleet())),
            "money_per_month": figures.outcome.bill.as_ref().map(|bill| bill.amount),
            "next_cheaper_step": figures.outcome.bill.as_ref().and_then(|bill| bill.next.as_ref()).map(bill::step_json),
            "account": outcome::whole_json(&figures.outcome, inputs.arguments.fleet.devices),
            "time_s": figures.outcome.time.map(|time| time.total().as_secs_f64()),
            "time_parts_s": figures.outcome.time.map(outcome::time_json),
            "time_is": figures.outcome.time.map(|time| time.statistic.name()),
            "readings_lost": figures.lost.0,
            "readings": figures.lost.1,
        })
    });
    json!({
        "stack": row.stack.to_string(),
        "key": row.key,
        "connection": row.way.use_of_connections(),
        "start": row.way.start.name(),
        "keep_alive_s": row.way.keep_alive.map(|time| time.as_secs()),
        "readings_per_message": row.way.readings,
        "is_met": row.is_met(),
        "fails": row.fails,
        "note": row.note,
        "beside_first": row.beside_first(),
        "figures": figures,
    })
}
