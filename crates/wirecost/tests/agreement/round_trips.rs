//! Large messages on links without a rate, on all CPUs: in how many round trips they go is decided by the receiver's window,
//! which grows while the reader takes a burst (docs/models/tcp.md).

use crate::rerun::differing;
use crate::trace::Trace;
use crate::traces::{Cpus, simulated};

/// Compares the median round trips of nine repeats with virtual time. A repeat that the machine delayed has more.
fn hold(arguments: &str) {
    let arguments = format!("{arguments} -n 9 --record-hosts 1000");
    let differing = differing(
        &arguments,
        Cpus::All,
        &simulated(&arguments, Cpus::All),
        difference,
    );
    assert!(differing.is_empty(), "no run agrees: {:?}", differing.keys());
}

fn difference(cell: &str, live: &[Trace], simulated: &[Trace]) -> Option<String> {
    let (live, simulated) = (sorted(live), sorted(simulated));
    let middle = |trips: &[u32]| trips[trips.len() / 2];
    (middle(&live) != middle(&simulated))
        .then(|| format!("{cell}: round trips: live {live:?}, simulated {simulated:?}"))
}

fn sorted(traces: &[Trace]) -> Vec<u32> {
    let mut trips: Vec<u32> = traces.iter().map(Trace::round_trips).collect();
    trips.sort_unstable();
    trips
}

#[test]
#[ignore = "needs root"]
fn tcp_of_300_kb_on_a_long_path() {
    hold("tcp,http1 --size 300kB --rtt 200ms");
}

#[test]
#[ignore = "needs root"]
fn tcp_of_1_mb_without_a_rate() {
    hold("tcp --size 1MB --rtt 100ms");
}
