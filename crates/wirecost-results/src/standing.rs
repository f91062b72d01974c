//! How far a figure of a phase can be used: the one place that decides it, figure by figure.
//!
//! A reason that makes a load INVALID does not falsify each of its figures. What was counted stays counted. A generator that was
//! late only adds to a time that counts from the intended send: the messages reached the target later than they were meant
//! to, and a queue that serves in order is left no earlier for that. So such a time is at most what was measured, and a
//! condition `p(99)<20ms` that holds with the lateness holds without it. A time that counts from the actual send has no such rule:
//! a message that waited in the generator has not waited at the target.

use serde::{Deserialize, Serialize};

use crate::curves::CurveKind;
use crate::warning::WarningKind;

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
    pub const fn after(self, reason: WarningKind) -> Standing {
        use CurveKind::{Connect, Delay, Lag, Response, Service};
        use WarningKind as W;
        match (reason, self) {
            // Delays between two clocks jump by the step, and nothing tells which ones.
            (W::ClockStepped, Self::Time(_)) => Standing::Refused,
            (_, Self::Count | Self::Time(Lag)) => Standing::Exact,
            // Nothing was acknowledged: the rate is zero.
            (W::NoSamples, Self::Carried | Self::Unserved) => Standing::Exact,
            // Both begin at the intended time, so that the generator's own lag is in them: the target was at least as fast.
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

impl Subject {
    /// What remains of a figure for all these reasons.
    pub fn after_all(self, reasons: impl IntoIterator<Item = WarningKind>) -> Standing {
        let all = reasons.into_iter().map(|reason| self.after(reason));
        all.fold(Standing::Exact, Standing::and)
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
