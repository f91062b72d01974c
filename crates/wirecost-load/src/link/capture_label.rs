//! The phase of each packet of a capture, for the packet's comment.

use wirecost_proto::Instant;
use wirecost_scenario::options::load::LoadOptions;

use crate::parts::outcome::LoadOutcome;

/// The phases on the clock of the link, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct PhaseLabels(Vec<Labelled>);

#[derive(Clone, Debug)]
struct Labelled {
    name: String,
    from: Instant,
    measured_from: Instant,
}

impl PhaseLabels {
    /// The labels of the phases that have begun. The second phase of a name has its number.
    pub(crate) fn from_options(options: &LoadOptions, outcome: &LoadOutcome) -> Self {
        let mut all: Vec<Labelled> = Vec::new();
        for (index, (phase, times)) in options.phases.iter().zip(&outcome.phases).enumerate() {
            let before = options.phases[..index].iter();
            // In Wireshark the label is all that tells two phases of one name apart.
            let name = match before.filter(|other| other.name() == phase.name()).count() {
                0 => phase.name().to_owned(),
                earlier => format!("{} {}", phase.name(), earlier + 1),
            };
            all.push(Labelled {
                name,
                from: times.from,
                measured_from: times.measured_from,
            });
        }
        Self(all)
    }

    /// `publish`, or `publish warm-up`: the phase of a packet that enters the link `at` a time. A packet that enters
    /// between two phases is of the earlier one, as in the figures of the link.
    pub(crate) fn at(&self, at: Instant) -> Option<String> {
        let phase = self.0.iter().rev().find(|phase| phase.from <= at)?;
        let warm_up = if at < phase.measured_from { " warm-up" } else { "" };
        Some(format!("{}{warm_up}", phase.name))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wirecost_scenario::options::load::{LoadTarget, Phase};
    use wirecost_stack::target::Target;

    use super::*;
    use crate::parts::outcome::PhaseTimes;

    #[test]
    fn a_packet_is_of_the_phase_in_which_it_enters() {
        let hold = Phase::Hold {
            duration: Duration::ZERO,
        };
        let options = LoadOptions {
            phases: vec![hold.clone(), hold],
            ..LoadOptions::new(
                "tcp".parse().expect("a stack"),
                LoadTarget::Started(Target::Builtin),
            )
        };
        let times = |from, measured_from| PhaseTimes {
            from: Instant::from_millis(from),
            measured_from: Instant::from_millis(measured_from),
            ..PhaseTimes::default()
        };
        let outcome = LoadOutcome {
            phases: vec![times(10, 10), times(20, 25)],
            ..LoadOutcome::default()
        };
        let labels = PhaseLabels::from_options(&options, &outcome);
        let at = |millis| labels.at(Instant::from_millis(millis));
        assert_eq!([at(9), at(19)], [None, Some("hold".to_owned())]);
        assert_eq!(at(24).as_deref(), Some("hold 2 warm-up"));
        assert_eq!(at(25).as_deref(), Some("hold 2"));
    }
}
