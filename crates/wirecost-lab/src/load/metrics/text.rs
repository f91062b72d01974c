//! Metrics as text. A family is a name with its type, unit and help, then its samples; families stand together.

use std::fmt::Write as _;

use wirecost_stats::Histogram;

use super::LoadMetrics;
use crate::load::figures::Interval;
use crate::load::watch::Usage;
use crate::results::load::ProcessUse;

/// Upper bounds of a histogram's buckets in seconds, the last one infinite.
const BOUNDS: [f64; 19] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0, 30.0, 60.0,
];

/// Which text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0: counters' families without `_total`, units, `# EOF`.
    OpenMetrics,
}

impl Format {
    /// The format that a request's `Accept` asks for.
    pub fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    /// The content type of the text.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Labels of a sample.
type Labels<'a> = Vec<(&'static str, &'a str)>;

/// How a counter is read of what was counted.
type Count = fn(&Interval) -> u64;

/// How a histogram is read of what was counted.
type TimesOf = fn(&Interval) -> Option<&Histogram>;

/// The metrics of `loads`.
pub(super) fn of(loads: &[LoadMetrics], format: Format) -> String {
    let mut page = Page {
        format,
        text: String::new(),
    };
    about(&mut page, loads);
    counters(&mut page, loads);
    histograms(&mut page, loads);
    while_running(&mut page, loads);
    afterwards(&mut page, loads);
    if format == Format::OpenMetrics {
        page.text += "# EOF\n";
    }
    page.text
}

/// What the loads are.
fn about(page: &mut Page, loads: &[LoadMetrics]) {
    let clients: Vec<(Labels<'_>, f64)> = loads
        .iter()
        .map(|load| (labels(load), load.clients as f64))
        .collect();
    page.gauge(
        "wirecost_clients",
        "",
        "Devices that send, or only connect.",
        clients,
    );
    let valid = loads
        .iter()
        .filter_map(|load| Some((labels(load), f64::from(u8::from(load.valid?)))));
    page.gauge(
        "wirecost_load_valid",
        "",
        "Whether the figures of the load may be used: 1 or 0.",
        valid.collect(),
    );
}

fn counters(page: &mut Page, loads: &[LoadMetrics]) {
    const OUTCOMES: [(&str, Count); 7] = [
        ("acknowledged", |of| of.outcomes.acknowledged),
        ("refused", |of| of.outcomes.refused),
        ("failed", |of| of.outcomes.failed),
        ("late", |of| of.outcomes.late),
        ("unknown", |of| of.outcomes.unknown),
        ("delivered", |of| of.outcomes.delivered),
        ("lost", |of| of.outcomes.lost),
    ];
    const CONNECTS: [(&str, Count); 4] = [
        ("established", |of| of.connects.established),
        ("refused", |of| of.connects.refused),
        ("failed", |of| of.connects.failed),
        ("timed_out", |of| of.connects.timed_out),
    ];
    const BYTES: [(&str, Count); 2] = [("up", |of| of.socket_bytes[0]), ("down", |of| of.socket_bytes[1])];
    page.counter(
        "wirecost_messages_offered",
        "",
        "Messages that the schedule intended.",
        &all(loads, |of| of.outcomes.offered),
    );
    page.counter(
        "wirecost_messages_sent",
        "",
        "Messages whose last byte the kernel has taken.",
        &all(loads, |of| of.sent),
    );
    page.counter(
        "wirecost_messages",
        "",
        "Messages by how they ended.",
        &each(loads, "outcome", &OUTCOMES),
    );
    page.counter(
        "wirecost_deliveries",
        "",
        "Messages that arrived at subscribers or the sink.",
        &all(loads, |of| of.deliveries.arrived),
    );
    page.counter(
        "wirecost_connects_attempted",
        "",
        "Connects that were begun.",
        &all(loads, |of| of.connects.attempted),
    );
    page.counter(
        "wirecost_connects",
        "",
        "Connects by how they ended.",
        &each(loads, "result", &CONNECTS),
    );
    page.counter(
        "wirecost_connections_lost",
        "",
        "Established connections that were lost.",
        &all(loads, |of| of.connects.lost),
    );
    page.counter(
        "wirecost_socket_bytes",
        "bytes",
        "Bytes given to sockets (up) and taken from them (down).",
        &each(loads, "direction", &BYTES),
    );
}

fn histograms(page: &mut Page, loads: &[LoadMetrics]) {
    const KINDS: [(&str, &str, TimesOf); 5] = [
        (
            "wirecost_response_time_seconds",
            "From the intended send to the answer.",
            |of| of.response_time.as_ref(),
        ),
        (
            "wirecost_service_time_seconds",
            "From the actual send to the answer.",
            |of| of.service_time.as_ref(),
        ),
        (
            "wirecost_schedule_lag_seconds",
            "How late the generator was.",
            |of| of.schedule_lag.as_ref(),
        ),
        (
            "wirecost_connect_time_seconds",
            "From the start of a connect until the client may send.",
            |of| of.connect_time.as_ref(),
        ),
        (
            "wirecost_one_way_delay_seconds",
            "From the intended send to the arrival at a subscriber or sink.",
            |of| of.one_way_delay.as_ref(),
        ),
    ];
    for (name, help, times) in KINDS {
        let mut samples = Vec::new();
        for load in loads {
            for (phase, counted) in &load.phases {
                samples.extend(times(counted).map(|times| (in_phase(load, phase), times)));
            }
        }
        page.histogram(name, help, &samples);
    }
}

/// What is only known while a load runs.
fn while_running(page: &mut Page, loads: &[LoadMetrics]) {
    let connected = loads
        .iter()
        .filter_map(|load| Some((labels(load), load.connected? as f64)));
    page.gauge(
        "wirecost_connections",
        "",
        "Devices that are connected now.",
        connected.collect(),
    );
    let of = |read: fn(&Usage) -> f64| sides(loads, |load| &load.usage, read);
    page.gauge(
        "wirecost_cpu_ratio",
        "ratio",
        "CPU time by wall time over the last second: 1 is one CPU.",
        of(|usage| usage.cpu_share),
    );
    page.gauge(
        "wirecost_resident_memory_bytes",
        "bytes",
        "Resident memory of all processes of the side.",
        of(|usage| usage.resident_bytes as f64),
    );
}

/// What is only known of a load that is over.
fn afterwards(page: &mut Page, loads: &[LoadMetrics]) {
    let of = |read: fn(&ProcessUse) -> f64| sides(loads, |load| &load.used, read);
    page.gauge(
        "wirecost_cpu_user_seconds",
        "seconds",
        "CPU time in user mode over the measured phases.",
        of(|used| used.user_s),
    );
    page.gauge(
        "wirecost_cpu_system_seconds",
        "seconds",
        "CPU time in the kernel over the measured phases.",
        of(|used| used.system_s),
    );
    page.gauge(
        "wirecost_resident_memory_max_bytes",
        "bytes",
        "Largest resident memory of all processes of the side.",
        of(|used| used.resident_bytes as f64),
    );
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

/// The counter of each load and phase.
fn all(loads: &[LoadMetrics], count: Count) -> Vec<(Labels<'_>, u64)> {
    let phases = loads.iter().flat_map(|load| {
        load.phases
            .iter()
            .map(move |(phase, counted)| (load, phase, counted))
    });
    phases
        .map(|(load, phase, counted)| (in_phase(load, phase), count(counted)))
        .collect()
}

/// The counters of each load and phase, told apart by one more label.
fn each<'a>(
    loads: &'a [LoadMetrics],
    label: &'static str,
    counts: &[(&'static str, Count)],
) -> Vec<(Labels<'a>, u64)> {
    let mut samples = Vec::new();
    for load in loads {
        for (phase, counted) in &load.phases {
            for (value, count) in counts {
                let mut labels = in_phase(load, phase);
                labels.push((label, value));
                samples.push((labels, count(counted)));
            }
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

fn in_phase<'a>(load: &'a LoadMetrics, phase: &'a str) -> Labels<'a> {
    let mut labels = labels(load);
    labels.push(("phase", phase));
    labels
}

/// The text under construction.
struct Page {
    format: Format,
    text: String,
}

impl Page {
    fn gauge(&mut self, name: &str, unit: &str, help: &str, samples: Vec<(Labels<'_>, f64)>) {
        if samples.is_empty() {
            return;
        }
        self.head(name, "gauge", unit, help);
        for (labels, value) in samples {
            self.sample(name, &labels, &value.to_string());
        }
    }

    fn counter(&mut self, name: &str, unit: &str, help: &str, samples: &[(Labels<'_>, u64)]) {
        if samples.is_empty() {
            return;
        }
        let total = format!("{name}_total");
        match self.format {
            Format::Prometheus => self.head(&total, "counter", unit, help),
            Format::OpenMetrics => self.head(name, "counter", unit, help),
        }
        for (labels, value) in samples {
            self.sample(&total, labels, &value.to_string());
        }
    }

    /// Bucket by bucket, each with all that are below it. Their sum is that of a histogram of three digits.
    fn histogram(&mut self, name: &str, help: &str, samples: &[(Labels<'_>, &Histogram)]) {
        if samples.is_empty() {
            return;
        }
        self.head(name, "histogram", "seconds", help);
        for (labels, times) in samples {
            let bucket = format!("{name}_bucket");
            for bound in BOUNDS {
                let count = times.count_up_to((bound * 1e9).round() as u64);
                self.bucket(&bucket, labels, &bound.to_string(), count);
            }
            self.bucket(&bucket, labels, "+Inf", times.len());
            let sum = times.mean() * times.len() as f64 / 1e9;
            self.sample(&format!("{name}_sum"), labels, &format!("{sum:.9}"));
            self.sample(&format!("{name}_count"), labels, &times.len().to_string());
        }
    }

    /// Bounds are written as decimals; OpenMetrics wants a point in each.
    fn bucket(&mut self, name: &str, labels: &[(&'static str, &str)], le: &str, count: u64) {
        let le = if le.contains(['.', 'I']) {
            le.to_owned()
        } else {
            format!("{le}.0")
        };
        let mut labels = labels.to_vec();
        labels.push(("le", &le));
        self.sample(name, &labels, &count.to_string());
    }

    fn head(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}");
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
        if self.format == Format::OpenMetrics && !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
    }

    fn sample(&mut self, name: &str, labels: &[(&'static str, &str)], value: &str) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let _ = writeln!(self.text, "{name}{{{}}} {value}", labels.join(","));
    }
}

/// A label's value: backslash, quote and line end are escaped.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
