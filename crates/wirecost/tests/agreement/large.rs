//! 100 kB and 1 MB without loss, where Linux itself does not repeat: how many segments and acknowledgments there are
//! depends on when the machine lets a reader have the socket. Where it lets nobody have it for two round trips, the
//! sender's kernel probes for a loss that there was not (RFC 8985 section 7.2), and bytes are sent again.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

use crate::rerun::{Runs, differing};
use crate::trace::{Counts, Trace};
use crate::traces::{Cpus, SETTLE, simulated};

/// The tolerance of the median repeat's data segments: a writer that was delayed ends its writes elsewhere.
const SEGMENTS: u64 = 4;

/// The counts of one device, up and down.
type Repeat = [Counts; 2];

/// Compares data bytes, data segments and pure acknowledgments of 20 repeats with virtual time.
fn hold(stacks: &str, size: &str) {
    let arguments = format!("{stacks} --size {size} --rtt 31ms -n 20 {SETTLE} --record-hosts 1000");
    let simulated = simulated(&arguments, Cpus::One);
    let mut differing = differing(&arguments, Cpus::One, &simulated, |cell, live, simulated| {
        of_all(cell, &counts(live), expected(simulated)).err()
    });
    differing.retain(|cell, runs| !is_disturbed_alone(cell, runs, expected(&simulated[cell])));
    assert!(differing.is_empty(), "no run agrees: {:?}", differing.keys());
}

fn counts(traces: &[Trace]) -> Vec<Repeat> {
    traces.iter().map(Trace::counts).collect()
}

/// The counts of every simulated device.
fn expected(simulated: &[Trace]) -> Repeat {
    simulated.first().expect("a simulated device").counts()
}

/// Whether in one of the runs nothing was wrong but repeats in which bytes were sent again, fewer than half of all: on a
/// machine that is held up time and again, some are in every run. The bounds hold over the others.
fn is_disturbed_alone(cell: &str, runs: &Runs, simulated: Repeat) -> bool {
    runs.iter()
        .enumerate()
        .any(|(run, live)| match of_undisturbed(&counts(live), simulated) {
            Ok(disturbed) => {
                eprintln!("{cell}: run {}: all as simulated but {disturbed}", run + 1);
                true
            }
            Err(text) => {
                eprintln!("{cell}: run {}: {text}", run + 1);
                false
            }
        })
}

/// Whether every repeat sent the simulated bytes, and all together the simulated packets.
fn of_all(cell: &str, repeats: &[Repeat], simulated: Repeat) -> Result<(), String> {
    for (way, name) in ["up", "down"].into_iter().enumerate() {
        let live: Vec<Counts> = repeats.iter().map(|repeat| repeat[way]).collect();
        equal("data bytes", &live, simulated[way], |counts| counts.data_bytes)
            .and_then(|()| {
                equal("bytes sent again", &live, simulated[way], |counts| {
                    counts.resent_bytes
                })
            })
            .and_then(|()| packets(&live, simulated[way]))
            .map_err(|text| format!("{cell} {name}: {text}"))?;
    }
    Ok(())
}

/// The comparison without the repeats that sent bytes again. These must be fewer than half, are named, and must still
/// have sent everything.
fn of_undisturbed(repeats: &[Repeat], simulated: Repeat) -> Result<String, String> {
    let resent = |repeat: &Repeat| repeat.map(|counts| counts.resent_bytes);
    let is_disturbed = |repeat: &Repeat| resent(repeat) != resent(&simulated);
    let mut named = Vec::new();
    for (number, repeat) in repeats
        .iter()
        .enumerate()
        .filter(|(_, repeat)| is_disturbed(repeat))
    {
        let [up, down] = resent(repeat);
        named.push(format!(
            "repeat {number}, which sent {up} B up and {down} B down again"
        ));
    }
    if named.len() * 2 >= repeats.len() {
        return Err(format!(
            "{} of {} repeats sent bytes again",
            named.len(),
            repeats.len()
        ));
    }
    for way in 0..2 {
        let live: Vec<Counts> = repeats.iter().map(|repeat| repeat[way]).collect();
        let new_bytes = |counts: &Counts| counts.data_bytes - counts.resent_bytes;
        equal("data bytes sent once", &live, simulated[way], new_bytes)?;
    }
    let undisturbed: Vec<Repeat> = repeats
        .iter()
        .copied()
        .filter(|repeat| !is_disturbed(repeat))
        .collect();
    of_all("the others", &undisturbed, simulated)?;
    Ok(named.join(", "))
}

/// Whether every repeat equals the simulation.
fn equal(name: &str, live: &[Counts], simulated: Counts, of: impl Fn(&Counts) -> u64) -> Result<(), String> {
    let (live, simulated) = (sorted(live, &of), of(&simulated));
    if live.iter().all(|live| *live == simulated) {
        return Ok(());
    }
    Err(format!("{name}: live {live:?}, simulated {simulated}"))
}

/// Whether the median of data segments is close to the simulation, and the simulated pure acknowledgments are within
/// the live range.
fn packets(live: &[Counts], simulated: Counts) -> Result<(), String> {
    let segments = sorted(live, &|counts: &Counts| counts.data_segments);
    // Twice the median, which is a half if the number of repeats is even.
    let twice = segments[(segments.len() - 1) / 2] + segments[segments.len() / 2];
    if twice.abs_diff(2 * simulated.data_segments) > 2 * SEGMENTS {
        let simulated = simulated.data_segments;
        return Err(format!(
            "median of data segments: live {segments:?}, simulated {simulated}"
        ));
    }
    let acknowledgments = sorted(live, &|counts: &Counts| counts.pure_acknowledgments);
    let (least, most) = (acknowledgments[0], acknowledgments[acknowledgments.len() - 1]);
    if (least..=most).contains(&simulated.pure_acknowledgments) {
        return Ok(());
    }
    let simulated = simulated.pure_acknowledgments;
    Err(format!(
        "pure acknowledgments: live {acknowledgments:?}, simulated {simulated}"
    ))
}

fn sorted(live: &[Counts], of: &impl Fn(&Counts) -> u64) -> Vec<u64> {
    let mut counts: Vec<u64> = live.iter().map(of).collect();
    counts.sort_unstable();
    counts
}

#[test]
#[ignore = "needs root"]
fn tcp_of_100_kb() {
    hold(
        "tcp,mqtt-qos1,http1,amqp-unsettled,tcp+tls1.3,http1+tls1.2",
        "100kB",
    );
}

#[test]
#[ignore = "needs root"]
fn tcp_of_1_mb() {
    hold("tcp,mqtt-qos1,http1,tcp+tls1.3", "1MB");
}

/// A repeat with 10 segments up, some of whose bytes were sent again, and this many acknowledgments down.
fn repeat(resent_bytes: u64, pure_acknowledgments: u64) -> Repeat {
    let up = Counts {
        data_segments: 10,
        data_bytes: 10_000 + resent_bytes,
        resent_bytes,
        pure_acknowledgments: 0,
    };
    let down = Counts {
        pure_acknowledgments,
        ..Counts::default()
    };
    [up, down]
}

#[test]
fn the_simulated_counts_lie_within_the_live_ones() {
    let live = [repeat(0, 5), repeat(0, 7)];
    assert_eq!(of_all("", &live, repeat(0, 6)), Ok(()));
    of_all("", &live, repeat(0, 8)).expect_err("more acknowledgments than live");
    let [up, down] = repeat(0, 6);
    let long = |data_segments| [Counts { data_segments, ..up }, down];
    assert_eq!(of_all("", &live, long(14)), Ok(()));
    of_all("", &live, long(15)).expect_err("five segments more than the median");
    of_all("", &[repeat(0, 6), repeat(100, 6)], repeat(0, 6)).expect_err("bytes sent again");
}

#[test]
fn fewer_than_half_may_have_sent_bytes_again() {
    let simulated = repeat(0, 6);
    let some = [repeat(0, 6), repeat(100, 90), repeat(0, 6)];
    let named = of_undisturbed(&some, simulated).expect("the others are as simulated");
    assert_eq!(named, "repeat 1, which sent 100 B up and 0 B down again");
    of_undisturbed(&some[1..], simulated).expect_err("half of them");
    let mut lacking = some;
    lacking[1][0].data_bytes -= 1;
    of_undisturbed(&lacking, simulated).expect_err("a byte that never was sent");
    of_undisturbed(&[repeat(0, 7), repeat(100, 6), repeat(0, 7)], simulated)
        .expect_err("only undisturbed ones count");
}
