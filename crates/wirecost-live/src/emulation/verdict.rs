//! What an emulated link has done beside what was asked of it.

use std::time::Duration;

use wirecost_link::{Counters, LinkConfig};
use wirecost_proto::Direction;
use wirecost_proto::units::counted;
use wirecost_results::summary::Achieved;
use wirecost_results::warning::{Warning, WarningKind};

use super::variation;
use crate::check::echo_wire_bytes;

/// Tolerance of the checked RTT where 1 % of it is less.
const RTT_TOLERANCE: Duration = Duration::from_micros(50);

/// The median of the echo requests against the RTT asked for, or against what a link gives whose delay varies:
/// serialisation at a rate is part of what is asked.
pub fn rtt_off(link: &LinkConfig, achieved: &Achieved, ipv6: bool) -> Option<Warning> {
    let Some(median) = achieved.rtt_p50_ns.map(Duration::from_nanos) else {
        return Some(Warning::note(
            WarningKind::LinkNotChecked,
            "no echo reply came back over the link".into(),
        ));
    };
    if !variation::varies(link) {
        let asked = asked_rtt(link, ipv6);
        let text = || format!("the link's RTT is {}, asked were {}", ms(median), ms(asked));
        return judged(WarningKind::LinkRttOff, median.abs_diff(asked), asked, text);
    }
    let given = variation::expected(link, ipv6)?;
    let text = || {
        let (median, given, band) = (ms(median), ms(given.median), ms(given.band));
        format!("the link's RTT is {median}, its varying delay should give {given} +- {band}")
    };
    let beyond = median.abs_diff(given.median).saturating_sub(given.band);
    judged(WarningKind::LinkRttOff, beyond, given.median, text)
}

/// The mean round trip that the delay variation leads to against the one asked for. What it is for packets back to back
/// is a matter of their order, and makes nothing invalid.
pub fn mean_delay_off(link: &LinkConfig, ipv6: bool) -> Option<Warning> {
    let asked = link.rtt();
    let means = variation::means(link, ipv6);
    let (echoes, trains) = (means.echoes.abs_diff(asked), means.trains.abs_diff(asked));
    let text = || {
        let (far, near, asked) = (ms(means.echoes), ms(means.trains), ms(asked));
        format!(
            "the varying delay takes {far} both ways on average, {near} where packets follow one another closely and \
             keep their order; asked were {asked}"
        )
    };
    let kind = WarningKind::DelayVariationMean;
    judged(kind, echoes, asked, text).or_else(|| {
        judged(kind, trains, asked, text).map(|warning| Warning {
            invalidates: false,
            ..warning
        })
    })
}

/// A warning where a round trip is off by more than 1 % of the one it should be, above 5 % one that invalidates.
fn judged(kind: WarningKind, off: Duration, of: Duration, text: impl FnOnce() -> String) -> Option<Warning> {
    if off <= (of / 100).max(RTT_TOLERANCE) {
        return None;
    }
    if off > (of / 20).max(RTT_TOLERANCE) {
        return Some(Warning::invalid(kind, text()));
    }
    Some(Warning::note(kind, text()))
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

/// The link's own decisions against what was asked, in the 99.99 % band.
pub fn decisions_off(link: &LinkConfig, counters: &[Counters; 2]) -> Option<Warning> {
    let off = Direction::ALL.into_iter().find(|way| {
        let counters = &counters[*way as usize];
        !wirecost_link::Achieved::new(link.direction(*way), counters).is_within()
    })?;
    let text = format!(
        "the link's decisions {} lie outside the 99.99 % band of what was asked",
        off.name()
    );
    Some(Warning::note(WarningKind::LinkDecisionsOff, text))
}

/// What an interface has dropped, the link has neither carried nor lost.
pub fn machine_dropped(dropped: u64) -> Option<Warning> {
    (dropped > 0).then(|| {
        let text = format!("the machine dropped {}", counted(dropped, "packet"));
        Warning::invalid(WarningKind::MachineDroppedPackets, text)
    })
}

fn ms(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}
