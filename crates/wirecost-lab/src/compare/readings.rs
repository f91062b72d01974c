//! The readings of a cell: what compression saves, and what it costs.

use std::time::Duration;

use wirecost_live::clock::thread_cpu_time;
use wirecost_readings::{Batch, Compression, saves_from};
use wirecost_results::Readings;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::PlannedCell;

/// The runs whose median is the CPU time of a compression.
const RUNS: usize = 25;

/// The readings of a cell; `None` where its messages carry pseudo-random bytes.
pub(super) fn carried(options: &Options, planned: &PlannedCell, engine: &str) -> Option<Readings> {
    let batch = planned.content.batch()?;
    // A simulated cell has to be the same on every machine, which CPU time is not.
    let is_measured = engine == "live" && batch.compression != Compression::None && planned.not_run.is_none();
    let saves_from = saves_from(batch.encoding, batch.compression, options.seed);
    Some(Readings {
        count: batch.readings.into(),
        encoding: batch.encoding.to_string(),
        compression: batch.compression.to_string(),
        encoded_bytes: batch.encoded(options.seed).len() as u64,
        saves_from: saves_from.map(u64::from),
        compression_cpu_ns: is_measured.then(|| compression_cpu(batch, options.seed)),
        first_waits_ns: planned
            .schedule
            .interval
            .map(|interval| first_waits(batch, interval)),
    })
}

/// The first reading of a message waits for the others, which come at equal distances within an interval.
fn first_waits(batch: Batch, interval: Duration) -> u64 {
    let readings = u128::from(batch.readings.max(1));
    let waits = interval.as_nanos() * (readings - 1) / readings;
    u64::try_from(waits).unwrap_or(u64::MAX)
}

/// The median CPU time of the compression of one message by this thread, in nanoseconds.
fn compression_cpu(batch: Batch, seed: u64) -> u64 {
    let encoded = batch.encoded(seed);
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let bytes = encoded.clone();
            let before = thread_cpu_time();
            let compressed = batch.compression.compressed(bytes);
            let after = thread_cpu_time();
            // Behind the second look: freeing the memory is no part of the compression.
            drop(compressed);
            after.saturating_sub(before)
        })
        .collect();
    // The median: a single run may be interrupted by the kernel.
    times.sort_unstable();
    u64::try_from(times[RUNS / 2].as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use wirecost_readings::Encoding;

    use super::*;

    fn batch(readings: u32) -> Batch {
        Batch {
            readings,
            encoding: Encoding::Json,
            compression: Compression::Gzip,
        }
    }

    #[test]
    fn the_first_reading_waits_for_all_others() {
        let minute = Duration::from_secs(60);
        assert_eq!(first_waits(batch(1), minute), 0);
        assert_eq!(first_waits(batch(10), minute), 54_000_000_000);
    }

    #[test]
    fn compression_takes_cpu_time() {
        assert!(compression_cpu(batch(100), 42) > 0);
    }
}
