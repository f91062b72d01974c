//! The bottleneck of a load in virtual time: the server's workers, the link, the devices, or none. The generator is never
//! late there.

use wirecost_results::load::Bottleneck;

use super::{Evidence, bottleneck, devices, link, percent};

/// Workers with a higher utilisation are saturated.
const SATURATED: f64 = 0.99;
/// Workers with a higher utilisation explain waiting messages. In a short phase workers are idle at the beginning and
/// the end.
const BUSY: f64 = 0.9;

/// The bottleneck; `None` if no phase has begun.
pub(super) fn bottleneck(evidence: &Evidence<'_>) -> Option<Bottleneck> {
    evidence.phases.first()?;
    let (who, why) = if let Some(why) = saturated(evidence) {
        ("target", why)
    } else if let Some(share) = evidence.offered().find_map(|phase| phase.refused()) {
        ("target", format!("it refused {share} of what was offered"))
    } else if let Some(why) = full_link(evidence) {
        ("link", why)
    } else if let Some(why) = devices::could_send_no_more(evidence) {
        ("devices", why)
    } else if let Some(why) = delayed_by_link(evidence) {
        ("link", why)
    } else if evidence.offered().next().is_none() {
        ("none", "nothing was offered".to_owned())
    } else {
        ("none", bottleneck::unknown_cause(evidence))
    };
    Some(Bottleneck { who: who.into(), why })
}

/// The sentence about workers that were busy all the time.
fn saturated(evidence: &Evidence<'_>) -> Option<String> {
    let busy = evidence.outcome.target.as_ref()?.busiest_share?;
    let workers = evidence.options.workers;
    let (whose, were) = match workers {
        1 => ("its worker".to_owned(), "was"),
        workers => (format!("its {workers} workers"), "were"),
    };
    let is_short = || {
        let mut offered = evidence.offered();
        offered.any(|phase| phase.falls_short() || phase.worked_off().is_some())
    };
    (busy > SATURATED || busy > BUSY && is_short())
        .then(|| format!("{whose} {were} busy {} of the time", percent(busy)))
}

/// The sentence about a link at its limit.
fn full_link(evidence: &Evidence<'_>) -> Option<String> {
    evidence.link?;
    evidence.offered().find_map(|phase| link::limited(&phase))
}

/// The sentence about a link that delayed answers.
fn delayed_by_link(evidence: &Evidence<'_>) -> Option<String> {
    evidence.link?;
    bottleneck::fell_short(evidence, evidence.options.timeout)
        .or_else(|| evidence.offered().find_map(|phase| phase.worked_off()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wirecost_results::load::PhaseFigures;
    use wirecost_scenario::options::load::{LoadEngine, LoadOptions, LoadTarget};
    use wirecost_stack::target::Target;

    use super::*;
    use crate::parts::outcome::{LoadOutcome, Spent};

    #[test]
    fn workers_without_idle_time_are_the_target_s_limit() {
        let stack = "mqtt-qos1".parse().expect("a stack");
        let options = LoadOptions {
            engine: LoadEngine::Sim,
            workers: 4,
            service_time: Some("1ms".parse().expect("a service time")),
            timeout: Duration::from_secs(1),
            ..LoadOptions::new(stack, LoadTarget::Started(Target::Builtin))
        };
        for (busy, who) in [(0.9, "none"), (0.995, "target")] {
            let outcome = LoadOutcome {
                target: Some(Spent {
                    busiest_share: Some(busy),
                    ..Spent::default()
                }),
                ..LoadOutcome::default()
            };
            let found = bottleneck(&Evidence {
                options: &options,
                phases: &[PhaseFigures::default()],
                outcome: &outcome,
                taken: crate::verdict::Taken::default(),
                link: None,
            });
            assert_eq!(found.expect("a bottleneck").who, who, "{busy}");
        }
    }
}
