//! What the rows of a choice take: bytes by part, and years of the battery.

use serde::Serialize;

use super::{Choice, Ranked};
use crate::chart::Figure;
use crate::chart::bars::{BarChart, Part, Row};
use crate::csv;
use crate::number;

/// The parts of the bytes: class, name and column of the data.
const PARTS: [[&str; 3]; 3] = [
    ["connect", "connects and closes", "connects_and_closes_bytes"],
    ["message", "messages", "messages_bytes"],
    ["keep", "keep-alives", "keep_alives_bytes"],
];

/// A chart with a bar for each row of the first table.
#[derive(Serialize)]
pub(super) struct Bars {
    figure: Figure,
    title: String,
    /// What it shows.
    what: &'static str,
    /// Class and name of its parts; empty where there is one.
    parts: Vec<[&'static str; 2]>,
}

/// The bytes, and the battery where there is one.
pub(super) fn all(choice: &Choice) -> Vec<Bars> {
    let shown = choice.rows.iter();
    let shown: Vec<&Ranked> = shown.filter(|row| row.is_shown && sum(row) > 0.0).collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let has_years = shown.iter().any(|row| row.years.is_some());
    let years = has_years.then(|| years(&shown));
    std::iter::once(bytes(choice, &shown)).chain(years).collect()
}

fn sum(row: &Ranked) -> f64 {
    row.parts.iter().sum()
}

/// The stack and how it uses its connections.
fn name(row: &Ranked) -> String {
    let text = |index: usize| row.texts.get(index).map_or("", String::as_str);
    format!("{} {}", text(1), text(2))
}

fn bytes(choice: &Choice, rows: &[&Ranked]) -> Bars {
    let row = |row: &&Ranked| {
        let part = |(value, [class, what, _]): (f64, [&'static str; 3])| {
            part(row, class, value, format!("{what}: {}", data(value)))
        };
        let parts = row.parts.into_iter().zip(PARTS).map(part).collect();
        bar(row, parts, data(sum(row)))
    };
    let chart = BarChart {
        name: format!("Bytes of a {}, {}", choice.per, choice.name),
        unit: "B",
        sides: [""; 2],
        rows: rows.iter().map(row).collect(),
    };
    let line = |row: &&Ranked| {
        let values = PARTS.into_iter().zip(row.parts);
        let values = values.map(|([.., column], value)| csv::field(column, value));
        named(row).into_iter().chain(values).collect()
    };
    Bars {
        figure: figure(&chart, rows.iter().map(line).collect()),
        title: format!("Bytes of a {}", choice.per),
        what: "IP bytes by part; pale bars do not meet the requirements",
        parts: PARTS.map(|[class, name, _]| [class, name]).to_vec(),
    }
}

fn years(rows: &[&Ranked]) -> Bars {
    let row = |row: &&Ranked| {
        let value = row.years.map_or(0.0, |[years, ..]| years);
        let text = row
            .years
            .map_or_else(String::new, |[years, ..]| format!("{years:.1} years"));
        bar(row, vec![part(row, "battery", value, text.clone())], text)
    };
    let chart = BarChart {
        name: "Years of the battery".to_owned(),
        unit: "years",
        sides: [""; 2],
        rows: rows.iter().map(row).collect(),
    };
    let line = |row: &&Ranked| {
        let values = ["years", "years_least", "years_most"].into_iter().enumerate();
        let values = values.map(|(at, column)| csv::optional(column, row.years.map(|years| years[at])));
        named(row).into_iter().chain(values).collect()
    };
    Bars {
        figure: figure(&chart, rows.iter().map(line).collect()),
        title: "Battery".to_owned(),
        what: "Years until the battery is empty",
        parts: Vec::new(),
    }
}

fn figure(chart: &BarChart, data: Vec<Vec<csv::Field>>) -> Figure {
    Figure::new(|width| chart.draw(width), csv::file(&data))
}

/// The columns that say which row it is.
fn named(row: &Ranked) -> Vec<csv::Field> {
    let texts = row.texts.iter().skip(1);
    let columns = ["stack", "connection"].into_iter().zip(texts);
    columns.map(|(column, text)| csv::field(column, text)).collect()
}

fn data(bytes: f64) -> String {
    number::data(bytes.round() as u64)
}

fn part(row: &Ranked, class: &str, value: f64, title: String) -> Part {
    let pale = if row.is_met { "" } else { " pale" };
    Part {
        class: format!("{class}{pale}"),
        value,
        text: String::new(),
        title,
    }
}

fn bar(row: &Ranked, right: Vec<Part>, total: String) -> Row {
    let label = name(row);
    Row {
        told: format!("{label}: {total}"),
        label,
        left: Vec::new(),
        right,
        totals: [String::new(), total],
    }
}
