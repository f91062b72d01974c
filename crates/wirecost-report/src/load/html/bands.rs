//! The phases of a load on the axis of time, and its seconds, which are merged if there are too many.

use wirecost_results::load::{Load, PhaseFigures};
use wirecost_results::seconds::SecondRow;

use crate::chart::plot::Band;
use crate::number;

/// The largest number of points on the axis of time.
pub(super) const POINTS: usize = 240;

/// A shorter part of a second is merged with the second before, because one message would change its rate too much.
const SLIVER_S: f64 = 0.1;

/// Consecutive seconds of a phase, clipped to the phase.
pub(super) struct Slot {
    /// Their part within the phase, from the start of the load, in seconds.
    pub(super) span: [f64; 2],
    /// Their part before the end of the offer, from the start of the load, in seconds; the whole part if nothing was
    /// offered.
    pub(super) offering: [f64; 2],
    /// The sum of counts, and the longest of each time.
    pub(super) row: SecondRow,
}

/// The phases of a load, in seconds from its start.
pub(super) fn phases(load: &Load) -> Vec<Band> {
    let band = |phase: &PhaseFigures| {
        let span = [phase.begin_s, phase.begin_s + phase.duration_s];
        let [from, to] = span.map(|second| number::trimmed(second, 1));
        Band {
            name: phase.name.clone(),
            title: format!("{}, {from} to {to} s", phase.name),
            class: None,
            span,
        }
    };
    load.phases.iter().map(band).collect()
}

/// The seconds of load number `index` in the order of time, in at most [`POINTS`] slots, and the number of seconds of a
/// slot.
pub(super) fn slots(load: &Load, index: usize, all: &[SecondRow]) -> (Vec<Slot>, u64) {
    let own: Vec<&SecondRow> = all.iter().filter(|row| row.load == index as u64).collect();
    // The rows of a long phase have several seconds each.
    let width = own.iter().filter_map(|row| row.seconds).max().unwrap_or(1);
    let seconds: u64 = own.iter().map(|row| row.seconds.unwrap_or(1)).sum();
    let step = seconds.div_ceil(POINTS as u64).max(1).next_multiple_of(width);
    let mut slots: Vec<Slot> = Vec::new();
    for row in own {
        let Some(phase) = load.phases.get(row.phase as usize) else {
            continue;
        };
        let first = row.second / step * step;
        let mut next = Slot::from_phase(phase, [first, first + step], row.clone());
        if next.is_sliver() {
            next = Slot::from_phase(phase, [first.saturating_sub(1), first + step], next.row);
        }
        let same = |last: &&mut Slot| last.row.phase == row.phase && next.span[0] < last.span[1];
        // The second in which the warm-up ends has two rows.
        match slots.last_mut().filter(same) {
            Some(last) => last.add(&next),
            None => slots.push(next),
        }
    }
    // The rows are in the order of their phases, and the first second of one may be the last of another.
    slots.sort_by(|a, b| a.span[0].total_cmp(&b.span[0]));
    (slots, step)
}

impl Slot {
    /// The slot of `seconds` of a phase, from the first to the one after the last. Events after the end of the phase
    /// are drawn at its end.
    fn from_phase(phase: &PhaseFigures, seconds: [u64; 2], row: SecondRow) -> Self {
        let part = |end: f64| seconds.map(|second| phase.begin_s + (second as f64).min(end));
        let span = part(phase.duration_s);
        let offering = part(phase.warm_up_s + phase.measured_s);
        Self {
            span,
            offering: if offering[0] < offering[1] { offering } else { span },
            row,
        }
    }

    /// The span in which its messages are drawn. It ends with the phase, whose last answer may arrive before the time
    /// of the next message.
    pub(super) fn drawn(&self) -> [f64; 2] {
        self.offering.map(|second| second.min(self.span[1]))
    }

    fn is_sliver(&self) -> bool {
        length(self.span).min(length(self.offering)) < SLIVER_S
    }

    fn add(&mut self, next: &Self) {
        self.span[1] = next.span[1];
        // Time without an offer does not count as time of the offer.
        if next.row.outcomes.offered > 0 {
            self.offering[1] = next.offering[1];
        }
        add(&mut self.row, &next.row);
    }
}

/// The length of a span.
pub(super) fn length([begin, end]: [f64; 2]) -> f64 {
    end - begin
}

/// A count divided by the length of a span; `None` for an empty span.
pub(super) fn per_second(span: [f64; 2], count: u64) -> Option<f64> {
    let seconds = length(span);
    (seconds > 0.0).then(|| count as f64 / seconds)
}

/// The middle of a span.
pub(super) fn middle([begin, end]: [f64; 2]) -> f64 {
    f64::midpoint(begin, end)
}

/// Adds the fields that figures show.
fn add(sum: &mut SecondRow, more: &SecondRow) {
    sum.second = more.second;
    sum.outcomes += more.outcomes;
    if let Some(later) = more.acknowledged_then {
        *sum.acknowledged_then.get_or_insert_default() += later;
    }
    sum.connects += more.connects;
    sum.deliveries += more.deliveries;
    for (longest, other) in [
        (&mut sum.response_p50_ns, more.response_p50_ns),
        (&mut sum.response_p99_ns, more.response_p99_ns),
        (&mut sum.delay_p50_ns, more.delay_p50_ns),
        (&mut sum.delay_p99_ns, more.delay_p99_ns),
        (&mut sum.lag_p99_ns, more.lag_p99_ns),
    ] {
        *longest = (*longest).max(other);
    }
}

#[cfg(test)]
mod tests {
    use wirecost_results::summary::Outcomes;

    use super::*;

    /// The spans, the times of offering and the messages of a phase that begins at 4 s, from what it offered second by second.
    fn spans(phase: PhaseFigures, offered: &[(u64, u64)]) -> Vec<([f64; 2], [f64; 2], u64)> {
        let rows: Vec<SecondRow> = offered
            .iter()
            .map(|(second, offered)| SecondRow {
                second: *second,
                outcomes: Outcomes {
                    offered: *offered,
                    ..Outcomes::default()
                },
                ..SecondRow::default()
            })
            .collect();
        let load = Load {
            phases: vec![PhaseFigures {
                begin_s: 4.0,
                ..phase
            }],
            ..Load::default()
        };
        let (slots, _) = slots(&load, 0, &rows);
        let told = slots
            .iter()
            .map(|slot| (slot.span, slot.offering, slot.row.outcomes.offered));
        told.collect()
    }

    /// 500 ms of warm-up and `measured_s`, then `drain_s` in which answers come.
    fn phase(measured_s: f64, drain_s: f64) -> PhaseFigures {
        PhaseFigures {
            warm_up_s: 0.5,
            measured_s,
            duration_s: 0.5 + measured_s + drain_s,
            ..PhaseFigures::default()
        }
    }

    #[test]
    fn the_last_second_is_as_long_as_the_phase_had_it() {
        let expected = [([4.0, 5.0], [4.0, 5.0], 10), ([5.0, 5.75], [5.0, 5.5], 5)];
        // The warm-up ends in the first second, which has two rows.
        let rows = [(0, 5), (0, 5), (1, 5)];
        assert_eq!(spans(phase(1.0, 0.25), &rows), expected);
    }

    #[test]
    fn a_second_after_the_offer_is_whole() {
        let expected = [
            ([4.0, 5.0], [4.0, 5.0], 10),
            ([5.0, 6.0], [5.0, 5.5], 5),
            ([6.0, 6.5], [6.0, 6.5], 0),
        ];
        let rows = [(0, 10), (1, 5), (2, 0)];
        assert_eq!(spans(phase(1.0, 1.0), &rows), expected);
    }

    #[test]
    fn a_sliver_of_a_second_is_drawn_with_the_second_before() {
        let drained = [([4.0, 5.0625], [4.0, 5.0], 10)];
        assert_eq!(spans(phase(0.5, 0.0625), &[(0, 10), (1, 0)]), drained);
        let offered = [([4.0, 5.0625], [4.0, 5.0625], 11)];
        assert_eq!(spans(phase(0.5625, 0.0), &[(0, 10), (1, 1)]), offered);
        let alone = [([4.0, 5.0625], [4.0, 5.0625], 1)];
        assert_eq!(spans(phase(0.5625, 0.0), &[(1, 1)]), alone);
    }

    #[test]
    fn rows_of_several_seconds_are_whole_in_their_slots() {
        let rows: Vec<SecondRow> = (0..1_440)
            .map(|row| SecondRow {
                second: row * 60,
                seconds: Some(60),
                outcomes: Outcomes {
                    offered: 30,
                    ..Outcomes::default()
                },
                ..SecondRow::default()
            })
            .collect();
        let day = PhaseFigures {
            measured_s: 86_400.0,
            duration_s: 86_400.0,
            ..PhaseFigures::default()
        };
        let load = Load {
            phases: vec![day],
            ..Load::default()
        };
        let (slots, step) = slots(&load, 0, &rows);
        assert_eq!((step, slots.len()), (360, 240));
        for slot in slots {
            let rate = slot.row.outcomes.offered as f64 / length(slot.offering);
            assert!((rate - 0.5).abs() < 1e-9, "{rate}");
        }
    }

    #[test]
    fn late_events_are_drawn_at_the_end_of_the_phase() {
        let expected = [([4.0, 5.0], [4.0, 5.0], 10), ([5.0, 5.0], [5.0, 5.0], 0)];
        assert_eq!(spans(phase(0.5, 0.0), &[(0, 10), (3, 0)]), expected);
    }
}
