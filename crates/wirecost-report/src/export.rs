//! `summary.csv` and `summary.md`.
//!
//! One row of the CSV is one phase of one cell; a cell that was not run has one row without figures. Empty is "not
//! measured". Columns, all means per sample where not said otherwise:
//!
//! | name | unit | meaning |
//! |---|---|---|
//! | `stack`, `start`, `engine`, `target` | | what the cell is |
//! | `payload_bytes` | B | payload of a message |
//! | `link` | | the link asked for, in words |
//! | `key` | | what tells the cell from every other one |
//! | `messages_per_connection` | | measured messages of a connection |
//! | `interval_ns` | ns | time between the intended sends of one device's messages |
//! | `agreement_equal` | | of a live cell: whether packets and bytes are those of the simulated one |
//! | `agreement_first_difference` | | what they first differ in |
//! | `agreement_median_ratio` | | median response time, live by simulated |
//! | `valid` | | `true` where the figures may be used |
//! | `not_run` | | why the cell could not be run |
//! | `first_message_round_trips` | | round trips until the first message was acknowledged, or had arrived |
//! | `phase` | | `connect`, `message`, `keep_alive`, `close` or `delivery` |
//! | `samples` | | devices that reached the end of the phase |
//! | `response_kind` | | `to_ack`, `to_reply` or `to_arrival` |
//! | `response_time_*_ns` | ns | from the intended start: mean, its 95 % interval, quantiles, extremes |
//! | `service_time_*_ns` | ns | from the actual start: mean, quantiles |
//! | `one_way_delay_*_ns` | ns | to the delivery of the last byte: mean, quantiles |
//! | `round_trips` | | flights on the critical path / 2 |
//! | `goodput_bps` | bit/s | payload bits / time to arrival |
//! | `header_ratio` | | (wire bytes - payload) / payload |
//! | `up_packets`, `down_packets` | | IP packets |
//! | `up_*_bytes`, `down_*_bytes` | B | bytes by layer, and `wire`, their sum |

mod markdown;

use wirecost_proto::Layer;
use wirecost_results::summary::{Bytes, Times};
use wirecost_results::{Cell, Section, Summary};

use crate::figures::{count, link_words};
pub(crate) use markdown::escaped;
pub use markdown::markdown;

/// A column's name and a row's value in it.
type Field = (String, String);

/// The summary as CSV (RFC 4180, with `\n` as line end): a header, then one row per cell and phase.
pub fn csv(summary: &Summary) -> String {
    let rows: Vec<Vec<Field>> = summary.cells.iter().flat_map(rows).collect();
    let header = rows.first().map(|row| line(row.iter().map(|(name, _)| name)));
    let lines = rows.iter().map(|row| line(row.iter().map(|(_, value)| value)));
    header.into_iter().chain(lines).collect()
}

fn rows(cell: &Cell) -> Vec<Vec<Field>> {
    let phases = [
        ("connect", &cell.connect),
        ("message", &cell.message),
        ("keep_alive", &cell.keep_alive),
        ("close", &cell.close),
        ("delivery", &cell.delivery),
    ];
    let measured = phases
        .iter()
        .filter_map(|(phase, section)| Some((*phase, section.as_ref()?)));
    let rows: Vec<Vec<Field>> = measured
        .map(|(phase, section)| row(cell, phase, Some(section)))
        .collect();
    if rows.is_empty() {
        return vec![row(cell, "", None)];
    }
    rows
}

fn row(cell: &Cell, phase: &str, section: Option<&Section>) -> Vec<Field> {
    let mut fields = identity(cell, phase);
    fields.extend(section_fields(section));
    for (direction, bytes) in [("up", section.map(|s| &s.up)), ("down", section.map(|s| &s.down))] {
        fields.extend(bytes_fields(direction, bytes));
    }
    fields
}

fn identity(cell: &Cell, phase: &str) -> Vec<Field> {
    let agreement = cell.agreement.as_ref();
    let fields = [
        ("stack", cell.stack.clone()),
        ("start", cell.start.clone()),
        ("payload_bytes", cell.payload_bytes.to_string()),
        ("engine", cell.engine.clone()),
        ("target", cell.target.clone()),
        ("link", link_words(&cell.link)),
        ("key", cell.key.clone()),
        (
            "messages_per_connection",
            cell.messages_per_connection.to_string(),
        ),
        ("interval_ns", text(cell.interval_ns)),
        ("agreement_equal", text(agreement.map(|a| a.equal))),
        (
            "agreement_first_difference",
            text(agreement.and_then(|a| a.first_difference.as_ref())),
        ),
        (
            "agreement_median_ratio",
            text(agreement.and_then(|a| a.median_ratio)),
        ),
        ("valid", cell.valid.to_string()),
        ("not_run", cell.not_run.clone().unwrap_or_default()),
        ("first_message_round_trips", text(cell.first_message_round_trips)),
        ("phase", phase.to_owned()),
    ];
    fields.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

fn section_fields(section: Option<&Section>) -> Vec<Field> {
    let mut fields = vec![
        field("samples", section.map(|s| s.samples)),
        field("response_kind", section.map(|s| &s.response_kind)),
    ];
    let response = section.and_then(|s| s.response_time_ns.as_ref());
    let service = section.and_then(|s| s.service_time_ns.as_ref());
    let delay = section.and_then(|s| s.one_way_delay_ns.as_ref());
    fields.extend(interval_fields("response_time", response));
    for (name, times) in [
        ("response_time", response),
        ("service_time", service),
        ("one_way_delay", delay),
    ] {
        fields.extend(times_fields(name, times));
    }
    fields.push(field("round_trips", section.and_then(|s| s.round_trips)));
    fields.push(field("goodput_bps", section.and_then(|s| s.goodput_bps)));
    fields.push(field("header_ratio", section.and_then(|s| s.header_ratio)));
    fields
}

fn interval_fields(name: &str, times: Option<&Times>) -> [Field; 2] {
    let bound = |index: usize| times.and_then(|t| t.ci95).map(|bounds| bounds[index]);
    [
        field(&format!("{name}_ci95_low_ns"), bound(0)),
        field(&format!("{name}_ci95_high_ns"), bound(1)),
    ]
}

fn times_fields(name: &str, times: Option<&Times>) -> [Field; 7] {
    let named = |quantity: &str| format!("{name}_{quantity}_ns");
    [
        field(&named("mean"), times.map(|t| t.mean)),
        field(&named("p50"), times.and_then(|t| t.p50)),
        field(&named("p90"), times.and_then(|t| t.p90)),
        field(&named("p95"), times.and_then(|t| t.p95)),
        field(&named("p99"), times.and_then(|t| t.p99)),
        field(&named("min"), times.map(|t| t.min)),
        field(&named("max"), times.map(|t| t.max)),
    ]
}

fn bytes_fields(direction: &str, bytes: Option<&Bytes>) -> Vec<Field> {
    let packets = field(&format!("{direction}_packets"), bytes.map(|b| b.packets.mean));
    let layer = |layer: Layer| {
        let name = format!("{direction}_{}_bytes", layer.name());
        field(&name, bytes.map(|b| count(b, layer).mean))
    };
    let wire = field(&format!("{direction}_wire_bytes"), bytes.map(|b| b.wire.mean));
    let layers = Layer::ALL.into_iter().map(layer);
    std::iter::once(packets).chain(layers).chain([wire]).collect()
}

fn field(name: &str, value: Option<impl ToString>) -> Field {
    (name.to_owned(), text(value))
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn line<'a>(values: impl Iterator<Item = &'a String>) -> String {
    let values: Vec<String> = values.map(|value| quoted(value)).collect();
    values.join(",") + "\n"
}

/// A field that holds a separator, a quote or a line end is in quotes (RFC 4180 section 2).
pub(crate) fn quoted(value: &str) -> String {
    if value.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}
