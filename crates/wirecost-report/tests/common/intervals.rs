//! Simulated messages that are far apart, on kept connections and on one each.

use wirecost_results::resolved::Tree;
use wirecost_results::summary::{Bytes, Count};
use wirecost_results::{Cell, Results, Section};

use super::engines::simulated;

/// Wire bytes of a PINGREQ, its PINGRESP and the ACK, each way.
const PING: [u64; 2] = [54 + 52, 54];
const KEEP_ALIVE_S: u64 = 60;

/// Stacks at each interval, on connections of each number of messages.
pub(crate) fn intervals(stacks: &[&'static str], seconds: &[u64], messages: &[u64]) -> Results {
    let points: Vec<(u64, u64)> = messages
        .iter()
        .flat_map(|n| seconds.iter().map(move |s| (*n, *s)))
        .collect();
    let plan = points
        .iter()
        .flat_map(|_| stacks.iter().map(|stack| (*stack, 128, 100)));
    let mut results = super::results(plan.collect());
    results.summary.scenario.set("engine", Tree::text("sim"));
    let points = points.iter().flat_map(|point| stacks.iter().map(move |_| *point));
    for (cell, (messages, seconds)) in results.summary.cells.iter_mut().zip(points) {
        *cell = simulated(cell.clone());
        rest(cell, messages, seconds);
    }
    results
}

fn rest(cell: &mut Cell, messages: u64, seconds: u64) {
    cell.messages_per_connection = messages;
    cell.interval_ns = Some(seconds * 1_000_000_000);
    let Some(message) = &mut cell.message else { return };
    let devices = message.samples;
    message.samples *= messages;
    for bytes in [&mut message.up, &mut message.down] {
        bytes.wire.sum *= messages;
    }
    // The last message is followed by the close.
    let pings = if cell.stack.starts_with("mqtt") {
        (messages - 1) * ((seconds - 1) / KEEP_ALIVE_S)
    } else {
        0
    };
    cell.keep_alive = (pings > 0).then(|| pinged(pings, devices));
}

fn pinged(pings: u64, devices: u64) -> Section {
    let [up, down] = PING.map(|bytes| Bytes {
        wire: Count {
            mean: (bytes * pings) as f64,
            sum: bytes * pings * devices,
            min: bytes * pings,
            max: bytes * pings,
        },
        ..Bytes::default()
    });
    Section {
        samples: devices,
        response_kind: "to_reply".into(),
        up,
        down,
        ..Section::default()
    }
}
