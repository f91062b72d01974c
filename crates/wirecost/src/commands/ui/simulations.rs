//! The simulations behind the page: what is known, who asks for what, and the threads that simulate the rest.
//!
//! A cell is known by its key, which says all that its figures depend on, so that another device, battery, tariff or requirement needs
//! no simulation. Who asks has one question; another one takes its place, and what nobody waits for any more is stopped. The threads
//! take the stacks of the questions in the order of their rows, a cell of one who asks after one of the other.
//!
//! - `turns`: who asks for what, and whose turn it is

mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use wirecost_lab::compare::simulated::{CellResult, SimulationError, simulate_here};

use self::turns::Turns;
use super::asked::{Asked, Job};
use super::state::State;
use crate::commands::choose::question::{Found as Outcome, Simulated};

/// The name of nobody: what is simulated before somebody asks for it.
pub(super) const NOBODY: &str = "";
/// The longest simulation of a job.
const LONGEST: Duration = Duration::from_secs(60);
/// How long an answer waits for what is cached or simulated at once.
const AT_ONCE: Duration = Duration::from_millis(250);
/// How long an answer waits for anything that is new.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is known of a question.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The cells of each comparison of its rankings that are known, in their order.
    pub(super) known: Vec<Vec<Arc<Simulated>>>,
    /// Whether that is all of them.
    pub(super) is_ranked: bool,
    /// What is known of its further cells.
    pub(super) further: BTreeMap<String, Outcome>,
    /// Why cells could not be simulated, each reason once.
    pub(super) failed: BTreeSet<Arc<str>>,
    /// The cells that were simulated or could not be.
    pub(super) done: usize,
    /// All cells.
    pub(super) of: usize,
    /// How many questions of others have their turn before its next cell.
    pub(super) before: usize,
    /// Whether a page that has a picture of the answer is to have the next one.
    pub(super) is_due: bool,
}

/// The simulations.
#[derive(Default)]
pub(super) struct Simulations {
    turns: Mutex<Turns>,
    changed: Condvar,
}

impl Simulations {
    /// Starts this many threads that simulate what is asked for.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(super) fn start(self: &Arc<Self>, threads: usize) -> std::io::Result<()> {
        for _ in 0..threads.max(1) {
            let own = Arc::clone(self);
            thread::Builder::new()
                .name("simulations".to_owned())
                .spawn(move || own.work())?;
        }
        Ok(())
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The question of a state, where somebody asks it already.
    pub(super) fn asked(&self, name: &str, state: &State) -> Option<Arc<Asked>> {
        self.turns().asked(name, state)
    }

    /// The question with the cells beyond its ranking that the one of this name already asks for.
    pub(super) fn going_on(&self, name: &str, asked: Asked) -> Asked {
        match self.turns().asked_by(name) {
            Some(before) => asked.with_those_of(&before),
            None => asked,
        }
    }

    /// What is known of a question of somebody, as soon as that is more than `done` cells, and all that is there at once.
    pub(super) fn ask(&self, name: &str, asked: &Arc<Asked>, done: usize) -> Seen {
        let began = Instant::now();
        let mut turns = self.turns();
        turns.ask(name, asked);
        self.changed.notify_all();
        loop {
            // Another question of the same name: this one is not waited for.
            let Some((known, of)) = turns.progress(name, asked) else {
                return Seen::default();
            };
            let least = if known > done { AT_ONCE } else { PATIENCE };
            let left = least.saturating_sub(began.elapsed());
            if known == of || left.is_zero() {
                turns.answered(name, None);
                return turns.seen(name, asked);
            }
            let waited = self.changed.wait_timeout(turns, left);
            turns = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Somebody has got a picture of the answer, which took this long to make.
    pub(super) fn drew(&self, name: &str, took: Duration) {
        self.turns().answered(name, Some(took));
    }

    /// Stops what nobody waits for any more, and what takes too long.
    pub(super) fn stop_unwanted(&self) {
        self.turns().stop_unwanted();
    }

    /// Simulates one job after the other, for ever.
    fn work(&self) {
        let mut turns = self.turns();
        loop {
            if let Some(job) = turns.next() {
                drop(turns);
                self.simulate(&job);
                turns = self.turns();
                continue;
            }
            let waited = self.changed.wait_timeout(turns, PATIENCE);
            turns = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Simulates the cells of a job, unless nobody waits for them any more.
    fn simulate(&self, job: &Job) {
        let began = Instant::now();
        let Some(comparison) = job.asked.comparisons.get(job.comparison) else {
            return;
        };
        let mut take = |result: CellResult| {
            let simulated = Simulated {
                cell: result.cell,
                traffic: result.traffic,
            };
            self.turns()
                .put(&comparison.keys[result.index], Ok(Arc::new(simulated)));
            self.changed.notify_all();
        };
        // A defect of a simulation must not end the thread of all others.
        let ended = catch_unwind(AssertUnwindSafe(|| {
            simulate_here(
                &comparison.options,
                &comparison.plan,
                &comparison.prepared,
                &job.cells,
                &mut take,
                &job.stopped,
            )
        }));
        let why = why(ended.ok(), began.elapsed() > LONGEST);
        self.turns().end(job, why.as_ref());
        self.changed.notify_all();
    }
}

/// Why cells of a job have no figures; `None` if nobody waited for them.
fn why(ended: Option<Result<(), SimulationError>>, is_late: bool) -> Option<Arc<str>> {
    match ended {
        None => Some("a simulation failed, which is a defect of wirecost".into()),
        Some(Err(error)) => Some(error.to_string().into()),
        Some(Ok(())) if is_late => {
            let seconds = LONGEST.as_secs();
            Some(
                format!("a stack takes more than {seconds} s to simulate: ask it on the command line").into(),
            )
        }
        Some(Ok(())) => None,
    }
}
