//! Reports in NB-IoT cells: two stacks with two sizes at two loads, seven sites with wrap-around.

use serde_json::{Value, json};
use wirecost_results::nbiot::NbiotSummary;
use wirecost_results::nbiot::map::DeviceMap;
use wirecost_results::nbiot::sequence::AirTransmission;

pub(crate) const LOADS: [f64; 2] = [1.0, 2.5];

fn estimate(mean: f64, half: f64) -> Value {
    json!({"mean": mean, "low": mean - half, "high": mean + half})
}

/// A replication of 100 reports, of which `served` arrive after 400 ms, and 5 of level 1 after 8 s.
fn run(replication: u32, served: u64) -> Value {
    json!({
        "replication": replication, "reports": 100, "served": served + 5, "late": 0,
        "reports_by_level": [94, 6, 0],
        "delays_ms": [{"400": served - 10, "900": 10}, {"8000": 5}, {}],
        "device_throughput_bit_s": 500.0, "cell_throughput_bit_s": 190.0,
        "lowest_served_path_gain_db": -141.5, "bytes": [53.0, 34.0], "use_of": [0.2, 0.05, 0.01],
        "dci_per_report": 7.0, "device": device(1.0), "most_devices": 9, "air_events": 1_000,
    })
}

fn device(factor: f64) -> Value {
    json!({
        "transmit_ms": 30.0 * factor, "receive_ms": 80.0 * factor, "monitor_ms": 450.0 * factor, "wait_ms": 1_000.0 * factor,
        "nprach_ms": 11.0, "npdcch_ms": 31.0, "npdsch_ms": 27.0, "npusch_ms": 15.0, "ack_ms": 4.0, "preambles": 1.1,
        "collisions": 0.1, "connections": 1.0, "harq_retransmissions": 0.2, "rlc_retransmissions": 0.0,
    })
}

fn level(measured: u64, reports: u64) -> Value {
    json!({"measured": measured, "reports": reports, "p50_s": 0.4, "p95_s": 0.9, "quantiles": []})
}

fn point(stack: &str, size: usize, load: f64, served: u64) -> Value {
    let share = (served + 5) as f64 / 100.0;
    json!({
        "stack": stack, "size_bytes": size, "load": load, "reports": 200, "served": estimate(share, 0.02),
        "delay_p50_s": 0.4, "delay_p95_s": 0.9,
        "delay_by_level": [level(188, 2 * served), level(12, 10), level(0, 0)],
        "device_throughput_bit_s": estimate(size as f64 * 20.0 / load, 12.0),
        "cell_throughput_bit_s": estimate(size as f64 * 8.0 * load * share, 20.0),
        "lowest_served_path_gain_db": estimate(-143.0 + load, 1.5),
        "bytes_up": 53.0, "bytes_down": 34.0,
        "dci_use": estimate(0.2 * load, 0.01), "downlink_use": estimate(0.06 * load, 0.01),
        "uplink_use": estimate(0.01 * load, 0.002),
        "device": device(load), "energy_mj": 71.5,
        "energy_by_state_mj": {"transmit": 16.35, "receive": 7.2, "monitor": 40.5, "wait": 2.95, "synchronisation": 4.5},
        "energy_over_seeds_mj": estimate(71.5, 3.0), "day_mj": 2_154.0, "battery_years": 22.9, "runs": [run(0, served), run(1, served)],
    })
}

/// The summary, with a changed network beside the given one if `has_changes`.
pub(crate) fn summary(has_changes: bool) -> NbiotSummary {
    let stacks = ["coap-con", "tcp", "coap-con (edt)", "tcp (edt)"];
    let count = if has_changes { stacks.len() } else { 2 };
    let mut points = Vec::new();
    for (index, stack) in stacks[..count].iter().enumerate() {
        for size in [25, 400] {
            for load in LOADS {
                // TCP at the higher load loses some.
                let is_losing = index % 2 == 1 && load > 2.0;
                points.push(point(stack, size, load, if is_losing { 70 } else { 94 }));
            }
        }
    }
    from(json!({
        "schema": 1, "kind": "nbiot", "format": "wirecost-nbiot/1", "version": "0.1.0",
        "setting": {
            "cells": 21, "seeds": 2, "seed": 42, "duration_s": 20.0, "warm_up_s": 2.0, "deadline_s": 20.0, "interval_s": 7_200.0, "supply_volts": 3.6,
            "ipv6": false, "resource": "test", "dci_spacing_ms": 32.0, "network": {"scenario": {"isd_m": 1_732.0}},
        },
        "points": points, "interrupted": false,
    }))
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("results of this version")
}

/// Three devices of each point around one of seven sites: served, served on level 1, and not served.
pub(crate) fn map() -> DeviceMap {
    let around = |turn: usize| {
        let angle = (30.0 + 60.0 * turn as f64).to_radians();
        [1_732.0 * angle.cos(), 1_732.0 * angle.sin()]
    };
    let sites: Vec<[f64; 2]> = std::iter::once([0.0, 0.0]).chain((0..6).map(around)).collect();
    let cells = sites.iter().enumerate().flat_map(|(site, [x, y])| {
        (0..3).map(move |sector| {
            let at = |length: f64, turn: f64| {
                let angle = (30.0 + 120.0 * f64::from(sector) + turn).to_radians();
                [x + length * angle.cos(), y + length * angle.sin()]
            };
            let outer = [(866.0, -60.0), (1_000.0, -30.0), (1_000.0, 30.0), (866.0, 60.0)];
            let outer = outer.map(|(length, turn)| at(length, turn));
            let corners: Vec<[f64; 2]> = std::iter::once([*x, *y]).chain(outer).collect();
            json!({"site": site, "corners": corners})
        })
    });
    let cells: Vec<Value> = cells.collect();
    let devices = json!([
        [300, 200, 0, 0, -120.5, 400],
        [-400, 100, 1, 1, -146.0, 8_000],
        [100, -500, 2, 0, -131.0, null],
    ]);
    let run = |(stack, size, load): (&str, usize, f64)| json!({"stack": stack, "size_bytes": size, "load": load, "replication": 0, "sample": {"first": 4, "devices": devices}});
    let points = ["coap-con", "tcp", "coap-con (edt)"].into_iter();
    let points = points.flat_map(|stack| [25, 400].map(|size| (stack, size)));
    let points = points.flat_map(|(stack, size)| LOADS.map(|load| (stack, size, load)));
    let runs: Vec<Value> = points.map(run).collect();
    from(json!({
        "format": "wirecost-nbiot-map/1", "sites": sites, "copies": [[4_330.0, 1_500.0], [-4_330.0, -1_500.0]], "cells": cells,
        "runs": runs,
    }))
}

/// A report in six transmissions, one of which is not decoded.
pub(crate) fn sequence() -> Vec<AirTransmission> {
    let one = |(at, duration, channel, direction, what, bytes): (f64, f64, &str, &str, &str, Option<u32>)| {
        json!({
            "at_ms": at, "duration_ms": duration, "channel": channel, "direction": direction, "what": what, "bytes": bytes,
            "repetitions": 2, "packet": null, "waited_ms": 5.0, "is_received": at != 119.0,
        })
    };
    let all = [
        (72.0, 11.2, "NPRACH", "up", "preamble", None),
        (96.0, 1.0, "NPDCCH", "down", "DCI", None),
        (102.0, 4.0, "NPDSCH", "down", "random access response", Some(7)),
        (119.0, 8.0, "NPUSCH format 1", "up", "Msg3", Some(11)),
        (166.0, 5.0, "NPDSCH", "down", "Msg4", Some(15)),
        (184.0, 2.0, "NPUSCH format 2", "up", "HARQ-ACK", None),
    ];
    from(Value::from(all.map(one).to_vec()))
}
