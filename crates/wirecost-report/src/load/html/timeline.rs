//! A load second by second: offered and acknowledged messages, times, outcomes, connects.

use wirecost_results::load::Load;
use wirecost_results::seconds::SecondRow;

use super::bands::{Slot, middle, per_second};
use super::timeplot::{self, Quantity};
use super::{OfLoad, OneLoad, outcomes, usage};
use crate::chart::lines::Curve;
use crate::chart::plot::Band;
use crate::chart::{Figure, Scale};
use crate::html::shown::{Chart, Section, Shown};
use crate::number;

/// A quantile of a second, in nanoseconds.
type Quantile = fn(&SecondRow) -> Option<u64>;

const SECTION: Section = Section::Of("timeline");

/// Offered and acknowledged messages.
pub(super) const RATE: Chart<OneLoad> = Chart {
    section: SECTION,
    show: |of| {
        let words = "Messages per second: what was offered, and what was acknowledged in that second (delivered, where nothing answers)";
        has_messages(of).then(|| Shown::new(rate(&of.bands, &of.slots), words))
    },
};

/// Response or delivery times.
pub(super) const TIMES: Chart<OneLoad> = Chart {
    section: SECTION,
    show: |of| {
        let is_delivery = !of.slots.iter().any(|slot| slot.row.response_p50_ns.is_some());
        let words = match is_delivery {
            true => "Delivery time",
            false => "Response time from the intended send; a gap is a second without an answer",
        };
        Some(Shown::new(
            times(&of.bands, &of.slots, of.load, is_delivery)?,
            words,
        ))
    },
};

/// How messages ended.
pub(super) const OUTCOMES: Chart<OneLoad> = Chart {
    section: SECTION,
    show: |of| {
        let words = "How the messages of each second ended";
        has_messages(of).then(|| Shown::new(outcomes::figure(&of.bands, &of.slots), words))
    },
};

/// Connects begun, established and lost.
pub(super) const CONNECTS: Chart<OneLoad> = Chart {
    section: SECTION,
    show: |of| {
        let mut slots = of.slots.iter();
        let has_connects = slots.any(|slot| slot.row.connects.attempted + slot.row.connects.lost > 0);
        let words = "Connects per second; what devices drop all at once is no rate";
        has_connects.then(|| Shown::new(connects(&of.bands, &of.slots, of.load), words))
    },
};

/// CPU time of both sides.
pub(super) const CPU: Chart<OneLoad> = Chart {
    section: SECTION,
    show: |of| {
        let words = "CPU time by wall time of generator and target, all their processes together; dashes are the busiest thread";
        Some(Shown::new(usage::cpu(&of.bands, &of.usage)?, words))
    },
};

/// Memory of both sides.
pub(super) const MEMORY: Chart<OneLoad> = Chart {
    section: SECTION,
    show: |of| {
        let words = "Resident memory of generator and target";
        Some(Shown::new(usage::memory(&of.bands, &of.usage)?, words))
    },
};

fn has_messages(of: &OfLoad<'_>) -> bool {
    of.slots.iter().any(|slot| slot.row.outcomes.offered > 0)
}

/// The messages that a slot acknowledged, and the time in which it did: those whose acknowledgement arrived in it. Where
/// nothing answers, or the results are of an earlier version, those that were intended in it and arrived.
pub(super) struct Acknowledged {
    is_by_arrival: bool,
}

impl Acknowledged {
    pub(super) fn from_slots(slots: &[Slot]) -> Self {
        let is_by_arrival = slots.iter().any(|slot| slot.row.acknowledged_then.is_some());
        Self { is_by_arrival }
    }

    pub(super) fn count(&self, row: &SecondRow) -> u64 {
        match self.is_by_arrival {
            true => row.acknowledged_then.unwrap_or_default(),
            false => row.outcomes.acknowledged + row.outcomes.delivered,
        }
    }

    pub(super) fn span(&self, slot: &Slot) -> [f64; 2] {
        if self.is_by_arrival {
            slot.span
        } else {
            slot.offering
        }
    }
}

fn rate(bands: &[Band], slots: &[Slot]) -> Figure {
    let acknowledged = Acknowledged::from_slots(slots);
    let is_delivery = slots.iter().all(|slot| slot.row.outcomes.acknowledged == 0)
        && slots.iter().any(|slot| slot.row.outcomes.delivered > 0);
    let arrived = if is_delivery { "delivered" } else { "acknowledged" };
    let lines = vec![
        line("offered", 6, slots, Slot::drawn, |slot| {
            let slot = Some(slot).filter(|slot| comes_more(slots, slot, |row| row.outcomes.offered))?;
            per_second(slot.offering, slot.row.outcomes.offered)
        }),
        line(arrived, 0, slots, Slot::drawn, |slot| {
            let rest = |row: &SecondRow| match acknowledged.is_by_arrival {
                true => row.outcomes.offered + acknowledged.count(row),
                false => row.outcomes.offered,
            };
            let slot = Some(slot).filter(|slot| comes_more(slots, slot, rest))?;
            per_second(acknowledged.span(slot), acknowledged.count(&slot.row))
        }),
    ];
    counts("Messages per second", "messages/s", bands, lines)
}

/// Whether a phase still counts something in a slot or later. No rate is drawn in a phase without messages, or after its
/// last one.
fn comes_more(slots: &[Slot], slot: &Slot, count: impl Fn(&SecondRow) -> u64) -> bool {
    let is_later = |other: &&Slot| other.row.phase == slot.row.phase && other.row.second >= slot.row.second;
    slots.iter().filter(is_later).any(|other| count(&other.row) > 0)
}

fn connects(bands: &[Band], slots: &[Slot], load: &Load) -> Figure {
    // A drop phase drops all devices within milliseconds. That is not a rate, and it would hide all others.
    let is_dropping = |slot: &Slot| {
        let phase = load.phases.get(slot.row.phase as usize);
        phase.is_some_and(|phase| phase.name == "drop")
    };
    let line = |label, number, count: fn(&SecondRow) -> u64| {
        let rate = |slot: &Slot| {
            let slot = Some(slot).filter(|slot| !is_dropping(slot))?;
            per_second(slot.span, count(&slot.row))
        };
        line(label, number, slots, |slot| slot.span, rate)
    };
    let lines = vec![
        line("begun", 6, |row| row.connects.attempted),
        line("established", 2, |row| row.connects.established),
        line("lost", 1, |row| row.connects.lost),
    ];
    counts("Connects per second", "connects/s", bands, lines)
}

fn counts(name: &str, unit: &str, bands: &[Band], lines: Vec<Curve>) -> Figure {
    let most = timeplot::range_of(&lines).map_or(0.0, |[_, most]| most);
    let quantity = Quantity {
        name,
        scale: Scale::from_zero(most),
        unit,
        write: &|value| format!("{}/s", number::rate(value)),
    };
    timeplot::figure(&quantity, bands, lines)
}

fn times(bands: &[Band], slots: &[Slot], load: &Load, is_delivery: bool) -> Option<Figure> {
    let is_valid = |row: &SecondRow| {
        let phase = load.phases.get(row.phase as usize);
        phase.is_some_and(|phase| phase.valid)
    };
    let millis = |slot: &Slot, of: Quantile| {
        let nanos = of(&slot.row).filter(|_| is_valid(&slot.row));
        nanos.map(|nanos| nanos as f64 / 1e6)
    };
    let quantiles: [(&'static str, Quantile); 2] = if is_delivery {
        [("p50", |row| row.delay_p50_ns), ("p99", |row| row.delay_p99_ns)]
    } else {
        [
            ("p50", |row| row.response_p50_ns),
            ("p99", |row| row.response_p99_ns),
        ]
    };
    let [(p50, median), (p99, tail)] = quantiles;
    // A delivery is drawn when the message arrives, which may be after the end of the offer.
    let span = if is_delivery {
        |slot: &Slot| slot.span
    } else {
        Slot::drawn
    };
    let lines = vec![
        line(p50, 0, slots, span, |slot| millis(slot, median)),
        line(p99, 1, slots, span, |slot| millis(slot, tail)),
    ];
    let quantity = Quantity {
        name: if is_delivery {
            "Delivery time by second"
        } else {
            "Response time by second"
        },
        scale: timeplot::for_times(timeplot::range_of(&lines)?),
        unit: "ms",
        write: &|millis| format!("{} ms", number::latency(millis * 1e6)),
    };
    Some(timeplot::figure(&quantity, bands, lines))
}

/// A line through the middles of the spans of the slots.
fn line(
    label: &'static str,
    number: usize,
    slots: &[Slot],
    span: impl Fn(&Slot) -> [f64; 2],
    value: impl Fn(&Slot) -> Option<f64>,
) -> Curve {
    let point = |slot| (middle(span(slot)), value(slot));
    timeplot::line(label, number, slots.iter().map(point).collect())
}

#[cfg(test)]
mod tests {
    use wirecost_results::load::PhaseFigures;
    use wirecost_results::summary::Outcomes;

    use super::*;

    #[test]
    fn no_rate_is_drawn_after_the_offer() {
        let slot = |second: u64, offered: u64| Slot {
            span: [second as f64, second as f64 + 1.0],
            offering: [second as f64, second as f64 + 1.0],
            row: SecondRow {
                second,
                outcomes: Outcomes {
                    offered,
                    acknowledged: offered,
                    ..Outcomes::default()
                },
                ..SecondRow::default()
            },
        };
        // Nothing offered in between is drawn: the generator stood still.
        let slots = [slot(0, 10), slot(1, 0), slot(2, 20), slot(3, 0), slot(4, 0)];
        let expected = "second,offered,acknowledged\n0.5,10,10\n1.5,0,0\n2.5,20,20\n3.5,,\n4.5,,\n";
        assert_eq!(rate(&[], &slots).data, expected);
    }
    #[test]
    fn times_are_drawn_at_their_second() {
        let slot = Slot {
            span: [2.0, 3.0],
            offering: [2.0, 2.2],
            row: SecondRow {
                response_p50_ns: Some(1_000_000),
                delay_p50_ns: Some(2_000_000),
                ..SecondRow::default()
            },
        };
        let phase = PhaseFigures {
            valid: true,
            ..PhaseFigures::default()
        };
        let load = Load {
            phases: vec![phase],
            ..Load::default()
        };
        let drawn = |is_delivery| {
            times(&[], std::slice::from_ref(&slot), &load, is_delivery).map(|figure| figure.data)
        };
        let of_responses = "second,p50,p99\n2.1,1,\n";
        assert_eq!(
            drawn(false).as_deref(),
            Some(of_responses),
            "in the time of the offer"
        );
        let of_deliveries = "second,p50,p99\n2.5,2,\n";
        assert_eq!(
            drawn(true).as_deref(),
            Some(of_deliveries),
            "also behind the offer"
        );
    }
}
