//! `summary.csv` of loads (RFC 4180, with `\n` as line end): one row per load and phase; a load that was not run has one
//! row without figures. Empty is "not measured". Rates are per second, times in nanoseconds.

use wirecost_results::catalogue::{Metric, Of};
use wirecost_results::link_use::DirectionUse;
use wirecost_results::load::{Load, LoadSummary, PhaseFigures, ProcessUse};
use wirecost_results::summary::Times;

use crate::csv::{self, Field, field, optional};
use crate::figures::link_numbers;

/// The summary as CSV: a header, then one row per load and phase.
pub fn csv(summary: &LoadSummary) -> String {
    let rows: Vec<Vec<Field>> = summary.loads.iter().flat_map(rows).collect();
    csv::file(&rows)
}

/// The hops of loads with sites as CSV: a header, then one row per load, phase and hop; `None` where no load has sites.
pub fn hops_csv(summary: &LoadSummary) -> Option<String> {
    let mut rows = Vec::new();
    for (index, load) in summary.loads.iter().enumerate() {
        for (number, phase) in load.phases.iter().enumerate() {
            for hop in &phase.hops {
                let mut row = vec![
                    field("load", index),
                    field("phase", number),
                    field("hop", &hop.hop),
                ];
                row.extend(of_way("up", "", Some(hop.used.up)));
                row.extend(of_way("down", "", Some(hop.used.down)));
                rows.push(row);
            }
        }
    }
    // A file with a header alone would look as if hops had been measured.
    (!rows.is_empty()).then(|| csv::file(&rows))
}

fn rows(load: &Load) -> Vec<Vec<Field>> {
    let head = of_load(load);
    let row = |phase: &PhaseFigures| head.iter().cloned().chain(of_phase(phase)).collect();
    if load.phases.is_empty() {
        let blank = of_phase(&PhaseFigures::default())
            .into_iter()
            .map(|(name, _)| (name, String::new()));
        return vec![head.iter().cloned().chain(blank).collect()];
    }
    load.phases.iter().map(row).collect()
}

fn of_load(load: &Load) -> Vec<Field> {
    // The emulator is there in a live run alone: virtual time is never late.
    let lateness = load
        .link
        .as_ref()
        .and_then(|link| Some(link.emulator.as_ref()?.lateness_p99_ns));
    let mut fields = vec![
        field("key", &load.key),
        field("stack", &load.stack),
        field("start", &load.start),
        optional("payload_bytes", load.payload_bytes),
        field("target", &load.target),
        field("engine", &load.engine),
        field("clients", load.clients),
        field("subscribers", load.subscribers),
        optional("inflight", load.inflight),
        field("loop_kind", load.loop_kind.name()),
        optional("arrivals", load.arrivals.as_ref()),
        optional("link", super::words::link_text(load)),
    ];
    fields.extend(link_numbers(super::words::link_of(load)).map(|(name, value)| optional(name, value)));
    fields.extend([
        optional("emulator_lateness_p99_ns", lateness),
        field("shared_socket", load.shared_socket),
        field("ipv6", load.ipv6),
        field("processes", load.processes),
        field("loops", load.loops),
        field("valid", load.valid),
        optional("not_run", load.not_run.as_ref()),
        optional("bottleneck", load.bottleneck.as_ref().map(|found| &found.who)),
    ]);
    fields.extend(of_side("generator", load.generator.as_ref()));
    fields.extend(of_side("target", load.target_use.as_ref()));
    fields
}

fn of_side(side: &str, used: Option<&ProcessUse>) -> [Field; 5] {
    let named = |what: &str| format!("{side}_{what}");
    [
        optional(&named("user_s"), used.map(|used| used.user_s)),
        optional(&named("system_s"), used.map(|used| used.system_s)),
        optional(&named("cpu_share"), used.and_then(|used| used.cpu_share)),
        optional(&named("resident_bytes"), used.map(|used| used.resident_bytes)),
        optional(
            &named("cpu_s_per_million"),
            used.and_then(|used| used.cpu_s_per_million),
        ),
    ]
}

fn of_phase(phase: &PhaseFigures) -> Vec<Field> {
    let (outcomes, connects) = (&phase.outcomes, &phase.connects);
    let arrived = |count: fn(wirecost_results::figures::Deliveries) -> u64| phase.deliveries.map(count);
    // Zero: the expected number is unknown, or nothing was expected.
    let expected = phase.missing.and(arrived(|found| found.expected));
    let mut fields = vec![
        field("phase", &phase.name),
        field("begin_s", phase.begin_s),
        field("duration_s", phase.duration_s),
        field("measured_s", phase.measured_s),
        optional("offered_rate", phase.offered_rate),
        optional("carried_rate", phase.carried_rate),
        field("offered", outcomes.offered),
        field("sent", phase.sent),
        field("acknowledged", outcomes.acknowledged),
        field("refused", outcomes.refused),
        field("failed", outcomes.failed),
        field("late", outcomes.late),
        field("unknown", outcomes.unknown),
        field("delivered", outcomes.delivered),
        field("lost", outcomes.lost),
        field("connects_attempted", connects.attempted),
        field("connects_established", connects.established),
        field("connects_resumed", connects.resumed),
        field("connects_early", connects.early),
        field("connects_refused", connects.refused),
        field("connects_failed", connects.failed),
        field("connects_timed_out", connects.timed_out),
        field("connects_given_up", connects.given_up),
        field("connections_lost", connects.lost),
        optional("expected", expected),
        optional("arrived", arrived(|found| found.arrived)),
        optional("missing", phase.missing),
        optional("duplicates", arrived(|found| found.duplicates)),
        optional("out_of_order", arrived(|found| found.out_of_order)),
        optional("replayed", arrived(|found| found.replayed)),
        optional("polls", arrived(|found| found.polls)),
        optional("empty_polls", arrived(|found| found.empty_polls)),
        field("socket_bytes_up", phase.socket_bytes_up),
        field("socket_bytes_down", phase.socket_bytes_down),
        optional("response_kind", phase.response_kind.as_ref()),
    ];
    fields.extend(of_distributions(phase));
    fields.extend(of_way("up", "link_", phase.link.map(|link| link.up)));
    fields.extend(of_way("down", "link_", phase.link.map(|link| link.down)));
    let figures = Metric::csv(Of::Loads);
    fields.extend(figures.map(|(metric, name)| optional(name, metric.of_phase(phase, metric.shown()))));
    fields
}

fn of_distributions(phase: &PhaseFigures) -> impl Iterator<Item = Field> {
    let distributions = [
        ("response_time", &phase.response_time_ns),
        ("service_time", &phase.service_time_ns),
        ("schedule_lag", &phase.schedule_lag_ns),
        ("connect_time", &phase.connect_time_ns),
        ("one_way_delay", &phase.one_way_delay_ns),
    ];
    distributions
        .into_iter()
        .flat_map(|(name, times)| of_times(name, times.as_ref()))
}

fn of_way(way: &str, prefix: &str, used: Option<DirectionUse>) -> [Field; 5] {
    let named = |quantity: &str| format!("{prefix}{way}_{quantity}");
    [
        optional(&named("packets"), used.map(|used| used.packets)),
        optional(&named("bytes"), used.map(|used| used.bytes)),
        optional(&named("lost"), used.map(|used| used.lost)),
        optional(&named("queue_dropped"), used.map(|used| used.queue_dropped)),
        optional(&named("utilisation"), used.and_then(|used| used.utilisation)),
    ]
}

fn of_times(name: &str, times: Option<&Times>) -> [Field; 9] {
    let named = |quantity: &str| format!("{name}_{quantity}_ns");
    [
        optional(&format!("{name}_n"), times.map(|of| of.n)),
        optional(&named("mean"), times.map(|of| of.mean)),
        optional(&named("p50"), times.and_then(|of| of.p50)),
        optional(&named("p90"), times.and_then(|of| of.p90)),
        optional(&named("p95"), times.and_then(|of| of.p95)),
        optional(&named("p99"), times.and_then(|of| of.p99)),
        optional(&named("p999"), times.and_then(|of| of.p999)),
        optional(&named("min"), times.map(|of| of.min)),
        optional(&named("max"), times.map(|of| of.max)),
    ]
}
