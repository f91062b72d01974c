//! Which figures of the phases of a load its reasons limit, by the rule of [`crate::standing`].

use std::collections::BTreeMap;

use crate::catalogue::{Metric, Of};
use crate::load::{Load, PhaseFigures};
use crate::standing::{Standing, Subject};
use crate::warning::Warning;

impl Load {
    /// The reasons that limit figures of a phase.
    pub fn reasons<'a>(&'a self, phase: &'a PhaseFigures) -> impl Iterator<Item = &'a Warning> {
        let all = self.warnings.iter().chain(&phase.warnings);
        all.filter(|warning| warning.invalidates)
    }

    /// How far a figure of a phase can be used.
    pub fn standing(&self, phase: &PhaseFigures, subject: Subject) -> Standing {
        if phase.valid {
            return Standing::Exact;
        }
        let mut reasons = self.reasons(phase).peekable();
        if reasons.peek().is_none() && subject != Subject::Count {
            // It is INVALID, and nobody knows why.
            return Standing::Refused;
        }
        subject.after_all(reasons.map(|reason| reason.kind))
    }

    /// The first reason that limits a figure of a phase.
    pub fn limiting<'a>(&'a self, phase: &'a PhaseFigures, subject: Subject) -> Option<&'a Warning> {
        self.reasons(phase)
            .find(|reason| subject.after(reason.kind) != Standing::Exact)
    }

    /// Notes in each phase which metrics are limited, for the readers of `summary.json`.
    pub fn note_standings(&mut self) {
        let limited = |phase: &PhaseFigures| {
            let metrics = Metric::all(Of::Loads).into_iter();
            let standings =
                metrics.map(|metric| (metric.name().to_owned(), self.standing(phase, metric.subject())));
            standings
                .filter(|(_, standing)| *standing != Standing::Exact)
                .collect::<BTreeMap<_, _>>()
        };
        // In two steps, because the standing of a phase is asked of the whole load.
        let all: Vec<_> = self.phases.iter().map(limited).collect();
        for (phase, limited) in self.phases.iter_mut().zip(all) {
            phase.limited = limited;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::CurveKind;
    use crate::warning::WarningKind;

    fn invalid(kinds: &[WarningKind]) -> Load {
        let reason = |kind: &WarningKind| Warning::invalid(*kind, kind.to_string());
        Load {
            phases: vec![PhaseFigures {
                warnings: kinds.iter().map(reason).collect(),
                ..PhaseFigures::default()
            }],
            ..Load::default()
        }
    }

    fn standing(kinds: &[WarningKind], subject: Subject) -> Standing {
        let load = invalid(kinds);
        load.standing(&load.phases[0], subject)
    }

    const RESPONSE: Subject = Subject::Time(CurveKind::Response);

    #[test]
    fn counts_stay_counts_for_each_reason() {
        for reason in [
            WarningKind::ScheduleLag,
            WarningKind::GeneratorSaturated,
            WarningKind::ClockStepped,
            WarningKind::EmulatorLate,
            WarningKind::EndedEarly,
            WarningKind::NoSamples,
        ] {
            assert_eq!(standing(&[reason], Subject::Count), Standing::Exact, "{reason}");
        }
        assert_eq!(standing(&[], Subject::Count), Standing::Exact);
    }

    #[test]
    fn lateness_only_adds_to_what_counts_from_the_intended_send() {
        let late = |subject| standing(&[WarningKind::ScheduleLag], subject);
        assert_eq!(late(RESPONSE), Standing::AtMost);
        assert_eq!(late(Subject::Time(CurveKind::Delay)), Standing::AtMost);
        assert_eq!(late(Subject::Time(CurveKind::Service)), Standing::Refused);
        assert_eq!(late(Subject::Time(CurveKind::Lag)), Standing::Exact);
        assert_eq!(
            (late(Subject::Carried), late(Subject::Unserved)),
            (Standing::AtLeast, Standing::AtMost)
        );
    }

    #[test]
    fn what_the_generator_did_not_send_bounds_no_time() {
        let kinds = [WarningKind::ScheduleLag, WarningKind::GeneratorSaturated];
        assert_eq!(standing(&kinds, RESPONSE), Standing::Refused);
        assert_eq!(standing(&kinds, Subject::Carried), Standing::AtLeast);
        assert_eq!(
            standing(&[WarningKind::EmulatorLate], RESPONSE),
            Standing::Refused
        );
        assert_eq!(
            standing(&[], RESPONSE),
            Standing::Refused,
            "INVALID without a reason"
        );
    }

    #[test]
    fn the_summary_names_the_limited_metrics_alone() {
        let mut load = invalid(&[WarningKind::ScheduleLag]);
        load.note_standings();
        let limited = &load.phases[0].limited;
        assert_eq!(limited.get("response_time"), Some(&Standing::AtMost));
        assert_eq!(limited.get("service_time"), Some(&Standing::Refused));
        assert!(!limited.contains_key("acknowledged") && !limited.contains_key("schedule_lag"));
    }
}
