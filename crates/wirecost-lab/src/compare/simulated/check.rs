//! The link's round-trip time, asked of a link object of its kind: what the echoes over the emulated link find there.

use std::time::Duration;

use wirecost_link::Link;
use wirecost_live::check::echo_wire_bytes;
use wirecost_proto::random::key_of;
use wirecost_proto::{Delivery, Direction, Instant, Path};

use crate::compare::live::echo;
use crate::compare::options::Options;
use crate::compare::plan::PlannedCell;

/// The round-trip times of echoes that are as large and as far apart as those over the emulated link.
pub(super) fn round_trips(options: &Options, planned: &PlannedCell) -> Vec<Duration> {
    let config = options.links[planned.link];
    let plan = echo::plan(&config, 0, options.ipv6);
    let bytes = usize::try_from(echo_wire_bytes(options.ipv6)).unwrap_or(usize::MAX);
    let mut link = Link::new(config, planned.rng.purpose(key_of("link check")));
    let requests = (0..u32::from(plan.count)).map(|number| Instant::START + plan.interval * number);
    let mut arrived: Vec<(Instant, Instant)> = requests
        .filter_map(|sent| Some((first_intact(&mut link, Direction::Up, bytes, sent)?, sent)))
        .collect();
    arrived.sort_unstable();
    let replies = arrived.into_iter();
    replies
        .filter_map(|(at, sent)| {
            let back = first_intact(&mut link, Direction::Down, bytes, at)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::options::tests::options;
    use crate::compare::plan::Plan;
    use crate::compare::verdict::asked_rtt;

    #[test]
    fn a_link_without_chance_takes_exactly_the_time_asked_for() {
        let mut options = options(&["udp"]);
        options.links[0].up.rate = Some("50kbit".parse().expect("a rate"));
        let plan = Plan::new(&options);
        let round_trips = round_trips(&options, &plan.cells[0]);
        let asked = asked_rtt(&options.links[0], options.ipv6);
        assert!(round_trips.len() >= 10);
        assert!(
            round_trips.iter().all(|rtt| *rtt == asked),
            "{round_trips:?}, {asked:?}"
        );
    }
}
