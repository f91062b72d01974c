//! Deliveries that subscribers of a load should have received and did not.

use super::load::PhaseFigures;
use crate::warning::{Warning, WarningKind};

/// Sets `missing` of each phase, the expected deliveries that did not arrive, and adds a warning. A phase that receives
/// more than it expects receives deliveries that earlier phases expected, the nearest phase first: the server stored
/// and delivered them later. `missing` stays empty where nothing was expected.
pub fn note(phases: &mut [PhaseFigures]) {
    let mut beyond = 0;
    // From the last one: what a phase receives in excess belongs to those before it.
    for phase in phases.iter_mut().rev() {
        phase
            .warnings
            // The sums of merged folders are judged anew.
            .retain(|warning| warning.kind != WarningKind::DeliveriesMissing);
        phase.missing = None;
        let Some(deliveries) = phase.deliveries else {
            continue;
        };
        let distinct = deliveries.arrived.saturating_sub(deliveries.duplicates) + beyond;
        beyond = distinct.saturating_sub(deliveries.expected);
        if deliveries.expected > 0 {
            let missing = deliveries.expected.saturating_sub(distinct);
            phase.missing = Some(missing);
            phase
                .warnings
                .extend((missing > 0).then(|| warning(deliveries.expected, missing)));
        }
    }
}

fn warning(expected: u64, missing: u64) -> Warning {
    let text = format!("{missing} of {expected} deliveries that subscribers were to receive did not come");
    Warning::note(WarningKind::DeliveriesMissing, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Deliveries;

    fn phase(expected: u64, arrived: u64, duplicates: u64) -> PhaseFigures {
        PhaseFigures {
            deliveries: Some(Deliveries {
                expected,
                arrived,
                duplicates,
                ..Deliveries::default()
            }),
            ..PhaseFigures::default()
        }
    }

    fn missing(phases: &mut [PhaseFigures]) -> Vec<Option<u64>> {
        note(phases);
        phases.iter().map(|phase| phase.missing).collect()
    }

    #[test]
    fn a_late_delivery_from_a_store_is_not_missing() {
        let mut phases = [phase(100, 0, 0), PhaseFigures::default(), phase(0, 100, 0)];
        assert_eq!(missing(&mut phases), [Some(0), None, None]);
        assert!(phases.iter().all(|phase| phase.warnings.is_empty()));
        let mut phases = [phase(100, 0, 0), phase(50, 60, 0), phase(0, 20, 0)];
        assert_eq!(missing(&mut phases), [Some(70), Some(0), None]);
    }

    #[test]
    fn missing_deliveries_are_one_warning() {
        let mut phases = [phase(6_000, 2_001, 1)];
        note(&mut phases);
        assert_eq!(missing(&mut phases), [Some(4_000)]);
        let [warning] = phases[0].warnings.as_slice() else {
            panic!("{:?}", phases[0].warnings);
        };
        assert!(!warning.invalidates && warning.kind == WarningKind::DeliveriesMissing);
        assert!(warning.text.starts_with("4000 of 6000 "), "{}", warning.text);
    }

    #[test]
    fn without_expectations_nothing_is_missing() {
        assert_eq!(missing(&mut [phase(0, 10, 0)]), [None]);
    }
}
