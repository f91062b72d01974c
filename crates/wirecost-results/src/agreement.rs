//! Compares the simulated cell with the live one.
//!
//! Without loss, packets and bytes must be equal for each phase, direction and layer. Times are compared by the ratio
//! of their medians. Under loss both engines draw the same random numbers, but one packet more or less changes all
//! later decisions: the figures need not be equal.

use wirecost_proto::Direction;

use crate::Cell;
use crate::summary::{Agreement, Bytes, Count, Link, LinkDirection, Section};

/// Means are sums of whole numbers divided by the number of samples. Means that differ by less are equal.
const ROUNDING: f64 = 1e-9;

/// Compares a live cell with the simulated one of the same stack, start, size and link.
///
/// On a lossy link a difference is not a disagreement: `equal` is false and there is no first difference.
pub fn compare(live: &Cell, simulated: &Cell) -> Agreement {
    let difference = first_difference(live, simulated);
    Agreement {
        equal: difference.is_none(),
        first_difference: difference.filter(|_| !loses(&live.link)),
        median_ratio: median_ratio(live, simulated),
    }
}

/// Whether a link loses, corrupts or duplicates packets or changes their order by chance.
fn loses(link: &Link) -> bool {
    let by_chance = |way: &LinkDirection| way.loss + way.corrupt + way.duplicate + way.reorder > 0.0;
    by_chance(&link.up) || by_chance(&link.down)
}

fn first_difference(live: &Cell, simulated: &Cell) -> Option<String> {
    let phases = [
        ("connect", &live.connect, &simulated.connect),
        ("message", &live.message, &simulated.message),
        ("close", &live.close, &simulated.close),
    ];
    phases
        .into_iter()
        .find_map(|(phase, live, simulated)| match (live, simulated) {
            (Some(live), Some(simulated)) => of_phase(phase, live, simulated),
            (None, None) => None,
            (Some(_), None) => Some(format!("{phase}: live has packets, the simulation none")),
            (None, Some(_)) => Some(format!("{phase}: the simulation has packets, live none")),
        })
}

fn of_phase(phase: &str, live: &Section, simulated: &Section) -> Option<String> {
    Direction::ALL.into_iter().find_map(|way| {
        let (live, simulated) = match way {
            Direction::Up => (&live.up, &simulated.up),
            Direction::Down => (&live.down, &simulated.down),
        };
        let mut pairs = quantities(live).into_iter().zip(quantities(simulated));
        pairs.find_map(|((what, live), (_, simulated))| {
            // Both are means of the same whole numbers, but may have been added up in another order.
            let differs = (live.mean - simulated.mean).abs() > ROUNDING;
            differs.then(|| {
                let (way, live, simulated) = (way.name(), figure(live.mean), figure(simulated.mean));
                format!("{phase} {way}, {what}: live {live}, simulated {simulated}")
            })
        })
    })
}

const fn quantities(bytes: &Bytes) -> [(&'static str, &Count); 6] {
    [
        ("packets", &bytes.packets),
        ("bytes of IP", &bytes.ip),
        ("bytes of transport", &bytes.transport),
        ("bytes of security", &bytes.security),
        ("bytes of application", &bytes.application),
        ("bytes of payload", &bytes.payload),
    ]
}

/// A mean over samples: a whole number if all samples are equal.
fn figure(mean: f64) -> String {
    if mean.fract() == 0.0 {
        format!("{mean:.0}")
    } else {
        format!("{mean:.2}")
    }
}

fn median_ratio(live: &Cell, simulated: &Cell) -> Option<f64> {
    let median = |cell: &Cell| cell.message.as_ref()?.response_time_ns.as_ref()?.p50;
    let (live, simulated) = (median(live)?, median(simulated)?);
    (simulated > 0).then(|| live as f64 / simulated as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Times;

    fn count(mean: f64) -> Count {
        Count {
            mean,
            ..Count::default()
        }
    }

    fn cell(packets_down: f64, median: u64) -> Cell {
        let section = Section {
            response_time_ns: Some(Times {
                p50: Some(median),
                ..Times::default()
            }),
            down: Bytes {
                packets: count(packets_down),
                ..Bytes::default()
            },
            ..Section::default()
        };
        Cell {
            message: Some(section),
            ..Cell::default()
        }
    }

    #[test]
    fn equal_cells_agree_and_have_a_ratio_of_medians() {
        let agreement = compare(&cell(2.0, 51_000_000), &cell(2.0, 50_000_000));
        assert!(agreement.equal);
        assert_eq!(agreement.median_ratio, Some(1.02));
    }

    #[test]
    fn the_first_difference_is_named() {
        let agreement = compare(&cell(2.5, 50_000_000), &cell(2.0, 50_000_000));
        assert!(!agreement.equal);
        assert_eq!(
            agreement.first_difference.as_deref(),
            Some("message down, packets: live 2.50, simulated 2")
        );
        let mut silent = cell(2.0, 1);
        silent.message = None;
        let agreement = compare(&cell(2.0, 1), &silent);
        let expected = "message: live has packets, the simulation none";
        assert_eq!(agreement.first_difference.as_deref(), Some(expected));
        assert_eq!(agreement.median_ratio, None);
    }

    #[test]
    fn under_loss_a_difference_is_not_a_disagreement() {
        let mut lossy = cell(2.5, 50_000_000);
        lossy.link.down.loss = 0.05;
        let agreement = compare(&lossy, &cell(2.0, 50_000_000));
        assert!(!agreement.equal);
        assert_eq!(agreement.first_difference, None);
        assert_eq!(agreement.median_ratio, Some(1.0));
    }
}
