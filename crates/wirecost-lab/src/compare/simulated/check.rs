//! The link's round-trip time, from a link object of its kind, as the echoes over the emulated link measure it.

use std::time::Duration;

use wirecost_link::Link;
use wirecost_live::emulation::{echo, variation};
use wirecost_proto::random::key_of;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::PlannedCell;

use crate::compare::in_cell;

/// The round-trip times of echoes with the size and the interval of those over the emulated link; of a modelled cell without load,
/// those of echoes from idle.
pub(super) fn round_trips(options: &Options, planned: &PlannedCell) -> Vec<Duration> {
    let config = options.links[planned.link];
    if let Some(cell) = &config.cell {
        // Echoes in a loaded cell would be those of one moment.
        let from_idle = in_cell::round_trips(&config).map(|[from_idle, _]| from_idle);
        return from_idle.ok().filter(|_| cell.is_unloaded()).unwrap_or_default();
    }
    let plan = echo::plan(&config, 0, options.ipv6);
    let mut link = Link::new(config, planned.rng.purpose(key_of("link check")));
    variation::round_trips(&mut link, &plan, options.ipv6)
}

#[cfg(test)]
mod tests {
    use wirecost_live::emulation::verdict::asked_rtt;
    use wirecost_scenario::plan::Plan;

    use super::*;
    use crate::compare::fixture::options;

    #[test]
    fn a_link_without_randomness_takes_exactly_the_configured_time() {
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
