//! The plots and tables of a publication.

use wirecost_scenario::error::ScenarioError;
use wirecost_scenario::node::Node;
use wirecost_scenario::table::{Table, text};

use super::points::reference;
use super::{at, listed};
use crate::claims::{Grid, Plot, Run};
use crate::reference::Reference;

/// The dimension of lines and rows where nothing is said.
const STACK: &str = "stack";

/// The plots.
///
/// # Errors
/// A key, figure or run is wrong.
pub(super) fn plots(root: &Node, runs: &[Run]) -> Result<Vec<Plot>, ScenarioError> {
    let plot = |node: &Node| {
        let table = Table::new(node, "plots.", &["title", "of", "over", "lines", "log"])?;
        let of = table
            .get("of")
            .ok_or_else(|| at(node, "plots.of: the figure is missing"))?;
        let log: Vec<String> = table.many("log", text)?;
        if let Some(other) = log.iter().find(|axis| !matches!(axis.as_str(), "x" | "y")) {
            return Err(table
                .error("log", format!("{other:?} is not an axis"))
                .with_hint("the axes are x and y"));
        }
        Ok(Plot {
            at: node.place.clone(),
            title: table.required("title", text)?,
            of: figure(of, runs)?,
            over: table.required("over", text)?,
            lines: table.one("lines", text)?.unwrap_or_else(|| STACK.to_owned()),
            is_log_x: log.iter().any(|axis| axis == "x"),
            is_log_y: log.iter().any(|axis| axis == "y"),
        })
    };
    listed(root, "plots", "a list of plots is expected")?
        .iter()
        .map(plot)
        .collect()
}

/// The tables.
///
/// # Errors
/// A key, figure or run is wrong.
pub(super) fn tables(root: &Node, runs: &[Run]) -> Result<Vec<Grid>, ScenarioError> {
    let grid = |node: &Node| {
        let table = Table::new(node, "tables.", &["title", "rows", "columns"])?;
        let expected = || at(node, "tables.columns: a table of titles and figures is expected");
        let columns = table.get("columns").ok_or_else(expected)?;
        let columns = columns.entries().ok_or_else(expected)?.iter();
        let column =
            |(key, node): &(wirecost_scenario::node::Key, Node)| Ok((key.name.clone(), figure(node, runs)?));
        Ok(Grid {
            at: node.place.clone(),
            title: table.required("title", text)?,
            rows: table.one("rows", text)?.unwrap_or_else(|| STACK.to_owned()),
            columns: columns.map(column).collect::<Result<_, ScenarioError>>()?,
        })
    };
    listed(root, "tables", "a list of tables is expected")?
        .iter()
        .map(grid)
        .collect()
}

fn figure(node: &Node, runs: &[Run]) -> Result<Reference, ScenarioError> {
    let figure = reference(node)?;
    if runs.iter().any(|run| run.name == figure.run) {
        return Ok(figure);
    }
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let message = format!("{:?} is none of the runs", figure.run);
    Err(at(node, message).with_hint(format!("runs has {}", names.join(", "))))
}
