//! `wirecost links`: the links with names.

use std::process::ExitCode;

use wirecost_proto::units::DisplayDuration;
use wirecost_results::link_text::{loss_text, rate_text};
use wirecost_scenario::link::named::NamedLink;

use crate::arguments::LinksArguments;
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command.
pub fn run(arguments: &LinksArguments) -> Result<ExitCode, Failure> {
    let path = arguments.json.as_deref();
    match &arguments.name {
        Some(link) => {
            output::table_or_json(path, || serde_json::to_string_pretty(link), || link.text.clone())
        }
        None => {
            let links = NamedLink::all()?;
            output::table_or_json(path, || serde_json::to_string_pretty(&links), || table(&links))
        }
    }?;
    Ok(ExitCode::from(exit::OK))
}

/// One line per link. Columns are as wide as their widest value.
fn table(links: &[NamedLink]) -> String {
    let head = ["name", "RTT", "rate up", "rate down", "loss", ""].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(links.iter().map(row)).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = rows.iter().map(|row| row[column].chars().count()).max();
            let width = width.unwrap_or_default();
            match column {
                0 => format!("{cell:<width$}"),
                5 => cell.clone(),
                _ => format!("{cell:>width$}"),
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text += line.trim_end();
        text.push('\n');
    }
    text + "\nwirecost links NAME shows every value with its source\n"
}

fn row(named: &NamedLink) -> [String; 6] {
    let link = named.link();
    let written = |key: &str| {
        let found = named.values.iter().find(|value| value.key == key);
        found.map(|value| value.value.clone())
    };
    let rate = |key: &str, rate| {
        let given = written(key).or_else(|| written("rate"));
        given.unwrap_or_else(|| rate_text(rate))
    };
    let loss = match (written("loss"), written("loss_burst")) {
        (Some(loss), Some(_)) => format!("{loss} in bursts"),
        _ => loss_text(&link.up.loss),
    };
    if link.cell.is_some() {
        let modelled = || "modelled".to_owned();
        return [
            named.name.clone(),
            modelled(),
            modelled(),
            modelled(),
            modelled(),
            named.about.clone(),
        ];
    }
    [
        named.name.clone(),
        DisplayDuration(link.rtt()).to_string(),
        rate("up.rate", link.up.rate),
        rate("down.rate", link.down.rate),
        loss,
        named.about.clone(),
    ]
}
