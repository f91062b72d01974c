//! Repeats a comparison that fails: on a delayed machine, the kernel exchanges other packets.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

use std::collections::BTreeMap;

use crate::trace::Trace;
use crate::traces::{Cpus, Traces, live};

/// How many runs must differ before the test fails.
const RUNS: usize = 3;

/// The live traces of a cell, run by run.
pub(crate) type Runs = Vec<Vec<Trace>>;

/// The cells whose live traces show a `difference` from the simulated ones in every run. Each is printed, and everything run
/// again: each cell is a comparison of its own, and one that was held up says nothing against another that was not.
pub(crate) fn differing(
    arguments: &str,
    cpus: Cpus,
    simulated: &Traces,
    difference: impl Fn(&str, &[Trace], &[Trace]) -> Option<String>,
) -> BTreeMap<String, Runs> {
    let mut differing: BTreeMap<String, Runs> =
        simulated.keys().map(|cell| (cell.clone(), Runs::new())).collect();
    for run in 1..=RUNS {
        if differing.is_empty() {
            break;
        }
        let live = live(arguments, cpus);
        assert!(
            live.keys().eq(simulated.keys()),
            "both engines run the same cells"
        );
        differing.retain(|cell, runs| {
            let Some(text) = difference(cell, &live[cell], &simulated[cell]) else {
                return false;
            };
            eprintln!("run {run} of {RUNS}: {text}");
            runs.push(live[cell].clone());
            true
        });
    }
    differing
}
