//! The reasons that make a cell invalid.

use super::*;
use wirecost_link::{GilbertElliott, QueueLimit};
use wirecost_results::warning::WarningKind;

fn counters(offered: u64, delivered: u64) -> Counters {
    let mut counters = Counters::default();
    counters.offered.packets = offered;
    counters.delivered.packets = delivered;
    counters
}

#[test]
fn round_trips_count_only_where_nothing_is_lost_corrupted_or_dropped() {
    let whole = BothWays::from([counters(10, 10), counters(7, 7)]);
    let clean = LinkConfig::symmetric(Duration::from_millis(25));
    assert!(has_round_trips(&clean, &whole));
    let mut lossy = clean;
    lossy.down.loss = Loss::Bernoulli("1%".parse().expect("a probability"));
    assert!(
        !has_round_trips(&lossy, &whole),
        "even where nothing happened to be lost"
    );
    let mut corrupting = clean;
    corrupting.up.corrupt = "1%".parse().expect("a probability");
    assert!(!has_round_trips(&corrupting, &whole));
    let mut queued = clean;
    queued.up.queue = Some(QueueLimit::Packets(1));
    assert!(has_round_trips(&queued, &whole));
    assert!(!has_round_trips(
        &queued,
        &[counters(10, 9), counters(7, 7)].into()
    ));
}

#[test]
fn bursts_need_more_devices_for_the_interval_of_a_mean() {
    let whole = BothWays::from([counters(10, 10), counters(7, 7)]);
    let mut link = LinkConfig::symmetric(Duration::from_millis(25));
    assert_eq!(enough_devices(&link, &whole), 0);
    assert_eq!(
        enough_devices(&link, &[counters(10, 9), counters(7, 7)].into()),
        150
    );
    link.up.loss = Loss::Bernoulli("5%".parse().expect("a probability"));
    assert_eq!(enough_devices(&link, &whole), 150);
    let bursts = GilbertElliott::bursts("5%".parse().expect("a probability"), 3.0);
    let burst = bursts.expect("bursts");
    let bursts = Loss::GilbertElliott(burst);
    (link.up.loss, link.down.loss) = (bursts, bursts);
    assert_eq!(enough_devices(&link, &whole), 1_000);
    let never = Loss::GilbertElliott(GilbertElliott {
        loss_in_bad: wirecost_proto::Probability::ZERO,
        ..burst
    });
    (link.up.loss, link.down.loss) = (never, never);
    assert_eq!(
        enough_devices(&link, &[counters(10, 9), counters(7, 7)].into()),
        150
    );
}

#[test]
fn the_configured_rtt_includes_the_serialisation_of_an_echo() {
    let mut link = LinkConfig::symmetric(Duration::from_millis(25));
    link.up.rate = Some("10kbit".parse().expect("a rate"));
    assert_eq!(asked_rtt(&link, false), Duration::from_micros(25_000 + 22_400));
}

#[test]
fn a_mean_delay_that_differs_from_the_configured_one_is_reported() {
    use wirecost_link::DelayVariation;
    let ms = Duration::from_millis;
    let judged = |variation| {
        let mut link = LinkConfig::symmetric(ms(70));
        link.up.delay_variation = Some(variation);
        link.down.delay_variation = Some(variation);
        mean_delay_off(&link, false).map(|warning| warning.invalidates)
    };
    assert_eq!(judged(DelayVariation::normal(ms(5)).reordering()), None);
    // In order, ten packets at once wait for the slowest.
    assert_eq!(judged(DelayVariation::normal(ms(5))), Some(false));
    assert_eq!(judged(DelayVariation::uniform(Duration::from_micros(100))), None);
    // Truncated at 0: 35 ms become 39.1 ms with a deviation of 25 ms, 35.8 ms with one of 17 ms.
    assert_eq!(judged(DelayVariation::normal(ms(25)).reordering()), Some(true));
    assert_eq!(judged(DelayVariation::normal(ms(17)).reordering()), Some(false));
}

#[test]
fn the_rtt_of_a_varying_delay_is_compared_with_its_expectation() {
    let mut link = LinkConfig::symmetric(Duration::from_millis(70));
    let variation = wirecost_link::DelayVariation::normal(Duration::from_millis(5));
    link.up.delay_variation = Some(variation);
    link.down.delay_variation = Some(variation);
    let judged = |millis: f64| {
        let achieved = Achieved {
            rtt_p50_ns: Some((millis * 1e6) as u64),
            ..Achieved::default()
        };
        rtt_off(&link, &achieved, false).map(|warning| warning.invalidates)
    };
    assert_eq!((judged(70.0), judged(72.0), judged(68.0)), (None, None, None));
    assert_eq!(judged(74.9), Some(false), "beyond 1 % and the band of the median");
    assert_eq!((judged(80.0), judged(60.0)), (Some(true), Some(true)));
}

/// The kind of a cell's warning about the RTT for a measured `median`, and whether it invalidates.
fn rtt_warning(asked: Duration, median: Option<Duration>) -> Option<(WarningKind, bool)> {
    let link = LinkConfig::symmetric(asked);
    let achieved = Achieved {
        rtt_p50_ns: median.map(|median| median.as_nanos() as u64),
        ..Achieved::default()
    };
    let warning = rtt(&Evidence {
        link: &link,
        counters: &BothWays::equal(counters(1, 1)),
        achieved: &achieved,
        outcomes: &Outcomes::default(),
        devices: &[],
        dropped_packets: 0,
        lateness: Duration::ZERO,
        ipv6: false,
        is_emulated: true,
        is_behind_offload: false,
    });
    warning.map(|warning| (warning.kind, warning.invalidates))
}

#[test]
fn an_emulator_that_adds_over_2_percent_has_a_warning() {
    let link = LinkConfig::symmetric(Duration::from_millis(100));
    let is_late = |lateness| {
        emulator(&Evidence {
            link: &link,
            counters: &BothWays::equal(counters(1, 1)),
            achieved: &Achieved::default(),
            outcomes: &Outcomes::default(),
            devices: &[],
            dropped_packets: 0,
            lateness,
            ipv6: false,
            is_emulated: true,
            is_behind_offload: false,
        })
        .is_some()
    };
    let us = Duration::from_micros;
    assert_eq!((is_late(us(999)), is_late(us(1_010))), (false, true));
}

#[test]
fn an_rtt_within_50_us_or_1_percent_is_accepted() {
    let us = Duration::from_micros;
    let off = |invalid| Some((WarningKind::LinkRttOff, invalid));
    assert_eq!(rtt_warning(us(1_000), Some(us(1_050))), None);
    assert_eq!(rtt_warning(us(100_000), Some(us(99_000))), None);
    assert_eq!(rtt_warning(us(100_000), Some(us(101_001))), off(false));
    assert_eq!(rtt_warning(us(100_000), Some(us(105_001))), off(true));
    assert_eq!(
        rtt_warning(us(1_000), None),
        Some((WarningKind::LinkNotChecked, false))
    );
}
