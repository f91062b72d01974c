//! `tariffs FILE --examples`: the worked examples of a provider's page beside what the rules of the file give.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use wirecost_cost::Tariff;
use wirecost_cost::tariff::TariffRule;
use wirecost_files::Input;
use wirecost_proto::units::counted;
use wirecost_report::terminal::listing::{Head, Listing};
use wirecost_report::terminal::paragraph;
use wirecost_scenario::tariff::{self, Example};

use crate::commands::cost::files;
use crate::exit::{self, Failure};
use crate::output;

/// A figure of an example.
struct Figure<'a> {
    example: &'a Example,
    /// The rule, or `money`.
    line: &'a str,
    written: &'a str,
    /// What the rules give, with a kilobyte of 1,000 bytes or the one of the page.
    computed: f64,
    /// With a kilobyte of 1,024 bytes, where the page does not say.
    other: Option<f64>,
    is_by_bytes: bool,
    agrees: bool,
}

/// Runs the examples of a file.
pub fn run(name: &str, json: Option<&Path>) -> Result<ExitCode, Failure> {
    let ((tariff, examples), _) =
        files::read(Input::Tariff, &tariff::CATALOG, name, tariff::read_with_examples)?;
    if examples.is_empty() {
        return Err(Failure::usage(format!("{name} has no worked examples")).with_hint(
            "write examples: [{row: \"heading: row\", day: {publish: 300 x 1KB}, lines: {messages: 9000}}]",
        ));
    }
    let figures: Vec<Figure<'_>> = examples
        .iter()
        .flat_map(|example| figures(&tariff, example))
        .collect();
    let differ = figures.iter().filter(|figure| !figure.agrees).count();
    output::table_or_json(
        json,
        || {
            let all: Vec<Value> = figures.iter().map(Figure::json).collect();
            serde_json::to_string_pretty(
                &json!({"tariff": tariff.name, "agree": differ == 0, "figures": all}),
            )
        },
        || table(&tariff, &figures, differ),
    )?;
    Ok(ExitCode::from(match differ {
        0 => exit::OK,
        _ => exit::INVALID,
    }))
}

fn figures<'a>(tariff: &'a Tariff, example: &'a Example) -> Vec<Figure<'a>> {
    let bill = example.bill(tariff);
    // Where a page does not say which kilobyte it means, the one by which its examples agree tells.
    let other = tariff.other_kilobyte.as_ref().map(|other| example.bill(other));
    let each = example.expected.iter().map(|expected| {
        let rule = tariff
            .rules
            .iter()
            .find(|rule| expected.rule.as_ref() == Some(&rule.name));
        let computed = expected.computed(&bill);
        Figure {
            example,
            line: rule.map_or("money", |rule| rule.name.as_str()),
            written: &expected.written,
            computed,
            other: other.as_ref().map(|other| expected.computed(other)),
            is_by_bytes: rule.is_some_and(TariffRule::is_by_bytes),
            agrees: expected.agrees(computed),
        }
    });
    each.collect()
}

impl Figure<'_> {
    fn json(&self) -> Value {
        json!({
            "row": self.example.row, "devices": self.example.devices, "days": self.example.days, "line": self.line,
            "page": self.written, "computed": self.computed, "computed_with_kilobytes_of_1024": self.other, "agrees": self.agrees,
        })
    }

    fn shown(&self, value: f64) -> String {
        let unit = if self.is_by_bytes { " B" } else { "" };
        format!("{value}{unit}")
    }
}

fn table(tariff: &Tariff, figures: &[Figure<'_>], differ: usize) -> String {
    let rows = figures.iter().map(|figure| {
        let other = figure.other.map_or_else(String::new, |other| figure.shown(other));
        vec![
            figure.line.to_owned(),
            figure.written.to_owned(),
            figure.shown(figure.computed),
            other,
            if figure.agrees { "yes" } else { "no" }.to_owned(),
            figure.example.row.clone(),
        ]
    });
    let listing = Listing {
        heads: vec![
            Head::name("line"),
            Head::figure("page"),
            Head::figure("computed"),
            Head::figure("KB of 1,024 B").hidden_at(0),
            Head::name("agrees"),
            Head::remark(""),
        ],
        rows: rows.collect(),
    };
    let all = counted(figures.len() as u64, "figure");
    let outcome = match differ {
        0 => format!("{}: all of {all} agree with the page", tariff.name),
        _ => format!("{}: {differ} of {all} do not agree with the page", tariff.name),
    };
    listing.draw(output::width(), "--json") + "\n" + &paragraph(&outcome, output::width())
}
