//! `intervals.csv`: one row per load, phase and second, in that order. In a phase of more than an hour, a row is several seconds.
//!
//! Outcomes and times belong to the second in which their messages were *intended*. Connects, deliveries and bytes
//! belong to the second in which they happened, and so does `acknowledged_then`. Times are in nanoseconds. A missing time is an empty field, and so is a
//! quantile pX of fewer than 1/(1-X) times.

use wirecost_stats::Histogram;

use super::columns::{Field, Row};
use super::summary::{Outcomes, Times};
use crate::figures::{Connects, Deliveries, Interval};

/// One second of one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondRow {
    /// Index of the load in `summary.json`, from 0.
    pub load: u64,
    /// Index of the phase in its load, from 0.
    pub phase: u64,
    /// Second of the phase, from 0.
    pub second: u64,
    /// 1 in the warm-up, which no figure includes.
    pub warm_up: u64,
    /// The outcomes of the messages that were intended in this second.
    pub outcomes: Outcomes,
    /// Messages that were acknowledged in time in this second, whichever second they were intended in. `None` if there were
    /// none; the files of earlier versions do not hold it.
    pub acknowledged_then: Option<u64>,
    /// Messages whose last byte the kernel has taken.
    pub sent: u64,
    /// How connections came about.
    pub connects: Connects,
    /// Deliveries at subscribers or the sink. The file does not hold `expected`, `subscriptions_refused` and polls.
    pub deliveries: Deliveries,
    /// Bytes given to sockets.
    pub socket_bytes_up: u64,
    /// Bytes taken from sockets.
    pub socket_bytes_down: u64,
    /// Median response time.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of the response time.
    pub response_p99_ns: Option<u64>,
    /// Longest response time.
    pub response_max_ns: Option<u64>,
    /// Median service time.
    pub service_p50_ns: Option<u64>,
    /// 99th percentile of the service time.
    pub service_p99_ns: Option<u64>,
    /// 99th percentile of how late the generator was.
    pub lag_p99_ns: Option<u64>,
    /// Median connect time.
    pub connect_p50_ns: Option<u64>,
    /// 99th percentile of the connect time.
    pub connect_p99_ns: Option<u64>,
    /// Median one-way delay.
    pub delay_p50_ns: Option<u64>,
    /// 99th percentile of the one-way delay.
    pub delay_p99_ns: Option<u64>,
    /// The seconds of the row, where they are more than one.
    pub seconds: Option<u64>,
}

impl SecondRow {
    /// The row of an interval of load number `load`, after all parts have been added.
    pub fn from_interval(load: u64, interval: &Interval) -> Self {
        let (response, service) = (times(&interval.response_time), times(&interval.service_time));
        let (connect, delay) = (times(&interval.connect_time), times(&interval.one_way_delay));
        Self {
            load,
            phase: interval.phase.into(),
            second: interval.second.into(),
            warm_up: interval.warm_up.into(),
            outcomes: interval.outcomes,
            acknowledged_then: interval.acknowledged_then,
            sent: interval.sent,
            connects: interval.connects,
            deliveries: interval.deliveries,
            socket_bytes_up: interval.socket_bytes[0],
            socket_bytes_down: interval.socket_bytes[1],
            response_p50_ns: response.p50,
            response_p99_ns: response.p99,
            response_max_ns: (response.n > 0).then_some(response.max),
            service_p50_ns: service.p50,
            service_p99_ns: service.p99,
            lag_p99_ns: times(&interval.schedule_lag).p99,
            connect_p50_ns: connect.p50,
            connect_p99_ns: connect.p99,
            delay_p50_ns: delay.p50,
            delay_p99_ns: delay.p99,
            seconds: interval.seconds.map(u64::from),
        }
    }
}

impl Row for SecondRow {
    fn fields(&mut self, each: &mut dyn FnMut(&'static str, Field<'_>)) {
        use Field::{Count, Optional};
        each("load", Count(&mut self.load));
        each("phase", Count(&mut self.phase));
        each("second", Count(&mut self.second));
        each("warm_up", Count(&mut self.warm_up));
        each("offered", Count(&mut self.outcomes.offered));
        each("sent", Count(&mut self.sent));
        each("acknowledged", Count(&mut self.outcomes.acknowledged));
        each("refused", Count(&mut self.outcomes.refused));
        each("failed", Count(&mut self.outcomes.failed));
        each("late", Count(&mut self.outcomes.late));
        each("unknown", Count(&mut self.outcomes.unknown));
        each("delivered", Count(&mut self.outcomes.delivered));
        each("lost", Count(&mut self.outcomes.lost));
        each("connects_attempted", Count(&mut self.connects.attempted));
        each("connects_established", Count(&mut self.connects.established));
        each("connects_resumed", Count(&mut self.connects.resumed));
        each("connects_early", Count(&mut self.connects.early));
        each("connects_refused", Count(&mut self.connects.refused));
        each("connects_failed", Count(&mut self.connects.failed));
        each("connects_timed_out", Count(&mut self.connects.timed_out));
        each("connects_given_up", Count(&mut self.connects.given_up));
        each("connections_lost", Count(&mut self.connects.lost));
        each("arrived", Count(&mut self.deliveries.arrived));
        each("duplicates", Count(&mut self.deliveries.duplicates));
        each("out_of_order", Count(&mut self.deliveries.out_of_order));
        each("replayed", Count(&mut self.deliveries.replayed));
        each("socket_bytes_up", Count(&mut self.socket_bytes_up));
        each("socket_bytes_down", Count(&mut self.socket_bytes_down));
        each("response_p50_ns", Optional(&mut self.response_p50_ns));
        each("response_p99_ns", Optional(&mut self.response_p99_ns));
        each("response_max_ns", Optional(&mut self.response_max_ns));
        each("service_p50_ns", Optional(&mut self.service_p50_ns));
        each("service_p99_ns", Optional(&mut self.service_p99_ns));
        each("lag_p99_ns", Optional(&mut self.lag_p99_ns));
        each("connect_p50_ns", Optional(&mut self.connect_p50_ns));
        each("connect_p99_ns", Optional(&mut self.connect_p99_ns));
        each("delay_p50_ns", Optional(&mut self.delay_p50_ns));
        each("delay_p99_ns", Optional(&mut self.delay_p99_ns));
        each("acknowledged_then", Optional(&mut self.acknowledged_then));
        each("seconds", Optional(&mut self.seconds));
    }
}

/// The times of a second; empty where there are none.
fn times(histogram: &Option<Histogram>) -> Times {
    histogram
        .as_ref()
        .and_then(Times::of_histogram)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval() -> Interval {
        let mut interval = Interval::new(1, 2, true);
        interval.outcomes.offered = 3;
        interval.outcomes.late = 2;
        interval.acknowledged_then = Some(8);
        interval.connects.timed_out = 4;
        interval.deliveries.replayed = 5;
        interval.socket_bytes = [6, 7];
        let mut times = Histogram::new();
        times.record(1_000);
        times.record(1_000);
        interval.response_time = Some(times);
        interval.service_time = Some(Histogram::new());
        interval
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let rows = [SecondRow::from_interval(0, &interval()), SecondRow::default()];
        assert_eq!(
            [
                rows[0].response_p50_ns,
                rows[0].response_p99_ns,
                rows[0].response_max_ns,
                rows[0].service_p50_ns
            ],
            [Some(1_000), None, Some(1_000), None],
            "two times have no p99"
        );
        assert_eq!(SecondRow::read(&SecondRow::file(&rows)), Ok(rows.to_vec()));
    }
}
