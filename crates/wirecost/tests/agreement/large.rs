//! 100 kB and 1 MB without loss, where Linux itself does not repeat: how many segments and acknowledgments there are
//! depends on when the machine lets a reader have the socket.

use crate::trace::{Counts, Trace};
use crate::traces::{live, simulated};

/// Data segments by which a repeat may differ.
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
    let range = |of: fn(&Counts) -> u64| {
        let all = || live.iter().map(of);
        all().min().expect("a repeat")..=all().max().expect("a repeat")
    };
    let within = |of: fn(&Counts) -> u64, name: &str, slack: u64| {
        let (live, simulated) = (range(of), of(&simulated));
        let fits = live.start().saturating_sub(slack) <= simulated && simulated <= live.end() + slack;
        (!fits).then(|| format!("{name}: live {live:?}, simulated {simulated}"))
    };
    let equal = |of: fn(&Counts) -> u64, name: &str| {
        let (live, simulated) = (range(of), of(&simulated));
        let is_same = *live.start() == simulated && *live.end() == simulated;
        (!is_same).then(|| format!("{name}: live {live:?}, simulated {simulated}"))
    };
    let each = live
        .iter()
        .find(|counts| counts.data_segments.abs_diff(simulated.data_segments) > SEGMENTS);
    equal(|counts| counts.data_bytes, "data bytes")
        .or_else(|| equal(|counts| counts.resent_bytes, "retransmitted bytes"))
        .or_else(|| {
            each.map(|counts| {
                let (live, simulated) = (counts.data_segments, simulated.data_segments);
                format!("data segments: live {live}, simulated {simulated}")
            })
        })
        .or_else(|| within(|counts| counts.pure_acknowledgments, "pure acknowledgments", 0))
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
