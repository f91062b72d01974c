//! What is to be said of one phase.

use std::time::Duration;

use wirecost_proto::units::counted;
use wirecost_results::load::PhaseFigures;
use wirecost_results::summary::Times;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::options::load::{LoadTarget, Phase};

use super::{Evidence, Offered, SENT_SHARE, percent};
use crate::roles::subscriber::SUBSCRIPTION_REFUSED;

/// The generator's lag is above suspicion below this.
const LAG_FLOOR_NS: u64 = 1_000_000;
/// The most that the lag may be of the response time, or of the delay where nothing answers.
const LAG_SHARE: f64 = 0.1;
/// Messages below which quantiles say little.
const FEW_MESSAGES: u64 = 100;

/// What is to be said of a phase with messages or handshakes; `by_generator` says that the generator could give no more.
pub(super) fn of(phase: &Offered<'_>, by_generator: bool) -> Vec<Warning> {
    let saturated = saturated(phase, by_generator);
    // Beside seconds of waiting, or of a target that was gone, the generator's milliseconds are nothing.
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

/// The generator's lag must not be a part of the response time, or of the delay.
fn lag(phase: &Offered<'_>) -> Option<Warning> {
    let lag = phase.lag_beyond()?;
    let limit = nanos(lag_limit(phase.figures));
    Some(Warning::invalid(
        WarningKind::ScheduleLag,
        format!(
            "the generator was late by {lag} (p99), more than {limit}: the {} are partly its own",
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

/// What a phase had waiting for longer and longer: messages that were answered late, not at all, or only when nothing was
/// offered any more, or that arrived only then where nothing answers. What was lost, refused, or failed without a connection
/// has not waited.
fn saturated(phase: &Offered<'_>, by_generator: bool) -> Option<Warning> {
    let waited = match phase.silence() {
        Some(_) if phase.left_by_target() => None,
        Some(_) => Some(format!("{} of what was offered was carried", phase.carried())),
        None => phase.worked_off(),
    };
    let waited = waited.filter(|_| phase.open && !by_generator)?;
    Some(Warning::note(
        WarningKind::Saturation,
        format!("{waited}: {} grow with the length of such a run", phase.times()),
    ))
}

fn closed(phase: &Offered<'_>) -> Option<Warning> {
    // One message waits for no other.
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
    // One message has no quantiles.
    (1 < offered && offered < FEW_MESSAGES).then(|| {
        Warning::note(
            WarningKind::FewMessages,
            format!("{offered} messages: quantiles say little"),
        )
    })
}

/// Where not one message was answered, or arrived where that is counted, the phase has no times.
fn none(phase: &Offered<'_>) -> Option<Warning> {
    let outcomes = &phase.figures.outcomes;
    let has_times = outcomes.acknowledged + outcomes.delivered > 0;
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

/// Where the server has refused subscriptions, nothing could be delivered: what a phase says of deliveries is not true.
pub(super) fn unsubscribed(evidence: &Evidence<'_>, index: usize) -> Option<Warning> {
    let is_about_deliveries = matches!(
        evidence.options.phases.get(index)?,
        Phase::Publish(_) | Phase::AwaitReplay { .. }
    );
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

/// Connections that do not last: more were lost than there are devices.
pub(super) fn not_lasting(evidence: &Evidence<'_>, index: usize) -> Option<Warning> {
    let options = evidence.options;
    let keeps_up = matches!(
        options.phases.get(index)?,
        Phase::Publish(_) | Phase::Request(_) | Phase::Hold { .. }
    );
    let lost = evidence.phases.get(index)?.connects.lost;
    let devices = options.clients.saturating_add(options.receivers());
    let is_foreign = matches!(options.target, LoadTarget::Url(_));
    let known = match options.stack.is_mqtt() && is_foreign {
        true => {
            ": a broker ends one where another client comes with the same identifier (--client-id, client_id)"
        }
        false => "",
    };
    (keeps_up && lost > u64::from(devices)).then(|| {
        Warning::note(
            WarningKind::ConnectionsLost,
            format!(
                "{} lost {}{known}",
                counted(devices.into(), "device"),
                counted(lost, "connection")
            ),
        )
    })
}

/// What the generator dropped itself was never offered to the target.
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

impl Offered<'_> {
    /// The times that tell how long messages took.
    const fn times(&self) -> &'static str {
        if self.is_answered {
            "response times"
        } else {
            "delays"
        }
    }

    /// The lag, where an open loop's is beyond its limit.
    pub(super) fn lag_beyond(&self) -> Option<String> {
        let p99 = self.figures.schedule_lag_ns.as_ref()?.p99?;
        (self.open && p99 > lag_limit(self.figures)).then(|| nanos(p99))
    }

    /// The lag that says that the generator could give no more: where all was carried, any that is beyond its limit; where
    /// messages are missing, only one that could have lost them.
    pub(super) fn lag_that_tells(&self, timeout: Duration) -> Option<String> {
        let p99 = self.figures.schedule_lag_ns.as_ref()?.p99?;
        let could_lose = u128::from(p99) >= timeout.as_nanos();
        self.lag_beyond().filter(|_| could_lose || !self.falls_short())
    }

    /// The share that the target refused, where that is more than nothing to speak of.
    pub(super) fn refused(&self) -> Option<String> {
        self.notable(self.figures.outcomes.refused)
    }

    /// The share that was answered late or not at all, where an answer was to come.
    pub(super) fn silence(&self) -> Option<String> {
        let outcomes = &self.figures.outcomes;
        self.notable(outcomes.unknown + outcomes.late)
            .filter(|_| self.is_answered)
    }

    /// The share whose end is not known, where nothing answers.
    pub(super) fn unheard(&self) -> Option<String> {
        self.notable(self.figures.outcomes.unknown)
            .filter(|_| !self.is_answered)
    }

    /// Whether nearly all is known to have been carried.
    pub(super) fn is_all_carried(&self) -> bool {
        let outcomes = &self.figures.outcomes;
        let carried = outcomes.acknowledged + outcomes.delivered;
        carried as f64 >= outcomes.offered as f64 * SENT_SHARE
    }

    /// The share that `messages` are of what was offered, where the others are less than nearly all.
    fn notable(&self, messages: u64) -> Option<String> {
        let share = messages as f64 / self.figures.outcomes.offered.max(1) as f64;
        (share > 1.0 - SENT_SHARE).then(|| percent(share))
    }

    /// Whether less than nearly all was carried.
    pub(super) fn falls_short(&self) -> bool {
        let outcomes = &self.figures.outcomes;
        let carried = outcomes.acknowledged + outcomes.delivered;
        // Where nothing answers or counts, nothing is known to be missing.
        let known = outcomes.offered - outcomes.refused;
        let is_known = self.is_answered || outcomes.delivered + outcomes.lost > 0;
        is_known && (carried as f64) < known as f64 * SENT_SHARE
    }

    /// Whether the target ended connections, and less than nearly all was carried: a device without a connection cannot send.
    pub(super) fn left_by_target(&self) -> bool {
        self.open && self.figures.connects.lost > 0 && self.falls_short()
    }

    /// What share of what was offered was worked off when nothing was offered any more, in one sentence, where that is more
    /// than what is in flight at the end of a short phase.
    pub(super) fn worked_off(&self) -> Option<String> {
        const NOTABLE: f64 = 0.05;
        let figures = self.figures;
        let outcomes = &figures.outcomes;
        let in_time = figures.carried_rate? * figures.measured_s;
        let behind = (outcomes.acknowledged + outcomes.delivered) as f64 - in_time;
        let share = behind / outcomes.offered.max(1) as f64;
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

    /// The share of what was offered that was carried.
    pub(super) fn carried(&self) -> String {
        let outcomes = &self.figures.outcomes;
        let carried = outcomes.acknowledged + outcomes.delivered;
        percent(carried as f64 / outcomes.offered.max(1) as f64)
    }
}

fn lag_limit(figures: &PhaseFigures) -> u64 {
    // Where nothing answers, the delay is what the lag is a part of: a message that waits for seconds tells of no millisecond.
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
