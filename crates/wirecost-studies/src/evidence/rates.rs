//! A figure that cannot be used says which rate of the same load is the largest whose figures can.

use wirecost_results::load::{Load, LoadSummary, PhaseFigures};
use wirecost_scenario::selector::{Labels, from_stored};

use super::INVALID;

/// The dimension of a rate.
const RATE: &str = "rate";

/// The labels of phases at a rate whose figures can be used, with that rate per second.
pub(super) fn valid(summary: &LoadSummary) -> Vec<(Labels, f64)> {
    let of_load = |load: &Load| {
        let phases = load.phases.iter().enumerate().filter(|(_, phase)| phase.valid);
        let rate = |(index, phase): (usize, &PhaseFigures)| {
            let labels = from_stored(load.phase_labels.get(index)?);
            labels.contains_key(RATE).then_some((labels, phase.offered_rate?))
        };
        phases.filter_map(rate).collect::<Vec<_>>()
    };
    summary.loads.iter().flat_map(of_load).collect()
}

/// Why a figure is missing; of one that cannot be used, with the largest rate that can.
pub(super) fn with_largest(why: String, labels: &Labels, valid: &[(Labels, f64)]) -> String {
    if !labels.contains_key(RATE) || !why.starts_with(INVALID) {
        return why;
    }
    let same = |other: &Labels| {
        let is_equal = |(key, value): (&&str, &String)| *key == RATE || labels.get(*key) == Some(value);
        labels.len() == other.len() && other.iter().all(is_equal)
    };
    let is_other = |other: &Labels| labels.get(RATE) != other.get(RATE);
    let alike = valid
        .iter()
        .filter(|(labels, _)| same(labels) && is_other(labels));
    let largest = alike.max_by(|(_, rate), (_, other)| rate.total_cmp(other));
    match largest.and_then(|(labels, _)| labels.get(RATE)) {
        Some(rate) => format!("{why}; the largest rate of the run that is valid is {rate}"),
        None => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(stack: &str, rate: &str) -> Labels {
        Labels::from([("stack", stack.to_owned()), (RATE, rate.to_owned())])
    }

    #[test]
    fn the_largest_valid_rate_is_that_of_the_same_load() {
        let valid = [
            (labels("http1", "1000/s"), 1e3),
            (labels("http1", "4000/s"), 4e3),
            (labels("mqtt-qos0", "9000/s"), 9e3),
        ];
        let told = |why: &str, stack: &str| with_largest(why.to_owned(), &labels(stack, "50000/s"), &valid);
        assert_eq!(
            told("INVALID: the generator was late", "http1"),
            "INVALID: the generator was late; the largest rate of the run that is valid is 4000/s"
        );
        assert_eq!(told("INVALID", "udp"), "INVALID");
        let own = with_largest("INVALID".to_owned(), &labels("mqtt-qos0", "9000/s"), &valid);
        assert_eq!(own, "INVALID", "another run of the same rate is valid");
        assert_eq!(told("caddy is not installed", "http1"), "caddy is not installed");
    }
}
