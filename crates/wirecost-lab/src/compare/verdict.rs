//! Whether a cell's figures may be used, and what to look at before trusting them.

use std::time::Duration;

use wirecost_link::{Counters, LinkConfig};
use wirecost_live::check::echo_wire_bytes;
use wirecost_proto::Direction;

use super::analysis::DeviceMeasurement;
use crate::results::summary::{Achieved, Outcomes, Warning};

/// What a cell is judged by.
pub struct Evidence<'a> {
    /// The link asked for.
    pub link: &'a LinkConfig,
    /// What the link decided, up and down.
    pub counters: &'a [Counters; 2],
    /// What the check and the run achieved.
    pub achieved: &'a Achieved,
    /// How messages ended.
    pub outcomes: &'a Outcomes,
    /// The devices.
    pub devices: &'a [&'a DeviceMeasurement],
    /// Packets that the machine dropped.
    pub dropped_packets: u64,
    /// Whether the echo requests were IPv6.
    pub ipv6: bool,
}

/// Samples below which a cell says so.
const FEW_SAMPLES: usize = 30;
/// Tolerance of the checked RTT where 1 % of it is less.
const RTT_TOLERANCE: Duration = Duration::from_micros(50);

/// Whether a link is asked to lose or corrupt nothing, and its queues have dropped nothing either: round trips can be
/// counted.
pub fn is_lossless(link: &LinkConfig, counters: &[Counters; 2]) -> bool {
    let asks_none = |way: &Direction| {
        let direction = link.direction(*way);
        direction.loss.rate() == 0.0 && direction.corrupt.is_zero()
    };
    let lost_none = |counters: &Counters| counters.offered.packets == counters.delivered.packets;
    Direction::ALL.iter().all(asks_none) && counters.iter().all(lost_none)
}

/// Every reason to look before trusting a cell.
pub fn warnings(evidence: &Evidence<'_>) -> Vec<Warning> {
    let checks = [
        few_samples,
        rtt,
        link_decisions,
        drops,
        unattributed,
        disagreement,
        timeouts,
        endpoint_errors,
    ];
    checks.iter().filter_map(|check| check(evidence)).collect()
}

fn warning(kind: &str, text: String) -> Option<Warning> {
    Some(Warning {
        kind: kind.into(),
        text,
        invalidates: false,
    })
}

fn invalid(kind: &str, text: String) -> Option<Warning> {
    Some(Warning {
        kind: kind.into(),
        text,
        invalidates: true,
    })
}

fn few_samples(evidence: &Evidence<'_>) -> Option<Warning> {
    let n = evidence.devices.len();
    if n == 0 {
        return invalid("no-samples", "no device finished".into());
    }
    (n < FEW_SAMPLES).then(|| warning("few-samples", format!("only {n} samples: below {FEW_SAMPLES}")))?
}

/// The median of the echo requests against the RTT asked for: serialisation at a rate is part of what is asked.
fn rtt(evidence: &Evidence<'_>) -> Option<Warning> {
    let Some(median) = evidence.achieved.rtt_p50_ns else {
        return warning("link-not-checked", "no echo reply came back over the link".into());
    };
    let asked = asked_rtt(evidence.link, evidence.ipv6).as_nanos() as u64;
    let off = median.abs_diff(asked);
    let text = || {
        let ms = |nanos: u64| nanos as f64 / 1e6;
        format!(
            "the link's RTT is {:.3} ms, asked were {:.3} ms",
            ms(median),
            ms(asked)
        )
    };
    if varies(evidence.link) || off <= (asked / 100).max(RTT_TOLERANCE.as_nanos() as u64) {
        return None;
    }
    if off > (asked / 20).max(RTT_TOLERANCE.as_nanos() as u64) {
        return invalid("link-rtt-off", text());
    }
    warning("link-rtt-off", text())
}

/// The round-trip time that an echo request should take: both delays and its serialisation both ways.
pub fn asked_rtt(link: &LinkConfig, ipv6: bool) -> Duration {
    let serialisation = |way| {
        link.direction(way)
            .rate
            .map(|rate| rate.time_for(echo_wire_bytes(ipv6)))
    };
    let both = Direction::ALL
        .into_iter()
        .filter_map(serialisation)
        .sum::<Duration>();
    link.rtt() + both
}

fn varies(link: &LinkConfig) -> bool {
    Direction::ALL.iter().any(|way| {
        let direction = link.direction(*way);
        direction.delay_variation.is_some() || direction.reorder.is_some()
    })
}

/// The link's own decisions against what was asked, in the 99.99 % band.
fn link_decisions(evidence: &Evidence<'_>) -> Option<Warning> {
    let off = Direction::ALL.into_iter().find(|way| {
        let counters = &evidence.counters[*way as usize];
        !wirecost_link::Achieved::new(evidence.link.direction(*way), counters).is_within()
    })?;
    warning(
        "link-decisions-off",
        format!(
            "the link's decisions {} lie outside the 99.99 % band of what was asked",
            off.name()
        ),
    )
}

fn drops(evidence: &Evidence<'_>) -> Option<Warning> {
    let dropped = evidence.dropped_packets;
    (dropped > 0).then(|| {
        invalid(
            "machine-dropped-packets",
            format!("the machine dropped {dropped} packets"),
        )
    })?
}

fn unattributed(evidence: &Evidence<'_>) -> Option<Warning> {
    let bytes: u64 = evidence
        .devices
        .iter()
        .map(|device| device.unattributed_bytes)
        .sum();
    (bytes > 0).then(|| {
        invalid(
            "unattributed-bytes",
            format!("{bytes} B belong to no layer and phase"),
        )
    })?
}

fn disagreement(evidence: &Evidence<'_>) -> Option<Warning> {
    let count: u64 = evidence.devices.iter().map(|device| device.disagreements).sum();
    let text = || format!("client and server describe the bytes of {count} flows differently");
    (count > 0).then(|| invalid("spans-disagree", text()))?
}

fn timeouts(evidence: &Evidence<'_>) -> Option<Warning> {
    let Outcomes {
        offered,
        unknown,
        late,
        failed,
        ..
    } = *evidence.outcomes;
    let missed = unknown + late + failed;
    let text = || format!("{missed} of {offered} messages were not acknowledged in time");
    (missed * 100 > offered).then(|| warning("timeouts", text()))?
}

fn endpoint_errors(evidence: &Evidence<'_>) -> Option<Warning> {
    let mut reasons = evidence.devices.iter().filter_map(|device| {
        let failure = device.report.script.notes().failure.as_ref();
        device.report.error.as_ref().or(failure)
    });
    let first = reasons.next()?;
    let more = reasons.count();
    warning(
        "devices-failed",
        format!("{} devices failed; the first: {first}", more + 1),
    )
}
