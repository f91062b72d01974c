//! `--check` of a folder of measurements: each point beside the prediction of a fit that has not seen it, by class.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use wirecost_energy::evidence::{self, Class, Errors, Row};
use wirecost_energy::measurement::Publication;
use wirecost_files::Input;
use wirecost_proto::units::counted;
use wirecost_report::terminal::listing::{Head, Listing};
use wirecost_report::terminal::paragraph;
use wirecost_scenario::measurement;

use super::table::number;
use crate::arguments::CostArguments;
use crate::exit::{self, Failure};
use crate::output;

/// What a folder of measurements is for.
const HINT: &str =
    "give a folder of files that begin with wirecost_measurements: 1, as measurements/ of the project has";

/// Reads every file of the folder and prints the errors.
pub fn run(arguments: &CostArguments) -> Result<ExitCode, Failure> {
    let publications = read(&arguments.source)?;
    let rows = evidence::rows(&publications);
    let errors = evidence::by_class(&rows);
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&json(&rows, &errors)),
        || table(&publications, &rows, &errors, output::width()),
    )?;
    Ok(ExitCode::from(exit::OK))
}

fn read(folder: &Path) -> Result<Vec<Publication>, Failure> {
    let shown = folder.display();
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read {shown}: {error}")).with_hint(HINT)
    };
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(&error))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = paths
        .collect::<Result<_, std::io::Error>>()
        .map_err(|error| unreadable(&error))?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    paths.sort();
    if paths.is_empty() {
        return Err(Failure::usage(format!("{shown} has no file of measurements")).with_hint(HINT));
    }
    paths.iter().map(|path| publication(path)).collect()
}

fn publication(path: &Path) -> Result<Publication, Failure> {
    let shown = path.display().to_string();
    let text = Input::Claims.text(path);
    let text =
        text.map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")).with_hint(HINT))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    measurement::read(&name, &text).map_err(|error| {
        let hint = error.hint().map_or_else(|| HINT.to_owned(), str::to_owned);
        Failure::from(error.in_file(&shown)).with_hint(hint)
    })
}

fn table(publications: &[Publication], rows: &[Row], errors: &[Errors], width: usize) -> String {
    let points: usize = publications.iter().map(|one| one.points.len()).sum();
    let about = format!(
        "{} of {}, each event and state predicted by a fit that has not seen it. Classes are not pooled.",
        counted(points as u64, "point"),
        counted(publications.len() as u64, "publication")
    );
    let of_classes = Listing {
        heads: [Head::name("class"), Head::name("held out")]
            .into_iter()
            .chain(
                [
                    "points",
                    "median",
                    "90 % within",
                    "within 1.5",
                    "within 2",
                    "80 % interval",
                    "holds",
                ]
                .map(Head::figure),
            )
            .collect(),
        rows: errors.iter().map(class_row).collect(),
    };
    let of_points = Listing {
        heads: vec![
            Head::name("point"),
            Head::name("held out"),
            Head::figure("measured"),
            Head::figure("predicted"),
            Head::figure("error"),
            Head::remark("what differs"),
        ],
        rows: rows.iter().map(point_row).collect(),
    };
    let not_judged = evidence::not_judged(publications);
    let left_out = not_judged
        .iter()
        .map(|(id, why)| paragraph(&format!("not judged: {id}: {why}"), width));
    paragraph(&about, width)
        + "\n"
        + &of_classes.draw(width, "--json")
        + "\n"
        + &of_points.draw(width, "--json")
        + "\n"
        + &left_out.collect::<String>()
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn class_row(errors: &Errors) -> Vec<String> {
    let missing = || "-".to_owned();
    let of = |count: usize| format!("{count}/{}", errors.count());
    let factor = errors.factor();
    vec![
        errors.class.name(),
        errors.held.name().to_owned(),
        errors.count().to_string(),
        errors.within(0.5).map_or_else(missing, percent),
        errors.within(0.9).map_or_else(missing, percent),
        of(errors.within_factor(1.5)),
        of(errors.within_factor(2.0)),
        factor.map_or_else(missing, |factor| format!("x/ {}", number(factor))),
        factor.map_or_else(missing, |_| of(errors.covered)),
    ]
}

fn point_row(row: &Row) -> Vec<String> {
    let unit = match row.class {
        Class::Events(_) => "mC",
        Class::Beacons(_) | Class::Windows | Class::Uplink(_) | Class::Edrx(_) => "mA",
    };
    let shown = |value: f64| format!("{} {unit}", number(value * 1e3));
    let missing = || "-".to_owned();
    let why = match (row.predicted, &row.because) {
        (Err(why), _) => why.to_owned(),
        (Ok(_), because) => because.clone().unwrap_or_default(),
    };
    vec![
        row.id.clone(),
        row.held.name().to_owned(),
        shown(row.measured),
        row.predicted.map_or_else(|_| missing(), shown),
        row.ratio()
            .map_or_else(missing, |ratio| format!("{:+.1} %", (ratio - 1.0) * 100.0)),
        why,
    ]
}

fn json(rows: &[Row], errors: &[Errors]) -> Value {
    let points = rows.iter().map(|row| {
        json!({
            "publication": row.publication, "point": row.id, "class": row.class.name(), "held_out": row.held.name(),
            "measured": row.measured, "predicted": row.predicted.ok(), "not_predicted": row.predicted.err(),
            "because": row.because,
        })
    });
    let classes = errors.iter().map(|one| {
        json!({
            "class": one.class.name(), "held_out": one.held.name(), "points": one.count(), "unpredicted": one.unpredicted,
            "median_error": one.within(0.5), "error_of_90_percent": one.within(0.9),
            "within_factor_1_5": one.within_factor(1.5), "within_factor_2": one.within_factor(2.0),
            "interval_factor": one.factor(), "in_interval": one.covered,
        })
    });
    json!({"classes": classes.collect::<Vec<Value>>(), "points": points.collect::<Vec<Value>>()})
}
