//! The figures as texts, and as JSON.

use serde_json::{Map, Value, json};
use wirecost_account::{Fleet, Terms};
use wirecost_cost::Tariff;
use wirecost_proto::Layer;
use wirecost_proto::shown::amount;
use wirecost_proto::units::counted;
use wirecost_report::terminal::listing::{Head, Listing};

use super::Answer;
use super::rows::Cost;
use crate::commands::cost::sure::{sure, too_weak};
use crate::commands::cost::table::{modelled_by, number, of_times, priced_by, time};
use crate::commands::cost::{bill, outcome};
use crate::commands::told::{Told, ToldTable};

/// Today's bytes beside those of each stack, and the same by layer.
pub fn told(answer: &Answer<'_>) -> Told {
    let Answer {
        today, cost, rows, ..
    } = answer;
    let sizes = match today.sizes.as_slice() {
        [(size, _)] => format!("{size} B"),
        _ => format!("{} B in the median", today.size),
    };
    let mut lines = vec![line(answer, ["today", "as captured"], cost)];
    lines.extend(rows.iter().map(|row| match &row.cost {
        Ok(cost) => line(answer, [&row.stack, &row.way], cost),
        Err(why) => vec![row.stack.clone(), format!("not run: {why}")],
    }));
    let all = Listing {
        heads: heads(answer.terms),
        rows: lines,
    };
    let table = |caption, listing| ToldTable {
        caption,
        listing,
        note: "",
    };
    Told {
        answers: too_weak(answer.terms)
            .into_iter()
            .chain(sure(answer.terms))
            .collect(),
        heading: format!(
            "{} of {} in {}: {sizes} every {}",
            counted(today.readings, "reading"),
            today.device,
            counted(today.connects, "connection"),
            time(today.every)
        ),
        tables: vec![
            table("", all),
            table(
                "bytes per reading by layer, and their difference from today's",
                by_layer(answer),
            ),
        ],
        notes: notes(answer),
    }
}

fn heads(terms: &Terms<'_>) -> Vec<Head> {
    let per = terms.fleet.period.name();
    let mut heads = vec![
        Head::name("stack"),
        Head::name("connection"),
        Head::figure("bytes"),
        Head::figure("against today"),
        Head::figure(format!("MB/{per}")).hidden_at(2),
    ];
    if terms.device.is_some() {
        heads.push(Head::figure("mean mW*").hidden_at(1));
    }
    if terms.battery.is_some() {
        heads.push(Head::figure("battery years*"));
    }
    if let Some(tariff) = terms.tariff {
        heads.push(Head::figure(format!("{}/{per}*", tariff.currency)));
    }
    heads.push(Head::figure("time").hidden_at(0));
    heads
}

/// The texts of a row, and of today's.
fn line(answer: &Answer<'_>, names: [&str; 2], cost: &Cost) -> Vec<String> {
    let terms = answer.terms;
    let figures = &cost.figures;
    let fleet = figures.of_fleet(terms.fleet);
    let mut line = names.map(str::to_owned).to_vec();
    line.push(number(cost.bytes()));
    line.push(format!(
        "{:+.1} %",
        (cost.bytes() / answer.cost.bytes() - 1.0) * 100.0
    ));
    line.push(number(fleet.usage.wire_bytes() / 1e6));
    let mark = if figures.overlaps { "<= " } else { "" };
    line.extend(
        figures
            .power
            .as_ref()
            .map(|power| format!("{mark}{}", number(power.total().joules * 1e3))),
    );
    line.extend(
        figures
            .years
            .map(|[years, low, high]| format!("{} ({} to {})", number(years), number(low), number(high))),
    );
    if terms.tariff.is_some() {
        line.push(
            fleet
                .bill
                .as_ref()
                .map_or_else(|| "-".to_owned(), |bill| amount(bill.amount)),
        );
    }
    line.push(
        figures
            .time
            .map_or_else(|| "-".to_owned(), |reading| time(reading.total())),
    );
    line
}

fn notes(answer: &Answer<'_>) -> Vec<String> {
    let terms = answer.terms;
    let costs = || answer.rows.iter().filter_map(|row| row.cost.as_ref().ok());
    let mut notes = answer.today.assumed(answer.devices);
    notes.extend(terms.device.map(|device| modelled_by(device, "packets")));
    notes.extend(terms.tariff.map(priced_by));
    notes.extend(
        terms
            .tariff
            .into_iter()
            .flat_map(|tariff| both_bills(tariff, answer)),
    );
    let mut refusals: Vec<String> = costs().filter_map(|cost| cost.figures.refusal.clone()).collect();
    refusals.sort();
    // A tariff refuses most rows for the same reason.
    refusals.dedup();
    notes.extend(refusals.into_iter().map(|why| format!("not priced: {why}")));
    if costs().chain([&answer.cost]).any(|cost| cost.figures.overlaps) {
        notes.push("<= the tails of one reading reach into the next, and are counted in full".to_owned());
    }
    if terms.fleet != Fleet::ONE {
        notes.push(format!(
            "MB and money are those of {} in a {}",
            counted(terms.fleet.devices.into(), "device"),
            terms.fleet.period.name()
        ));
    }
    notes.extend(terms.battery.map(|battery| {
        let years = number(battery.chemistry.shelf_years);
        format!("battery: no life is above the shelf life of {years} years")
    }));
    notes.extend(of_times(costs().filter_map(|cost| cost.figures.time)));
    notes
}

/// Both bills of a device for today and for each row, where the page of the tariff does not say how large its kilobyte is.
fn both_bills(tariff: &Tariff, answer: &Answer<'_>) -> Vec<String> {
    let today = [("today", "as captured", &answer.cost)];
    let rows = answer
        .rows
        .iter()
        .filter_map(|row| Some((row.stack.as_str(), row.way.as_str(), row.cost.as_ref().ok()?)));
    let told = today.into_iter().chain(rows).filter_map(|(stack, way, cost)| {
        let both = bill::other_kilobyte(tariff, cost.figures.bill.as_ref()?)?;
        Some(format!("bill* of {stack} ({way}): {both}"))
    });
    told.collect()
}

fn by_layer(answer: &Answer<'_>) -> Listing {
    let layers = Layer::ALL.map(|layer| Head::figure(layer.name()).hidden_at(0));
    let mut first = vec!["today".to_owned(), "as captured".to_owned()];
    first.extend(answer.cost.layers.map(number));
    let mut lines = vec![first];
    for row in &answer.rows {
        let Ok(cost) = &row.cost else { continue };
        let mut line = vec![row.stack.clone(), row.way.clone()];
        let pairs = cost.layers.iter().zip(answer.cost.layers);
        line.extend(pairs.map(|(bytes, of_today)| match bytes - of_today {
            // It would be shown as +0.0, which says nothing.
            difference if difference.abs() < 0.05 => number(*bytes),
            difference => format!("{} ({difference:+.1})", number(*bytes)),
        }));
        lines.push(line);
    }
    Listing {
        heads: [Head::name("stack"), Head::name("connection")]
            .into_iter()
            .chain(layers)
            .collect(),
        rows: lines,
    }
}

/// The figures as JSON.
pub fn json(answer: &Answer<'_>) -> Value {
    let Answer {
        today,
        cost,
        rows,
        terms,
        devices,
    } = answer;
    let rows = rows.iter().map(|row| {
        let mut value = row
            .cost
            .as_ref()
            .map_or_else(|_| json!({}), |cost| cost_json(cost, terms));
        value["stack"] = json!(row.stack);
        value["connection"] = json!(row.way);
        value["not_run"] = json!(row.cost.as_ref().err());
        value
    });
    let sizes = today.sizes.iter();
    let mut value = cost_json(cost, terms);
    let of_capture = json!({
        "device": today.device.to_string(),
        "readings": today.readings,
        "readings_least": today.bounds[0],
        "readings_most": today.bounds[1],
        "readings_by": if today.has_payload { "payload" } else { "encrypted records" },
        "connections": today.connects,
        "size_bytes": today.size,
        "sizes": sizes.map(|(size, readings)| json!({"bytes": size, "readings": readings})).collect::<Vec<Value>>(),
        "readings_down": today.down.0,
        "size_down_bytes": (today.down.0 > 0).then_some(today.down.1),
        "interval_s": today.every.as_secs_f64(),
        "priced_by": {
            "device": terms.device.map(|device| &device.name),
            "tariff": terms.tariff.map(|tariff| &tariff.name),
        },
        "devices": terms.fleet.devices,
        "per": terms.fleet.period.name(),
        "rows": rows.collect::<Vec<Value>>(),
        "notes": today.assumed(*devices),
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut value, of_capture) {
        all.extend(more);
    }
    value
}

/// What readings cost. The keys are those of `choose`.
fn cost_json(cost: &Cost, terms: &Terms<'_>) -> Value {
    let figures = &cost.figures;
    json!({
        "bytes_per_reading": cost.bytes(),
        "bytes_per_month": figures.month.wire_bytes(),
        "layers": of_layers(&cost.layers),
        "mean_power_w": figures.power.as_ref().map(|power| power.total().joules),
        "battery_years": figures.years.map(outcome::years_json),
        "money_per_month": figures.bill.as_ref().map(|bill| bill.amount),
        "money_with_kilobytes_of_1024": figures.bill.as_ref().and_then(|bill| bill.other_amount),
        "fleet": outcome::fleet_json(&figures.of_fleet(terms.fleet)),
        "account": outcome::whole_json(figures, terms.fleet.devices),
        "time_s": figures.time.map(|time| time.total().as_secs_f64()),
        "time_parts_s": figures.time.map(outcome::time_json),
        "time_is": figures.time.map(|time| time.statistic.name()),
    })
}

fn of_layers(layers: &[f64; 5]) -> Value {
    let entries = Layer::ALL.iter().zip(layers);
    let entries = entries.map(|(layer, bytes)| (layer.name().to_owned(), json!(bytes)));
    Value::Object(entries.collect::<Map<String, Value>>())
}
