//! Cells whose devices share one link and one server: each is a load in virtual time.
//!
//! ```text
//! connect  the devices one after the other, over one interval
//! publish  of each device a message in each interval, spread over it as asked for
//! hold     quiet, so that acknowledgements belong to their messages
//! close    the devices one after the other, over one interval
//! ```
//!
//! Nothing is recorded: packets and bytes are added up by phase, layer and cause as the link takes them, times go into
//! histograms.
//!
//! - `delays`: how long the link held the packets
//! - `figures`: from sums and histograms to a cell

mod delays;
mod figures;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use wirecost_load::simulated::{Simulated, simulate as simulate_load};
use wirecost_load::watch::{Announcement, Tick, Watcher};
use wirecost_results::{Cell, CellTimes};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::options::load::{
    Arrivals, BatchBytes, LoadEngine, LoadOptions, LoadTarget, Offer, Payload, Phase, Who,
};
use wirecost_scenario::plan::{Plan, PlannedCell};
use wirecost_sim::Tally;
use wirecost_stack::target::Target;

use super::device::CONNECT_TIMEOUT;
use super::simulated::{SimulationError, side_by_side};
use delays::Delays;

/// The result of a cell on a shared link.
#[derive(Debug)]
pub struct SharedLinkResult {
    /// The index of the cell in the plan.
    pub index: usize,
    /// Its figures.
    pub cell: Cell,
    /// The times that it counts.
    pub times: CellTimes,
}

/// The progress of the running cells, and the flag that stops them.
#[derive(Debug, Default)]
pub struct Pace {
    /// The virtual time of the cell that reported last, in nanoseconds.
    at: AtomicU64,
    stopped: AtomicBool,
}

impl Pace {
    /// The virtual time of the cell that reported last.
    pub fn at(&self) -> Duration {
        Duration::from_nanos(self.at.load(Ordering::Relaxed))
    }

    /// Stops every cell.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Cells report their progress.
impl Watcher for &Pace {
    fn begin(&mut self, _: &Announcement) {}

    fn note(&mut self, _: &str) {}

    fn second(&mut self, tick: &Tick<'_>) {
        let nanos = u64::try_from(tick.elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.at.store(nanos, Ordering::Relaxed);
    }

    fn end(&mut self) {}
}

/// The virtual time of a cell if nothing waits for the server.
pub fn duration(options: &Options, cell: &PlannedCell) -> Duration {
    let intervals = u32::try_from(cell.schedule.messages.saturating_add(2)).unwrap_or(u32::MAX);
    interval(options, cell).saturating_mul(intervals) + options.settle
}

/// Simulates `cells` of a plan on `jobs` threads, and hands their results over in the order of `cells`, including a
/// stopped cell with its measurements so far.
///
/// # Errors
/// The first cell that cannot be simulated.
pub fn simulate(
    options: &Options,
    plan: &Plan,
    cells: &[usize],
    jobs: usize,
    pace: &Pace,
    on_cell: &mut dyn FnMut(SharedLinkResult),
    stop: &dyn Fn() -> bool,
) -> Result<(), SimulationError> {
    let run = |index: usize| {
        let (cell, times) = cell(options, &plan.cells[index], pace)?;
        Ok(SharedLinkResult { index, cell, times })
    };
    let stop = || {
        let stopped = stop();
        if stopped {
            // Cells look at the pace alone, in the middle of their run, which may be long.
            pace.stop();
        }
        stopped
    };
    side_by_side(cells, jobs, &run, on_cell, &stop)
}

fn cell(
    options: &Options,
    planned: &PlannedCell,
    mut pace: &Pace,
) -> Result<(Cell, CellTimes), SimulationError> {
    if planned.not_run.is_some() {
        return Ok((figures::not_run(options, planned), CellTimes::default()));
    }
    let interrupted = || pace.is_stopped();
    let tap = (Tally::new(|_| 0), Delays::new());
    let played = simulate_load(&load(options, planned), &mut pace, &interrupted, None, tap);
    let Simulated {
        outcome,
        counters,
        tap: (tally, delays),
        ..
    } = played?;
    Ok(figures::cell(
        options,
        planned,
        &figures::Played {
            totals: tally.totals().first().cloned().unwrap_or_default(),
            outcome,
            delays,
            counters: counters.first().copied().unwrap_or_default(),
        },
    ))
}

/// The load of a cell.
fn load(options: &Options, planned: &PlannedCell) -> LoadOptions {
    let interval = interval(options, planned);
    let rate = interval.as_secs_f64().recip();
    let link = options.links[planned.link];
    let publish = Offer {
        arrivals: Arrivals::Open {
            rate,
            per_client: true,
            // Meters report at fixed intervals; where they start is spread.
            poisson: false,
        },
        duration: None,
        count: Some(u64::from(options.samples) * planned.schedule.messages),
        warm_up: Duration::ZERO,
        ramp: Duration::ZERO,
        spread: options.shared_link.and_then(|shared| shared.spread),
    };
    LoadOptions {
        engine: LoadEngine::Sim,
        clients: options.samples,
        payload: match planned.content.batch() {
            Some(batch) => Payload::Readings(BatchBytes {
                batch,
                bytes: Arc::clone(&planned.payload.bytes),
            }),
            None => Payload::File(Arc::clone(&planned.payload.bytes)),
        },
        // A topic of a comparison has no placeholders.
        resource: options.resource.replace('%', "%%"),
        keep_alive: options.keep_alive_of(&planned.schedule),
        timeout: options.timeout,
        connect_timeout: CONNECT_TIMEOUT + link.rtt() * 4 + planned.stack.connect_retry_time(planned.start),
        ipv6: options.ipv6,
        link: Some(link),
        // From the cell, not from its place in the plan: other cells must not change its bytes.
        seed: planned.rng.at(0),
        phases: vec![
            Phase::Connect {
                who: Who::All,
                // All connect within one interval, as they send: at one instant they would queue on the shared link.
                rate: Some(rate * f64::from(options.samples)),
            },
            Phase::Publish(publish),
            Phase::Hold {
                duration: options.settle,
            },
            Phase::Close {
                // Closes are spread like the connects, so that they do not queue behind one another.
                rate: Some(rate * f64::from(options.samples)),
            },
        ],
        chunk: options.sending.chunk,
        nagle: options.sending.nagle,
        congestion: options.sending.congestion,
        http: options.sending.http,
        ..LoadOptions::new(planned.stack, LoadTarget::Started(Target::Builtin))
    }
}

/// The interval of a cell. A comparison on a shared link without one is refused.
fn interval(options: &Options, planned: &PlannedCell) -> Duration {
    planned.schedule.interval.unwrap_or(options.settle)
}

#[cfg(test)]
mod tests;
