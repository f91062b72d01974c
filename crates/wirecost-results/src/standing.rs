//! How far a figure of a phase can be used: the one place that decides it, figure by figure.
//!
//! A reason that makes a load INVALID does not falsify each of its figures. What was counted stays counted. A generator that was
//! late only adds to a time that counts from the intended send: the messages reached the target later than they were meant
//! to, and a queue that serves in order is left no earlier for that. So such a time is at most what was measured, and a
//! condition `p(99)<20ms` that holds with the lateness holds without it. A time that counts from the actual send has no such rule:
//! a message that waited in the generator has not waited at the target.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::curves::CurveKind;
use crate::load::{Load, PhaseFigures};
use crate::thresholds::metric::{self, Of};
use crate::warning::{Warning, WarningKind};

/// How far a figure can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// As it is.
    #[default]
    Exact,
    /// The true figure is at most this one.
    AtMost,
    /// The true figure is at least this one.
    AtLeast,
    /// Not at all.
    Refused,
}

impl Standing {
    /// The standing of a figure that has both, e.g. of a sum.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Exact, limited) | (limited, Self::Exact) => limited,
            // At most and at least, or refused by one of the two.
            (Self::AtMost | Self::AtLeast | Self::Refused, _) => Self::Refused,
        }
    }
}

/// What a figure of a phase is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// What was counted or read: messages, bytes, connections, processor time.
    Count,
    /// Messages that were acknowledged per second.
    Carried,
    /// The share of the offer that was not acknowledged in its time.
    Unserved,
    /// A time of this kind.
    Time(CurveKind),
}

impl Subject {
    /// What remains of a figure for this reason.
    const fn after(self, reason: WarningKind) -> Standing {
        use CurveKind::{Connect, Delay, Lag, Response, Service};
        use WarningKind as W;
        match (reason, self) {
            (W::ClockStepped, Self::Time(_)) => Standing::Refused,
            (_, Self::Count | Self::Time(Lag)) => Standing::Exact,
            // Nothing was acknowledged: the rate is zero.
            (W::NoSamples, Self::Carried | Self::Unserved) => Standing::Exact,
            (W::ScheduleLag, Self::Time(Response | Delay)) => Standing::AtMost,
            // The target would have had more to do.
            (
                W::ScheduleLag
                | W::GeneratorSaturated
                | W::GeneratorDropped
                | W::GeneratorSockets
                | W::AgentLost,
                Self::Carried,
            ) => Standing::AtLeast,
            (
                W::ScheduleLag
                | W::GeneratorSaturated
                | W::GeneratorDropped
                | W::GeneratorSockets
                | W::AgentLost,
                Self::Unserved,
            ) => Standing::AtMost,
            (_, Self::Time(Response | Service | Connect | Delay) | Self::Carried | Self::Unserved) => {
                Standing::Refused
            }
        }
    }
}

/// Whether the reason is one of the generator, so that another generator might have measured more.
pub const fn is_of_generator(reason: WarningKind) -> bool {
    matches!(
        reason,
        WarningKind::ScheduleLag
            | WarningKind::GeneratorSaturated
            | WarningKind::GeneratorDropped
            | WarningKind::GeneratorSockets
            | WarningKind::AgentLost
            | WarningKind::EndedEarly
    )
}

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
        reasons.fold(Standing::Exact, |standing, reason| {
            standing.and(subject.after(reason.kind))
        })
    }

    /// The first reason that limits a figure of a phase.
    pub fn limiting<'a>(&'a self, phase: &'a PhaseFigures, subject: Subject) -> Option<&'a Warning> {
        self.reasons(phase)
            .find(|reason| subject.after(reason.kind) != Standing::Exact)
    }

    /// Notes in each phase which metrics are limited, for the readers of `summary.json`.
    pub fn note_standings(&mut self) {
        let limited = |phase: &PhaseFigures| {
            let metrics = metric::all(Of::Loads).into_iter();
            let standings =
                metrics.map(|metric| (metric.name.to_owned(), self.standing(phase, metric.subject())));
            standings
                .filter(|(_, standing)| *standing != Standing::Exact)
                .collect::<BTreeMap<_, _>>()
        };
        let all: Vec<_> = self.phases.iter().map(limited).collect();
        for (phase, limited) in self.phases.iter_mut().zip(all) {
            phase.limited = limited;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
