//! Who could give no more.

use super::{BUSY, Evidence, SENT_SHARE, link, percent};
use crate::load::coordinator::Outcome;
use crate::results::load::{Bottleneck, PhaseFigures};

/// Who could give no more; `None` where nobody did anything.
pub(super) fn of(evidence: &Evidence<'_>) -> Option<Bottleneck> {
    if evidence.offered().next().is_none() {
        return without_offer(evidence);
    }
    let outcome = evidence.outcome;
    let generator = outcome.generator.telling_share.unwrap_or(0.0);
    let target = outcome.target.as_ref().and_then(|spent| spent.telling_share);
    let cpu = cpu(outcome);
    let short = evidence.offered().find(|phase| phase.open && phase.falls_short());
    let late = evidence.offered().find_map(|phase| phase.lag_beyond());
    let is_closed = evidence.offered().any(|phase| !phase.open);
    let left = evidence.offered().find(|phase| phase.left_by_target());
    let target = target.unwrap_or(0.0);
    let (who, why) = if let Some(left) = left.filter(|_| generator <= BUSY) {
        let lost = left.figures.connects.lost;
        let carried = left.carried();
        (
            "target",
            format!("it ended {lost} connections and carried {carried} of what was offered; {cpu}"),
        )
    } else if let Some(lag) = late.filter(|_| generator >= target) {
        ("generator", format!("it was late by {lag}; {cpu}"))
    } else if generator > BUSY && generator > target {
        ("generator", cpu)
    } else if target > BUSY {
        ("target", cpu)
    } else if let Some(why) = evidence
        .offered()
        .find_map(|phase| link::could_give_no_more(phase.figures, phase.falls_short()))
    {
        ("link", why)
    } else if let Some(short) = short {
        (
            "target",
            format!("it carried {} of what was offered; {cpu}", short.carried()),
        )
    } else if is_closed {
        ("none", format!("each message waited for the one before; {cpu}"))
    } else {
        ("none", format!("all that was offered was carried; {cpu}"))
    };
    Some(Bottleneck { who: who.into(), why })
}

/// Who could give no more where devices connect and come back, and nothing is offered.
fn without_offer(evidence: &Evidence<'_>) -> Option<Bottleneck> {
    let outcome = evidence.outcome;
    evidence.phases.first()?;
    let short = evidence.phases.iter().find_map(missing_connections);
    let generator = outcome.generator.telling_share.unwrap_or(0.0);
    let target = outcome.target.as_ref().and_then(|spent| spent.telling_share);
    let target = target.unwrap_or(0.0);
    let cpu = cpu(outcome);
    let link = || {
        let mut phases = evidence.phases.iter();
        phases.find_map(|figures| link::could_give_no_more(figures, short.is_some()))
    };
    let (who, why) = if generator > BUSY && generator > target {
        ("generator", cpu)
    } else if target > BUSY {
        ("target", cpu)
    } else if let Some(why) = link() {
        ("link", why)
    } else if let Some((come, asked)) = short {
        (
            "target",
            format!("{come} of {asked} connections came about; {cpu}"),
        )
    } else {
        ("none", format!("all connections came about; {cpu}"))
    };
    Some(Bottleneck { who: who.into(), why })
}

/// How many connections came about of those that were to, where some are missing. A device that comes back may need several
/// attempts.
fn missing_connections(figures: &PhaseFigures) -> Option<(u64, u64)> {
    let (come, asked) = match figures.outcomes.offered {
        0 => (figures.connects.established, figures.connects.attempted),
        devices => (figures.outcomes.acknowledged + figures.outcomes.late, devices),
    };
    ((come as f64) < asked as f64 * SENT_SHARE).then_some((come, asked))
}

/// What both sides used.
fn cpu(outcome: &Outcome) -> String {
    let Some(generator) = outcome.generator.telling_share.map(percent) else {
        return "it was over too soon to tell what the generator and the target used".into();
    };
    let generator = format!("the busiest thread of the generator used {generator} of a CPU");
    match outcome.target.as_ref().and_then(|spent| spent.telling_share) {
        Some(target) => format!("{generator}, the target's {}", percent(target)),
        None => format!("{generator}, the target's is not known"),
    }
}
