//! The answer of a load in two sentences, which the headline follows: rate and times, and whether they are what was asked for.

use wirecost_results::load::{Load, PhaseFigures};
use wirecost_results::threshold::Threshold;
use wirecost_results::thresholds::{failure_text, figure_text};

use super::{arrived, invalid_somewhere, judged, main_phase, not_acknowledged, standing, time};
use crate::number;

/// `1,000/s acknowledged of 1,000/s offered, response p50 0.210 ms, p99 0.651 ms`; `None` without figures.
pub(crate) fn rate_and_times(load: &Load) -> Option<String> {
    let phase = main_phase(load).filter(|_| load.not_run.is_none())?;
    let mut parts: Vec<String> = rate(phase).into_iter().collect();
    if let Some(timed) = judged(phase) {
        let standing = standing(load, phase, timed.kind);
        let quantile = |value: Option<u64>| time(value.map(|nanos| nanos as f64), standing);
        let (p50, p99) = (quantile(timed.times.p50), quantile(timed.times.p99));
        parts.push(format!("{} p50 {p50} ms, p99 {p99} ms", timed.name));
    }
    (!parts.is_empty()).then(|| number::plain(&parts.join(", ")))
}

fn rate(phase: &PhaseFigures) -> Option<String> {
    let carried = number::rate(phase.carried_rate?);
    let what = arrived(phase);
    Some(match phase.offered_rate {
        Some(offered) => format!("{carried}/s {what} of {}/s offered", number::rate(offered)),
        None => format!("{carried}/s {what}"),
    })
}

/// Whether a load is what was asked for.
pub(crate) struct Judgement {
    /// Everything that is against it, or that nothing is.
    pub(crate) text: String,
    /// Whether something is against it.
    pub(crate) alarms: bool,
}

/// `pass: 2 of 2 thresholds hold, bottleneck none`, `FAIL: 1 of 2 thresholds: ...`, `INVALID: ...`; what decides the exit code is first.
pub(crate) fn judgement(load: &Load, thresholds: &[Threshold]) -> Judgement {
    let mut against = Vec::new();
    against.extend(load.not_run.as_ref().map(|why| format!("not run: {why}")));
    against.extend(invalid_somewhere(load).map(|why| format!("INVALID: {why}")));
    against.extend(
        load.aborted
            .as_ref()
            .map(|threshold| format!("ended early: {}", failure_text(threshold))),
    );
    against.extend(not_acknowledged(load).map(|what| format!("INCOMPLETE: {what}")));
    against.extend(failed(thresholds));
    let alarms = !against.is_empty();
    let bottleneck = load.bottleneck.as_ref().map(|found| found.who.as_str());
    let bottleneck = bottleneck.map_or(String::new(), |who| format!("; bottleneck: {who}"));
    let all = match (alarms, thresholds.len()) {
        (true, _) => against.join("; "),
        (false, 0) => "valid, and no threshold was given".to_owned(),
        (false, 1) => "pass: the threshold holds".to_owned(),
        (false, all) => format!("pass: all {all} thresholds hold"),
    };
    Judgement {
        text: number::plain(&(all + &bottleneck)),
        alarms,
    }
}

/// `FAIL: 1 of 2 thresholds: messages_lost count==0 (3)`.
fn failed(thresholds: &[Threshold]) -> Option<String> {
    let failed: Vec<String> = thresholds
        .iter()
        .filter(|one| !one.pass)
        .map(|one| {
            let figure = one
                .actual
                .map_or_else(|| "no figure".to_owned(), |actual| figure_text(one, actual));
            format!("{} {} ({figure})", one.metric, one.expression)
        })
        .collect();
    let text = || {
        format!(
            "FAIL: {} of {} thresholds: {}",
            failed.len(),
            thresholds.len(),
            failed.join(", ")
        )
    };
    (!failed.is_empty()).then(text)
}
