//! The limits of a scenario, each judged in every cell that it selects.

use wirecost_proto::Framing;
use wirecost_results::Cell;
use wirecost_scenario::ScenarioError;
use wirecost_scenario::budget::BudgetLimit;
use wirecost_scenario::month::{self, NoFigure};
use wirecost_scenario::selector::{Labels, from_stored};
use wirecost_scenario::thresholds::nature::{of_model, unavailable_in_cell};

use super::against::earlier;
use super::judged::Row;
use super::{Run, cause};
use crate::exit::{self, Failure};

/// The limits of a scenario of this name and framing, beside those of an earlier run.
pub fn of_scenario(
    limits: &[BudgetLimit],
    (scenario, framing): (&str, Framing),
    (old, new): (Option<&Run>, &Run),
    file: &str,
) -> Result<Vec<Row>, Failure> {
    let names = names(&new.summary.cells);
    let mut rows = Vec::new();
    for limit in limits {
        for (cell, of) in new.summary.cells.iter().zip(&names) {
            if unavailable_in_cell(limit.metric, cell.stack.parse().ok(), framing).is_some() {
                continue;
            }
            let refused = |why: String| {
                let message = format!("{scenario}: {} of {of}: {why}", limit.name);
                Failure::from(ScenarioError::new(&limit.place, message).in_file(file))
            };
            let before =
                old.and_then(|old| Some((old, earlier(&old.summary.cells, &new.summary.cells, cell)?)));
            let selected = of_model(limit.metric, &from_stored(&cell.labels)).into_iter();
            for (_, by) in selected.filter(|(labels, _)| limit.selector.matches(labels)) {
                if let Some(failure) = unusable(cell, refused) {
                    return Err(failure);
                }
                let figure = |run: &Run, cell: &Cell| {
                    month::figure(&run.folder, cell, (limit.metric, limit.aggregation), by)
                };
                let after = figure(new, cell).map_err(|why: NoFigure| refused(why.to_string()))?;
                let was = before.and_then(|(run, cell)| figure(run, cell).ok());
                let rtt = (cell.link.up.delay_ns + cell.link.down.delay_ns) as f64 / 1e9;
                rows.push(Row {
                    of: by.map_or_else(|| of.clone(), |by| format!("{of}, {by}")),
                    limit: limit.clone(),
                    before: was,
                    after,
                    holds: limit.holds(after, was, Some(rtt)),
                    causes: before.map_or_else(Vec::new, |(_, old)| cause::causes(limit.metric, old, cell)),
                });
            }
        }
    }
    Ok(rows)
}

/// Why the figures of a cell cannot be used.
fn unusable(cell: &Cell, refused: impl Fn(String) -> Failure) -> Option<Failure> {
    if let Some(why) = &cell.not_run {
        return Some(refused(format!("it was not run: {why}")));
    }
    let warning = cell.warnings.iter().find(|warning| warning.invalidates);
    let why = warning.map_or_else(String::new, |warning| format!(": {}", warning.text));
    (!cell.valid).then(|| {
        let mut failure = refused(format!("INVALID{why}"));
        failure.code = exit::INVALID;
        failure
    })
}

/// The stack of each cell, with the dimensions in which the cells of the scenario differ.
fn names(cells: &[Cell]) -> Vec<String> {
    let labels: Vec<Labels> = cells.iter().map(|cell| from_stored(&cell.labels)).collect();
    let differs = |key: &str| labels.iter().any(|other| other.get(key) != labels[0].get(key));
    let name = |labels: &Labels| {
        let told = labels.iter().filter(|(key, _)| **key != "stack" && differs(key));
        let stack = labels.get("stack").map(String::as_str);
        let texts: Vec<&str> = stack
            .into_iter()
            .chain(told.map(|(_, value)| value.as_str()))
            .collect();
        texts.join(" ")
    };
    labels.iter().map(name).collect()
}
