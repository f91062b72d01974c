//! `latency/<load>-<phase>-<kind>.hgrm` of a load: the percentile distribution of one kind of time in one phase.

use wirecost_stats::Histogram;

use crate::figures::Interval;

wirecost_proto::named! {
    /// A kind of time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum CurveKind {
        /// From the intended send to the answer.
        Response => "response",
        /// From the actual send to the answer.
        Service => "service",
        /// Delay of the generator behind its schedule.
        Lag => "lag",
        /// From the start of a connect until the client may send.
        Connect => "connect",
        /// From the intended send to the arrival at a subscriber or sink.
        Delay => "delay",
    }
}

impl CurveKind {
    /// The times of this kind in an interval.
    pub const fn times_in(self, interval: &Interval) -> Option<&Histogram> {
        match self {
            Self::Response => interval.response_time.as_ref(),
            Self::Service => interval.service_time.as_ref(),
            Self::Lag => interval.schedule_lag.as_ref(),
            Self::Connect => interval.connect_time.as_ref(),
            Self::Delay => interval.one_way_delay.as_ref(),
        }
    }

    /// The name of the kind.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Response => "response time",
            Self::Service => "service time",
            Self::Lag => "schedule lag",
            Self::Connect => "connect time",
            Self::Delay => "one-way delay",
        }
    }

    /// The definition of the kind.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Response => "From the intended send to the answer.",
            Self::Service => "From the actual send to the answer.",
            Self::Lag => "How late the generator was.",
            Self::Connect => "From the start of a connect until the client may send.",
            Self::Delay => "From the intended send to the arrival at a subscriber or sink.",
        }
    }

    /// The file's path below the results folder; load and phase are indexes from 0.
    pub fn file(self, load: usize, phase: usize) -> String {
        format!("{}.hgrm", self.stem(load, phase))
    }

    /// The path of the histograms second by second.
    pub fn log_file(self, load: usize, phase: usize) -> String {
        format!("{}.hlog", self.stem(load, phase))
    }

    fn stem(self, load: usize, phase: usize) -> String {
        format!("latency/{load:03}-{phase}-{}", self.name())
    }
}

/// A percentile distribution as its file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Index of the load in `summary.json`, from 0.
    pub load: usize,
    /// Index of the phase in its load, from 0.
    pub phase: usize,
    /// The kind of time.
    pub kind: CurveKind,
    /// Shares in [0, 1] and the nanoseconds that they do not exceed, ascending.
    pub steps: Vec<(f64, f64)>,
}

impl Curve {
    /// The steps of a `.hgrm` file: its lines of value (milliseconds), percentile, count and 1/(1-percentile). Other
    /// lines, such as the header and the footer, are skipped.
    pub fn steps_of(text: &str) -> Vec<(f64, f64)> {
        let step = |line: &str| {
            let mut fields = line.split_whitespace().map(str::parse::<f64>);
            let (millis, share) = (fields.next()?.ok()?, fields.next()?.ok()?);
            (0.0..=1.0).contains(&share).then_some((share, millis * 1e6))
        };
        text.lines().filter_map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use wirecost_stats::Histogram;
    use wirecost_stats::hgrm::Hgrm;

    use super::*;

    #[test]
    fn a_distribution_is_read_back() {
        let mut times = Histogram::new();
        (1..=1_000).for_each(|micros| times.record(micros * 1_000));
        let steps = Curve::steps_of(&Hgrm(&times).to_string());
        let median = steps
            .iter()
            .find(|(share, _)| *share >= 0.5)
            .map(|(_, nanos)| *nanos);
        assert!((median.unwrap() - 500_000.0).abs() < 1_000.0, "{median:?}");
        assert_eq!(steps.last().map(|(share, _)| *share), Some(1.0));
        assert!(
            steps
                .windows(2)
                .all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1)
        );
    }
}
