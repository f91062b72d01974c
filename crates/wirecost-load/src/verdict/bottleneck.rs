//! The bottleneck of a live load.

use std::time::Duration;

use wirecost_proto::units::counted;
use wirecost_results::load::{Bottleneck, PhaseFigures};
use wirecost_results::summary::Outcomes;

use super::{BUSY, Evidence, SENT_SHARE, devices, link, percent, phase};
use crate::parts::outcome::LoadOutcome;

/// The bottleneck; `None` if nothing was done.
pub(super) fn find(evidence: &Evidence<'_>) -> Option<Bottleneck> {
    if evidence.offered().next().is_none() {
        return without_offer(evidence);
    }
    let outcome = evidence.outcome;
    let generator = outcome.generator.telling_share.unwrap_or(0.0);
    let target = outcome.target.as_ref().and_then(|spent| spent.telling_share);
    let target = target.unwrap_or(0.0);
    let cpu = cpu(outcome);
    let with_cpu = |why: String| format!("{why}; {cpu}");
    let timeout = evidence.options.timeout;
    let late = || evidence.offered().find_map(|phase| phase.lag_that_tells(timeout));
    // What was seen to fail comes first: a busy CPU or a full link may be its consequence.
    let (who, why) = if let Some(why) = phase::lacking(evidence.phases) {
        ("generator", why)
    } else if let Some(why) = ended(evidence).filter(|_| generator <= BUSY) {
        ("target", with_cpu(why))
    } else if let Some(share) = evidence.offered().find_map(|phase| phase.refused()) {
        // A refused message was offered in time: the lag does not matter.
        (
            "target",
            with_cpu(format!("it refused {share} of what was offered")),
        )
    } else if let Some(lag) = late() {
        ("generator", with_cpu(format!("it was late by {lag}")))
    } else if generator > BUSY && generator > target {
        ("generator", cpu)
    } else if target > BUSY {
        ("target", cpu)
    } else if let Some(why) = evidence.offered().find_map(|phase| link::limited(&phase)) {
        ("link", why)
    } else if let Some(why) = devices::could_send_no_more(evidence) {
        ("devices", with_cpu(why))
    } else if let Some(why) = fell_short(evidence, timeout) {
        ("target", with_cpu(why))
    } else if let Some(why) = evidence.offered().find_map(|phase| phase.worked_off()) {
        // Messages that wait for answers or for room wait for the round trip, which the link emulates if there is one.
        let who = if evidence.link.is_some() { "link" } else { "target" };
        (who, with_cpu(why))
    } else {
        ("none", with_cpu(unknown_cause(evidence)))
    };
    Some(Bottleneck { who: who.into(), why })
}

/// The sentence about connections that the target ended while messages were missing, or while it was away: then they waited.
fn ended(evidence: &Evidence<'_>) -> Option<String> {
    let Some(left) = evidence.offered().find(|phase| phase.left_by_target()) else {
        return evidence.offered().find_map(|phase| Some(phase.away?.sentence()));
    };
    Some(format!(
        "it ended {}, and {}",
        counted(left.figures.connects.lost, "connection"),
        left.acknowledged_share()
    ))
}

/// The sentence about messages that the target did not answer in time.
pub(super) fn fell_short(evidence: &Evidence<'_>, timeout: Duration) -> Option<String> {
    if let Some(phase) = evidence.offered().find(|phase| phase.silence().is_some()) {
        let (silence, acknowledged) = (phase.silence()?, phase.acknowledged_share());
        let seconds = timeout.as_secs_f64();
        return Some(format!(
            "it left {silence} of what was offered without an answer for {seconds} s and more, and {acknowledged}"
        ));
    }
    let short = evidence
        .offered()
        .find(|phase| phase.open && phase.falls_short())?;
    Some(short.acknowledged_share())
}

/// Why no bottleneck is known.
pub(super) fn unknown_cause(evidence: &Evidence<'_>) -> String {
    if let Some(share) = evidence.offered().find_map(|phase| phase.unheard()) {
        return format!(
            "no answer came to {share} of what was offered, and nobody else says whether it arrived"
        );
    }
    if evidence.offered().all(|phase| !phase.open) {
        return "each message waited for the one before".to_owned();
    }
    match evidence.offered().find(|phase| !phase.is_all_acknowledged()) {
        Some(phase) => phase.acknowledged_share(),
        None => nearly_all(evidence),
    }
}

/// The outcomes of the offered messages if nearly all were acknowledged or delivered.
fn nearly_all(evidence: &Evidence<'_>) -> String {
    let mut all = Outcomes::default();
    evidence.offered().for_each(|phase| all += phase.figures.outcomes);
    let ends = [
        ("refused", all.refused),
        ("failed", all.failed),
        ("late", all.late),
        ("lost", all.lost),
        ("unknown", all.unknown),
    ];
    let otherwise = ends.iter().filter(|(_, messages)| *messages > 0);
    let otherwise: Vec<String> = otherwise
        .map(|(end, messages)| format!("{messages} {end}"))
        .collect();
    let arrived = if all.acknowledged > 0 || all.delivered == 0 {
        "acknowledged"
    } else {
        "delivered"
    };
    match otherwise.is_empty() {
        true => format!("all that was offered was {arrived}"),
        false => format!(
            "of {} all but these were {arrived}: {}",
            counted(all.offered, "message"),
            otherwise.join(", ")
        ),
    }
}

/// The bottleneck of a load of connects and reconnects that offers no messages.
fn without_offer(evidence: &Evidence<'_>) -> Option<Bottleneck> {
    let outcome = evidence.outcome;
    evidence.phases.first()?;
    let was_stopped = outcome.interrupted || outcome.aborted.is_some();
    let last = evidence.phases.len() - 1;
    let mut phases = evidence.phases.iter().enumerate();
    // Connections that come when a load is stopped are not the target's failure.
    let short =
        phases.find_map(|(index, figures)| missing_connections(figures, was_stopped && index == last));
    let generator = outcome.generator.telling_share.unwrap_or(0.0);
    let target = outcome.target.as_ref().and_then(|spent| spent.telling_share);
    let target = target.unwrap_or(0.0);
    let cpu = cpu(outcome);
    let link = || {
        let mut phases = evidence.phases.iter();
        phases.find_map(|figures| link::could_give_no_more(figures, short.is_some()))
    };
    let (who, why) = if let Some(why) = phase::lacking(evidence.phases) {
        ("generator", why)
    } else if generator > BUSY && generator > target {
        ("generator", cpu)
    } else if target > BUSY {
        ("target", cpu)
    } else if let Some(why) = link() {
        ("link", why)
    } else if let Some((come, asked)) = short {
        (
            "target",
            format!("{come} of {} came about; {cpu}", counted(asked, "connection")),
        )
    } else if was_stopped {
        let why = "all connections came about that were not given up when the load was ended";
        ("none", format!("{why}; {cpu}"))
    } else {
        ("none", format!("all connections came about; {cpu}"))
    };
    Some(Bottleneck { who: who.into(), why })
}

/// How many of the intended connections succeeded, if some are missing. A device that reconnects may need several
/// attempts. In a stopped phase, no side is to blame for attempts with an unknown end, nor for waiting devices.
fn missing_connections(figures: &PhaseFigures, was_stopped: bool) -> Option<(u64, u64)> {
    let (connects, outcomes) = (&figures.connects, &figures.outcomes);
    let (come, asked) = match outcomes.offered {
        devices if devices > 0 && !was_stopped => (outcomes.acknowledged + outcomes.late, devices),
        _ => (
            connects.established,
            connects.attempted.saturating_sub(connects.given_up),
        ),
    };
    ((come as f64) < asked as f64 * SENT_SHARE).then_some((come, asked))
}

/// The CPU use of both sides.
fn cpu(outcome: &LoadOutcome) -> String {
    let Some(generator) = outcome.generator.telling_share.map(percent) else {
        return "it was over too soon to tell what the generator and the target used".into();
    };
    let generator = format!("the busiest thread of the generator used {generator} of a CPU");
    match outcome.target.as_ref().and_then(|spent| spent.telling_share) {
        Some(target) => format!("{generator}, the target's {}", percent(target)),
        None => format!("{generator}, the target's is not known"),
    }
}

#[cfg(test)]
mod tests {
    use wirecost_results::figures::Connects;

    use super::*;

    fn phase(offered: u64, acknowledged: u64, connects: Connects) -> PhaseFigures {
        PhaseFigures {
            outcomes: Outcomes {
                offered,
                acknowledged,
                ..Outcomes::default()
            },
            connects,
            ..PhaseFigures::default()
        }
    }

    #[test]
    fn abandoned_connections_have_no_bottleneck() {
        let mut connects = Connects {
            attempted: 5,
            given_up: 5,
            ..Connects::default()
        };
        assert_eq!(missing_connections(&phase(0, 0, connects), true), None);
        connects = Connects {
            attempted: 9,
            established: 2,
            refused: 2,
            ..connects
        };
        assert_eq!(missing_connections(&phase(0, 0, connects), true), Some((2, 4)));
        // Of ten devices that reconnect, two are back, and three wait before they try.
        assert_eq!(missing_connections(&phase(10, 2, connects), true), Some((2, 4)));
        assert_eq!(missing_connections(&phase(10, 2, connects), false), Some((2, 10)));
        connects.refused = 0;
        connects.attempted = 7;
        assert_eq!(missing_connections(&phase(10, 2, connects), true), None);
    }
}
