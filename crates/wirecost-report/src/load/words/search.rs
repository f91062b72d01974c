//! A search for the conditional throughput, in words.

use wirecost_results::over_runs::mean_over_runs;
use wirecost_results::rate_search::{RateSearch, RateTrial};
use wirecost_results::repeat::RunOf;

use crate::number;

/// The conclusion of a search, in one sentence.
pub(crate) fn conclusion(search: &RateSearch) -> String {
    let bound = &search.bound;
    let so_far = if search.complete { "" } else { "so far, " };
    let (lower, upper) = (search.relevant_lower_bound, search.relevant_upper_bound);
    // First: a limit of the generator says nothing of the target.
    if search.ended_by_generator {
        return by_generator(search, so_far);
    }
    let found = search.conditional_throughput.map(per_second);
    let text = match (found, lower.map(per_second), upper.map(per_second)) {
        (Some(found), Some(low), Some(high)) => {
            let early = unreached(search);
            format!(
                "{so_far}{found} with {bound} (conditional throughput; relevant bounds: {low} held, {high} did not){early}"
            )
        }
        (Some(found), _, None) => {
            format!("{so_far}{found} and more with {bound}: the highest tried rate held")
        }
        (_, _, Some(high)) => format!("{so_far}none with {bound}: {high} did not hold"),
        (_, _, None) => format!("{so_far}none with {bound}: no rate is classified"),
    };
    number::plain(&text)
}

/// `mqtt-qos1, 10 clients over 3 searches: 1,980/s, 95 % interval 1,950/s to 2,010/s`: the answers of the searches of each repeated
/// load as one; nothing of loads that were searched once.
pub(crate) fn over_runs(searches: &[RateSearch]) -> Vec<String> {
    let mut groups: Vec<(&RunOf, Vec<&RateSearch>)> = Vec::new();
    for search in searches {
        let Some(run) = &search.run_of else {
            continue;
        };
        match groups.iter_mut().find(|(of, _)| of.load == run.load) {
            Some((_, members)) => members.push(search),
            None => groups.push((run, vec![search])),
        }
    }
    groups
        .into_iter()
        .map(|(run, members)| number::plain(&over(run, &members)))
        .collect()
}

fn over(run: &RunOf, searches: &[&RateSearch]) -> String {
    let ended = searches.iter().filter(|search| search.complete).count();
    let of = match u64::from(run.runs) {
        asked if asked == ended as u64 => counted_searches(asked),
        asked => format!("{ended} of {}", counted_searches(asked)),
    };
    let is_answered = |search: &&&RateSearch| search.complete && !search.ended_by_generator;
    let answered = searches.iter().filter(is_answered);
    let rates: Vec<f64> = answered
        .filter_map(|search| search.conditional_throughput)
        .collect();
    let others = searches.len() - rates.len();
    let Some((mean, interval)) = mean_over_runs(&rates) else {
        return format!("over {of}: none found a rate that the target holds");
    };
    let interval = interval.map_or_else(
        || "no interval".to_owned(),
        |[low, high]| format!("95 % interval {} to {}", per_second(low), per_second(high)),
    );
    let but = match others {
        0 => String::new(),
        others => format!("; {others} found none"),
    };
    format!("over {of}: {}, {interval}{but}", per_second(mean))
}

fn counted_searches(searches: u64) -> String {
    match searches {
        1 => "1 search".to_owned(),
        several => format!("{several} searches"),
    }
}

/// The conclusion of a search whose generator could not offer more: nobody knows what the target holds.
fn by_generator(search: &RateSearch, so_far: &str) -> String {
    let bound = &search.bound;
    let offered = search
        .relevant_upper_bound
        .map_or_else(|| "more".to_owned(), per_second);
    let held = match search.conditional_throughput.map(per_second) {
        Some(found) => format!("the target holds at least {found} with {bound}"),
        None => format!("no rate with {bound} is known"),
    };
    number::plain(&format!(
        "{so_far}the generator, not the target, ended the search: {held}, and the generator could not tell of {offered}"
    ))
}

/// What to add if a search ended before its bounds were near enough.
fn unreached(search: &RateSearch) -> String {
    let bounds = search.relevant_lower_bound.zip(search.relevant_upper_bound);
    match bounds {
        Some((low, high)) if search.complete && !search.goal.is_reached(low, high) => format!(
            "; it ended after {} trials, before they were {} apart",
            search.trials.len(),
            number::percent(search.goal.width)
        ),
        Some(_) | None => String::new(),
    }
}

fn per_second(rate: f64) -> String {
    format!("{}/s", number::rate(rate))
}

/// What limits the rate: the bottleneck and the reason at the relevant upper bound.
pub(crate) fn limit(search: &RateSearch) -> Option<String> {
    let reason = search.limit.as_ref()?;
    let text = match search.bottleneck.as_deref() {
        Some(who) if who != "none" => format!("{who}: {reason}"),
        _ => reason.clone(),
    };
    Some(number::plain(&text))
}

/// The search goal in one line.
pub(crate) fn goal(search: &RateSearch) -> String {
    let goal = &search.goal;
    let seconds = |seconds: f64| number::trimmed(seconds, 3);
    format!(
        "trials of {} s, {} s of them classify a rate, at a lower bound at most {} of these are bad, width {}",
        seconds(goal.final_trial_duration_s),
        seconds(goal.duration_sum_s),
        number::percent(goal.exceed_ratio),
        number::percent(goal.width)
    )
}

/// The name of the figure that the condition is about, e.g. `p(99)`.
pub(crate) fn figure_name(search: &RateSearch) -> &str {
    let end = search.bound.find(['<', '>', '=', '!']);
    search.bound[..end.unwrap_or(search.bound.len())].trim()
}

/// The figure of a trial in milliseconds; `≤` where the generator's lateness is part of it.
pub(crate) fn figure(trial: &RateTrial) -> String {
    let mark = if trial.at_most { "≤" } else { "" };
    number::optional(trial.figure_s, |seconds| {
        format!("{mark}{}", number::latency(seconds * 1e9))
    })
}

/// The largest figure of the trials at a rate, in milliseconds.
pub(crate) fn worst(search: &RateSearch, rate: f64) -> String {
    let by_figure = |one: &&RateTrial, other: &&RateTrial| {
        let [one, other] = [one, other].map(|trial| trial.figure_s.unwrap_or(f64::MIN));
        one.total_cmp(&other)
    };
    at(search, rate)
        .max_by(by_figure)
        .map_or_else(|| number::NONE.to_owned(), figure)
}

/// The bottlenecks of the trials at a rate, each once.
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

/// Why the first bad trial at a rate was bad; nothing if all were good.
pub(crate) fn reason(search: &RateSearch, rate: f64) -> String {
    let why = at(search, rate).find_map(|trial| trial.why.as_deref());
    why.map_or(String::new(), number::plain)
}

fn at(search: &RateSearch, rate: f64) -> impl Iterator<Item = &RateTrial> {
    search.trials.iter().filter(move |trial| trial.rate == rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(run: u32, found: Option<f64>) -> RateSearch {
        RateSearch {
            run_of: Some(RunOf {
                load: "key".into(),
                run,
                runs: 3,
            }),
            conditional_throughput: found,
            complete: true,
            ..RateSearch::default()
        }
    }

    #[test]
    fn repeated_searches_have_a_mean_with_its_interval() {
        let all = [1_000.0, 1_010.0, 1_020.0].map(|found| search(1, Some(found)));
        // Student's t for two degrees of freedom: 4.303 times 10 by the root of 3.
        assert_eq!(
            over_runs(&all),
            ["over 3 searches: 1,010/s, 95 % interval 985/s to 1,035/s"]
        );
        let two = [
            search(1, Some(1_000.0)),
            search(2, Some(1_000.0)),
            search(3, None),
        ];
        assert!(
            over_runs(&two)[0].ends_with("; 1 found none"),
            "{:?}",
            over_runs(&two)
        );
        let ended = &two[..1];
        assert_eq!(over_runs(ended), ["over 1 of 3 searches: 1,000/s, no interval"]);
        assert_eq!(over_runs(&[RateSearch::default()]), Vec::<String>::new());
    }
}
