//! `summary.csv` and `summary.md`.
//!
//! One row of the CSV is one phase of one cell; a cell that was not run has one row without figures. Empty is "not
//! measured". Columns, all means per sample where not said otherwise:
//!
//! | name | unit | meaning |
//! |---|---|---|
//! | `stack`, `start`, `engine`, `target` | | what the cell is |
//! | `payload_bytes` | B | payload of a message |
//! | `readings`, `encoding`, `compression` | | the readings that the payload holds; empty for pseudo-random bytes |
//! | `encoded_bytes` | B | the readings before compression |
//! | `link` | | the link asked for, in words |
//! | `rtt_ms`, `loss_up`, `loss_down`, `rate_up_bps`, `rate_down_bps`, `mtu_bytes` | | the same in numbers |
//! | `key` | | what tells the cell from every other one |
//! | `messages_per_connection` | | measured messages of a connection |
//! | `interval_ns` | ns | time between the intended sends of one device's messages |
//! | `agreement_equal` | | of a live cell: whether packets and bytes are those of the simulated one |
//! | `agreement_first_difference` | | what they first differ in |
//! | `agreement_median_ratio` | | median response time, live by simulated |
//! | `valid` | | `true` where the figures may be used |
//! | `not_run` | | why the cell could not be run |
//! | `first_message_round_trips` | | round trips until the first message was acknowledged, or had arrived |
//! | `all_in_up_bytes`, `all_in_down_bytes` | B | bytes per message with the shares of connect, keep-alive and close |
//! | `framing` | | the link layer whose headers frames have; empty without |
//! | `frame_up_bytes`, `frame_down_bytes` | B | bytes of connect, a message and close as a sniffer counts them |
//! | others of the catalogue | | figures whose entry has a column in CSV files |
//! | `program_time_mean_ns`, `program_cpu_mean_ns` | ns | of a program of another maker: from start to end, and its CPU time |
//! | `settings` | | what the run has set that is in no name of its cells: `certificate=rsa2048` |
//! | `phase` | | `connect`, `message`, `keep_alive`, `close` or `delivery` |
//! | `samples` | | devices that reached the end of the phase |
//! | `response_kind` | | `to_ack`, `to_reply` or `to_arrival` |
//! | `response_time_*_ns` | ns | from the intended start: mean, its 95 % interval, quantiles, extremes |
//! | `service_time_*_ns` | ns | from the actual start: mean, quantiles |
//! | `one_way_delay_*_ns` | ns | to the delivery of the last byte: mean, quantiles |
//! | `round_trips` | | flights on the critical path / 2 |
//! | `goodput_bps` | bit/s | payload bits / time to arrival |
//! | `header_ratio` | | (IP bytes - payload) / payload |
//! | `up_packets`, `down_packets` | | IP packets |
//! | `up_*_bytes`, `down_*_bytes` | B | bytes by layer, and `wire`, their sum |

mod markdown;

use wirecost_proto::Layer;
use wirecost_results::catalogue::{Metric, Of};
use wirecost_results::summary::{Bytes, Times};
use wirecost_results::{Cell, Section, Summary};

use crate::csv::{self, Field, field, optional};
use crate::figures::{count, link_numbers, link_text};
use crate::settings;
pub(crate) use markdown::escaped;
pub use markdown::markdown;

/// The summary as CSV: a header, then one row per cell and phase.
pub fn csv(summary: &Summary) -> String {
    let settings = settings::text(summary);
    let cells = summary.cells.iter();
    let rows: Vec<Vec<Field>> = cells.flat_map(|cell| rows(cell, &settings)).collect();
    csv::file(&rows)
}

fn rows(cell: &Cell, settings: &str) -> Vec<Vec<Field>> {
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
        .map(|(phase, section)| row((cell, settings), phase, Some(section)))
        .collect();
    if rows.is_empty() {
        // A cell that did not run has its row too: a reader of the CSV would otherwise think that nobody asked for it.
        return vec![row((cell, settings), "", None)];
    }
    rows
}

fn row((cell, settings): (&Cell, &str), phase: &str, section: Option<&Section>) -> Vec<Field> {
    let mut fields = identity(cell, settings, phase);
    fields.extend(section_fields(section));
    for (direction, bytes) in [("up", section.map(|s| &s.up)), ("down", section.map(|s| &s.down))] {
        fields.extend(bytes_fields(direction, bytes));
    }
    fields
}

fn identity(cell: &Cell, settings: &str, phase: &str) -> Vec<Field> {
    let (agreement, all_in) = (cell.agreement.as_ref(), cell.all_in());
    let readings = cell.readings.as_ref();
    let difference = agreement.and_then(|a| a.first_difference.as_ref());
    let mut fields = vec![
        field("stack", &cell.stack),
        field("start", &cell.start),
        field("payload_bytes", cell.payload_bytes),
        optional("readings", readings.map(|readings| readings.count)),
        optional("encoding", readings.map(|readings| &readings.encoding)),
        optional("compression", readings.map(|readings| &readings.compression)),
        optional("encoded_bytes", readings.map(|readings| readings.encoded_bytes)),
        field("engine", &cell.engine),
        field("target", &cell.target),
        field("link", link_text(&cell.link)),
    ];
    fields.extend(link_numbers(Some(&cell.link)).map(|(name, value)| optional(name, value)));
    fields.extend([
        field("key", &cell.key),
        field("messages_per_connection", cell.messages_per_connection),
        optional("interval_ns", cell.interval_ns),
        optional("agreement_equal", agreement.map(|a| a.equal)),
        optional("agreement_first_difference", difference),
        optional("agreement_median_ratio", agreement.and_then(|a| a.median_ratio)),
        field("valid", cell.valid),
        optional("not_run", cell.not_run.as_ref()),
        optional("first_message_round_trips", cell.first_message_round_trips),
        optional("all_in_up_bytes", all_in.map(|bytes| bytes.up)),
        optional("all_in_down_bytes", all_in.map(|bytes| bytes.down)),
        optional("framing", cell.frames.as_ref().map(|frames| &frames.framing)),
    ]);
    let figures = Metric::csv(Of::Cells);
    fields.extend(figures.map(|(metric, name)| optional(name, metric.of_cell(cell, metric.shown()))));
    let program = cell.program.as_ref();
    fields.extend([
        optional(
            "program_time_mean_ns",
            program.map(|program| program.time_ns.mean),
        ),
        optional("program_cpu_mean_ns", program.map(|program| program.cpu_ns.mean)),
        field("settings", settings),
        field("phase", phase),
    ]);
    fields
}

fn section_fields(section: Option<&Section>) -> Vec<Field> {
    let mut fields = vec![
        optional("samples", section.map(|s| s.samples)),
        optional("response_kind", section.map(|s| &s.response_kind)),
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
    fields.push(optional("round_trips", section.and_then(|s| s.round_trips)));
    fields.push(optional("goodput_bps", section.and_then(|s| s.goodput_bps)));
    fields.push(optional("header_ratio", section.and_then(|s| s.header_ratio)));
    fields
}

fn interval_fields(name: &str, times: Option<&Times>) -> [Field; 2] {
    let bound = |index: usize| times.and_then(|t| t.ci95).map(|bounds| bounds[index]);
    [
        optional(&format!("{name}_ci95_low_ns"), bound(0)),
        optional(&format!("{name}_ci95_high_ns"), bound(1)),
    ]
}

fn times_fields(name: &str, times: Option<&Times>) -> [Field; 7] {
    let named = |quantity: &str| format!("{name}_{quantity}_ns");
    [
        optional(&named("mean"), times.map(|t| t.mean)),
        optional(&named("p50"), times.and_then(|t| t.p50)),
        optional(&named("p90"), times.and_then(|t| t.p90)),
        optional(&named("p95"), times.and_then(|t| t.p95)),
        optional(&named("p99"), times.and_then(|t| t.p99)),
        optional(&named("min"), times.map(|t| t.min)),
        optional(&named("max"), times.map(|t| t.max)),
    ]
}

fn bytes_fields(direction: &str, bytes: Option<&Bytes>) -> Vec<Field> {
    let packets = optional(&format!("{direction}_packets"), bytes.map(|b| b.packets.mean));
    let layer = |layer: Layer| {
        let name = format!("{direction}_{}_bytes", layer.name());
        optional(&name, bytes.map(|b| count(b, layer).mean))
    };
    let wire = optional(&format!("{direction}_wire_bytes"), bytes.map(|b| b.wire.mean));
    let layers = Layer::ALL.into_iter().map(layer);
    std::iter::once(packets).chain(layers).chain([wire]).collect()
}
