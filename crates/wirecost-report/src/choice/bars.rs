//! What the rows of a choice take, as bars: bytes by part, and years of the battery.

use wirecost_proto::{BothWays, Layer};

use super::{Cases, Choice, Ranked};
use crate::chart::Figure;
use crate::chart::bars::{BarChart, Part, Row};
use crate::csv;
use crate::figures::ByLayer;
use crate::html::charts::bars;
use crate::html::shown::{Chart, Section, Shown};
use crate::number;

/// The parts of a bar: class, name and column of the data.
type Parts = &'static [[&'static str; 3]];

/// The bytes of each row of the first table.
pub(super) const BYTES: Chart<Cases> = Chart {
    section: Section::Of("bars"),
    show: |choice| {
        let kind = Kind {
            unit: "B",
            parts: &[
                ["connect", "connects and closes", "connects_and_closes_bytes"],
                ["message", "messages", "messages_bytes"],
                ["keep", "keep-alives", "keep_alives_bytes"],
            ],
            values: |row| row.parts.to_vec(),
            write: |bytes| number::data(bytes.round() as u64),
        };
        let rows = rows(choice);
        let title = format!("Bytes of a {}", choice.per);
        let what = "IP bytes by part; pale bars do not meet the requirements";
        (!rows.is_empty()).then(|| kind.draw(&rows, title, &choice.name, what))
    },
};

/// The years of the battery, where there is one.
pub(super) const YEARS: Chart<Cases> = Chart {
    section: Section::Of("bars"),
    show: |choice| {
        let kind = Kind {
            unit: "years",
            parts: &[["battery", "years of the battery", "years"]],
            values: |row| row.years.iter().map(|[years, ..]| *years).collect(),
            write: |years| format!("{years:.1} years"),
        };
        let rows = rows(choice);
        let has_years = rows.iter().any(|row| row.years.is_some());
        let what = "Years until the battery is empty";
        has_years.then(|| kind.draw(&rows, "Battery".to_owned(), &choice.name, what))
    },
};

/// The bytes of one message of each row, by layer.
pub(super) const LAYERS: Chart<Cases> = Chart {
    section: Section::Of("bars"),
    show: |choice| {
        let title = "IP bytes of one message by layer".to_owned();
        let bar = |row: &&Ranked| {
            let [up, down] = row.layers?.map(ByLayer);
            Some((label(row), BothWays { up, down }))
        };
        let all: Vec<_> = rows(choice).iter().filter_map(bar).collect();
        let name = [&title, choice.name.as_str()].join(" ").trim_end().to_owned();
        let what = "Mean per sample, without the share of connects, keep-alives and closes: what goes up to the right, what comes \
                    down to the left";
        (!all.is_empty()).then(|| Shown {
            title,
            legend: Layer::ALL
                .map(|layer| [layer.name(), layer.name()].map(str::to_owned).into())
                .to_vec(),
            ..Shown::new(bars::by_layer(name, &all), what)
        })
    },
};

/// The stack of a row and how it uses its connections.
fn label(row: &Ranked) -> String {
    let texts = row.texts.iter().skip(1).take(2).map(String::as_str);
    texts.collect::<Vec<_>>().join(" ")
}

/// The rows of the first table that were run.
fn rows(choice: &Choice) -> Vec<&Ranked> {
    let sum = |row: &Ranked| row.parts.iter().sum::<f64>();
    let rows = choice.rows.iter();
    rows.filter(|row| row.is_shown && sum(row) > 0.0).collect()
}

/// A quantity of rows.
struct Kind {
    unit: &'static str,
    parts: Parts,
    /// The value of each part; empty where a row has none.
    values: fn(&Ranked) -> Vec<f64>,
    write: fn(f64) -> String,
}

impl Kind {
    fn draw(&self, rows: &[&Ranked], title: String, case: &str, what: &str) -> Shown {
        let chart = BarChart {
            name: [&title, case].join(" ").trim_end().to_owned(),
            unit: self.unit,
            sides: [""; 2],
            rows: rows.iter().map(|row| self.row(row)).collect(),
        };
        let data: Vec<Vec<csv::Field>> = rows.iter().map(|row| self.fields(row)).collect();
        let parts = self.parts.iter().filter(|_| self.parts.len() > 1);
        Shown {
            title,
            legend: parts
                .map(|[class, name, _]| [class, name].map(|text| (*text).to_owned()).into())
                .collect(),
            ..Shown::new(Figure::new(|width| chart.draw(width), csv::file(&data)), what)
        }
    }

    fn row(&self, row: &Ranked) -> Row {
        let values = (self.values)(row);
        // A stack that fails a requirement stays in sight, because its figures say what the requirement costs.
        let pale = if row.is_met { "" } else { " pale" };
        let part = |([class, name, _], value): (&[&str; 3], &f64)| Part {
            class: format!("{class}{pale}"),
            value: *value,
            text: String::new(),
            title: format!("{name}: {}", (self.write)(*value)),
        };
        let label = label(row);
        let total = match values.is_empty() {
            true => String::new(),
            false => (self.write)(values.iter().sum()),
        };
        Row {
            told: format!("{label}: {total}"),
            label,
            left: Vec::new(),
            right: self.parts.iter().zip(&values).map(part).collect(),
            totals: [String::new(), total],
        }
    }

    /// The stack, how it uses its connections, and the value of each part.
    fn fields(&self, row: &Ranked) -> Vec<csv::Field> {
        let texts = ["stack", "connection"].into_iter().zip(row.texts.iter().skip(1));
        let texts = texts.map(|(column, text)| csv::field(column, text));
        let values = (self.values)(row);
        let value = |(at, [.., column]): (usize, &[&str; 3])| csv::optional(column, values.get(at));
        texts.chain(self.parts.iter().enumerate().map(value)).collect()
    }
}
