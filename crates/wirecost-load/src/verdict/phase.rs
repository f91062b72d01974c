//! Warnings about one phase.

use std::time::Duration;

use wirecost_live::limits::way_out_of;
use wirecost_proto::ResetReason;
use wirecost_proto::units::counted;
use wirecost_results::load::PhaseFigures;
use wirecost_results::summary::Times;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::options::load::Phase;

use super::{Evidence, Offered, SENT_SHARE, percent};
use crate::devices::roles::subscriber::SUBSCRIPTION_REFUSED;

/// A generator's lag below this is harmless.
const LAG_FLOOR_NS: u64 = 1_000_000;
/// The largest harmless share of the lag in the response time, or in the delay if nothing answers.
const LAG_SHARE: f64 = 0.1;
/// With fewer messages, quantiles mean little.
const FEW_MESSAGES: u64 = 100;

/// The warnings about a phase with messages or handshakes. `by_generator` means that the generator was at its limit.
pub(super) fn warnings(phase: &Offered<'_>, by_generator: bool) -> Vec<Warning> {
    let saturated = saturated(phase, by_generator);
    // Compared to seconds of waiting, or to a missing target, the generator's milliseconds do not matter.
    let is_gone = phase.open && !by_generator && phase.is_answered && phase.falls_short();
    let exempt = saturated.is_some() || is_gone;
    [
        lag(phase).filter(|_| !exempt),
        unsent(phase, by_generator),
        saturated,
        closed(phase),
        few(phase),
        none(phase),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The generator's lag must not be part of the response time, or of the delay.
fn lag(phase: &Offered<'_>) -> Option<Warning> {
    let lag = phase.lag_beyond()?;
    let limit = nanos(lag_limit(phase.figures));
    Some(Warning::invalid(
        WarningKind::ScheduleLag,
        format!(
            "the generator was late by {lag} (p99), more than {limit}: its lateness is part of the {}, which are at most what \
             was measured",
            phase.times()
        ),
    ))
}

fn unsent(phase: &Offered<'_>, by_generator: bool) -> Option<Warning> {
    let (sent, offered) = (phase.figures.sent, phase.figures.outcomes.offered);
    let is_short = (sent as f64) < offered as f64 * SENT_SHARE;
    (phase.open && by_generator && is_short).then(|| {
        Warning::invalid(
            WarningKind::GeneratorSaturated,
            format!(
                "the generator sent {sent} of {}: lower the rate, or give it more CPUs",
                counted(offered, "message")
            ),
        )
    })
}

/// The warning about a phase in which the queue grew: messages were answered late, never, or only after the end of the
/// offer, or arrived only then. Lost and refused messages have not waited, nor have messages that failed without a
/// connection.
fn saturated(phase: &Offered<'_>, by_generator: bool) -> Option<Warning> {
    let waited = match phase.silence() {
        _ if phase.away.is_some() => None,
        Some(_) if phase.left_by_target() => None,
        Some(_) => Some(phase.acknowledged_share()),
        None => phase.worked_off(),
    };
    let waited = waited.filter(|_| phase.open && !by_generator)?;
    Some(Warning::note(
        WarningKind::Saturation,
        format!("{waited}: {} grow with the length of such a run", phase.times()),
    ))
}

fn closed(phase: &Offered<'_>) -> Option<Warning> {
    // A single message does not wait for another.
    let is_loop = phase.figures.outcomes.offered > 1;
    let kind = if phase.saturating {
        "a closed loop, as fast as it goes"
    } else {
        "a closed loop"
    };
    (!phase.open && is_loop).then(|| {
        Warning::note(
            WarningKind::ClosedLoop,
            format!("{kind}: a target that stalls is asked less, and its stall is hardly seen"),
        )
    })
}

fn few(phase: &Offered<'_>) -> Option<Warning> {
    let offered = phase.figures.outcomes.offered;
    // A single message has no quantiles.
    (1 < offered && offered < FEW_MESSAGES).then(|| {
        Warning::note(
            WarningKind::FewMessages,
            format!("{offered} messages: quantiles say little"),
        )
    })
}

/// A phase without a single answer or counted arrival has no times.
fn none(phase: &Offered<'_>) -> Option<Warning> {
    let outcomes = &phase.figures.outcomes;
    let has_times = outcomes.acknowledged + outcomes.delivered > 0;
    // Where nothing answers, no news is no failure.
    let is_known = phase.is_answered || outcomes.lost + outcomes.failed + outcomes.refused > 0;
    let is_over = outcomes.add_up();
    let ended = if phase.is_answered {
        "answered in time"
    } else {
        "delivered"
    };
    (outcomes.offered > 0 && !has_times && is_known && is_over).then(|| {
        let offered = counted(outcomes.offered, "message");
        Warning::invalid(
            WarningKind::NoSamples,
            format!("of {offered} none was {ended}: there are no times"),
        )
    })
}

/// The warning about refused subscriptions: nothing could be delivered, so the figures of deliveries are wrong.
pub(super) fn unsubscribed(evidence: &Evidence<'_>, index: usize) -> Option<Warning> {
    let is_about_deliveries = matches!(
        evidence.options.phases.get(index)?,
        Phase::Publish(_) | Phase::AwaitReplay { .. }
    );
    // A subscription that was refused in an earlier phase is still absent in this one.
    let until_now = evidence.phases.get(..=index).filter(|_| is_about_deliveries)?;
    let refusals = |figures: &PhaseFigures| {
        figures
            .deliveries
            .map_or(0, |deliveries| deliveries.subscriptions_refused)
    };
    let refused: u64 = until_now.iter().map(refusals).sum();
    let reasons = until_now.iter().flat_map(|figures| &figures.reasons);
    let reason = reasons
        .filter_map(|(reason, times)| Some((reason.strip_prefix(SUBSCRIPTION_REFUSED)?, times)))
        .max_by_key(|(_, times)| **times)
        .map_or("no reason was given", |(reason, _)| reason);
    (refused > 0).then(|| {
        Warning::invalid(
            WarningKind::SubscriptionRefused,
            format!(
                "the server refused {refused} of {} ({reason}): nothing could be delivered there",
                counted(evidence.options.receivers().into(), "subscription")
            ),
        )
    })
}

/// The warning about messages that another program sent to the subscriptions of the load.
pub(super) fn of_others(figures: &PhaseFigures) -> Option<Warning> {
    let messages = figures.deliveries?.of_others;
    (messages > 0).then(|| {
        Warning::note(
            WarningKind::MessagesOfOthers,
            format!(
                "{} of another sender came to the subscribers and count nowhere: a topic with %x is this run's own (--resource t/%x)",
                counted(messages, "message")
            ),
        )
    })
}

/// The warning about datagrams that the generator's own kernel dropped: they never reached the target.
pub(super) fn dropped(evidence: &Evidence<'_>, index: usize) -> Option<Warning> {
    let intervals = evidence.outcome.intervals.iter();
    let own = intervals.filter(|interval| interval.phase as usize == index && !interval.warm_up);
    let datagrams: u64 = own.map(|interval| interval.dropped_datagrams).sum();
    (datagrams > 0).then(|| {
        Warning::invalid(
            WarningKind::GeneratorDropped,
            format!(
                "the generator's kernel had no room for {}: they count as sent and never left",
                counted(datagrams, "datagram")
            ),
        )
    })
}

/// What the machine of the generator lacked for connections of a phase: the number of connects that failed for it.
struct Lack {
    ports: u64,
    files: u64,
    attempted: u64,
}

impl Lack {
    /// The lack in a phase, if notably many of its connects failed for it.
    fn from_figures(figures: &PhaseFigures) -> Option<Self> {
        let failed = |reason: ResetReason| figures.reasons.get(&reason.to_string()).copied();
        let lack = Self {
            ports: failed(ResetReason::NoPort).unwrap_or(0),
            files: failed(ResetReason::NoFile).unwrap_or(0),
            attempted: figures.connects.attempted,
        };
        let share = (lack.ports + lack.files) as f64 / lack.attempted.max(1) as f64;
        (share > 1.0 - SENT_SHARE).then_some(lack)
    }

    /// The sentence about it, whose subject is the machine.
    fn sentence(&self) -> String {
        let (missing, what) = match self.ports {
            0 => (self.files, "file"),
            ports => (ports, "local port"),
        };
        format!(
            "it had no {what} left for {missing} of {}",
            counted(self.attempted, "connection")
        )
    }

    /// What to do about it.
    fn way_out(&self) -> String {
        match self.ports {
            0 => way_out_of(ResetReason::NoFile).unwrap_or_default(),
            _ => {
                let others = way_out_of(ResetReason::NoPort).unwrap_or_default();
                format!("more source addresses (--source), {others}")
            }
        }
    }
}

/// The sentence about what the generator's machine lacked for connections, if it lacked something in one of the phases.
pub(super) fn lacking(phases: &[PhaseFigures]) -> Option<String> {
    Some(phases.iter().find_map(Lack::from_figures)?.sentence())
}

/// The warning about connections for which the generator's machine had no port or file: the target has not seen them.
pub(super) fn lack(figures: &PhaseFigures) -> Option<Warning> {
    let lack = Lack::from_figures(figures)?;
    let text = format!(
        "the generator is out of room: {}, which the target has not seen: {}",
        lack.sentence(),
        lack.way_out()
    );
    Some(Warning::invalid(WarningKind::GeneratorSockets, text))
}

impl Offered<'_> {
    /// The name of the times that show how long messages took.
    const fn times(&self) -> &'static str {
        if self.is_answered {
            "response times"
        } else {
            "delays"
        }
    }

    /// The lag of an open loop that exceeds its limit.
    pub(super) fn lag_beyond(&self) -> Option<String> {
        let p99 = self.figures.schedule_lag_ns.as_ref()?.p99?;
        (self.open && p99 > lag_limit(self.figures)).then(|| nanos(p99))
    }

    /// The lag that shows a generator at its limit: any lag beyond the limit if all messages were acknowledged, or else
    /// only a lag that could have lost the missing messages.
    pub(super) fn lag_that_tells(&self, timeout: Duration) -> Option<String> {
        let p99 = self.figures.schedule_lag_ns.as_ref()?.p99?;
        let could_lose = u128::from(p99) >= timeout.as_nanos();
        self.lag_beyond().filter(|_| could_lose || !self.falls_short())
    }

    /// The share that the target refused, if notable.
    pub(super) fn refused(&self) -> Option<String> {
        self.notable(self.figures.outcomes.refused)
    }

    /// The share of messages that were answered late or never, if answers are expected.
    pub(super) fn silence(&self) -> Option<String> {
        let outcomes = &self.figures.outcomes;
        self.notable(outcomes.unknown + outcomes.late)
            .filter(|_| self.is_answered)
    }

    /// The share of messages with an unknown end, if nothing answers.
    pub(super) fn unheard(&self) -> Option<String> {
        self.notable(self.figures.outcomes.unknown)
            .filter(|_| !self.is_answered)
    }

    /// Messages that were acknowledged, or delivered if nothing answers.
    const fn acknowledged(&self) -> u64 {
        self.figures.outcomes.acknowledged + self.figures.outcomes.delivered
    }

    /// Whether nearly all messages are known to be acknowledged or delivered.
    pub(super) fn is_all_acknowledged(&self) -> bool {
        self.acknowledged() as f64 >= self.figures.outcomes.offered as f64 * SENT_SHARE
    }

    /// The share of `messages` in the offer, if it is notable.
    fn notable(&self, messages: u64) -> Option<String> {
        let share = messages as f64 / self.figures.outcomes.offered.max(1) as f64;
        (share > 1.0 - SENT_SHARE).then(|| percent(share))
    }

    /// Whether notably less than all was acknowledged or delivered.
    pub(super) fn falls_short(&self) -> bool {
        let outcomes = &self.figures.outcomes;
        // If nothing answers or counts, no message is known to be missing.
        let known = outcomes.offered - outcomes.refused;
        let is_known = self.is_answered || outcomes.delivered + outcomes.lost > 0;
        is_known && (self.acknowledged() as f64) < known as f64 * SENT_SHARE
    }

    /// Whether the target ended connections and notably less than all was acknowledged: a device without a connection
    /// cannot send.
    pub(super) fn left_by_target(&self) -> bool {
        self.open && self.figures.connects.lost > 0 && self.falls_short()
    }

    /// The share of the offer that was worked off after its end, in one sentence, if it exceeds the messages in flight
    /// at the end of a short phase.
    pub(super) fn worked_off(&self) -> Option<String> {
        const NOTABLE: f64 = 0.05;
        let figures = self.figures;
        let in_time = figures.carried_rate? * figures.measured_s;
        let behind = self.acknowledged() as f64 - in_time;
        let share = behind / figures.outcomes.offered.max(1) as f64;
        let worked_off = if self.is_answered {
            "was answered"
        } else {
            "arrived"
        };
        (self.open && share > NOTABLE).then(|| {
            let share = percent(share);
            format!("{share} of what was offered {worked_off} only when nothing was offered any more")
        })
    }

    /// `30 % of what was offered was acknowledged`; `delivered` if nothing answers.
    pub(super) fn acknowledged_share(&self) -> String {
        let share = self.acknowledged() as f64 / self.figures.outcomes.offered.max(1) as f64;
        let arrived = if self.is_answered {
            "acknowledged"
        } else {
            "delivered"
        };
        format!("{} of what was offered was {arrived}", percent(share))
    }
}

fn lag_limit(figures: &PhaseFigures) -> u64 {
    // Without answers, the lag is part of the delay. A message that waits for seconds hides milliseconds.
    let times = figures.response_time_ns.as_ref();
    let median = times
        .or(figures.one_way_delay_ns.as_ref())
        .and_then(|times: &Times| times.p50);
    let share = median.map_or(0.0, |median| median as f64 * LAG_SHARE);
    LAG_FLOOR_NS.max(share as u64)
}

pub(super) fn nanos(nanos: u64) -> String {
    format!("{:.2} ms", Duration::from_nanos(nanos).as_secs_f64() * 1e3)
}
