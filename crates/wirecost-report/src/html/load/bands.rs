//! The phases of a load on the axis of time, and its seconds, added up where there are more than can be seen.

use wirecost_lab::results::load::Load;
use wirecost_lab::results::seconds::SecondRow;

/// Points that an axis of time has at most.
pub(super) const POINTS: usize = 240;

/// A phase on the axis of time.
pub(super) struct Band {
    pub(super) name: String,
    /// From the start of the load, in seconds.
    pub(super) span: [f64; 2],
}

/// Some seconds of a phase, one after the other.
pub(super) struct Slot {
    /// From the start of the load to the middle, in seconds.
    pub(super) at: f64,
    /// How many seconds these are.
    pub(super) seconds: f64,
    /// Counts added up; of each time the longest.
    pub(super) row: SecondRow,
}

/// The phases of a load that take time.
pub(super) fn of(load: &Load) -> Vec<Band> {
    let band = |phase: &wirecost_lab::results::load::PhaseFigures| Band {
        name: phase.name.clone(),
        span: [phase.begin_s, phase.begin_s + phase.duration_s],
    };
    load.phases.iter().map(band).collect()
}

/// The seconds of load number `index` in the order of time, at most as many slots as can be told apart, and how many
/// seconds a slot has.
pub(super) fn slots(load: &Load, index: usize, all: &[SecondRow]) -> (Vec<Slot>, u64) {
    let own: Vec<&SecondRow> = all.iter().filter(|row| row.load == index as u64).collect();
    let step = own.len().div_ceil(POINTS).max(1) as u64;
    let mut slots: Vec<Slot> = Vec::new();
    let mut key = None;
    for row in own {
        let Some(phase) = load.phases.get(row.phase as usize) else {
            continue;
        };
        let begin = phase.begin_s + (row.second / step * step) as f64;
        if key == Some((row.phase, row.second / step)) {
            if let Some(slot) = slots.last_mut() {
                // A second in which the warm-up ends has two rows.
                slot.seconds += f64::from(u8::from(slot.row.second != row.second));
                slot.at = begin + slot.seconds / 2.0;
                add(&mut slot.row, row);
            }
            continue;
        }
        key = Some((row.phase, row.second / step));
        slots.push(Slot {
            at: begin + 0.5,
            seconds: 1.0,
            row: row.clone(),
        });
    }
    for slot in &mut slots {
        // What comes about behind the end of a phase has no place beyond it.
        let phase = load.phases.get(slot.row.phase as usize);
        let end = phase.map_or(f64::INFINITY, |phase| phase.begin_s + phase.duration_s);
        slot.at = slot.at.min(end);
    }
    slots.sort_by(|a, b| a.at.total_cmp(&b.at));
    (slots, step)
}

/// Adds what the figures draw.
fn add(sum: &mut SecondRow, more: &SecondRow) {
    sum.second = more.second;
    sum.offered += more.offered;
    sum.acknowledged += more.acknowledged;
    sum.delivered += more.delivered;
    sum.refused += more.refused;
    sum.failed += more.failed;
    sum.late += more.late;
    sum.unknown += more.unknown;
    sum.lost += more.lost;
    sum.arrived += more.arrived;
    sum.connects_attempted += more.connects_attempted;
    sum.connects_established += more.connects_established;
    sum.connections_lost += more.connections_lost;
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
