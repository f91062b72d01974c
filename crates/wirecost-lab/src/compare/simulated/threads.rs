//! Runs cells in parallel and returns their results in the requested order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::Plan;

use super::{CellResult, Prepared, Simulation, SimulationError};

/// How often to check for a stop while no cell finishes.
const TICK: Duration = Duration::from_millis(50);
/// Results per thread that may wait for the receiver.
const WAITING: usize = 4;

/// Simulates `cells` of a plan on `jobs` threads, and hands their results over in the order of `cells`, whatever the
/// number of threads. If `stop` returns true, no further cell begins, the running cells end, and results after a
/// missing cell are dropped.
///
/// # Errors
/// The first cell that cannot be simulated. Results before it have been handed over.
pub fn simulate(
    options: &Options,
    plan: &Plan,
    cells: &[usize],
    jobs: usize,
    on_cell: &mut dyn FnMut(CellResult),
    stop: &dyn Fn() -> bool,
) -> Result<(), SimulationError> {
    let (prepared, stopped) = (Prepared::default(), AtomicBool::new(false));
    let simulation = Simulation::new(options, plan, &prepared, &stopped);
    let stop = || {
        let is_stopped = stop();
        simulation.stopped.fetch_or(is_stopped, Ordering::Relaxed);
        is_stopped
    };
    match side_by_side(cells, jobs, &|cell| simulation.cell(cell), on_cell, &stop) {
        Err(SimulationError::Stopped) => Ok(()),
        outcome => outcome,
    }
}

/// Simulates `cells` of a plan on this thread, one after the other, and hands each over as soon as it is there. Once `stopped` is
/// set, which another thread does, the running cell ends and no further one begins.
///
/// A program that simulates for as long as it runs keeps its threads, so that memory that the allocator holds for a thread is used
/// again by the next cell, and what is prepared, so that cells of the same options share it.
///
/// # Errors
/// The first cell that cannot be simulated. Results before it have been handed over.
pub fn simulate_here(
    options: &Options,
    plan: &Plan,
    prepared: &Prepared,
    cells: &[usize],
    on_cell: &mut dyn FnMut(CellResult),
    stopped: &AtomicBool,
) -> Result<(), SimulationError> {
    let simulation = Simulation::new(options, plan, prepared, stopped);
    for cell in cells {
        if stopped.load(Ordering::Relaxed) {
            break;
        }
        match simulation.cell(*cell) {
            Err(SimulationError::Stopped) => break,
            result => on_cell(result?),
        }
    }
    Ok(())
}

/// Runs any computation for each cell in parallel.
///
/// # Errors
/// The first cell that failed.
pub(crate) fn side_by_side<R: Send, E: Send>(
    cells: &[usize],
    jobs: usize,
    run: &(dyn Fn(usize) -> Result<R, E> + Sync),
    on_cell: &mut dyn FnMut(R),
    stop: &dyn Fn() -> bool,
) -> Result<(), E> {
    let queue = Queue {
        cells,
        next: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
    };
    let jobs = jobs.clamp(1, cells.len().max(1));
    // Bounded: results with their packets would fill the memory while one slow cell holds back all that follow it in order.
    let (done, results) = mpsc::sync_channel(jobs * WAITING);
    thread::scope(|scope| {
        for _ in 0..jobs {
            let (queue, done) = (&queue, done.clone());
            scope.spawn(move || work(queue, run, &done));
        }
        // The threads have ends of their own: with this one left open, the receiver would never see the last of them go.
        drop(done);
        let outcome = in_order(&results, &queue, on_cell, stop);
        queue.stopped.store(true, Ordering::Relaxed);
        // A thread that still has a result must not wait for room.
        drop(results);
        outcome
    })
}

/// The cells that are still to be simulated.
struct Queue<'a> {
    cells: &'a [usize],
    next: AtomicUsize,
    stopped: AtomicBool,
}

impl Queue<'_> {
    /// The position of the next cell, and the cell.
    fn next(&self) -> Option<(usize, usize)> {
        if self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        Some((place, *self.cells.get(place)?))
    }
}

/// The position of a cell, and its result.
type Done<R, E> = (usize, Result<R, E>);

fn work<R, E>(
    queue: &Queue<'_>,
    run: &(dyn Fn(usize) -> Result<R, E> + Sync),
    done: &SyncSender<Done<R, E>>,
) {
    while let Some((place, cell)) = queue.next() {
        // Results are not taken any more where an earlier cell has failed.
        if done.send((place, run(cell))).is_err() {
            return;
        }
    }
}

fn in_order<R, E>(
    results: &Receiver<Done<R, E>>,
    queue: &Queue<'_>,
    on_cell: &mut dyn FnMut(R),
    stop: &dyn Fn() -> bool,
) -> Result<(), E> {
    let mut early: BTreeMap<usize, Result<R, E>> = BTreeMap::new();
    let mut place = 0;
    loop {
        queue.stopped.fetch_or(stop(), Ordering::Relaxed);
        match results.recv_timeout(TICK) {
            Ok((done, result)) => drop(early.insert(done, result)),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
        }
        // Cells are handed on in their order, so that files do not depend on which thread was faster.
        while let Some(result) = early.remove(&place) {
            on_cell(result?);
            place += 1;
        }
    }
}
