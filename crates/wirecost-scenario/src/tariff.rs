//! Tariff files: what a data plan or a broker charges, each figure with its source.

use wirecost_cost::tariff::{Charge, Period, Tariff};
use wirecost_proto::ByteSize;
use wirecost_results::value::ValueError;

use crate::catalog::Catalog;
use crate::electric::price;
use crate::error::ScenarioError;
use crate::figure::{Figure, Figures, versioned};
use crate::node::Node;
use crate::table::{Table, flag, parsed, text, whole};

/// The tariff files that are part of the program: name and text.
pub const BUILT_IN: [(&str, &str); 5] = [
    ("1nce", include_str!("../../../tariffs/1nce.yaml")),
    ("aws-iot-core", include_str!("../../../tariffs/aws-iot-core.yaml")),
    ("per-mb", include_str!("../../../tariffs/per-mb.yaml")),
    ("per-session", include_str!("../../../tariffs/per-session.yaml")),
    ("soracom", include_str!("../../../tariffs/soracom.yaml")),
];

/// The same files, to be found by name.
pub const CATALOG: Catalog = Catalog {
    kind: "tariff",
    files: &BUILT_IN,
    absent: &[],
};

const KEYS: [&str; 5] = ["wirecost_tariff", "title", "sources", "bytes", "messages"];

/// Reads a tariff file. `name` is the tariff's name in output.
///
/// # Errors
/// It is not a tariff file; the error has the line.
pub fn read(name: &str, file: &str) -> Result<Tariff, ScenarioError> {
    let file = Node::parse(file)?;
    let table = versioned(&file, "tariff", "wirecost_tariff", &KEYS)?;
    let figures = Figures::new(&file)?;
    let (charge, price) = match (table.get("bytes"), table.get("messages")) {
        (Some(node), None) => bytes(node, &figures)?,
        (None, Some(node)) => messages(node, &figures)?,
        _ => {
            return Err(table
                .error("bytes", "a tariff charges either bytes or messages")
                .with_hint("give exactly one of the tables bytes and messages"));
        }
    };
    Ok(Tariff {
        name: name.to_owned(),
        title: table.required("title", text)?,
        charge,
        price: price.value.0,
        currency: price.value.1,
        is_sourced: price.is_sourced,
    })
}

type Priced = (Charge, Figure<(f64, String)>);

fn bytes(node: &Node, figures: &Figures) -> Result<Priced, ScenarioError> {
    const PREFIX: &str = "bytes.";
    let keys = [
        "tunnel",
        "tunnel_down",
        "round",
        "period",
        "included",
        "price",
        "per",
    ];
    let table = Table::new(node, PREFIX, &keys)?;
    let size = |key| -> Result<Option<u64>, ScenarioError> {
        let figure = figures.one(&table, (PREFIX, key), parsed::<ByteSize>)?;
        Ok(figure.map(|figure| figure.value.bytes()))
    };
    let tunnel = size("tunnel")?.unwrap_or(0);
    let unit = figures.required(&table, (PREFIX, "round"), parsed::<ByteSize>)?;
    let charge = Charge::Bytes {
        tunnel_bytes: [tunnel, size("tunnel_down")?.unwrap_or(tunnel)],
        unit_bytes: unit.value.bytes().max(1),
        period: table.required("period", period)?,
        price_bytes: table.required("per", parsed::<ByteSize>)?.bytes().max(1),
        included_bytes: size("included")?.unwrap_or(0),
    };
    Ok((charge, figures.required(&table, (PREFIX, "price"), price)?))
}

fn messages(node: &Node, figures: &Figures) -> Result<Priced, ScenarioError> {
    const PREFIX: &str = "messages.";
    let keys = ["unit", "keep_alives", "sessions", "price", "per"];
    let table = Table::new(node, PREFIX, &keys)?;
    let unit = figures.required(&table, (PREFIX, "unit"), parsed::<ByteSize>)?;
    let charge = Charge::Messages {
        unit_bytes: unit.value.bytes().max(1),
        keep_alives: figures.required(&table, (PREFIX, "keep_alives"), flag)?.value,
        sessions: figures.required(&table, (PREFIX, "sessions"), flag)?.value,
        price_messages: table.required("per", whole::<u64>)?.max(1),
    };
    Ok((charge, figures.required(&table, (PREFIX, "price"), price)?))
}

fn period(text: &str) -> Result<Period, ValueError> {
    let all = [Period::Session, Period::Day, Period::Month];
    let found = all.into_iter().find(|period| period.name() == text);
    found.ok_or_else(|| ValueError::form(text, "a period: session, day or month"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_tariff_is_read() {
        for (name, file) in BUILT_IN {
            let tariff = read(name, file).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(tariff.price > 0.0 && tariff.currency.len() == 3, "{name}");
        }
    }

    #[test]
    fn a_wrong_tariff_file_is_refused_with_its_line() {
        let (name, file) = BUILT_IN[2];
        for (from, to, message, line) in [
            ("0.40 EUR", "0.40", "a price with its currency", 8),
            ("per: 1MB", "per: 1", "has no unit", 9),
            ("value: 1B", "value: 1", "has no unit", 6),
            ("period: month", "period: year", "a period: session", 7),
            ("bytes:", "octets:", "unknown key \"octets\"", 4),
        ] {
            assert!(file.contains(from), "{from}");
            let error = read(name, &file.replacen(from, to, 1)).expect_err("an error");
            assert!(error.message().contains(message), "{to}: {error}");
            assert_eq!(error.line(), Some(line), "{to}: {error}");
        }
    }
}
