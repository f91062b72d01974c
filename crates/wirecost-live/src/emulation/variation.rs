//! The effects of a varying delay: the round trips that a check should measure, and the mean delays of packets with
//! small and large gaps. If packets keep their order, a packet with a short delay waits for the packets before it, so
//! its delay depends on the gap.

use std::time::Duration;

use wirecost_link::{Link, LinkConfig};
use wirecost_proto::{Delivery, Direction, Instant, Path, Rng};

use crate::check::{EchoPlan, echo_wire_bytes};
use crate::emulation::echo;

/// How many checks are simulated to predict the result of one.
const CHECKS: u64 = 60;
/// How many packets are simulated for the mean delay.
const PACKETS: u32 = 4_000;
/// The number of packets sent at once without a rate: an initial window of TCP (RFC 6928).
const WINDOW: u32 = 10;
/// The seed of the simulations: the effects of a link depend only on its configuration.
const SEED: u64 = 0x7661_7279;
/// The standard normal quantile of the 99.99 % band.
const Z: f64 = 3.890_591_886_413_1;

/// The expected result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The mean of the medians of many checks.
    pub median: Duration,
    /// The largest distance of one check's median: the 99.99 % band.
    pub band: Duration,
}

/// Mean round trips without serialisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// Of the check's echoes.
    pub echoes: Duration,
    /// Of packets of the MTU, back to back at the rate; without a rate, ten at once.
    pub trains: Duration,
}

/// Whether a link's delay varies.
pub fn varies(link: &LinkConfig) -> bool {
    Direction::ALL.iter().any(|way| {
        let direction = link.direction(*way);
        direction.delay_variation.is_some() || direction.reorder.is_some()
    })
}

/// The gap at which packets do not delay one another, over either direction.
pub fn reach(link: &LinkConfig) -> Duration {
    let variations = Direction::ALL.map(|way| link.direction(way).delay_variation);
    let reaches = variations
        .into_iter()
        .flatten()
        .map(|variation| variation.reach());
    reaches.max().unwrap_or_default()
}

/// The expected result of a check; `None` if no echo comes back.
pub fn expected(link: &LinkConfig, ipv6: bool) -> Option<Expected> {
    let plan = echo::plan(link, 0, ipv6);
    let medians: Vec<f64> = (0..CHECKS)
        .filter_map(|check| {
            // A seed of its own: what is expected must not depend on the seed of the run that is judged by it.
            let mut link = Link::new(*link, Rng::new(SEED).host(check));
            let mut found = round_trips(&mut link, &plan, ipv6);
            found.sort_unstable();
            Some(found.get(found.len() / 2)?.as_nanos() as f64)
        })
        .collect();
    let mean = mean(&medians)?;
    let squares: Vec<f64> = medians.iter().map(|median| (median - mean).powi(2)).collect();
    let deviation = self::mean(&squares)?.sqrt();
    Some(Expected {
        median: Duration::from_nanos(mean as u64),
        band: Duration::from_nanos((Z * deviation) as u64),
    })
}

/// The mean round trips over a link.
pub fn means(link: &LinkConfig, ipv6: bool) -> Means {
    let plan = echo::plan(link, 0, ipv6);
    let both = |later: &dyn Fn(Direction) -> Duration| {
        let mean = |way| link.direction(way).mean_delay() + later(way);
        Direction::ALL.into_iter().map(mean).sum()
    };
    let echo_bytes = usize::try_from(echo_wire_bytes(ipv6)).unwrap_or(usize::MAX);
    let train = |way| {
        let direction = link.direction(way);
        let mtu = usize::from(direction.mtu);
        match direction.rate {
            // At a rate, packets leave one after the other.
            Some(rate) => later(link, way, mtu, (1, rate.time_for(mtu as u64))),
            None => later(link, way, mtu, (WINDOW, reach(link))),
        }
    };
    Means {
        echoes: both(&|way| later(link, way, echo_bytes, (1, plan.interval))),
        trains: both(&train),
    }
}

/// The mean extra delay of packets that keep their order, in trains of this many packets, this far apart. Both
/// simulations use the same random numbers.
fn later(link: &LinkConfig, way: Direction, bytes: usize, (train, gap): (u32, Duration)) -> Duration {
    let mut kept = *link;
    // Lost packets have no delay, and only the variation lets packets overtake.
    for direction in [&mut kept.up, &mut kept.down] {
        direction.loss = wirecost_link::Loss::None;
        direction.reorder = None;
    }
    let mut free = kept;
    for direction in [&mut free.up, &mut free.down] {
        direction.delay_variation = direction.delay_variation.map(|variation| variation.reordering());
    }
    if free == kept {
        return Duration::ZERO;
    }
    let mut links = [kept, free].map(|config| Link::new(config, Rng::new(SEED)));
    let mut sum = Duration::ZERO;
    for number in 0..PACKETS {
        let sent = Instant::START + gap * (number / train);
        // The same random numbers in both, so that the difference is that of the order alone.
        let [kept, free] = links.each_mut().map(|link| first_intact(link, way, bytes, sent));
        if let (Some(kept), Some(free)) = (kept, free) {
            sum += kept.saturating_since(free);
        }
    }
    sum / PACKETS
}

/// The round-trip times of a check's echoes that come back.
pub fn round_trips(link: &mut Link, plan: &EchoPlan, ipv6: bool) -> Vec<Duration> {
    let bytes = usize::try_from(echo_wire_bytes(ipv6)).unwrap_or(usize::MAX);
    let requests = (0..u32::from(plan.count)).map(|number| Instant::START + plan.interval * number);
    let mut arrived: Vec<(Instant, Instant)> = requests
        .filter_map(|sent| Some((first_intact(link, Direction::Up, bytes, sent)?, sent)))
        .collect();
    arrived.sort_unstable();
    let replies = arrived.into_iter();
    replies
        .filter_map(|(at, sent)| {
            let back = first_intact(link, Direction::Down, bytes, at)?;
            Some(back.saturating_since(sent))
        })
        .collect()
}

/// When the first intact copy of a packet leaves the link, if any does.
fn first_intact(link: &mut Link, way: Direction, bytes: usize, now: Instant) -> Option<Instant> {
    let mut deliveries: Vec<Delivery> = Vec::new();
    link.offer(way, bytes, now, &mut deliveries);
    let intact = deliveries.iter().filter(|delivery| delivery.flip_bit.is_none());
    intact.map(|delivery| delivery.at).min()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use wirecost_link::DelayVariation;

    use super::*;

    fn link(variation: DelayVariation) -> LinkConfig {
        let mut link = LinkConfig::symmetric(Duration::from_millis(70));
        link.up.delay_variation = Some(variation);
        link.down.delay_variation = Some(variation);
        link
    }

    /// Whether two times differ by at most `within` microseconds.
    fn is_near(one: Duration, other: Duration, within: u64) -> bool {
        one.abs_diff(other) <= Duration::from_micros(within)
    }

    #[test]
    fn the_echoes_of_a_check_keep_the_mean() {
        let ms = Duration::from_millis;
        for variation in [DelayVariation::normal(ms(5)), DelayVariation::uniform(ms(10))] {
            let link = link(variation);
            assert!(is_near(means(&link, false).echoes, ms(70), 50));
            let expected = expected(&link, false).expect("echoes");
            assert!(is_near(expected.median, ms(70), 300), "{expected:?}");
            assert!(expected.band < ms(4), "{expected:?}");
        }
    }

    #[test]
    fn ten_packets_at_once_wait_for_the_slowest_of_them() {
        let ms = Duration::from_millis;
        let slow = means(&link(DelayVariation::uniform(ms(10))), false);
        // In each direction 35 - 10 + 20 k / (k + 1) for the k-th of ten.
        let places = (1..=10).map(|k| f64::from(k) / f64::from(k + 1));
        let expected = 2.0 * (25.0 + 20.0 * places.sum::<f64>() / 10.0);
        assert!(
            is_near(slow.trains, Duration::from_secs_f64(expected / 1e3), 500),
            "{slow:?}"
        );
        let free = means(&link(DelayVariation::uniform(ms(10)).reordering()), false);
        assert_eq!((free.echoes, free.trains), (ms(70), ms(70)));
    }

    #[test]
    fn a_constant_delay_does_not_vary() {
        let link = LinkConfig::symmetric(Duration::from_millis(25));
        assert!(!varies(&link));
        let expected = expected(&link, false).expect("echoes");
        assert_eq!((expected.median, expected.band), (link.rtt(), Duration::ZERO));
        assert_eq!(means(&link, false).trains, link.rtt());
    }
}
