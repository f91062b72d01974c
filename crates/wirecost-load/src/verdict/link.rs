//! Warnings from the emulated link of a load.

use std::time::Duration;

use wirecost_live::emulation::verdict::{decisions_off, machine_dropped, mean_delay_off, rtt_off};
use wirecost_proto::shown::grouped;
use wirecost_proto::units::counted;
use wirecost_results::link_use::DirectionUse;
use wirecost_results::load::PhaseFigures;
use wirecost_results::warning::{Warning, WarningKind};

use super::phase::nanos;
use super::{Offered, percent};
use crate::link::LinkReport;

/// A link whose rate was in use for more than this share of the time is full.
const FULL: f64 = 0.95;
/// In a closed loop each packet that is lost holds its device up until the time-out, so that a share above this tells.
const LOSSY: f64 = 0.001;
/// The emulator's lateness below this is harmless.
const LATENESS_FLOOR: Duration = Duration::from_millis(1);

/// How the link was at its limit while messages were offered; `None` if it was not. In a closed loop no message is missing, because
/// each one waits for the one before: its losses are the bottleneck where they are notable.
pub(super) fn limited(phase: &Offered<'_>) -> Option<String> {
    let figures = phase.figures;
    could_give_no_more(figures, phase.falls_short() || !phase.open && is_lossy(figures))
}

/// Whether a notable share of the packets did not arrive.
fn is_lossy(figures: &PhaseFigures) -> bool {
    let ways = figures.link.as_ref().map(|link| [link.up, link.down]);
    let is_lossy = |way: DirectionUse| (way.lost + way.queue_dropped) as f64 > LOSSY * way.packets as f64;
    ways.is_some_and(|ways| ways.into_iter().any(is_lossy))
}

/// How the link was at its limit in a phase, in one sentence; `None` if it was not. A full link is the bottleneck. A
/// link that has lost packets is the bottleneck only if that tells (`is_told`): messages are missing, or late.
pub(super) fn could_give_no_more(figures: &PhaseFigures, is_told: bool) -> Option<String> {
    let link = figures.link.as_ref()?;
    let ways = [("up", &link.up), ("down", &link.down)];
    let is_full = |way: &DirectionUse| way.utilisation.is_some_and(|share| share > FULL);
    let has_lost = |way: &DirectionUse| way.lost + way.queue_dropped > 0;
    let is_limit = |way: &DirectionUse| is_full(way) || is_told && has_lost(way);
    let limits: Vec<String> = ways
        .into_iter()
        .filter(|(_, way)| is_limit(way))
        .map(|(name, way)| said(name, way))
        .collect();
    (!limits.is_empty()).then(|| limits.join("; "))
}

/// `up: 1,200 packets, its rate in use 99 % of the time, 30 lost, 200 dropped by its full queue`.
fn said(name: &str, way: &DirectionUse) -> String {
    let mut text = format!("{name}: {}", counted(way.packets, "packet"));
    if let Some(share) = way.utilisation {
        text += &format!(", its rate in use {} of the time", percent(share));
    }
    if way.lost > 0 {
        text += &format!(", {} lost", grouped(way.lost));
    }
    if way.queue_dropped > 0 {
        text += &format!(", {} dropped by its full queue", grouped(way.queue_dropped));
    }
    text
}

/// All warnings from the link.
pub(super) fn warnings(link: &LinkReport) -> Vec<Warning> {
    let figures = &link.figures;
    let achieved = figures.link.achieved.as_ref();
    let mut warnings: Vec<Warning> = achieved
        // In virtual time there is no echo, and every delay is exact.
        .filter(|_| figures.emulator.is_some())
        .and_then(|achieved| rtt_off(&link.config, achieved, false))
        .into_iter()
        .collect();
    warnings.extend(mean_delay_off(&link.config, false));
    warnings.extend(late(link));
    warnings.extend(decisions_off(&link.config, &link.counters));
    warnings.extend(machine_dropped(figures.dropped_packets));
    warnings.extend(
        link.network
            .iter()
            .map(|line| Warning::note(WarningKind::NetworkSettings, line.clone())),
    );
    warnings
}

/// The warning about the emulator's lateness, which is part of the response times but not of the link.
fn late(link: &LinkReport) -> Option<Warning> {
    let p99 = link.figures.emulator.as_ref()?.lateness_p99_ns;
    // The response times contain it: a tenth of the round trip is what they may be off by.
    let limit = LATENESS_FLOOR.max(link.config.rtt() / 10);
    (u128::from(p99) > limit.as_nanos()).then(|| {
        Warning::invalid(
            WarningKind::EmulatorLate,
            format!(
                "the emulated link handed packets over {} too late (p99), more than {}: the response times \
                 contain this lateness; lower the rate, or give it a CPU of its own",
                nanos(p99),
                nanos(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX))
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use wirecost_link::LinkConfig;
    use wirecost_results::environment::Emulator;
    use wirecost_results::link_use::LinkUse;
    use wirecost_results::load::LinkFigures;
    use wirecost_results::summary::Achieved;

    use super::*;

    fn used(up: DirectionUse) -> PhaseFigures {
        PhaseFigures {
            link: Some(LinkUse {
                up,
                down: DirectionUse::default(),
            }),
            ..PhaseFigures::default()
        }
    }

    #[test]
    fn a_full_link_is_the_limit_and_a_lossy_one_if_messages_miss() {
        let full = used(DirectionUse {
            packets: 1_200,
            queue_dropped: 30,
            utilisation: Some(0.99),
            ..DirectionUse::default()
        });
        let why = could_give_no_more(&full, false).expect("full");
        assert_eq!(
            why,
            "up: 1,200 packets, its rate in use 99 % of the time, 30 dropped by its full queue"
        );
        let lossy = used(DirectionUse {
            packets: 100,
            lost: 2,
            utilisation: Some(0.2),
            ..DirectionUse::default()
        });
        assert_eq!(could_give_no_more(&lossy, false), None);
        let why = could_give_no_more(&lossy, true).expect("lossy");
        assert_eq!(why, "up: 100 packets, its rate in use 20 % of the time, 2 lost");
        let idle = used(DirectionUse::default());
        assert_eq!(could_give_no_more(&idle, true), None);
        assert_eq!(could_give_no_more(&PhaseFigures::default(), true), None);
    }

    fn kinds(rtt_ms: u64, change: impl FnOnce(&mut LinkReport)) -> Vec<(WarningKind, bool)> {
        let config = LinkConfig::symmetric(Duration::from_millis(rtt_ms));
        let mut report = LinkReport {
            config,
            counters: wirecost_proto::BothWays::default(),
            hops: Vec::new(),
            figures: LinkFigures {
                emulator: Some(Emulator::default()),
                ..LinkFigures::default()
            },
            network: Vec::new(),
            capture: None,
            traffic: None,
        };
        report.figures.link.achieved = Some(Achieved {
            rtt_p50_ns: Some(rtt_ms * 1_000_000),
            ..Achieved::default()
        });
        change(&mut report);
        let warnings = warnings(&report).into_iter();
        warnings
            .map(|warning| (warning.kind, warning.invalidates))
            .collect()
    }

    #[test]
    fn a_late_or_dropping_emulator_makes_figures_invalid() {
        assert!(kinds(5, |_| {}).is_empty());
        let late_by = |nanos: u64| {
            move |report: &mut LinkReport| {
                report
                    .figures
                    .emulator
                    .as_mut()
                    .expect("an emulator")
                    .lateness_p99_ns = nanos
            }
        };
        assert!(kinds(5, late_by(1_000_000)).is_empty());
        let late = [(WarningKind::EmulatorLate, true)];
        assert_eq!(kinds(5, late_by(1_000_001)), late);
        assert!(kinds(100, late_by(10_000_000)).is_empty(), "a tenth of the RTT");
        assert_eq!(kinds(100, late_by(10_000_001)), late);
        let dropped = kinds(5, |report| report.figures.dropped_packets = 1);
        assert_eq!(dropped, [(WarningKind::MachineDroppedPackets, true)]);
        let unchecked = kinds(5, |report| {
            report.figures.link.achieved = Some(Achieved::default())
        });
        assert_eq!(unchecked, [(WarningKind::LinkNotChecked, false)]);
        let network = kinds(5, |report| report.network = vec!["no cubic".into()]);
        assert_eq!(network, [(WarningKind::NetworkSettings, false)]);
    }
}
