//! `junit.xml`: loads as test cases, thresholds as test cases of their own.
//!
//! An invalid load, a load with messages that were not acknowledged, and a load that could not be run are errors. A load
//! that was not reached is skipped. A failed threshold is a failure. A search for the highest rate is one case, and its loads
//! are none.

use wirecost_results::load::{Load, LoadSummary};
use wirecost_results::rate_search::RateSearch;
use wirecost_results::threshold::Threshold;
use wirecost_results::thresholds::failure_text;

use super::words;
use crate::junit::{Case, CaseVerdict, document};
use crate::names::INVALID_FAILS;
use crate::number;

/// A load of the run that the summary does not hold.
#[derive(Clone, Debug)]
pub struct Absent {
    /// What was asked for: it has no figures.
    pub load: Load,
    /// Why it has no figures; `None` if the run did not reach it.
    pub error: Option<String>,
}

/// The summary as JUnit XML, and the loads that it does not hold.
pub fn junit(summary: &LoadSummary, absent: &[Absent]) -> String {
    let others = absent.iter().map(|absent| &absent.load);
    // All together: a label says what tells a load from the others, also from those that were not run.
    let all: Vec<Load> = summary.loads.iter().chain(others).cloned().collect();
    let labels = words::labels(&all);
    let (own, of_absent) = labels.split_at(summary.loads.len());
    let ran = summary.loads.iter().zip(own);
    let missing = absent.iter().zip(of_absent);
    let missing = missing.map(|(absent, label)| of_absent_load(absent, label));
    let loads: Vec<Case> = match summary.searches.is_empty() {
        true => ran
            .map(|(load, label)| of_load(load, label))
            .chain(missing)
            .collect(),
        // A search needs loads that do not hold.
        false => summary.searches.iter().map(of_search).chain(missing).collect(),
    };
    // A threshold that holds for an invalid load says nothing, and must not make a build green.
    let has_invalid = summary.loads.iter().any(|load| !load.valid);
    let thresholds: Vec<Case> = summary
        .thresholds
        .iter()
        .map(|threshold| of_threshold(threshold, has_invalid))
        .collect();
    let suites = [("validity", loads), ("thresholds", thresholds)];
    document(&summary.name, &suites)
}

/// A search passes if a rate holds, and the target, not the generator, sets its limit.
fn of_search(search: &RateSearch) -> Case {
    let conclusion = words::search::conclusion(search);
    Case {
        class: "wirecost.search".into(),
        name: number::plain(&format!("{}, {}", search.name, search.bound)),
        seconds: 0.0,
        verdict: match (search.complete, search.conditional_throughput) {
            (false, _) => CaseVerdict::Skipped(conclusion),
            (true, _) if search.ended_by_generator => CaseVerdict::Error("invalid", conclusion),
            (true, None) => CaseVerdict::Failure(conclusion),
            (true, Some(_)) => CaseVerdict::Pass,
        },
    }
}

fn of_load(load: &Load, label: &str) -> Case {
    let not_run = load
        .not_run
        .clone()
        .map(|reason| CaseVerdict::Error("not-run", reason));
    let invalid = || words::invalid_somewhere(load).map(|reason| CaseVerdict::Error("invalid", reason));
    let not_acknowledged =
        || words::not_acknowledged(load).map(|reason| CaseVerdict::Error("not-acknowledged", reason));
    let verdict = not_run.or_else(invalid).or_else(not_acknowledged);
    Case {
        class: "wirecost.load".into(),
        name: label.to_owned(),
        seconds: load.phases.iter().map(|phase| phase.duration_s).sum(),
        verdict: verdict.unwrap_or(CaseVerdict::Pass),
    }
}

fn of_absent_load(absent: &Absent, label: &str) -> Case {
    let verdict = match &absent.error {
        Some(reason) => CaseVerdict::Error("not-run", reason.clone()),
        None => CaseVerdict::Skipped("the run ended before it".to_owned()),
    };
    Case {
        verdict,
        ..of_load(&absent.load, label)
    }
}

fn of_threshold(threshold: &Threshold, has_invalid: bool) -> Case {
    let failure = || {
        let text = failure_text(threshold);
        match has_invalid {
            // The figure alone might pass.
            true => format!("{text}; {INVALID_FAILS}"),
            false => text,
        }
    };
    Case {
        class: format!("wirecost.threshold.{}", threshold.metric),
        name: format!("{} {}", threshold.metric, threshold.expression),
        seconds: 0.0,
        verdict: if threshold.pass {
            CaseVerdict::Pass
        } else {
            CaseVerdict::Failure(failure())
        },
    }
}
