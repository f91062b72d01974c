//! The reasons that the live view names while a phase runs are those of the result when the phase ends.

use wirecost_results::curves::CurveKind;
use wirecost_results::standing::{Standing, Subject};

use super::*;

/// The invalidating reasons of the publishing phase at its end, and those that are told while it runs.
fn told(case: &Case) -> [Vec<WarningKind>; 2] {
    let kinds = |warnings: &[Warning]| -> Vec<WarningKind> {
        let limits = warnings.iter().filter(|warning| warning.invalidates);
        limits.map(|warning| warning.kind).collect()
    };
    let times = &case.outcome.phases[1];
    let so_far = so_far(&case.options, 1, case.phases[1].clone(), times, &case.outcome);
    [kinds(&case.verdict().phases[1]), kinds(&so_far)]
}

#[test]
fn a_running_phase_is_told_what_its_end_would_say() {
    let mut cases = vec![("on time", Case::open(), vec![])];
    let mut case = |name, kinds, change: fn(&mut Case)| {
        let mut changed = Case::open();
        change(&mut changed);
        cases.push((name, changed, kinds));
    };
    case("late", vec![WarningKind::ScheduleLag], |case| {
        case.lag(MILLISECOND, 2 * MILLISECOND);
    });
    case("late by less than a tenth", vec![], |case| {
        case.lag(100 * MILLISECOND, 9 * MILLISECOND);
    });
    case("the target answered half of it", vec![], |case| {
        case.lag(MILLISECOND, 2 * MILLISECOND);
        case.publish(|publish| publish.outcomes = outcomes(10_000, 5_000));
    });
    case("the clock was set", vec![WarningKind::ClockStepped], |case| {
        case.outcome.phases[1].clock_stepped = true;
    });
    case("nothing was answered", vec![WarningKind::NoSamples], |case| {
        case.publish(|publish| publish.outcomes = outcomes(10_000, 0));
    });
    for (name, case, kinds) in cases {
        assert_eq!(told(&case), [kinds.clone(), kinds], "{name}");
    }
}

/// A second on a long link leaves many messages open, which is no reason to take the lateness for harmless.
#[test]
fn messages_that_are_still_open_hide_no_late_generator() {
    let mut case = Case::open();
    case.lag(MILLISECOND, 2 * MILLISECOND);
    case.publish(|publish| {
        publish.outcomes = Outcomes {
            offered: 10_000,
            acknowledged: 6_000,
            ..Outcomes::default()
        };
    });
    let [_, so_far] = told(&case);
    assert_eq!(so_far, [WarningKind::ScheduleLag]);
    let response = Subject::Time(CurveKind::Response);
    assert_eq!(response.after_all(so_far), Standing::AtMost);
}
