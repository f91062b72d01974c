//! A search for the highest rate, in words.

use wirecost_results::rate_search::{RateSearch, RateTrial};

use crate::number;

/// The conclusion of a search, in one sentence.
pub(crate) fn conclusion(search: &RateSearch) -> String {
    let bound = &search.bound;
    let so_far = if search.complete { "" } else { "so far, " };
    let rate = |rate: f64| format!("{}/s", number::rate(rate));
    let text = match (search.rate, search.interval) {
        (Some(found), [Some(low), Some(high)]) => {
            let (found, low, high) = (rate(found), rate(low), rate(high));
            format!("{so_far}{found} with {bound}: every load up to {low} held, and none from {high} on")
        }
        (Some(found), [_, None]) => {
            let found = rate(found);
            format!("{so_far}{found} and more with {bound}: the highest tried rate held")
        }
        (Some(found), [None, Some(high)]) => {
            let (found, high) = (rate(found), rate(high));
            format!(
                "{so_far}{found} with {bound}: at each lower rate a load failed, and none from {high} on held"
            )
        }
        (None, [_, Some(lowest)]) => format!("{so_far}none with {bound}: {} did not hold", rate(lowest)),
        (None, _) => format!("{so_far}none with {bound}"),
    };
    number::plain(&text)
}

/// What limits the rate: the bottleneck and the reason at the lowest rate that did not hold.
pub(crate) fn limit(search: &RateSearch) -> Option<String> {
    let reason = search.limit.as_ref()?;
    let text = match search.bottleneck.as_deref() {
        Some("generator") => {
            format!("generator: {reason}; this is no limit of the target, which may hold more")
        }
        Some(who) if who != "none" => format!("{who}: {reason}"),
        _ => reason.clone(),
    };
    Some(number::plain(&text))
}

/// The name of the figure that the condition is about, e.g. `p(99)`.
pub(crate) fn figure_name(search: &RateSearch) -> &str {
    let end = search.bound.find(['<', '>', '=', '!']);
    search.bound[..end.unwrap_or(search.bound.len())].trim()
}

/// A figure of a search in milliseconds.
pub(crate) fn figure(seconds: Option<f64>) -> String {
    number::optional(seconds, |seconds| number::latency(seconds * 1e9))
}

/// The largest figure of the loads at a rate, in seconds.
pub(crate) fn worst(search: &RateSearch, rate: f64) -> Option<f64> {
    let figures = at(search, rate).filter_map(|trial| trial.figure_s);
    figures.reduce(f64::max)
}

/// The bottlenecks of the loads at a rate, each once.
pub(crate) fn bottleneck(search: &RateSearch, rate: f64) -> String {
    let mut all: Vec<&str> = at(search, rate)
        .filter_map(|trial| trial.bottleneck.as_deref())
        .collect();
    all.dedup();
    match all.is_empty() {
        true => number::NONE.to_owned(),
        false => number::plain(&all.join(", ")),
    }
}

/// Why the first load at a rate that did not hold did not; nothing if all held.
pub(crate) fn reason(search: &RateSearch, rate: f64) -> String {
    let why = at(search, rate).find_map(|trial| trial.why.as_deref());
    why.map_or(String::new(), number::plain)
}

fn at(search: &RateSearch, rate: f64) -> impl Iterator<Item = &RateTrial> {
    search.trials.iter().filter(move |trial| trial.rate == rate)
}
