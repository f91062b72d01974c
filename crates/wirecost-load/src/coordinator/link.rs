//! What the emulated link did in each phase.
//!
//! ```text
//! a phase begins -> its warm-up, in no figure -> measured until it is over -> counts as well -> the next phase begins,
//!                                                                                   or the link stops
//! ```
//!
//! "Counts as well" covers packets that no device waits for, such as the last acknowledgements of TCP when nothing
//! answers. The share of time in which the link's rate was in use covers the phase alone.

use std::time::Duration;

use wirecost_live::emulation::Readings;
use wirecost_proto::Instant;
use wirecost_results::link_use::LinkUse;

use super::{Coordinator, LoadOutcome};

impl Coordinator<'_> {
    /// The readings of the link before a phase begins. They belong to the earlier phases.
    pub(super) fn read_link(&mut self) -> Option<Readings> {
        let now = self.context.target.meter()?.read();
        self.outcome.settle_link(&now);
        Some(now)
    }

    /// The use of each link between `before` a phase and its end (`over`). With a warm-up, it starts at `measured_from`. Empty
    /// without a link.
    pub(super) fn link_use(
        &mut self,
        before: Option<Readings>,
        measured_from: Instant,
        has_warm_up: bool,
        over: Instant,
    ) -> Vec<LinkUse> {
        let Some((meter, before)) = self.context.target.meter().zip(before) else {
            return Vec::new();
        };
        if has_warm_up && over < measured_from {
            // Packets after a phase that ends in its warm-up are warm-up as well.
            self.outcome.link_counted = None;
            return before.since(&before, Duration::ZERO);
        }
        let from = if has_warm_up { meter.read_mark() } else { before };
        let now = meter.read();
        let used = now.since(&from, over.saturating_since(measured_from));
        self.outcome.link_counted = Some(now);
        used
    }
}

impl LoadOutcome {
    /// Adds the use of the link between the end of the last phase and `now` to that phase.
    pub(crate) fn settle_link(&mut self, now: &Readings) {
        let Some(last) = self.phases.last_mut().filter(|phase| !phase.links.is_empty()) else {
            return;
        };
        let Some(before) = self.link_counted.replace(now.clone()) else {
            return;
        };
        for (counted, later) in last.links.iter_mut().zip(now.since(&before, Duration::ZERO)) {
            *counted = counted.with(&later);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wirecost_link::LinkConfig;
    use wirecost_live::emulation::{Meter, SharedLink};
    use wirecost_proto::Direction;
    use wirecost_proto::path::Links as _;

    use super::*;
    use crate::parts::outcome::PhaseTimes;

    #[test]
    fn packets_after_a_phase_count_but_not_for_its_rate_in_use() {
        let mut config = LinkConfig::default();
        config.up.rate = Some("10kbit".parse().expect("a rate"));
        let meter = Arc::<Meter>::default();
        let mut link = SharedLink::new(config, 1, Arc::clone(&meter));
        let mut enters = |packets| {
            for _ in 0..packets {
                let path = link.link(0).expect("a link");
                path.offer(Direction::Up, 125, Instant::START, &mut Vec::new());
            }
        };
        enters(5);
        let in_phase = meter.read().since(&Readings::default(), Duration::from_secs(1));
        let mut outcome = LoadOutcome {
            phases: vec![PhaseTimes {
                links: in_phase,
                ..PhaseTimes::default()
            }],
            link_counted: Some(meter.read()),
            ..LoadOutcome::default()
        };
        let counted = |outcome: &LoadOutcome| outcome.phases[0].links[0].up;
        for (more, all) in [(2, 7), (1, 8)] {
            enters(more);
            outcome.settle_link(&meter.read());
            assert_eq!(
                (counted(&outcome).packets, counted(&outcome).bytes),
                (all, all * 125)
            );
            assert_eq!(counted(&outcome).utilisation, Some(0.5));
        }
        outcome.link_counted = None;
        enters(1);
        outcome.settle_link(&meter.read());
        assert_eq!(counted(&outcome).packets, 8, "it ended in its warm-up");
    }
}
