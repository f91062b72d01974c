//! From sums and histograms to a cell. What is added up has no smallest and no largest sample: those are 0.

use std::time::Duration;

use wirecost_cost::Totals;
use wirecost_link::Counters;
use wirecost_proto::units::counted;
use wirecost_proto::{Cause, Direction, Layer, Phase};
use wirecost_results::Cell;
use wirecost_results::link::achieved;
use wirecost_results::summary::{Bytes, CauseBytes, Count, Cpu, Section, Times, Warning};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::PlannedCell;
use wirecost_stack::target::Target;
use wirecost_stats::hgrm::Hgrm;

use super::Played;
use crate::compare::cells::{self, Source};
use crate::compare::simulated::NO_CPU_TIME;
use crate::compare::verdict;

/// Share of late and unanswered messages above which a cell says so.
const MANY_TIMEOUTS: f64 = 0.01;

/// A cell that cannot be run.
pub(super) fn not_run(options: &Options, planned: &PlannedCell) -> Cell {
    frame(options, planned, [Counters::default(); 2])
}

/// A cell's figures, and the distribution of its response times where there are any.
pub(super) fn cell(options: &Options, planned: &PlannedCell, played: &Played<'_>) -> (Cell, Option<String>) {
    let mut cell = frame(options, planned, played.counters);
    let (book, totals) = (&played.book, &played.totals);
    let link = &options.links[planned.link];
    cell.link.achieved = Some(achieved(&[], link, &played.counters));
    cell.warnings = warnings(played);
    cell.valid = cell.warnings.iter().all(|warning| !warning.invalidates);
    cell.connect = planned.stack.has_connect().then(|| Section {
        response_time_ns: Times::of_histogram(&book.connects),
        service_time_ns: Times::of_histogram(&book.connects),
        ..section(totals, Phase::Connect, book.connects.len())
    });
    cell.message = Some(message(planned, played));
    cell.keep_alive = quiet(totals, Phase::KeepAlive, u64::from(options.samples));
    cell.close = quiet(totals, Phase::Close, book.closed);
    cell.outcomes = book.outcomes;
    let distribution = (!book.responses.is_empty()).then(|| Hgrm(&book.responses).to_string());
    (cell, distribution)
}

/// A cell without figures.
fn frame(options: &Options, planned: &PlannedCell, counters: [Counters; 2]) -> Cell {
    let source = Source {
        options,
        planned,
        engine: "sim",
        target: Target::Builtin.to_string(),
        counters,
        round_trips: &[],
        dropped_packets: 0,
        lateness: Duration::ZERO,
        cpu: &|_| Cpu {
            reason: Some(NO_CPU_TIME.into()),
            ..Cpu::default()
        },
    };
    cells::cell(&source, &[])
}

fn message(planned: &PlannedCell, played: &Played<'_>) -> Section {
    let book = &played.book;
    let section = section(&played.totals, Phase::Message, book.sent);
    let payload = (planned.payload.len() as u64 * book.sent) as f64;
    let wire = (section.up.wire.sum + section.down.wire.sum) as f64;
    Section {
        response_kind: planned.stack.response_kind().into(),
        response_time_ns: Times::of_histogram(&book.responses),
        service_time_ns: Times::of_histogram(&book.services),
        one_way_delay_ns: Times::of_histogram(&played.delays.up),
        header_ratio: (payload > 0.0).then(|| (wire - payload) / payload),
        ..section
    }
}

fn warnings(played: &Played<'_>) -> Vec<Warning> {
    let book = &played.book;
    let outcomes = &book.outcomes;
    let warning = |kind: &str, text: String, invalidates| Warning {
        kind: kind.into(),
        text,
        invalidates,
    };
    let mut warnings: Vec<Warning> = verdict::no_times(outcomes).into_iter().collect();
    if let Some(error) = &played.service_error {
        warnings.push(warning(
            "server-failed",
            format!("the server has ended: {error}"),
            true,
        ));
    }
    let unattributed: u64 = Direction::ALL
        .iter()
        .map(|way| played.totals.unattributed_bytes(*way))
        .sum();
    if unattributed > 0 {
        let text = format!("nobody described {}", counted(unattributed, "byte"));
        warnings.push(warning("unattributed-bytes", text, true));
    }
    if let (devices @ 1.., Some(why)) = &book.failures {
        let text = format!("{devices} of the devices failed; the first: {why}");
        warnings.push(warning("devices-failed", text, false));
    }
    let missed = outcomes.late + outcomes.unknown;
    if missed as f64 > outcomes.offered as f64 * MANY_TIMEOUTS {
        let offered = counted(outcomes.offered, "message");
        let text = format!("{missed} of {offered} not answered in time");
        warnings.push(warning("timeouts", text, false));
    }
    warnings
}

/// A phase of which only the bytes count; `None` where there were none.
fn quiet(totals: &Totals, phase: Phase, samples: u64) -> Option<Section> {
    let section = section(totals, phase, samples);
    (section.up.packets.sum + section.down.packets.sum > 0).then_some(section)
}

fn section(totals: &Totals, phase: Phase, samples: u64) -> Section {
    let by_cause = Cause::ALL.iter().map(|cause| {
        let mean = |way| totals.bytes_by_cause(phase, way, *cause) as f64 / samples.max(1) as f64;
        let bytes = CauseBytes {
            up: mean(Direction::Up),
            down: mean(Direction::Down),
        };
        (cause.name().to_owned(), bytes)
    });
    Section {
        samples,
        response_kind: "to_reply".into(),
        up: bytes(totals, phase, Direction::Up, samples),
        down: bytes(totals, phase, Direction::Down, samples),
        by_cause: by_cause.collect(),
        ..Section::default()
    }
}

fn bytes(totals: &Totals, phase: Phase, way: Direction, samples: u64) -> Bytes {
    let count = |sum: u64| Count {
        mean: sum as f64 / samples.max(1) as f64,
        sum,
        ..Count::default()
    };
    let layer = |layer| count(totals.bytes(phase, way, layer));
    Bytes {
        packets: count(totals.packets(phase, way)),
        ip: layer(Layer::Ip),
        transport: layer(Layer::Transport),
        security: layer(Layer::Security),
        application: layer(Layer::Application),
        payload: layer(Layer::Payload),
        wire: count(totals.wire_bytes(phase, way)),
    }
}
