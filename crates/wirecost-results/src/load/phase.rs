//! The figures of one phase of a load.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::WireUse;
use crate::figures::{Connects, Deliveries, Interval};
use crate::link_use::{HopUse, LinkUse};
use crate::standing::Standing;
use crate::summary::{Outcomes, Times};
use crate::warning::Warning;

/// The figures of one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseFigures {
    /// `connect`, `publish`, `request`, `handshakes`, `hold`, `drop`, `reconnect`, `replay`, `close`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::PhaseName"))]
    pub name: String,
    /// From the start of the load, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub begin_s: f64,
    /// How long it took, drain included, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub duration_s: f64,
    /// Warm-up, which no figure includes, in seconds.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub warm_up_s: f64,
    /// The measured part of its duration, without warm-up and drain, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub measured_s: f64,
    /// Whether all its figures may be used as they are; its `warnings`, and those of the load, hold the reasons, and
    /// `limited` the figures.
    pub valid: bool,
    /// Reasons to look before trusting its figures.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// The metrics whose figures are limited or refused by a reason in `warnings`, by their names; every other figure stands as it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, crate::words::Limit>"))]
    pub limited: BTreeMap<String, Standing>,
    /// Requested messages per second; null in a closed loop and without messages.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub asked_rate: Option<f64>,
    /// Messages offered per second of the measured time: fewer than requested in a ramp, about as many with random
    /// arrivals. Null in a closed loop and without messages.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub offered_rate: Option<f64>,
    /// The acknowledged rate: messages acknowledged, or delivered if nothing answers, per second of the measured time, without
    /// the backlog.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub carried_rate: Option<f64>,
    /// How the messages ended; the parts sum to `offered`.
    pub outcomes: Outcomes,
    /// Messages whose last byte the kernel has taken.
    pub sent: u64,
    /// How connections came about.
    pub connects: Connects,
    /// Deliveries at subscribers or at the sink; null if unknown.
    pub deliveries: Option<Deliveries>,
    /// Expected deliveries that did not arrive in this or a later phase; absent if the expected number is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
    /// The number of occurrences of each reason.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "BTreeMap<String, core::num::NonZeroU64>")
    )]
    pub reasons: BTreeMap<String, u64>,
    /// Bytes given to sockets.
    pub socket_bytes_up: u64,
    /// Bytes taken from sockets.
    pub socket_bytes_down: u64,
    /// The event that ends the response time: `to_ack`, `to_reply`; null if nothing answers.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::words::LoadResponseKind>"))]
    pub response_kind: Option<String>,
    /// From the intended send to the answer.
    pub response_time_ns: Option<Times>,
    /// From the actual send to the answer.
    pub service_time_ns: Option<Times>,
    /// Delay of the generator behind its schedule.
    pub schedule_lag_ns: Option<Times>,
    /// From the start of a connect until the client may send.
    pub connect_time_ns: Option<Times>,
    /// From the intended send to the arrival at a subscriber or sink.
    pub one_way_delay_ns: Option<Times>,
    /// Use of the emulated link; absent without a link. With sites, the sum over the links of devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkUse>,
    /// Use of the link of each hop between sites; absent without sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<HopUse>,
    /// IP packets between this machine and a target that ran already, without an emulated link; absent where they were not
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireUse>,
    /// CPU time of the target divided by wall time, warm-up included: 1 is one CPU. Absent where it is unknown, in phases of
    /// less than 100 ms, and in merged results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub target_cpu_share: Option<f64>,
}

impl PhaseFigures {
    /// The phase with the link of one hop between sites as its link; as it is without a hop.
    pub fn at_hop(&self, hop: Option<&str>) -> Cow<'_, Self> {
        let Some(hop) = hop else {
            return Cow::Borrowed(self);
        };
        Cow::Owned(Self {
            link: self
                .hops
                .iter()
                .find(|known| known.hop == hop)
                .map(|found| found.used),
            ..self.clone()
        })
    }
}

impl PhaseFigures {
    /// Whether the phase offered messages or handshakes.
    pub fn has_offer(&self) -> bool {
        matches!(self.name.as_str(), "publish" | "request" | "handshakes")
    }

    /// Whether every message was acknowledged or delivered, as far as is known.
    pub fn is_acknowledged(&self) -> bool {
        self.not_acknowledged().is_empty()
    }

    /// The outcomes of messages that were neither acknowledged nor delivered, with their numbers; empty if there are none.
    pub fn not_acknowledged(&self) -> Vec<(&'static str, u64)> {
        let outcomes = &self.outcomes;
        // Without answers, unknown is the usual outcome.
        let is_answered = self.response_kind.is_some();
        let ends = [
            ("refused", outcomes.refused),
            ("failed", outcomes.failed),
            ("late", outcomes.late),
            ("lost", outcomes.lost),
            ("unknown", outcomes.unknown * u64::from(is_answered)),
        ];
        ends.into_iter().filter(|(_, messages)| *messages > 0).collect()
    }

    /// Replaces the figures of the phase by those of `intervals`, without warm-up. Fields that are not counts (name,
    /// times, requested rate, kind of response) stay, and `deliveries` stays null if it was null.
    #[must_use]
    pub fn counted<'a>(self, intervals: impl IntoIterator<Item = &'a Interval>) -> Self {
        let mut sum = Interval::default();
        let measured = intervals.into_iter().filter(|interval| !interval.warm_up);
        measured.for_each(|interval| sum.add(interval));
        let arrived = sum.outcomes.acknowledged + sum.outcomes.delivered;
        let per_second = |count: u64| (self.measured_s > 0.0).then(|| count as f64 / self.measured_s);
        // What arrives only when nothing is offered any more was carried by the pause behind the phase.
        let rate = per_second(arrived.saturating_sub(sum.worked_off));
        let times = |histogram: &Option<_>| histogram.as_ref().and_then(Times::of_histogram);
        Self {
            // A closed loop offers what the target answers: its rate says nothing about what was asked.
            offered_rate: self.asked_rate.and_then(|_| per_second(sum.outcomes.offered)),
            // A phase that offers nothing carries nothing, which is not a rate of zero.
            carried_rate: rate.filter(|_| sum.outcomes.offered > 0),
            outcomes: sum.outcomes,
            sent: sum.sent,
            connects: sum.connects,
            deliveries: self.deliveries.map(|_| sum.deliveries),
            socket_bytes_up: sum.socket_bytes[0],
            socket_bytes_down: sum.socket_bytes[1],
            response_time_ns: times(&sum.response_time),
            service_time_ns: times(&sum.service_time),
            schedule_lag_ns: times(&sum.schedule_lag),
            connect_time_ns: times(&sum.connect_time),
            one_way_delay_ns: times(&sum.one_way_delay),
            reasons: sum.reasons,
            ..self
        }
    }
}
