//! How a link is probed before a measurement, and the report about it: its delay by echoes, its loss and rate by its
//! own decisions.

use std::time::Duration;

use wirecost_link::{Achieved, Link, LinkConfig};
use wirecost_proto::hosts::{HostIndex, device_address, server_address};
use wirecost_proto::{Direction, Instant, Path, Rng};

use crate::check::{self, EchoPlan};
use crate::emulation::variation;
use crate::emulation::verdict::asked_rtt;

/// The number of echo requests of a check.
const ECHO_COUNT: u16 = 150;
/// The time between two requests.
const ECHO_INTERVAL: Duration = Duration::from_millis(2);
/// The longest time between two requests, if delays vary so much that closer requests delay one another.
const VARYING_INTERVAL: Duration = Duration::from_millis(500);
/// How long a check may take.
const BUDGET: Duration = Duration::from_millis(600);
/// How long a check may take if delays vary: the median of few echoes would mean little.
const VARYING_BUDGET: Duration = Duration::from_secs(3);

/// How `host` probes a link.
pub fn plan(link: &LinkConfig, host: HostIndex, ipv6: bool) -> EchoPlan {
    let server = server_address(ipv6);
    // A slow link is probed slowly: requests at a tenth of its rate do not queue behind one another.
    let bytes = check::echo_wire_bytes(ipv6);
    let slowest = [link.up.rate, link.down.rate].into_iter().flatten().min();
    let interval = slowest.map_or(ECHO_INTERVAL, |rate| ECHO_INTERVAL.max(rate.time_for(bytes) * 10));
    let reach = variation::reach(link);
    // A packet that keeps its order waits for a delayed one before it: echoes must be so far apart that none delays the next.
    let interval = interval.max(reach.min(VARYING_INTERVAL));
    let budget = if reach.is_zero() { BUDGET } else { VARYING_BUDGET };
    let affordable = budget.as_nanos() / interval.as_nanos().max(1);
    let count = u16::try_from(affordable)
        .unwrap_or(u16::MAX)
        // Ten at least, however slow the link is: a median of fewer says little.
        .clamp(10, ECHO_COUNT);
    let patience = link.rtt() * 2 + reach.min(link.rtt()) + Duration::from_millis(200);
    EchoPlan {
        device: device_address(host, ipv6).unwrap_or(server),
        server,
        count,
        interval,
        patience,
    }
}

/// The configured and the measured RTT of a link, as a line.
pub fn asked_and_achieved(link: &LinkConfig, round_trips: &[Duration], ipv6: bool) -> String {
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let asked = ms(asked_rtt(link, ipv6));
    let given = variation::expected(link, ipv6).filter(|_| variation::varies(link));
    let given = given.map_or_else(String::new, |given| {
        let (median, band) = (ms(given.median), ms(given.band));
        format!(", the varying delay gives {median:.3} +- {band:.3} ms")
    });
    let mut sorted = round_trips.to_vec();
    sorted.sort_unstable();
    match sorted.get(sorted.len() / 2) {
        Some(median) => {
            let count = sorted.len();
            let achieved = ms(*median);
            format!(
                "link: RTT asked {asked:.3} ms{given}, achieved {achieved:.3} ms (median of {count} echoes)"
            )
        }
        None => format!("link: RTT asked {asked:.3} ms, not achieved: no echo came back"),
    }
}

/// The number of packets in the check of loss and rate.
const DECISIONS: u32 = 20_000;

/// The configured loss and rate of a link and the decisions of an unused link object of its kind about a series of
/// packets of the MTU, as a line, if there are any.
pub fn decisions(link: &LinkConfig, rng: Rng) -> Option<String> {
    let lines = Direction::ALL.map(|way| direction_decisions(link, way, rng));
    let said: Vec<String> = lines.into_iter().flatten().collect();
    (!said.is_empty()).then(|| format!("link: {}", said.join("; ")))
}

fn direction_decisions(config: &LinkConfig, way: Direction, rng: Rng) -> Option<String> {
    let asked = config.direction(way);
    // Without either, nothing is left to chance or to a queue that could be checked.
    if asked.loss.rate() == 0.0 && asked.rate.is_none() {
        return None;
    }
    let mut link = Link::new(*config, rng);
    let (mut now, mut deliveries) = (Instant::START, Vec::new());
    let packet = usize::from(asked.mtu);
    for _ in 0..DECISIONS {
        deliveries.clear();
        link.offer(way, packet, now, &mut deliveries);
        // One packet after the other at exactly the rate: faster, a queue would drop some, and the loss would look too high.
        now += asked
            .rate
            .map_or(Duration::from_millis(1), |rate| rate.time_for(packet as u64));
    }
    let achieved = Achieved::new(asked, link.counters(way));
    let loss = achieved
        .loss
        .observed()
        .filter(|_| asked.loss.rate() > 0.0)
        .map(|observed| {
            format!(
                "loss {} asked {:.2} %, achieved {:.2} %",
                way.name(),
                asked.loss.rate() * 100.0,
                observed * 100.0
            )
        });
    let rate = asked.rate.zip(achieved.rate).map(|(asked, achieved)| {
        let kbit = |rate: wirecost_proto::BitRate| rate.bits_per_second() as f64 / 1e3;
        format!(
            "rate {} asked {:.1} kbit/s, achieved {:.1} kbit/s",
            way.name(),
            kbit(asked),
            kbit(achieved)
        )
    });
    let said: Vec<String> = [loss, rate].into_iter().flatten().collect();
    Some(format!("{} ({DECISIONS} decisions)", said.join(", ")))
}

#[cfg(test)]
mod tests {
    use wirecost_link::DelayVariation;

    use super::*;

    #[test]
    fn configured_loss_and_rate_are_reported() {
        assert_eq!(decisions(&LinkConfig::default(), Rng::new(1)), None);
        let mut link = LinkConfig::symmetric(Duration::from_millis(25));
        link.up.loss = wirecost_link::Loss::Bernoulli("5%".parse().expect("a probability"));
        link.down.rate = Some("50kbit".parse().expect("a rate"));
        let said = decisions(&link, Rng::new(1)).expect("something to say");
        assert!(
            said.starts_with("link: loss up asked 5.00 %, achieved "),
            "{said}"
        );
        assert!(
            said.contains("; rate down asked 50.0 kbit/s, achieved 50.0 kbit/s"),
            "{said}"
        );
    }

    #[test]
    fn a_slow_link_is_probed_at_a_tenth_of_its_rate() {
        let mut link = LinkConfig::symmetric(Duration::from_millis(25));
        link.up.rate = Some("10kbit".parse().expect("a rate"));
        let plan = plan(&link, 0, false);
        assert_eq!(
            plan.interval,
            Duration::from_micros(224_000),
            "28 B at 10 kbit/s take 22.4 ms"
        );
        assert_eq!(plan.count, 10);
    }

    #[test]
    fn echoes_of_a_varying_delay_do_not_delay_one_another() {
        let mut link = LinkConfig::symmetric(Duration::from_millis(70));
        link.up.delay_variation = Some(DelayVariation::normal(Duration::from_millis(5)));
        let spaced = plan(&link, 0, false);
        assert_eq!((spaced.interval, spaced.count), (Duration::from_millis(20), 150));
        link.up.delay_variation = Some(DelayVariation::normal(Duration::from_secs(1)));
        let capped = plan(&link, 0, false);
        assert_eq!((capped.interval, capped.count), (Duration::from_millis(500), 10));
    }
}
