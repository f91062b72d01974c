//! What a run has set that is in no name of its cells, and what programs of other makers took: lines of the table and of the page.

use wirecost_proto::units::counted;
use wirecost_results::{Cell, Summary};

use crate::names::Names;
use crate::number;

/// Keys that all cells of a run share, and that change bytes or round trips.
const KEYS: [&str; 13] = [
    "certificate",
    "chain",
    "group",
    "server_group",
    "client_certificates",
    "pipelined_connect",
    "amqp_frame_size",
    "reading_in_query",
    "request_headers",
    "response_body",
    "nagle",
    "congestion",
    "offload",
];

/// `certificate=rsa2048, pipelined_connect=true`: what is not as it usually is; empty where everything is.
pub(crate) fn text(summary: &Summary) -> String {
    let set = |key: &&str| {
        let value = summary.scenario.get(key)?.scalar()?;
        (value != "false").then(|| format!("{key}={}", number::plain(&value)))
    };
    KEYS.iter().filter_map(set).collect::<Vec<_>>().join(", ")
}

/// The settings, and a line for each program.
pub(crate) fn lines(names: &Names, summary: &Summary) -> Vec<String> {
    let settings = text(summary);
    let settings = (!settings.is_empty()).then(|| format!("settings: {settings}"));
    let programs = summary.cells.iter().filter_map(|cell| program(names, cell));
    settings.into_iter().chain(programs).collect()
}

/// `curl: 210 ms from start to end, 11.7 ms of CPU, means of 10 runs`.
fn program(names: &Names, cell: &Cell) -> Option<String> {
    let figures = cell.program.as_ref()?;
    Some(format!(
        "{}: {} from start to end, {} of CPU, means of {}",
        names.label(cell),
        number::duration(figures.time_ns.mean),
        number::duration(figures.cpu_ns.mean),
        counted(figures.time_ns.n, "run")
    ))
}
