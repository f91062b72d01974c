//! Who could give no more.

use super::{BUSY, Evidence, busiest, link, percent};
use crate::results::load::Bottleneck;

/// Who could give no more; `None` where nothing was offered.
pub(super) fn of(evidence: &Evidence<'_>) -> Option<Bottleneck> {
    evidence.offered().next()?;
    let generator = busiest(&evidence.outcome.generator);
    let target = evidence.outcome.target.as_ref().map(busiest);
    let cpu = match target {
        Some(target) => format!(
            "the busiest thread of the generator used {} of a CPU, the target's {}",
            percent(generator),
            percent(target)
        ),
        None => format!(
            "the busiest thread of the generator used {} of a CPU, the target's is not known",
            percent(generator)
        ),
    };
    let short = evidence.offered().find(|phase| phase.open && phase.falls_short());
    let late = evidence.offered().find_map(|phase| phase.lag_beyond());
    let is_closed = evidence.offered().any(|phase| !phase.open);
    let target = target.unwrap_or(0.0);
    let (who, why) = if let Some(lag) = late.filter(|_| generator >= target) {
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
