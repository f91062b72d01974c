//! The figures for a terminal, and as JSON.

use serde_json::{Map, Value, json};
use wirecost_proto::Layer;
use wirecost_proto::units::counted;
use wirecost_report::terminal::listing::{Head, Listing};
use wirecost_report::terminal::paragraph;

use super::rows::Row;
use super::today::Today;
use crate::commands::cost::table::{number, time};

/// What has the columns that do not fit.
const ELSEWHERE: &str = "--json";

/// Today's bytes beside those of each stack, and the same by layer, in `width` columns.
pub fn table(today: &Today, rows: &[Row], width: usize) -> String {
    let sizes = match today.sizes.as_slice() {
        [(size, _)] => format!("{size} B"),
        _ => format!("{} B in the median", today.size),
    };
    let asked = format!(
        "{} of {} in {}: {sizes} every {}",
        counted(today.readings, "reading"),
        today.device,
        counted(today.connects, "connection"),
        time(today.every)
    );
    let mut text = paragraph(&asked, width) + "\n";
    let line = |name: &str, way: &str, bytes: f64| {
        vec![
            name.to_owned(),
            way.to_owned(),
            number(bytes),
            number(today.month(bytes) / 1e6),
            format!("{:+.1} %", (bytes / today.bytes() - 1.0) * 100.0),
        ]
    };
    let mut lines = vec![line("today", "as captured", today.bytes())];
    lines.extend(rows.iter().map(|row| match (row.bytes(), &row.layers) {
        (Some(bytes), _) => line(&row.stack, &row.way, bytes),
        (None, Err(why)) => vec![row.stack.clone(), format!("not run: {why}")],
        (None, Ok(_)) => vec![row.stack.clone()],
    }));
    let all = Listing {
        heads: vec![
            Head::name("stack"),
            Head::name("connection"),
            Head::figure("bytes"),
            Head::figure("MB/month").hidden_at(0),
            Head::figure("against today"),
        ],
        rows: lines,
    };
    text.push_str(&all.draw(width, ELSEWHERE));
    text.push_str("\nbytes per reading by layer, and their difference from today's\n");
    text.push_str(&by_layer(today, rows).draw(width, ELSEWHERE));
    text.push('\n');
    for note in today.assumed() {
        text.push_str(&paragraph(&note, width));
    }
    text
}

fn by_layer(today: &Today, rows: &[Row]) -> Listing {
    let layers = Layer::ALL.map(|layer| Head::figure(layer.name()).hidden_at(0));
    let mut first = vec!["today".to_owned(), "as captured".to_owned()];
    first.extend(today.layers.map(number));
    let mut lines = vec![first];
    for row in rows {
        let Ok(layers) = &row.layers else { continue };
        let mut line = vec![row.stack.clone(), row.way.clone()];
        let pairs = layers.iter().zip(today.layers);
        line.extend(pairs.map(|(bytes, of_today)| match bytes - of_today {
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
pub fn json(today: &Today, rows: &[Row]) -> Value {
    let rows = rows.iter().map(|row| {
        let layers = row.layers.as_ref().ok();
        json!({
            "stack": row.stack,
            "connection": row.way,
            "bytes_per_reading": row.bytes(),
            "bytes_per_month": row.bytes().map(|bytes| today.month(bytes)),
            "layers": layers.map(of_layers),
            "not_run": row.layers.as_ref().err(),
        })
    });
    let sizes = today.sizes.iter();
    json!({
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
        "bytes_per_reading": today.bytes(),
        "bytes_per_month": today.month(today.bytes()),
        "layers": of_layers(&today.layers),
        "rows": rows.collect::<Vec<Value>>(),
        "notes": today.assumed(),
    })
}

fn of_layers(layers: &[f64; 5]) -> Value {
    let entries = Layer::ALL.iter().zip(layers);
    let entries = entries.map(|(layer, bytes)| (layer.name().to_owned(), json!(bytes)));
    Value::Object(entries.collect::<Map<String, Value>>())
}
