//! Whether a cell's figures are valid, and the warnings about them.

use std::time::Duration;

use wirecost_link::{Counters, LinkConfig, Loss};
use wirecost_live::emulation::verdict::{asked_rtt, decisions_off, machine_dropped, mean_delay_off, rtt_off};
use wirecost_proto::units::counted;
use wirecost_proto::{BothWays, Direction};
use wirecost_results::summary::{Achieved, Outcomes};
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_stats::mean::ENOUGH;

use super::analysis::DeviceMeasurement;

/// The input of a verdict.
pub struct Evidence<'a> {
    /// The configured link.
    pub link: &'a LinkConfig,
    /// The decisions of the link, up and down.
    pub counters: &'a BothWays<Counters>,
    /// The measured properties of the link in the check and the run.
    pub achieved: &'a Achieved,
    /// The outcomes of messages.
    pub outcomes: &'a Outcomes,
    /// The devices.
    pub devices: &'a [&'a DeviceMeasurement],
    /// Packets that the machine dropped.
    pub dropped_packets: u64,
    /// The median of the emulator's lateness.
    pub lateness: Duration,
    /// Whether the echo requests were IPv6.
    pub ipv6: bool,
    /// Whether there is an emulated link.
    pub is_emulated: bool,
    /// Whether packets were captured before they were cut to the MTU.
    pub is_behind_offload: bool,
}

/// With fewer samples, a cell has a warning.
const FEW_SAMPLES: usize = 30;
/// The tolerance of the emulator's addition to a round trip if 2 % of it is less.
const LATENESS_FLOOR: Duration = Duration::from_micros(500);

/// Whether round trips can be counted: the link must not lose packets by configuration, and no queue may have dropped
/// any.
pub fn has_round_trips(link: &LinkConfig, counters: &BothWays<Counters>) -> bool {
    let dropped_none = |counters: &Counters| {
        counters.offered.packets == counters.delivered.packets && counters.unmapped == 0
    };
    link.is_lossless() && counters.iter().all(dropped_none)
}

/// How many losses must be expected before the mean of times has an interval, if losses come in bursts: retransmissions
/// are lost again, and the longest waits dominate.
const LOST_IN_BURSTS: f64 = 100.0;

/// How many devices must be measured before the mean of times has an interval, if messages are repeated until they
/// arrive; 0 without losses.
pub fn enough_devices(link: &LinkConfig, counters: &BothWays<Counters>) -> u64 {
    if has_round_trips(link, counters) {
        return 0;
    }
    let losses = || Direction::ALL.iter().map(|way| &link.direction(*way).loss);
    if !losses().any(|loss| matches!(loss, Loss::GilbertElliott(_)) && loss.rate() > 0.0) {
        return ENOUGH;
    }
    let per_device: f64 = losses().map(Loss::rate).sum();
    ENOUGH.max((LOST_IN_BURSTS / per_device).round() as u64)
}

/// All warnings about a cell.
pub fn warnings(evidence: &Evidence<'_>) -> Vec<Warning> {
    let checks = [
        few_samples,
        behind_offload,
        rtt,
        mean_delay,
        emulator,
        link_decisions,
        drops,
        unattributed,
        disagreement,
        timeouts,
        endpoint_errors,
    ];
    checks.iter().filter_map(|check| check(evidence)).collect()
}

fn warning(kind: WarningKind, text: String) -> Option<Warning> {
    Some(Warning::note(kind, text))
}

fn invalid(kind: WarningKind, text: String) -> Option<Warning> {
    Some(Warning::invalid(kind, text))
}

fn few_samples(evidence: &Evidence<'_>) -> Option<Warning> {
    if evidence.devices.is_empty() {
        return invalid(WarningKind::NoSamples, "no device finished".into());
    }
    if let none @ Some(_) = no_times(evidence.outcomes) {
        return none;
    }
    let n = evidence.devices.len().min(carried(evidence.outcomes) as usize);
    let text = || format!("only {}: below {FEW_SAMPLES}", counted(n as u64, "sample"));
    (n < FEW_SAMPLES).then(|| warning(WarningKind::FewSamples, text()))?
}

/// If no message reached the end of its response time, there is no figure of time.
pub(crate) fn no_times(outcomes: &Outcomes) -> Option<Warning> {
    let text = || {
        format!(
            "of {} none was acknowledged or delivered in time: there is no response time",
            counted(outcomes.offered, "message")
        )
    };
    (outcomes.offered > 0 && carried(outcomes) == 0).then(|| invalid(WarningKind::NoSamples, text()))?
}

/// The number of messages with a response time.
const fn carried(outcomes: &Outcomes) -> u64 {
    outcomes.acknowledged + outcomes.delivered
}

fn behind_offload(evidence: &Evidence<'_>) -> Option<Warning> {
    let text = "captured behind segmentation offload, not packets on the wire: bytes, packets and times are those of segments \
                above the MTU";
    let is_so = evidence.is_behind_offload;
    is_so.then(|| warning(WarningKind::CapturedBehindOffload, text.into()))?
}

fn rtt(evidence: &Evidence<'_>) -> Option<Warning> {
    let off = || rtt_off(evidence.link, evidence.achieved, evidence.ipv6);
    is_emulated(evidence).then(off)?
}

/// Whether there is an emulated link to hold against its configuration: a modelled cell has no configured losses and delays.
const fn is_emulated(evidence: &Evidence<'_>) -> bool {
    evidence.is_emulated && evidence.link.cell.is_none()
}

fn mean_delay(evidence: &Evidence<'_>) -> Option<Warning> {
    mean_delay_off(evidence.link, evidence.ipv6)
}

/// The emulator's lateness is part of the response times but not of the link. Its median, both ways, must not exceed 2
/// % of the configured RTT. (A load has another rule, in `load::verdict`: readers use its percentiles, so the p99 must
/// not exceed a tenth.)
fn emulator(evidence: &Evidence<'_>) -> Option<Warning> {
    let (late, asked) = (evidence.lateness * 2, asked_rtt(evidence.link, evidence.ipv6));
    let text = || {
        format!(
            "the emulated link adds {} to an RTT of {} (median), because this machine is too slow for the packets of this \
             cell; measure fewer devices or a smaller payload at once",
            ms(late),
            ms(asked)
        )
    };
    (late > (asked / 50).max(LATENESS_FLOOR)).then(|| warning(WarningKind::EmulatorLate, text()))?
}

fn ms(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}

fn link_decisions(evidence: &Evidence<'_>) -> Option<Warning> {
    is_emulated(evidence).then(|| decisions_off(evidence.link, evidence.counters))?
}

fn drops(evidence: &Evidence<'_>) -> Option<Warning> {
    machine_dropped(evidence.dropped_packets)
}

fn unattributed(evidence: &Evidence<'_>) -> Option<Warning> {
    let bytes: u64 = evidence
        .devices
        .iter()
        .map(|device| device.unattributed_bytes)
        .sum();
    (bytes > 0).then(|| {
        invalid(
            WarningKind::UnattributedBytes,
            format!("{bytes} B belong to no layer and phase"),
        )
    })?
}

fn disagreement(evidence: &Evidence<'_>) -> Option<Warning> {
    let count: u64 = evidence.devices.iter().map(|device| device.disagreements).sum();
    let text = || {
        let flows = counted(count, "flow");
        format!("client and server describe the bytes of {flows} differently")
    };
    (count > 0).then(|| invalid(WarningKind::SpansDisagree, text()))?
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
    let text = || {
        let offered = counted(offered, "message");
        format!("{missed} of {offered} not acknowledged in time")
    };
    (missed * 100 > offered).then(|| warning(WarningKind::Timeouts, text()))?
}

fn endpoint_errors(evidence: &Evidence<'_>) -> Option<Warning> {
    let mut reasons = evidence.devices.iter().filter_map(|device| {
        let failure = device.report.script.notes().failure.as_ref();
        let error = device.report.error.clone();
        error.or_else(|| failure.map(ToString::to_string))
    });
    let first = reasons.next()?;
    let more = reasons.count();
    warning(
        WarningKind::DevicesFailed,
        format!("{} of the devices failed; the first: {first}", more + 1),
    )
}

#[cfg(test)]
mod tests;
