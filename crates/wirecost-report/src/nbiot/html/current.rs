//! The current of a report and of a day over time, for the recorded device: the first of the first curve.

use wirecost_results::nbiot::sequence::AirTransmission;
use wirecost_results::nbiot::{EnergyByState, Point};

use super::{Cells, OfCells};
use crate::choice::{Current, Step};
use crate::html::shown::{Chart, Section};
use crate::number;

const SECTION: Section = Section::Own("current", "Current over time");

/// Seconds of a slot of the day: as many as a chart can show, 288.
const SLOT_S: f64 = 300.0;
const DAY_S: f64 = 86_400.0;

/// The current of a report.
pub(super) const READING: Chart<Cells> = Chart {
    section: SECTION,
    show: |of| {
        let words = "from the generation of its report to the end of its last transmission; from the first one on, between them, the mean of the \
            devices that monitor and wait; rings are packets that were whole, mA on a logarithmic axis";
        reading(of)?.shown("Current of a report*", words)
    },
};

/// The current of a day.
pub(super) const DAY: Chart<Cells> = Chart {
    section: SECTION,
    show: |of| {
        let words = "mean current of each 5 minutes of a day with mean reports, tracking area updates spread over it, mA on a logarithmic axis";
        day(of)?.shown("Current of a day*", words)
    },
};

/// Milliamperes of an energy in a time, at a voltage; 0 without a time.
fn milliamperes(millijoules: f64, milliseconds: f64, volts: f64) -> f64 {
    match milliseconds > 0.0 {
        true => millijoules / milliseconds / volts * 1e3,
        false => 0.0,
    }
}

/// The first point, and the voltage at which its powers are currents; `None` in folders of earlier versions.
fn first<'a>(of: &OfCells<'a>) -> Option<(&'a Point, f64)> {
    of.summary.points.first().zip(of.summary.setting.supply_volts)
}

fn name(point: &Point) -> String {
    format!("{} with {} B at {}/s", point.stack, point.size_bytes, point.load)
}

fn reading(of: &OfCells<'_>) -> Option<Current> {
    let (point, volts) = first(of)?;
    let (energy, times) = (&point.energy_by_state_mj, &point.device);
    let between = milliamperes(
        energy.monitor + energy.wait,
        times.monitor_ms + times.wait_ms,
        volts,
    );
    let on_air = |one: &AirTransmission| match one.direction.as_str() {
        "up" => (
            "transmit",
            milliamperes(energy.transmit, times.transmit_ms, volts),
        ),
        _ => ("receive", milliamperes(energy.receive, times.receive_ms, volts)),
    };
    let mut steps: Vec<Step> = Vec::new();
    let mut at = 0.0;
    for one in of.transmissions {
        let gap = one.at_ms - at;
        // Nothing is monitored before the first preamble.
        match steps.is_empty() {
            true => steps.push(step("wait", gap, milliamperes(energy.wait, times.wait_ms, volts))),
            false => steps.push(step("monitor and wait", gap, between)),
        }
        let (state, current) = on_air(one);
        let end = one.at_ms + one.duration_ms;
        steps.push(step(state, end - one.at_ms.max(at), current));
        at = end.max(at);
    }
    steps.retain(|step| step.seconds > 0.0);
    let whole = of.transmissions.iter().filter(|one| one.is_received);
    let packets = whole.filter_map(|one| {
        let packet = one.packet.as_ref()?;
        Some((
            (one.at_ms + one.duration_ms) / 1e3,
            format!("{}: {packet}", one.direction),
        ))
    });
    let packets = packets.collect();
    let charge: f64 = steps.iter().map(|step| step.seconds * step.milliamperes).sum();
    Some(Current {
        name: name(point),
        packets,
        summary: format!(
            "This report: {} mC in {} s. {}",
            number::digits(charge, 3),
            number::digits(at / 1e3, 3),
            means(point, volts)
        ),
        steps,
    })
    .filter(|current| !current.steps.is_empty())
}

fn step(state: &'static str, milliseconds: f64, milliamperes: f64) -> Step {
    Step {
        state,
        seconds: milliseconds / 1e3,
        milliamperes,
    }
}

/// The mean device in the units of power meters.
fn means(point: &Point, volts: f64) -> String {
    let coulombs_a_day = point.day_mj / 1e3 / volts;
    format!(
        "In the mean {} uA, {} mAh a day, {} uWh a report.",
        number::digits(coulombs_a_day / DAY_S * 1e6, 3),
        number::digits(coulombs_a_day / 3.6, 3),
        number::digits(point.energy_mj / 3.6, 3)
    )
}

fn day(of: &OfCells<'_>) -> Option<Current> {
    let (point, volts) = first(of)?;
    let every = of.summary.setting.interval_s;
    let report_mj = EnergyByState::total(&point.energy_by_state_mj);
    let reports = DAY_S / every;
    let rest_mj = point.day_mj - reports * report_mj;
    if !(every > 0.0 && rest_mj >= 0.0) {
        return None;
    }
    // Reports begin at 0 and then every interval.
    let before = |seconds: f64| (seconds / every).ceil();
    let slots = (0..(DAY_S / SLOT_S) as u32).map(|slot| {
        let begin = f64::from(slot) * SLOT_S;
        let in_slot = before(begin + SLOT_S) - before(begin);
        let energy = rest_mj * SLOT_S / DAY_S + in_slot * report_mj;
        step(
            "mean of 5 min",
            SLOT_S * 1e3,
            milliamperes(energy, SLOT_S * 1e3, volts),
        )
    });
    Some(Current {
        name: name(point),
        steps: slots.collect(),
        packets: Vec::new(),
        summary: means(point, volts),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_in_a_time_is_a_current() {
        // 16.35 mJ in 30 ms are 545 mW: 151.4 mA at 3.6 V.
        assert!((milliamperes(16.35, 30.0, 3.6) - 151.39).abs() < 0.01);
        assert_eq!(milliamperes(1.0, 0.0, 3.6), 0.0);
    }
}
