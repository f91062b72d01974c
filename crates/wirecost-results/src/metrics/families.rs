//! The families of metrics that loads have.

use wirecost_stats::Histogram;

use super::LoadMetrics;
use super::text::{Format, Labels, Page};
use crate::curves::CurveKind;
use crate::figures::Interval;
use crate::load::ProcessUse;
use crate::metrics::Usage;

/// Reads a counter from an interval.
type Count = fn(&Interval) -> u64;

/// The metrics of `loads`.
pub(super) fn write(loads: &[LoadMetrics], format: Format) -> String {
    let mut page = Page::new(format);
    gauges(&mut page, &OF_LOADS, loads, of_load);
    counters(&mut page, loads);
    histograms(&mut page, loads);
    gauges(&mut page, &WHILE_RUNNING, loads, of_load);
    gauges(&mut page, &USAGE, loads, |loads, read| {
        sides(loads, |load| &load.usage, read)
    });
    gauges(&mut page, &USED, loads, |loads, read| {
        sides(loads, |load| &load.used, read)
    });
    page.finish()
}

/// How a family of counters is read.
enum Read {
    /// One counter for each load and phase.
    All(Count),
    /// Several counters with one more label.
    Each(&'static str, &'static [(&'static str, Count)]),
}

const OUTCOMES: [(&str, Count); 7] = [
    ("acknowledged", |of| of.outcomes.acknowledged),
    ("refused", |of| of.outcomes.refused),
    ("failed", |of| of.outcomes.failed),
    ("late", |of| of.outcomes.late),
    ("unknown", |of| of.outcomes.unknown),
    ("delivered", |of| of.outcomes.delivered),
    ("lost", |of| of.outcomes.lost),
];
const CONNECTS: [(&str, Count); 5] = [
    ("established", |of| of.connects.established),
    ("refused", |of| of.connects.refused),
    ("failed", |of| of.connects.failed),
    ("timed_out", |of| of.connects.timed_out),
    ("given_up", |of| of.connects.given_up),
];
const BYTES: [(&str, Count); 2] = [("up", |of| of.socket_bytes[0]), ("down", |of| of.socket_bytes[1])];

/// Name, unit and help of each family of counters.
type Counter = (&'static str, &'static str, &'static str, Read);

const COUNTERS: [Counter; 8] = [
    counted(
        "wirecost_messages_offered",
        "Messages that the schedule intended.",
        |of| of.outcomes.offered,
    ),
    counted(
        "wirecost_messages_sent",
        "Messages whose last byte the kernel has taken.",
        |of| of.sent,
    ),
    told_apart(
        "wirecost_messages",
        "Messages by how they ended.",
        "outcome",
        &OUTCOMES,
    ),
    counted(
        "wirecost_deliveries",
        "Messages that arrived at subscribers or the sink.",
        |of| of.deliveries.arrived,
    ),
    counted("wirecost_connects_attempted", "Connects that were begun.", |of| {
        of.connects.attempted
    }),
    told_apart(
        "wirecost_connects",
        "Connects by how they ended.",
        "result",
        &CONNECTS,
    ),
    counted(
        "wirecost_connections_lost",
        "Established connections that were lost.",
        |of| of.connects.lost,
    ),
    (
        "wirecost_socket_bytes",
        "bytes",
        "Bytes given to sockets (up) and taken from them (down).",
        Read::Each("direction", &BYTES),
    ),
];

/// A family of one counter for each phase.
const fn counted(name: &'static str, help: &'static str, count: Count) -> Counter {
    (name, "", help, Read::All(count))
}

/// A family of counters with one more label.
const fn told_apart(
    name: &'static str,
    help: &'static str,
    label: &'static str,
    counts: &'static [(&'static str, Count)],
) -> Counter {
    (name, "", help, Read::Each(label, counts))
}

fn counters(page: &mut Page, loads: &[LoadMetrics]) {
    for (name, unit, help, read) in COUNTERS {
        let samples = match read {
            Read::All(count) => all(loads, count),
            Read::Each(label, counts) => each(loads, label, counts),
        };
        page.counter(name, unit, help, &samples);
    }
}

fn histograms(page: &mut Page, loads: &[LoadMetrics]) {
    for kind in CurveKind::ALL {
        let name = format!("wirecost_{}_seconds", kind.words().replace([' ', '-'], "_"));
        let samples: Vec<(Labels<'_>, &Histogram)> = in_phases(loads)
            .filter_map(|(labels, counted)| Some((labels, kind.times_in(counted)?)))
            .collect();
        page.histogram(&name, kind.meaning(), &samples);
    }
}

/// Reads a gauge of a load.
type OfLoad = fn(&LoadMetrics) -> Option<f64>;
/// Reads a gauge of a running side.
type OfUsage = fn(&Usage) -> f64;
/// Reads a gauge of a finished side.
type OfProcesses = fn(&ProcessUse) -> f64;
/// Name, unit and help of a gauge, and how it is read.
type Gauge<R> = (&'static str, &'static str, &'static str, R);

const OF_LOADS: [Gauge<OfLoad>; 2] = [
    (
        "wirecost_clients",
        "",
        "Devices that send, or only connect.",
        |load| Some(load.clients as f64),
    ),
    (
        "wirecost_load_valid",
        "",
        "Whether the figures of the load may be used: 1 or 0.",
        |load| Some(f64::from(u8::from(load.valid?))),
    ),
];
const WHILE_RUNNING: [Gauge<OfLoad>; 1] = [(
    "wirecost_connections",
    "",
    "Devices that are connected now.",
    |load| Some(load.connected? as f64),
)];
/// CPU and memory of both sides of a running load.
const USAGE: [Gauge<OfUsage>; 2] = [
    (
        "wirecost_cpu_ratio",
        "ratio",
        "CPU time by wall time over the last second: 1 is one CPU.",
        |usage| usage.cpu_share,
    ),
    (
        "wirecost_resident_memory_bytes",
        "bytes",
        "Resident memory of all processes of the side.",
        |usage| usage.resident_bytes as f64,
    ),
];
/// CPU and memory of both sides of a finished load.
const USED: [Gauge<OfProcesses>; 3] = [
    (
        "wirecost_cpu_user_seconds",
        "seconds",
        "CPU time in user mode over the phases that tell, warm-up included.",
        |used| used.user_s,
    ),
    (
        "wirecost_cpu_system_seconds",
        "seconds",
        "CPU time in the kernel over the phases that tell, warm-up included.",
        |used| used.system_s,
    ),
    (
        "wirecost_resident_memory_max_bytes",
        "bytes",
        "Largest resident memory of all processes of the side.",
        |used| used.resident_bytes as f64,
    ),
];

fn gauges<R: Copy>(
    page: &mut Page,
    gauges: &[Gauge<R>],
    loads: &[LoadMetrics],
    samples: impl for<'a> Fn(&'a [LoadMetrics], R) -> Vec<(Labels<'a>, f64)>,
) {
    for (name, unit, help, read) in gauges {
        page.gauge(name, unit, help, samples(loads, *read));
    }
}

/// A sample for each load that has one.
fn of_load(loads: &[LoadMetrics], read: OfLoad) -> Vec<(Labels<'_>, f64)> {
    let sample = |load| Some((labels(load), read(load)?));
    loads.iter().filter_map(sample).collect()
}

/// A sample for each load and side that has one.
fn sides<'a, T: 'a>(
    loads: &'a [LoadMetrics],
    of: fn(&'a LoadMetrics) -> &'a [Option<T>; 2],
    read: fn(&T) -> f64,
) -> Vec<(Labels<'a>, f64)> {
    let mut samples = Vec::new();
    for load in loads {
        for (side, found) in ["generator", "target"].into_iter().zip(of(load)) {
            if let Some(found) = found {
                let mut labels = labels(load);
                labels.push(("side", side));
                samples.push((labels, read(found)));
            }
        }
    }
    samples
}

/// The counts of each phase of each load, with their labels.
fn in_phases(loads: &[LoadMetrics]) -> impl Iterator<Item = (Labels<'_>, &Interval)> {
    loads.iter().flat_map(|load| {
        load.phases.values().map(|phase| {
            let mut labels = labels(load);
            labels.extend([("phase", phase.name.as_str()), ("phase_index", &phase.index)]);
            (labels, &phase.counted)
        })
    })
}

/// The counter of each load and phase.
fn all(loads: &[LoadMetrics], count: Count) -> Vec<(Labels<'_>, u64)> {
    in_phases(loads)
        .map(|(labels, counted)| (labels, count(counted)))
        .collect()
}

/// The counters of each load and phase, with one more label.
fn each<'a>(
    loads: &'a [LoadMetrics],
    label: &'static str,
    counts: &[(&'static str, Count)],
) -> Vec<(Labels<'a>, u64)> {
    let mut samples = Vec::new();
    for (labels, counted) in in_phases(loads) {
        for (value, count) in counts {
            let mut labels = labels.clone();
            labels.push((label, value));
            samples.push((labels, count(counted)));
        }
    }
    samples
}

fn labels(load: &LoadMetrics) -> Labels<'_> {
    vec![
        ("load", &load.number),
        ("stack", &load.stack),
        ("target", &load.target),
    ]
}
