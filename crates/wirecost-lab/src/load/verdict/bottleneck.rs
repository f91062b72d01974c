//! Who could give no more.

use super::{BUSY, Evidence, link, percent};
use crate::load::coordinator::Outcome;
use crate::results::load::Bottleneck;

/// Who could give no more; `None` where nothing was offered.
pub(super) fn of(evidence: &Evidence<'_>) -> Option<Bottleneck> {
    evidence.offered().next()?;
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
