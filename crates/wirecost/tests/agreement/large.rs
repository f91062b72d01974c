//! 100 kB and 1 MB without loss, where Linux itself does not repeat: how many segments and acknowledgments there are
//! depends on when the machine lets a reader have the socket.

use crate::trace::{Counts, Trace};
use crate::traces::{live, simulated};

/// Data segments by which the median repeat may differ: a writer that was held up ends its writes elsewhere.
const SEGMENTS: u64 = 4;

/// Holds data bytes, retransmissions, data segments and pure acknowledgments of 20 repeats against virtual time.
fn hold(stacks: &str, size: &str) {
    let arguments = format!("{stacks} --size {size} --rtt 31ms -n 20 --record-hosts 1000");
    let (live, simulated) = (live(&arguments), simulated(&arguments));
    let mut wrong = Vec::new();
    for (cell, live) in &live {
        let expected = simulated[cell].first().expect("a simulated device").counts();
        let live: Vec<[Counts; 2]> = live.iter().map(Trace::counts).collect();
        for (way, name) in ["up", "down"].into_iter().enumerate() {
            let live: Vec<Counts> = live.iter().map(|counts| counts[way]).collect();
            let text = difference(&live, expected[way]);
            wrong.extend(text.map(|text| format!("{cell} {name}: {text}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What of the counts of one direction is not as simulated.
fn difference(live: &[Counts], simulated: Counts) -> Option<String> {
    let sorted = |of: fn(&Counts) -> u64| {
        let mut counts: Vec<u64> = live.iter().map(of).collect();
        counts.sort_unstable();
        counts
    };
    let unless = |fits: bool, name: &str, live: Vec<u64>, simulated: u64| {
        (!fits).then(|| format!("{name}: live {live:?}, simulated {simulated}"))
    };
    let equal = |of: fn(&Counts) -> u64, name: &str| {
        let (live, simulated) = (sorted(of), of(&simulated));
        unless(live.iter().all(|live| *live == simulated), name, live, simulated)
    };
    let near = |of: fn(&Counts) -> u64, name: &str| {
        let (live, simulated) = (sorted(of), of(&simulated));
        let is_near = live[live.len() / 2].abs_diff(simulated) <= SEGMENTS;
        unless(is_near, name, live, simulated)
    };
    let within = |of: fn(&Counts) -> u64, name: &str| {
        let (live, simulated) = (sorted(of), of(&simulated));
        let is_within = live[0] <= simulated && simulated <= live[live.len() - 1];
        unless(is_within, name, live, simulated)
    };
    equal(|counts| counts.data_bytes, "data bytes")
        .or_else(|| equal(|counts| counts.resent_bytes, "retransmitted bytes"))
        .or_else(|| near(|counts| counts.data_segments, "data segments"))
        .or_else(|| within(|counts| counts.pure_acknowledgments, "pure acknowledgments"))
}

#[test]
fn tcp_of_100_kb() {
    hold(
        "tcp,mqtt-qos1,http1,amqp-unsettled,tcp+tls1.3,http1+tls1.2",
        "100kB",
    );
}

#[test]
fn tcp_of_1_mb() {
    hold("tcp,mqtt-qos1,http1,tcp+tls1.3", "1MB");
}
