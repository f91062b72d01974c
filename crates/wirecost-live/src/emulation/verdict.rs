//! Differences between the configuration of an emulated link and its behaviour.

use std::time::Duration;

use wirecost_link::{Counters, LinkConfig};
use wirecost_proto::units::counted;
use wirecost_proto::{BothWays, Direction};
use wirecost_results::summary::Achieved;
use wirecost_results::warning::{Warning, WarningKind};

use super::variation;
use crate::check::echo_wire_bytes;

/// The tolerance of the checked RTT if 1 % of it is less.
const RTT_TOLERANCE: Duration = Duration::from_micros(50);

/// The warning about a median of the echoes that differs from the configured RTT, or from the expected one if the delay
/// varies. Serialisation at a rate is part of the configured RTT.
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
    // Chance alone moves the median of a few echoes within the band.
    let beyond = median.abs_diff(given.median).saturating_sub(given.band);
    judged(WarningKind::LinkRttOff, beyond, given.median, text)
}

/// The warning about a mean round trip that differs from the configured one because of the delay variation. The mean of
/// back-to-back packets depends on their order and invalidates nothing.
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

/// A warning if a round trip differs by more than 1 % from `of`. Above 5 %, it invalidates.
fn judged(kind: WarningKind, off: Duration, of: Duration, text: impl FnOnce() -> String) -> Option<Warning> {
    if off <= (of / 100).max(RTT_TOLERANCE) {
        return None;
    }
    if off > (of / 20).max(RTT_TOLERANCE) {
        return Some(Warning::invalid(kind, text()));
    }
    Some(Warning::note(kind, text()))
}

/// The configured round-trip time of an echo request: both delays and its serialisation in both directions.
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

/// The warning about decisions of the link outside the 99.99 % band of the configuration.
pub fn decisions_off(link: &LinkConfig, counters: &BothWays<Counters>) -> Option<Warning> {
    let off = Direction::ALL.into_iter().find(|way| {
        let counters = &counters[*way];
        !wirecost_link::Achieved::new(link.direction(*way), counters).is_within()
    })?;
    let text = format!(
        "the link's decisions {} lie outside the 99.99 % band of what was asked",
        off.name()
    );
    Some(Warning::note(WarningKind::LinkDecisionsOff, text))
}

/// The warning about packets that an interface dropped, which the link neither carried nor lost.
pub fn machine_dropped(dropped: u64) -> Option<Warning> {
    (dropped > 0).then(|| {
        let text = format!("the machine dropped {}", counted(dropped, "packet"));
        Warning::invalid(WarningKind::MachineDroppedPackets, text)
    })
}

fn ms(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}
