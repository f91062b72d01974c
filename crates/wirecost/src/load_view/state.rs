//! The sums of a load's ticks.

use std::collections::VecDeque;
use std::time::Duration;

use wirecost_load::watch::{Announcement, Tick};
use wirecost_results::curves::CurveKind;
use wirecost_results::metrics::Usage;
use wirecost_results::standing::{Standing, Subject};
use wirecost_results::summary::Outcomes;
use wirecost_stats::Histogram;

/// The number of seconds in a sparkline.
pub(super) const HISTORY: usize = 60;

/// The state of the display.
#[derive(Default)]
pub(super) struct State {
    pub(super) load: Announcement,
    pub(super) elapsed: Duration,
    pub(super) remaining: Option<Duration>,
    /// The running phase, and whether it is in its warm-up.
    pub(super) phase: String,
    pub(super) warm_up: bool,
    pub(super) asked_rate: Option<f64>,
    /// The sum over all seconds.
    pub(super) outcomes: Outcomes,
    /// The last second.
    pub(super) now: Second,
    pub(super) connected: u64,
    pub(super) generator: Option<Usage>,
    pub(super) target: Option<Usage>,
    /// Acknowledged messages per second, or connects without messages. The latest is last.
    pub(super) rates: VecDeque<f64>,
    /// The virtual time of the last printed line.
    pub(super) told_until: Duration,
    /// Why the times of the phase cannot be used as they are, if it ended now.
    pub(super) limit: Option<String>,
    /// 99th percentiles in nanoseconds; `None` without answers.
    pub(super) tails: VecDeque<Option<u64>>,
}

/// The counts of one second.
#[derive(Clone, Copy, Default)]
pub(super) struct Second {
    /// Messages per second.
    pub(super) offered: f64,
    pub(super) sent: f64,
    /// Messages that were acknowledged, or delivered if nothing answers, in this second: the acknowledged rate.
    pub(super) acknowledged: f64,
    pub(super) connects: f64,
    /// The response times, or the delivery times if nothing answers, in nanoseconds.
    pub(super) times: Option<Quantiles>,
    /// 99th percentile of the generator's lag, in nanoseconds.
    pub(super) lag: Option<u64>,
    /// How far the times can be used, if the phase ended now.
    pub(super) standing: Standing,
}

/// Quantiles of one second's answers, in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Quantiles {
    pub(super) p50: u64,
    pub(super) p99: u64,
    pub(super) max: u64,
}

impl State {
    /// Before the first second.
    pub(super) fn new(load: &Announcement) -> Self {
        Self {
            load: load.clone(),
            ..Self::default()
        }
    }

    /// Whether to print a line for the last second: every second in real time, twenty lines of a load in virtual time.
    pub(super) fn is_due(&mut self) -> bool {
        const LINES: u32 = 20;
        let whole = self.elapsed + self.remaining.unwrap_or_default();
        let is_due = !self.load.simulated
            || self.remaining.is_none_or(|left| left.is_zero())
            || self.elapsed >= self.told_until + whole / LINES;
        if is_due {
            self.told_until = self.elapsed;
        }
        is_due
    }

    /// Adds a second.
    pub(super) fn add(&mut self, tick: &Tick<'_>) {
        let counted = tick.counted;
        // The last second of a load may be cut off to almost nothing, and would show a rate without bounds.
        let per_second = |count: u64| count as f64 / tick.span.as_secs_f64().max(1e-3);
        let name = self.load.phases.get(tick.phase);
        self.phase = name.cloned().unwrap_or_default();
        (self.elapsed, self.remaining) = (tick.elapsed, tick.remaining);
        (self.warm_up, self.asked_rate) = (tick.warm_up, tick.asked_rate);
        (self.connected, self.generator, self.target) = (tick.connected, tick.generator, tick.target);
        let had_messages = self.has_messages();
        self.outcomes += counted.outcomes;
        if !had_messages && self.has_messages() {
            // Connects per second and their times cannot be compared with those of messages.
            self.rates.clear();
            self.tails.clear();
        }
        self.now = Second {
            offered: per_second(counted.outcomes.offered),
            sent: per_second(counted.sent),
            acknowledged: per_second(counted.outcomes.acknowledged + counted.outcomes.delivered),
            connects: per_second(counted.connects.established),
            ..Second::default()
        };
        let rate = if self.has_messages() {
            self.now.acknowledged
        } else {
            self.now.connects
        };
        keep(&mut self.rates, rate);
    }

    /// Adds the times of the second that was added last, and how far they can be used. It takes longer than the simulation of a
    /// second with few messages: only a second that is shown needs it.
    pub(super) fn judge(&mut self, tick: &Tick<'_>) {
        let counted = tick.counted;
        let answered = [
            (CurveKind::Response, &counted.response_time),
            (CurveKind::Delay, &counted.one_way_delay),
            (CurveKind::Connect, &counted.connect_time),
        ];
        let told = answered
            .into_iter()
            .find_map(|(kind, times)| Some((kind, quantiles(times.as_ref())?)));
        // The reasons of a late generator are judged by the main time if this second has none.
        let judged = Subject::Time(told.map_or(CurveKind::Response, |(kind, _)| kind));
        let limiting = tick
            .limits
            .iter()
            .find(|reason| judged.after(reason.kind) != Standing::Exact);
        self.limit = limiting.map(|reason| first_clause(&reason.text).to_owned());
        self.now.times = told.map(|(_, times)| times);
        self.now.lag = quantiles(counted.schedule_lag.as_ref()).map(|lag| lag.p99);
        self.now.standing = judged.after_all(tick.limits.iter().map(|reason| reason.kind));
        keep(&mut self.tails, self.now.times.map(|times| times.p99));
    }

    /// Whether any message has been offered.
    pub(super) const fn has_messages(&self) -> bool {
        self.outcomes.offered > 0
    }

    /// Messages without an outcome yet.
    pub(super) const fn waiting(&self) -> u64 {
        let o = &self.outcomes;
        let ended = o.acknowledged + o.refused + o.failed + o.late + o.unknown + o.delivered + o.lost;
        o.offered.saturating_sub(ended)
    }
}

/// A warning up to its colon: what happened, without what follows from it.
fn first_clause(text: &str) -> &str {
    text.split_once(": ").map_or(text, |(clause, _)| clause)
}

fn quantiles(times: Option<&Histogram>) -> Option<Quantiles> {
    let times = times.filter(|times| !times.is_empty())?;
    Some(Quantiles {
        p50: times.quantile(0.5),
        p99: times.quantile(0.99),
        max: times.max(),
    })
}

fn keep<T>(history: &mut VecDeque<T>, latest: T) {
    if history.len() == HISTORY {
        history.pop_front();
    }
    history.push_back(latest);
}
