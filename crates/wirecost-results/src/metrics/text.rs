//! Metrics as text. A family is a name with its type, unit and help, then its samples; families are together.

use std::fmt::Write as _;

use wirecost_stats::Histogram;

/// Upper bounds of a histogram's buckets in seconds, the last one infinite.
const BOUNDS: [f64; 19] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0, 30.0, 60.0,
];

/// The format of the text.
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
pub(super) type Labels<'a> = Vec<(&'static str, &'a str)>;

/// The text under construction.
pub(super) struct Page {
    format: Format,
    text: String,
}

impl Page {
    /// A page without anything on it.
    pub(super) const fn new(format: Format) -> Self {
        Self {
            format,
            text: String::new(),
        }
    }

    /// The text, with the end that its format wants.
    pub(super) fn finish(self) -> String {
        match self.format {
            Format::Prometheus => self.text,
            Format::OpenMetrics => self.text + "# EOF\n",
        }
    }

    pub(super) fn gauge(&mut self, name: &str, unit: &str, help: &str, samples: Vec<(Labels<'_>, f64)>) {
        if samples.is_empty() {
            return;
        }
        self.head(name, "gauge", unit, help);
        for (labels, value) in samples {
            self.sample(name, &labels, &value.to_string());
        }
    }

    pub(super) fn counter(&mut self, name: &str, unit: &str, help: &str, samples: &[(Labels<'_>, u64)]) {
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

    /// Writes cumulative buckets. The sum is that of a histogram of three digits.
    pub(super) fn histogram(&mut self, name: &str, help: &str, samples: &[(Labels<'_>, &Histogram)]) {
        if samples.is_empty() {
            return;
        }
        self.head(name, "histogram", "seconds", help);
        for (labels, times) in samples {
            let bucket = format!("{name}_bucket");
            let counts = times.counts_up_to(BOUNDS.map(|bound| (bound * 1e9).round() as u64));
            for (bound, count) in BOUNDS.into_iter().zip(counts) {
                self.bucket(&bucket, labels, &bound.to_string(), count);
            }
            let all = times.len();
            self.bucket(&bucket, labels, "+Inf", all);
            let sum = times.mean() * all as f64 / 1e9;
            self.sample(&format!("{name}_sum"), labels, &format!("{sum:.9}"));
            self.sample(&format!("{name}_count"), labels, &all.to_string());
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
