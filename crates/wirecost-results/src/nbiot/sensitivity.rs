//! The knee of a curve: the load at which a share of reports is no longer served, between the loads that were run.

use serde::{Deserialize, Serialize};

use super::Point;

/// The share of reports that are not served at the knee.
pub const UNSERVED_AT_KNEE: f64 = 0.05;

/// The knee of one curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knee {
    /// The stack, as its points have it.
    pub stack: String,
    /// Bytes of the report, the application's header included.
    pub size_bytes: usize,
    /// Distance between DCI occasions of coverage level 0, in milliseconds.
    pub dci_spacing_ms: f64,
    /// The load at which 5 % of reports are not served, in reports per second and cell, by linear interpolation between two
    /// loads that were run; `null` where the knee is not between two of them.
    pub load: Option<f64>,
    /// The largest load that was run below the knee; `null` where already the smallest is above it.
    pub above: Option<f64>,
    /// The smallest load that was run above the knee; `null` where none is.
    pub below: Option<f64>,
}

/// The knee of each curve, in the order of its points.
pub fn knees(points: &[Point]) -> Vec<Knee> {
    let same = |one: &Point, other: &Point| (&one.stack, one.size_bytes) == (&other.stack, other.size_bytes);
    points.chunk_by(same).filter_map(knee).collect()
}

/// The knee of a curve; `None` without a point.
fn knee(curve: &[Point]) -> Option<Knee> {
    let mut curve: Vec<&Point> = curve.iter().collect();
    curve.sort_by(|one, other| one.load.total_cmp(&other.load));
    let first = *curve.first()?;
    let unserved = |point: &Point| 1.0 - point.served.mean;
    let is_beyond = |point: &&&Point| unserved(point) > UNSERVED_AT_KNEE;
    let beyond = curve.iter().find(is_beyond).copied();
    let before = match beyond {
        Some(beyond) => curve.iter().rev().find(|point| point.load < beyond.load),
        None => curve.last(),
    };
    let between = before.zip(beyond).map(|(before, beyond)| {
        let rise = unserved(beyond) - unserved(before);
        let share = (UNSERVED_AT_KNEE - unserved(before)) / rise;
        before.load + share * (beyond.load - before.load)
    });
    Some(Knee {
        stack: first.stack.clone(),
        size_bytes: first.size_bytes,
        dci_spacing_ms: first.dci_spacing_ms,
        load: between,
        above: before.map(|point| point.load),
        below: beyond.map(|point| point.load),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curve with these loads and shares of served reports.
    fn curve(points: &[(f64, f64)]) -> Vec<Point> {
        let point = |(load, served): &(f64, f64)| {
            let text = format!(
                r#"{{"stack": "tcp", "size_bytes": 25, "load": {load}, "reports": 1, "dci_spacing_ms": 32.0,
                "served": {{"mean": {served}, "low": null, "high": null}}, "delay_p50_s": null, "delay_p95_s": null,
                "delay_by_level": [{LEVEL}, {LEVEL}, {LEVEL}], "device_throughput_bit_s": null,
                "cell_throughput_bit_s": {ZERO}, "lowest_served_path_gain_db": null, "bytes_up": 0, "bytes_down": 0,
                "dci_use": {ZERO}, "downlink_use": {ZERO}, "uplink_use": {ZERO}, "device": {DEVICE}, "energy_mj": 0,
                "energy_by_state_mj": {STATES}, "energy_over_seeds_mj": {ZERO},
                "battery_years": 0, "runs": []}}"#
            );
            serde_json::from_str(&text).expect("a point")
        };
        points.iter().map(point).collect()
    }

    const ZERO: &str = r#"{"mean": 0, "low": null, "high": null}"#;
    const LEVEL: &str = r#"{"measured": 0, "reports": 0, "p50_s": null, "p95_s": null, "quantiles": []}"#;
    const STATES: &str = r#"{"transmit": 0, "receive": 0, "monitor": 0, "wait": 0, "synchronisation": 0}"#;
    const DEVICE: &str = r#"{"transmit_ms": 0, "receive_ms": 0, "monitor_ms": 0, "wait_ms": 0, "nprach_ms": 0, "npdcch_ms": 0,
        "npdsch_ms": 0, "npusch_ms": 0, "ack_ms": 0, "preambles": 0, "collisions": 0, "connections": 0,
        "harq_retransmissions": 0, "rlc_retransmissions": 0}"#;

    #[test]
    fn the_knee_is_interpolated_between_two_loads() {
        let knees = knees(&curve(&[(1.0, 1.0), (2.0, 0.99), (3.0, 0.91)]));
        let knee = &knees[0];
        assert!((knee.load.expect("a knee") - 2.5).abs() < 1e-9, "{knee:?}");
        assert_eq!((knee.above, knee.below), (Some(2.0), Some(3.0)));
    }

    #[test]
    fn a_knee_outside_the_loads_has_one_bound() {
        let served = &knees(&curve(&[(1.0, 1.0), (2.0, 0.96)]))[0];
        assert_eq!((served.load, served.above, served.below), (None, Some(2.0), None));
        let unserved = &knees(&curve(&[(1.0, 0.5), (2.0, 0.2)]))[0];
        assert_eq!(
            (unserved.load, unserved.above, unserved.below),
            (None, None, Some(1.0))
        );
    }
}
